"""A turn: one request to one seat, and its reply."""

import re
from typing import Annotated, Literal

import msgspec

from parley.schemas.session import Document
from parley.schemas.tools import MOST_LOOK_UPS, LookUpResult
from parley.schemas.wire import InvalidValue, Json, between, few, in_range, not_empty

MAX_BODY = 256_000
"""Bytes of a reply's body."""
MAX_DEPTH = 64
"""Arrays and objects inside one another in a body."""


def _bounded(what: str, body: Json, texts: tuple[str, ...]) -> None:
    """Refuse a body that is too large or too deep to be logged and read again, and long texts beside it."""
    data = bytes(body)
    if len(data) > MAX_BODY:
        raise InvalidValue(f"{what}.body", f"{len(data):,} bytes", f"allowed are at most {MAX_BODY:,}")
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH and depth(data) > MAX_DEPTH:
        raise InvalidValue(f"{what}.body", f"{depth(data):,} levels", f"allowed are at most {MAX_DEPTH}")
    for text in texts:
        if len(text) > 200:
            raise InvalidValue(what, f"a name of {len(text):,} characters", "allowed are at most 200")


def depth(data: bytes) -> int:
    """How deep arrays and objects of a JSON text stand inside one another."""
    deepest = level = 0
    for piece in _OUTSIDE_TEXTS.sub(b"", data):
        if piece in b"[{":
            level += 1
            deepest = max(deepest, level)
        elif piece in b"]}":
            level -= 1
    return deepest


_OUTSIDE_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"|[^\[\]{}"]+', re.DOTALL)


InputTokens = Annotated[int, between(100, 10_000_000)]
OutputTokens = Annotated[int, between(20, 1_000_000)]
"""Settings of a protocol: what one model call may take."""


