"""An expert's specification (source: seeds/madp.md 2.1, with the file patterns that 3.3 uses), and what pins it.

What stands in one is data: it is matched, compared and shown in prompts. Its body (`instructions`, `checklist`) says
how the work is done, never how a turn is answered.
"""

import hashlib
import re
import unicodedata
from typing import Annotated, Literal

import msgspec

from parley.schemas.wire import InvalidValue, encode, few, in_range, not_empty

ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
"""Of an expert: it is the seat's name, and with QUEUE before it the queue's."""
HANDS = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
"""A name in the operator's list of hands."""
NO_HANDS = ("", "builtin")
"""What a specification says whose expert's own model does the work."""
QUEUE = "expert_"
_VARIANT = re.compile(r"__[0-9a-f]{7}\Z")
"""As parley.schemas.session.variant_of adds it."""
ROLE = "expert"
MAX_SPEC = 32_000
"""Bytes of a specification as it is announced; a message on the bus may have 1 MiB."""
MAX_INSTRUCTIONS = 12_000
"""Characters: some 3,000 tokens, which every step of work is asked with."""
MAX_ITEMS = 40
"""Of a checklist."""
_ITEM = 300
"""Characters of one."""
_WORDS = 200
"""Characters of a phrase."""


def queue_of(expert: str) -> str:
    """The queue, and so the credential, of an expert."""
    return QUEUE + expert


def expert_of(queue: str) -> str:
    """The expert whose queue this is; empty: it is nobody's."""
    name = _VARIANT.sub("", queue.removeprefix(QUEUE))
    return name if queue.startswith(QUEUE) and ID.fullmatch(name) else ""


def _phrases(field: str, texts: tuple[str, ...], most: int) -> None:
    few(field, texts, most)
    for text in texts:
        not_empty(field, text, _WORDS)


class Triggers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What suggests this expert."""

    primary: tuple[str, ...]
    secondary: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Patterns of file names, as fnmatch reads them (`*.sql`, `migrations/*`): 3.3's relevantFilePatterns."""
    examples: tuple[str, ...] = ()
    """Tasks that are this expert's, as people would put them."""

    def __post_init__(self) -> None:
        if not self.primary:
            raise InvalidValue("triggers.primary", [], "at least one is needed")
        for field, most in (("primary", 40), ("secondary", 60), ("files", 40), ("examples", 60)):
            _phrases(f"triggers.{field}", getattr(self, field), most)


