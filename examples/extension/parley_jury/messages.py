"""Messages of the jury."""

import msgspec

from parley.schemas.wire import at_most, in_range, not_empty


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of one jury."""

    jurors: int = 3
    ballots: int = 2

    def __post_init__(self) -> None:
        in_range("jury.jurors", self.jurors, 2, 12)
        in_range("jury.ballots", self.ballots, 1, 5)


class Ballot(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of the turn `vote`."""

    ballot: int
    last: bool = False


class Vote(msgspec.Struct, frozen=True, kw_only=True):
    """Reply to `vote`, and the body of its post in the jury's room."""

    choice: str
    why: str = ""

    def __post_init__(self) -> None:
        not_empty("choice", self.choice, 200)
        at_most("why", self.why, 2_000)


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """Post `count`, in public: how many gave each choice. Who voted how stays in the room."""

    choices: dict[str, int]