class Caps(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one turn may use; the agent enforces them, the machine reserves them."""

    input_tokens: int = 16_000
    """In one model call."""
    output_tokens: int = 2_000
    """In one model call."""
    calls: int = 2
    """The first, and what a repair of form may add."""
    reasoning_tokens: int | msgspec.UnsetType = msgspec.UNSET
    """In one model call, for what it thinks beside its answer. Left out: the agent's own setting counts."""
    tokens: int | msgspec.UnsetType = msgspec.UNSET
    """Input and output of all its calls together. Left out: what the calls may have each."""

    def __post_init__(self) -> None:
        if (
            0 <= self.input_tokens <= 1e12
            and 0 <= self.output_tokens <= 1e12
            and 0 <= self.calls <= 1e12
            and 0 <= (self.reasoning_tokens or 0) <= 1e12
            and 0 <= (self.tokens or 0) <= 1e12
        ):
            return  # made often, and nearly always right
        for field in ("input_tokens", "output_tokens", "calls"):
            in_range(f"caps.{field}", getattr(self, field), 0, 1e12)
        in_range("caps.reasoning_tokens", self.reasoning_tokens or 0, 0, 1e12)
        in_range("caps.tokens", self.tokens or 0, 0, 1e12)

    def looking(self, look_ups: int) -> "Caps":
        """With so many calls of tools before the answer: a model call for each, and one to end them."""
        return msgspec.structs.replace(self, calls=self.calls + look_ups + 1) if look_ups else self

    @property
    def all_output(self) -> int:
        """Of one model call, what it thinks included."""
        return self.output_tokens + (self.reasoning_tokens or 0)

    @property
    def all_tokens(self) -> int:
        """Of all its calls together."""
        most = (self.input_tokens + self.all_output) * self.calls
        return most if self.tokens is msgspec.UNSET else min(most, self.tokens)


class ShownPost(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One post as it is shown to a seat: what was said, not who said it."""

    n: int
    """The post's number in its session."""
    channel: str
    kind: str
    round: int
    body: Json


class DocumentRef(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A document that the seat holds; its text is fetched by id from a moderator, once."""

    id: str
    name: str
    background: bool | msgspec.UnsetType = msgspec.UNSET
    """As the document has it."""


class Turn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What one seat is asked. Differs from its neighbours in the same message by seat, order and documents only."""

    id: str
    """`<transition>.<command>`: its place in the session's log."""
    token: str
    """Keyed hash of session and turn by a key that only moderators hold."""
    boundary: str = ""
    """What texts in this seat's prompts stand between: keyed hash of session and seat. Empty: the agent makes one."""
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
    booked: bool = False
    """Each try is announced before its model is paid (`Check.attempt`), and begun only if it is taken."""
    attempt: int = 1
    error: str = ""
    """Why the last attempt was not accepted."""
    refused: str = ""
    """What it said, as JSON, its first 4,000 characters. Empty: nothing came, or it is not told."""


class Work(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A WORK message: turns of one queue and round, and the context that they share."""

    session: str
    owner: str = ""
    """The client whose session it is."""
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
    together: bool = False
    """Who listens on the lane takes `Replies`."""
    followed: bool = True
    """Somebody may follow the session live, so seats' states are told as they come; else those that last."""
    posts: tuple[ShownPost, ...] = ()
    turns: tuple[Turn, ...]


class Usage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a turn used at its model."""

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    cost_usd: float = 0.0
    estimated: bool = False
    """The tokens are our estimate: the server did not count them."""
    cached_tokens: int | msgspec.UnsetType = msgspec.UNSET
    """Of the input, what the server says it had in its cache. Left out: none."""
    unpriced: bool | msgspec.UnsetType = msgspec.UNSET
    """Of some of it no price is known, and the cost is without that. False: the cost is all, and may be none. Left out:
    who tells it says nothing, and where it costs nothing, the moderator prices it as the model was announced."""

    def __post_init__(self) -> None:
        if (
            0 <= self.input_tokens <= 1e12
            and 0 <= self.output_tokens <= 1e12
            and 0 <= self.calls <= 1e12
            and 0 <= self.cost_usd <= 1e12
            and 0 <= (self.cached_tokens or 0) <= 1e12
        ):
            return  # made often, and nearly always right
        for field in ("input_tokens", "output_tokens", "calls", "cost_usd"):
            in_range(f"usage.{field}", getattr(self, field), 0, 1e12)
        in_range("usage.cached_tokens", self.cached_tokens or 0, 0, 1e12)

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            calls=self.calls + other.calls,
            cost_usd=self.cost_usd + other.cost_usd,
            estimated=self.estimated or other.estimated,
            cached_tokens=(self.cached_tokens or 0) + (other.cached_tokens or 0) or msgspec.UNSET,
            unpriced=_unpriced(self, other),
        )


def _unpriced(*parts: Usage) -> bool | msgspec.UnsetType:
    """Of a sum: whether of some of it no price is known; left out where of tokens nobody says it."""
    told = [part.unpriced for part in parts if part.unpriced is not msgspec.UNSET or part.input_tokens]
    return any(told) or (False if told and msgspec.UNSET not in told else msgspec.UNSET)


class Reply(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="reply", omit_defaults=True, gc=False):
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
    """As what the turn was first handed to the worker: above 1, others had it before."""
    found: tuple[LookUpResult, ...] | msgspec.UnsetType = msgspec.UNSET
    """What it looked up before it answered. Left out: nothing."""
    flags: tuple[str, ...] = ()
    """What the worker noticed and the transcript shows (`estimated`, `repaired`, `injection`)."""

    def __post_init__(self) -> None:
        _bounded("reply", self.body, (self.turn, self.token, self.model, *self.flags))
        if len(self.flags) > 32 or not 0 <= self.model_s <= 1e9:  # nearly never
            in_range("reply.flags", len(self.flags), 0, 32)
            in_range("reply.model_s", self.model_s, 0, 1e9)
        if self.found:
            few("reply.found", self.found, MOST_LOOK_UPS)
        if len(self.error) > 10_000:
            raise InvalidValue("reply.error", f"{len(self.error):,} characters", "allowed are at most 10,000")


class Speak(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="speak"):
    """Words from the floor: a process that heard a post speaks up unasked. Its cause is (author, window)."""

    window: str
    kind: str
    body: Json

    def __post_init__(self) -> None:
        _bounded("speak", self.body, (self.window, self.kind))


Then = Literal["agent", "miss", "wait"]


class Sit(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="sit"):
    """A person sits down on a seat, or leaves it. Its cause is (author, id): told twice, it is taken once.

    Taken from the author parley.schemas.session.human_queue(seat) alone. It says who is asked the seat's turns from
    then on; a turn that is out stays with who has it, but for those of a person who leaves.
    """

    id: str
    """The sender's own name for it, 1-64 characters."""
    seat: str
    seconds: float = 300.0
    """For each turn, in place of the session's. 1 to 86,400."""
    then: Then = "agent"
    """When they are over: the agent has the seat back, and the turn; the turn is missed; a turn has a day."""
    leave: bool = False

    def __post_init__(self) -> None:
        not_empty("sit.id", self.id, 64)
        not_empty("sit.seat", self.seat, 64)
        in_range("sit.seconds", self.seconds, 1.0, 86_400.0)


class Retry(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="retry"):
    """A worker's call for a turn failed, and it makes the call again. Its cause is the turn: only the first one counts,
    and only for the sender's own open turn."""

    turn: str
    token: str
    why: str
    """At most 200 characters, without a key or an address."""
    again_s: float = 0.0
    """Seconds until the next try."""

    def __post_init__(self) -> None:
        _bounded("retry", msgspec.Raw(b"null"), (self.turn, self.token, self.why))
        in_range("retry.again_s", self.again_s, 0, 86_400)


Say = Reply | Speak | Sit | Retry
"""What a participant submits."""

MOST_REPLIES = 32
"""In one message."""


class SessionReply(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A reply among others. Its token binds it to its turn and session."""

    session: str
    reply: Json
    """A `Reply`, read apart from the others."""


class Replies(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", tag="replies"):
    """Replies of one author on one channel, of any sessions, to the moderator whose lane their turns name: what a
    worker had ready at the same time. The session in the subject is the first one's."""

    replies: tuple[SessionReply, ...]


HANDLING_RAISED = "its handling raised; it was recorded and put aside"
"""Why a moderator refuses what it failed over."""


class SubmitAnswer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a moderator answers to a submission, after the append and after the effects are out."""

    verdict: str
    """accepted | refused | busy"""
    why: str = ""
    n: int = -1
    """The transition that took it; -1 where none did."""
    at_ns: int = 0
    """The server's time when it was answered; 0: it is not told."""


class Answers(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a moderator answers to `Replies`: to each its own, in their order. `busy`: submit that one alone."""

    answers: tuple[SubmitAnswer, ...]


class TurnStatusRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Is this turn still open, and, where `attempt` is given, may its model be paid for this try?"""

    turn: str
    token: str
    attempt: str = ""
    """The worker's own name for this try, 1-64 characters: asked twice, it is booked once. Empty: only asks."""

    def __post_init__(self) -> None:
        in_range("attempt (characters)", len(self.attempt), 0, 64)


class TurnStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a turn is open, after a look at the log's tail."""

    open: bool
    why: str = ""
    at_ns: int = 0
    """The server's time when it was answered; 0: it is not told."""


class FetchDocuments(msgspec.Struct, frozen=True, kw_only=True):
    """Ask a moderator for documents of a session by content hash. Answered with as many as fit one message."""

    ids: tuple[str, ...]


class Documents(msgspec.Struct, frozen=True, kw_only=True):
    """Documents asked for; those left out are asked for again."""

    documents: tuple[Document, ...]