class Domain(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Its boundaries: what it owns, and to whom it leaves what."""

    owns: tuple[str, ...]
    defers: dict[str, str] = {}
    """Expert -> what is theirs, in words. In a file also as a list of one-entry mappings (2.1)."""

    def __post_init__(self) -> None:
        if not self.owns:
            raise InvalidValue("domain.owns", [], "at least one is needed")
        _phrases("domain.owns", self.owns, 40)
        few("domain.defers", tuple(self.defers), 40)
        for expert, what in self.defers.items():
            if not ID.fullmatch(expert):
                raise InvalidValue("domain.defers", expert, "it is no expert's id")
            not_empty(f"domain.defers.{expert}", what, _WORDS)


class Thresholds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of confidence, 0 to 1: from which on it leads without deliberation, takes part, only watches."""

    high: float = 0.8
    medium: float = 0.5
    low: float = 0.3

    def __post_init__(self) -> None:
        for field in ("high", "medium", "low"):
            in_range(f"deliberation.confidence.{field}", getattr(self, field), 0.0, 1.0)
        if not self.low <= self.medium <= self.high:
            raise InvalidValue(
                "deliberation.confidence", (self.low, self.medium, self.high), "wanted is low <= medium <= high"
            )


class Deliberation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How it behaves."""

    claim: str
    """One sentence: its scope, for quick arbitration."""
    confidence: Thresholds = Thresholds()
    handoff_when: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        not_empty("deliberation.claim", self.claim, 400)
        _phrases("deliberation.handoff_when", self.handoff_when, 20)


class Reviews(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What it reviews of others' work (6.1)."""

    always: bool = False
    """All work, whatever it is about."""
    of: tuple[str, ...] = ()
    """Else: words for the work that calls for its review."""

    def __post_init__(self) -> None:
        _phrases("reviews.of", self.of, 40)


RESERVED = frozenset({"check", "emit", "helper", "human", "nobody", "reject", "revise", "stop"})
"""No expert's id: seats, and answers that stand beside experts' ids."""


class ExpertSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One expert. Defaults that are made (`default_factory`) stand in its JSON, and so in its pin, as they did before
    there were bodies; the body's fields stand there only where they say something."""

    id: str
    name: str
    version: str = msgspec.field(default_factory=lambda: "1.0.0")
    triggers: Triggers
    domain: Domain
    deliberation: Deliberation
    reviews: Reviews | None = msgspec.field(default_factory=lambda: None)
    """None: it reviews nothing."""
    category: str = msgspec.field(default_factory=lambda: "engineering")
    """`general`: only for what nobody else takes; its triggers are not matched."""
    priority: Annotated[int, msgspec.Meta(ge=1, le=99)] = msgspec.field(default_factory=lambda: 50)
    """For ties: 1 is highest."""
    instructions: str = ""
    """How it works: method, what it checks first, what it hands over, what it never does. May have several lines."""
    checklist: tuple[str, ...] = ()
    """What its review demands; each item is answered with evidence."""
    tools: tuple[str, ...] | None = None
    """Names, `tool` or `server.tool`, of the operator's allow list; None: all that are allowed."""
    model: str = ""
    """A wish, such as `strong`, for the operator, who chooses the model where its worker is started."""
    context: tuple[str, ...] = ()
    """Files of the task's folder that it reads first, by path or pattern."""
    hands: str = ""
    """Who does its work, by a name in the operator's list (docs/hands.md), and never a command; empty: its model."""

    def __post_init__(self) -> None:
        if not ID.fullmatch(self.id):
            raise InvalidValue("id", self.id, "wanted are 1 to 40 of a-z, 0-9 and -, not - first")
        if self.id in RESERVED:
            raise InvalidValue(
                "id", self.id, f"{', '.join(sorted(RESERVED))} mean something else where experts are named"
            )
        not_empty("name", self.name, 80)
        not_empty("version", self.version, 40)
        not_empty("category", self.category, 40)
        if self.id in self.domain.defers:
            raise InvalidValue("domain.defers", self.id, "an expert does not defer to itself")
        self._check_body()
        size = len(encode(self))
        if size > MAX_SPEC:
            raise InvalidValue("specification", f"{size:,} bytes", f"allowed are at most {MAX_SPEC:,}")

    def _check_body(self) -> None:
        if len(self.instructions) > MAX_INSTRUCTIONS:
            raise InvalidValue(
                "instructions", f"{len(self.instructions):,} characters", f"allowed are at most {MAX_INSTRUCTIONS:,}"
            )
        if any(c != "\n" and unicodedata.category(c) in ("Cc", "Cs") for c in self.instructions):
            raise InvalidValue("instructions", self.instructions, "control characters are not allowed")
        few("checklist", self.checklist, MAX_ITEMS)
        for item in self.checklist:
            not_empty("checklist", item, _ITEM)
        _phrases("tools", self.tools or (), 60)
        if self.model:
            not_empty("model", self.model, 80)
        _phrases("context", self.context, 40)
        if self.hands and not HANDS.fullmatch(self.hands):
            raise InvalidValue("hands", self.hands, "wanted is a name of 1 to 40 of a-z, 0-9, - and _")

    @property
    def general(self) -> bool:
        """Whether it only takes what nobody else does (9.1: general-purpose mode)."""
        return self.category == "general"


def pin(spec: ExpertSpec) -> str:
    """What pins a specification: SHA-256 of its JSON, the first 128 bits in hex."""
    return hashlib.sha256(encode(spec)).hexdigest()[:32]


class Known(msgspec.Struct, frozen=True, array_like=True):
    """An expert that was announced when a session was opened, in few bytes: there may be hundreds."""

    id: str
    pin: str
    model: str = ""
    family: str = ""
    metered: bool = False
    usd_per_million_input: float = 0.0
    usd_per_million_output: float = 0.0
    general: bool = False
    """It takes what nobody else does: who leads where the matcher fails."""
    tools: bool = False
    """Its model may use tools: a turn of work may take many calls of it."""
    category: str = ""
    """Of its specification: the field that it guards."""


Relevance = Literal["high", "medium", "low"]


def relevance_word(spec: ExpertSpec, confidence: float) -> Relevance:
    """A figure as an expert's own thresholds put it."""
    t = spec.deliberation.confidence
    return "high" if confidence >= t.high else "medium" if confidence >= t.medium else "low"
