"""Messages of the poll."""

import msgspec

from parley.schemas.wire import at_most, in_range, not_empty


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of one poll."""

    voters: int = 3

    def __post_init__(self) -> None:
        in_range("poll.voters", self.voters, 2, 9)


class Ballot(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of the turn `vote`."""

    voter: int


class Vote(msgspec.Struct, frozen=True, kw_only=True):
    """Reply to `vote`, and the body of its post."""

    choice: str
    why: str = ""

    def __post_init__(self) -> None:
        not_empty("choice", self.choice, 200)
        at_most("why", self.why, 2_000)


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """Post `count`: how many gave each choice."""

    choices: dict[str, int]
