"""The protocol `auto`: the ways to answer a question, and which of them past sessions choose. Pure.

How it is made: parley.client.reliability.route.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from parley.client.errors import BadInput
from parley.client.protocols import SETUPS
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas.afterwards.learned import ChosenWay, Learned
from parley.schemas.session import OpenSession

AUTO = "auto"
"""As a protocol: past sessions decide whether it is one model, a vote or a debate."""
PRICE = 0.005
"""Share of right answers that one would give for 1,000 tokens: half a point."""
WORDS = {"one": "one model", "vote": "a vote", "debate": "a debate"}
"""Way -> what it is called, the cheapest first: of two that are worth the same the first is taken."""


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What one way came to."""

    way: str
    share: float
    """Of right answers: mean of the posterior."""
    low: float
    high: float
    tokens: float
    """Of a session, on average."""
    worth: float
    """The share less the price of the tokens."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where `auto` sent a question, and why."""

    way: str
    """one | vote | debate"""
    protocol: str
    settings: dict[str, int]
    """Those that make the way what it is."""
    kind: str
    """Of the past questions that decided; empty: of all kinds."""
    sessions: int
    """Past sessions that decided; 0: none did."""
    price: float
    """Share of right answers that 1,000 tokens may cost."""
    expected: tuple[Expected, ...] = ()
    """The cheapest way first."""
    model: str = ""
    """Whose answers stand for one model; empty: those of all members."""
    why: str
    otherwise: tuple[str, ...] = ()
    """Options of the command line that choose another way."""
    unused: tuple[str, ...] = ()
    """Settings that were given and do nothing in the chosen way."""


def with_way(opening: OpenSession, route: Route | None) -> OpenSession:
    """The session with what was chosen for it, so that its result says so at every door; None: as it is."""
    if route is None:
        return opening
    learned = Learned() if opening.learned is msgspec.UNSET else opening.learned
    way = ChosenWay(
        way=route.way, why=route.why, sessions=route.sessions, otherwise=route.otherwise, unused=route.unused
    )
    return msgspec.structs.replace(opening, learned=msgspec.structs.replace(learned, way=way))


def ways() -> dict[str, tuple[str, dict[str, int]]]:
    """Way -> protocol and settings of a session, as the protocol's setup says."""
    return {way: (name, dict(settings)) for name in SETUPS for way, settings in SETUPS[name].ways.items()}


def protocols() -> tuple[str, ...]:
    """The protocols among which `auto` chooses, the cheapest way's first."""
    known = ways()
    return tuple(dict.fromkeys(known[way][0] for way in WORDS if way in known))


def settings_names(protocol: str) -> frozenset[str]:
    """Names that a protocol's settings have; none: no session of it can be opened."""
    known = PROTOCOLS.get(protocol)
    if known is None or known.standing:
        return frozenset()
    return frozenset(field.encode_name for field in msgspec.structs.fields(known.settings))


def taken_by_way(
    settings: Mapping[str, Any], protocol: str, fixed: Collection[str]
) -> tuple[dict[str, Any], list[str]]:
    """(Settings as the chosen way takes them, names of those that do nothing there: those of another way's protocol,
    and those for what makes the way what it is).

    Parameters
    ----------
    fixed
        Settings of the way itself.
    """
    mine = settings_names(protocol)
    others = frozenset().union(*map(settings_names, protocols()))
    idle = [name for name in settings if name in fixed or (name not in mine and name in others)]
    return {name: value for name, value in settings.items() if name not in idle}, idle


def way_settings(
    route: Route,
    given: Mapping[str, Any],
    panel: int | None,
    with_panel: Callable[[str, Mapping[str, Any], int | None], dict[str, Any]],
) -> tuple[Route, dict[str, Any]]:
    """(The route with what does nothing in the chosen way, the settings of that way).

    Parameters
    ----------
    given, panel
        As a session is asked for with.
    with_panel
        parley.client.api.with_panel.

    Raises
    ------
    BadInput
        The settings say otherwise than `panel`.
    """
    several = SETUPS[route.protocol].several
    settings = dict(given) if several is None else with_panel(route.protocol, given, panel)
    settings, unused = taken_by_way(settings, route.protocol, route.settings)
    if several is None and panel is not None:
        unused.append("panel")
    return msgspec.structs.replace(route, unused=tuple(unused)), {**settings, **route.settings}


def refuse_other(settings: Collection[str], flags: Mapping[str, str] | None = None) -> None:
    """Refuse settings that no way of `auto` has, whichever is chosen: what they ask for would silently not hold.

    Parameters
    ----------
    flags
        Setting -> the option that gives it; None: settings are told by their names.

    Raises
    ------
    BadInput
        Names the setting, and the protocols that have it.
    """
    able = protocols()
    for setting in settings:
        if any(setting in settings_names(name) for name in able):
            continue
        having = [name for name in sorted(PROTOCOLS) if setting in settings_names(name)]
        if having:
            those = f"{AUTO} chooses between {' and '.join(able)}"
            why = f"{those}, and neither would heed it. It is for {' and '.join(having)}"
            raise BadInput((flags or {}).get(setting, setting), why)
