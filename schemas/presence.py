"""Who is there: announcements of workers."""

from functools import lru_cache
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from parley.schemas.expert import ROLE, ExpertSpec, expert_of, pin
from parley.schemas.wire import InvalidValue, decode, in_range, not_empty

ALIVE_S = 15.0
"""Three announcements missed, and a worker counts as gone."""
RETURN_S = 8.0
"""A queue whose last worker's connection ended counts as gone after this: time to start the worker again."""
EXTRACTIVE = "extractive"
"""The family of the model that is no language model."""


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """A worker process says what it serves: at start, every 5 s, and when it drains. The queue is pinned by the
    broker."""

    instance: str
    """Random id of the process."""
    queue: str
    roles: tuple[str, ...]
    model: str
    family: str
    metered: bool = False
    usd_per_million_input: float = 0.0
    usd_per_million_output: float = 0.0
    reasoning_tokens: int | msgspec.UnsetType = msgspec.UNSET
    """The most that its model may think in one call, beside the answer."""
    input_s: float | msgspec.UnsetType = msgspec.UNSET
    """Tokens a second of a prompt, as measured; a slow model's turns get more time."""
    output_s: float | msgspec.UnsetType = msgspec.UNSET
    """Tokens a second of a reply."""
    turn_s: float | msgspec.UnsetType = msgspec.UNSET
    """The median of the seconds that its model's last turns took. Absent: it has answered none."""
    room: int = 1
    """Turns at once."""
    busy: int = 0
    copies: int | msgspec.UnsetType = msgspec.UNSET
    """Where it stands for all that serve its queue: how many those are. A worker leaves it out."""
    expertise: tuple[str, ...] = ()
    """Words for what it declares to know; used where a protocol weighs seats."""
    draining: bool = False
    breaks: int | UnsetType = UNSET
    """How often its connection to the bus broke: it may have missed posts each time. Absent: never."""
    holds: tuple[int, ...] | UnsetType = UNSET
    """Sequences in WORK of the messages that it has in hand. Absent: none."""
    tools: bool = False
    """Whether an expert's model may use tools (docs/tools.md)."""
    no_run: str | UnsetType = UNSET
    """Why none of its tools can run commands, though the operator's list has one; absent: one can, or it has none."""
    no_tools: str | UnsetType = UNSET
    """Which servers of the operator's tools do not start there, and why; absent: all do, or nobody has looked."""
    no_server: str | UnsetType = UNSET
    """Why its model's server cannot be used: nobody is there, or the key is refused; absent: it can."""
    expert: ExpertSpec | None = None
    """An expert's specification, whose pin stands in the subject."""

    @property
    def keyless(self) -> bool:
        """Whether no language model is at work: its model quotes documents."""
        return self.family == EXTRACTIVE

    def __post_init__(self) -> None:
        not_empty("queue", self.queue, 64)
        not_empty("instance", self.instance, 64)
        in_range("room", self.room, 1, 10_000)
        in_range("roles", len(self.roles), 1, 8)
        in_range("expertise", len(self.expertise), 0, 64)
        said = (self.no_run or "", self.no_tools or "", self.no_server or "")
        for text in (*self.roles, *self.expertise, self.model, self.family, *said):
            if len(text) > 200:
                raise InvalidValue("announcement", f"a text of {len(text):,} characters", "allowed are at most 200")
        in_range("usd_per_million_input", self.usd_per_million_input, 0, 1e6)
        for field in ("input_s", "output_s", "turn_s"):
            if (value := getattr(self, field)) is not msgspec.UNSET:
                in_range(field, value, 1e-3, 1e9)
        in_range("breaks", self.breaks or 0, 0, 1e9)
        in_range("reasoning_tokens", self.reasoning_tokens or 0, 0, 1e9)
        in_range("usd_per_million_output", self.usd_per_million_output, 0, 1e6)


class PinnedAnnouncement(NamedTuple):
    """An announcement, and what pins the specification in it."""

    announcement: Announcement
    pin: str
    """Empty: there is none."""

    @classmethod
    def of(cls, announcement: Announcement) -> "PinnedAnnouncement":
        """With its pin, which takes longer than all the rest."""
        return cls(announcement, "" if announcement.expert is None else pin(announcement.expert))

    def is_own_expert(self, role: str, queue: str, pinned: str) -> bool:
        """Whether what it says of an expert is what the broker pinned of its author: on an expert's queue that expert's
        specification, on any other none."""
        spec = self.announcement.expert
        expert = expert_of(queue) if role == ROLE else ""
        if not expert:
            return spec is None
        return spec is not None and spec.id == expert and self.pin == pinned


@lru_cache(maxsize=2_048)
def decode_announcement(data: bytes) -> PinnedAnnouncement:
    """An announcement as it came. Workers repeat theirs every 5 s, byte for byte, and there may be hundreds. Raises
    SchemaError: it is none."""
    return PinnedAnnouncement.of(decode(data, Announcement))


class ExpertHere(msgspec.Struct, frozen=True, kw_only=True):
    """What an expert that was announced is, in few bytes."""

    id: str
    name: str
    version: str
    pin: str
    general: bool = False
    category: str = ""

    @classmethod
    def of(cls, spec: ExpertSpec, pin: str) -> "ExpertHere":
        """Of a specification and its pin."""
        return cls(
            id=spec.id, name=spec.name, version=spec.version, pin=pin, general=spec.general, category=spec.category
        )


class AskWorkers(msgspec.Struct, frozen=True, kw_only=True):
    """An owner asks who is there."""


HEARD_S = 2.0
"""A moderator that has listened for less may not have heard everybody."""


class UnreadableSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that a moderator met in the last minute, and left to another one."""

    session: str
    protocol: str
    """Empty: not known."""
    version: int
    """Of the protocol, as the session was opened; 0: not known."""
    reason: str
    """protocol | version | digest | entry | gap"""
    why: str


class DamagedLog(msgspec.Struct, frozen=True, kw_only=True):
    """A session whose log lost something that had been stored."""

    session: str
    why: str


class Workers(msgspec.Struct, frozen=True, kw_only=True):
    """Every living worker that a moderator has heard, copies of one queue apart."""

    workers: tuple[Announcement, ...]
    """Experts' without the text of their specifications."""
    experts: tuple[ExpertHere, ...] = ()
    """What the living experts are, by id."""
    listening_s: float
    """For how long that moderator has listened; workers announce themselves when it starts, and every 5 s."""
    moderator: str = ""
    """Which moderator answers."""
    unreadable: tuple[UnreadableSession, ...] = ()
    """Sessions that it leaves to another one."""
    damaged: tuple[DamagedLog, ...] = ()
    """Sessions whose logs lost something, as far as that moderator has met them since its start; a thousand at most."""
    damaged_count: int = 0
    """How many they are altogether."""
    unstored: str = ""
    """What the bus has not stored for it lately, for want of room, and since when; empty: nothing."""

    @property
    def heard(self) -> bool:
        """Whether everybody who is alive has been heard by now."""
        return self.listening_s >= HEARD_S
