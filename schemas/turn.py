"""A turn: one request to one seat, and its reply."""

import msgspec

from schemas.session import Document
from schemas.wire import Json, in_range


class Caps(msgspec.Struct, frozen=True, kw_only=True):
    """What one turn may use; the agent enforces them, the machine reserves them."""

    input_tokens: int = 16_000
    """In one model call."""
    output_tokens: int = 2_000
    """In one model call."""
    calls: int = 2
    """The first, and what a repair of form may add."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One post as it is shown to a seat: what was said, not who said it."""

    n: int
    """The post's number in its session."""
    channel: str
    kind: str
    round: int
    body: Json


class DocumentRef(msgspec.Struct, frozen=True, kw_only=True):
    """A document that the seat holds; its text is fetched by id from a moderator, once."""

    id: str
    name: str


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What one seat is asked. Differs from its neighbours in the same message by seat, order and documents only."""

    id: str
    """`<transition>.<command>`: its place in the session's log."""
    token: str
    """Keyed hash of session and turn by a key that only moderators hold."""
    seat: str
    role: str
    kind: str
    brief: Json
    """What this kind of turn needs to know beside posts and documents (schemas of the protocol)."""
    sees: tuple[int, ...] = ()
    """Numbers of the posts shown, in the order in which this seat is shown them."""
    own: int | None = None
    """Number of the seat's own last position among the message's posts."""
    documents: tuple[DocumentRef, ...] = ()
    deadline_ns: int
    """Unix time. After it the reply is refused."""
    caps: Caps
    stream: bool = False
    """Whether text may be shown live before the reply is accepted (never in a blind round)."""
    attempt: int = 1
    error: str = ""
    """Why the last attempt was not accepted."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A WORK message: turns of one queue and round, and the context that they share."""

    session: str
    protocol: str
    question: str
    round: int
    channel: str
    """Where replies to it are submitted: the channel that the broker pins for this queue."""
    lane: str
    """The moderator process whose cache is warm; any other will do."""
    decided_ns: int
    """Unix time at which the transition that asks was appended."""
    reissued: bool = False
    """Sent again, because the first sending may not have got out."""
    posts: tuple[Seen, ...] = ()
    turns: tuple[Turn, ...]


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn used at its model."""

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    cost_usd: float = 0.0
    estimated: bool = False
    """The tokens are our estimate: the server did not count them."""

    def __post_init__(self) -> None:
        for field in ("input_tokens", "output_tokens", "calls", "cost_usd"):
            in_range(f"usage.{field}", getattr(self, field), 0, 1e12)

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            calls=self.calls + other.calls,
            cost_usd=self.cost_usd + other.cost_usd,
            estimated=self.estimated or other.estimated,
        )


class Reply(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="reply"):
    """A worker's answer to a turn. Its cause is the turn: told twice, it is taken once."""

    turn: str
    token: str
    body: Json = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))
    """The structured reply; its schema goes with the turn's kind."""
    error: str = ""
    """Not empty: the model failed, and why (never a key, never an address with credentials)."""
    usage: Usage = Usage()
    model: str = ""
    model_s: float = 0.0
    """Seconds that the model took."""
    deliveries: int = 1
    """How often the turn was handed out, as far as the worker knows: above 1, calls may be unaccounted."""
    flags: tuple[str, ...] = ()
    """What the worker noticed and the transcript shows (`estimated`, `repaired`, `injection`)."""


class Speak(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="speak"):
    """Words from the floor: a process that heard a post speaks up without being asked. Its cause is (author, window)."""

    window: str
    kind: str
    body: Json


Say = Reply | Speak
"""What a participant submits."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a moderator answers to a submission, after the append and after the effects are out."""

    verdict: str
    """accepted | refused | busy"""
    why: str = ""
    n: int = -1
    """The transition that took it; -1 where none did."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """Is this turn still open?"""

    turn: str
    token: str


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a turn is open, after a look at the log's tail."""

    open: bool
    why: str = ""


class FetchDocuments(msgspec.Struct, frozen=True, kw_only=True):
    """Ask a moderator for documents of a session by content hash. Answered with as many as fit one message."""

    ids: tuple[str, ...]


class Documents(msgspec.Struct, frozen=True, kw_only=True):
    """Documents asked for; those left out are asked for again."""

    documents: tuple[Document, ...]
