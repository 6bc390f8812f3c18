"""What the doctor reports."""

import msgspec

from parley.schemas.registry import Brought

MEND_MODEL = "set LLM_PROVIDER and LLM_MODEL, and the provider's key (docs/models.md)"


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that does not work, and the command or variable that mends it."""

    what: str
    mend: str


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """Bus, one of its servers, credentials, moderators, encoder, or an agent of the operator's list of hands."""

    name: str = ""
    """Of a server its address; empty: there is one alone."""
    status: str
    """ok | missing | not running | unknown; of an encoder also answers | configured | none"""
    what: str


class RoleFound(msgspec.Struct, frozen=True, kw_only=True):
    """A role of a protocol and who serves it."""

    protocol: str
    role: str
    needed: int
    queues: dict[str, int]
    """Living queue -> copies."""
    status: str
    """ok | missing | no model (a language model plays it, and too few who serve it have one) | not running (the first
    question starts it) | unknown"""


class ModelFound(msgspec.Struct, frozen=True, kw_only=True):
    """A seat's model."""

    seat: str
    model: str
    family: str = ""
    provider: str = ""
    metered: bool = False
    usd_per_million_input: float | None = None
    """None: no price is known, so its cost is unknown."""
    usd_per_million_output: float | None = None
    structured: str = ""
    """How replies are asked for: json_schema, json_object, text; empty where it does not apply."""
    status: str
    """ok (no language model) | configured | answers | announced (by its worker) | no model (its roles need a language
    model, and it has none) | missing"""
    seconds: float | None = None
    """That the small question took."""
    learned: str = ""
    """What its server refused, and how it is asked for that reason; empty: nothing."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

    ok: bool
    protocol: str
    """The one that was asked for: what it lacks is missing."""
    bus: Component
    servers: tuple[Component, ...] = ()
    """Of the bus, each of them, where there are several or none answers."""
    credentials: Component
    moderators: Component
    roles: tuple[RoleFound, ...]
    models: tuple[ModelFound, ...]
    encoder: Component
    """The helper's."""
    hands: tuple[Component, ...] = ()
    installed: tuple[Brought, ...] = ()
    """What installed packages bring by entry points; one with a fault is left out."""
    missing: tuple[Missing, ...]
    local_servers: tuple[str, ...] = ()
    """Where no seat has a language model: how to use the servers of this machine, or that there are none."""
    unasked: str = ""
    """Why it is not known who is there, and what to do; empty: it is known, or nothing runs."""
