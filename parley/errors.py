"""What the front door raises.

ParleyError
├── BadInput          the caller's: a field, what is wrong with it, and what is allowed       exit status 2
├── Refusal           a moderator refused the session, and why                                exit status 2
├── Unreachable       the environment's: no bus, no moderator, wrong credentials              exit status 2
└── StackFailed       the environment's: the embedded stack did not come up, or went away     exit status 1
"""


class ParleyError(Exception):
    """Base of what this package raises."""

    exit_code = 1


class BadInput(ParleyError):
    """Something that was given cannot be used. Names the field. The caller's fault."""

    exit_code = 2

    def __init__(self, field: str, why: str) -> None:
        self.field = field
        self.why = why
        super().__init__(why if why.startswith(field) else f"{field}: {why}")


class Refusal(ParleyError):
    """A moderator refused what was submitted. Names the field where one is to blame. The caller's fault."""

    exit_code = 2

    def __init__(self, field: str, why: str) -> None:
        self.field = field
        self.why = why
        super().__init__(why if not field or field in why else f"{field}: {why}")


class Unreachable(ParleyError):
    """The bus, or a moderator on it, does not answer. The environment's fault."""

    exit_code = 2

    def __init__(self, why: str) -> None:
        super().__init__(why)


class StackFailed(ParleyError):
    """The embedded stack did not come up, or went away. The environment's fault."""
