"""What one past task teaches: a protocol's SHOW reads it from the record, parley.client.learned keeps it."""

from typing import Literal

import msgspec

from parley.schemas.routing import Depth

Became = Literal["", "accepted", "right", "revised", "rejected", "wrong"]
"""Of the result; right and wrong by feedback, revised and rejected by a person; empty: it ended otherwise."""


class Lesson(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who should have led one task, how deep it should have been, and how sure routing was."""

    session: str
    seq: int = 0
    """Where its row stood when it was read: it rises when the session changes."""
    at_ns: int = 0
    """When it ended."""
    folder: str = ""
    """As the opening has it (parley.schemas.past_sessions.learned); empty: the task had none."""
    task: str = ""
    """The task's beginning; empty: the session teaches nothing."""
    first: str = ""
    """Whom routing was surest of."""
    confidence: float | None = None
    """How sure it was, as the matcher said; None: nobody was found."""
    proposed: str = ""
    """Who would have led if nobody had chosen."""
    lead: str = ""
    """Who led at last."""
    chosen: str = ""
    """Whom a person chose, last."""
    handed_to: str = ""
    """To whom the lead handed the task over by itself, first."""
    rule: Depth | Literal[""] = ""
    """The depth of 4.1."""
    depth: Depth | Literal[""] = ""
    depth_asked: bool = False
    """A person set it."""
    became: Became = ""
    forgotten: bool = False
    """A person said so: it is not read again."""
    encoder: str = ""
    vector: bytes = b""
    """What this encoder makes of the task, a signed byte a dimension."""

    @property
    def teaches(self) -> bool:
        """Whether anything follows from it but how sure routing is."""
        return bool(self.chosen or self.handed_to or self.depth_asked or self.became in ("right", *AGAINST))


AGAINST = ("revised", "rejected", "wrong")
