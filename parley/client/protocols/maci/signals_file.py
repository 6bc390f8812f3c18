"""`parley signals`: the controller over debates that somebody else recorded, from one JSON document or many lines.

The first round is the blind one. A belief is a list in the order of the outcomes, or an object by outcome. Who is
absent from a later round keeps its last belief.
"""

import re
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec

from parley.bus.files.plain import read_plain
from parley.client.errors import BadInput, bad_input
from parley.client.setup.setup import BadLine
from parley.client.strict_files import join, load_json, struct_of, value_of
from parley.coordinator.schedulers import controller
from parley.coordinator.signals.beliefs import Belief, checked, parse_belief
from parley.schemas.belief import Share
from parley.schemas.control import Constants, Control, Signals, Tuned, Verdict
from parley.schemas.protocols.maci.settings import check_outcomes
from parley.schemas.wire import InvalidValue, Limited, between, in_range, not_empty

_SECTION = re.compile(r"\b(?:maci|control|constants)\.")
"""What stands in front of the fields of both settings in their errors."""
_LINES = (".jsonl", ".ndjson")


class Recorded(Limited, frozen=True, kw_only=True):
    """One round of the file."""

    beliefs: dict[str, Any] = msgspec.field(default_factory=dict)
    evidence: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    crit: dict[str, float] = msgspec.field(default_factory=dict)
    crit_mean: Annotated[float, between(0, 1)] | None = None
    crit_variance: Annotated[float, between(0, 1)] | None = None
    q: Annotated[float, between(-1, 1)] = 0.0
    tokens: Annotated[int, between(0, 1e12)] = 0
    advocate: str = ""
    attacks: Annotated[int, between(0, 1e6)] = 0
    unanswered: Annotated[int, between(0, 1e6)] = 0
    arguments: Annotated[int, between(0, 1e6)] | None = None
    judges: Annotated[int, between(0, 1000)] | None = None


class File(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    outcomes: tuple[str, ...]
    ordered: bool = False
    positions: tuple[float, ...] = ()
    config: dict[str, Any] = {}
    """Settings."""
    constants: dict[str, Any] = {}
    """Numbers that are no settings of a session."""
    rounds: tuple[dict[str, Any], ...]


class Dials(msgspec.Struct, frozen=True, kw_only=True):
    """The dials that are in force in the round after the last."""

    cl: float
    tau_q: float
    tau_crit: float


class SignalsReport(msgspec.Struct, frozen=True, kw_only=True):
    """The document that is printed for one debate."""

    rounds: tuple[Signals, ...]
    """As far as the debate goes: the last is the one it stops after."""
    stop: Verdict | None
    """None: the record ends before."""
    next: Dials | None
    """None: it stopped."""


def read_debates(
    path: str, *, preset: str | None = None, lines: bool = False
) -> SignalsReport | Iterator[SignalsReport | BadLine]:
    """One recorded debate, or many: with `lines`, where the file's name says so, and where the first line is a whole
    debate and more follow.

    Parameters
    ----------
    path
        A file; `-`: standard input.
    preset
        For debates whose `config` names none.

    Raises
    ------
    BadInput
        Of one debate; of many only where the file cannot be read. Names the file, the place in it, the value and what
        is allowed.
    """
    _check_preset(preset)
    name = "standard input" if path == "-" else path
    if lines or path.endswith(_LINES):
        return _each(name, _lines(path), preset)
    data = _bytes(path)
    first, _, rest = data.lstrip().partition(b"\n")
    if rest.strip() and first.endswith(b"}"):
        return _each(name, data.split(b"\n"), preset)
    return _read(name, name, data, preset)


def _check_preset(preset: str | None) -> None:
    if preset is not None:
        try:
            struct_of({"reading": preset}, Control, "config")
        except InvalidValue as error:
            raise BadInput("--preset", f"got {error.value!r}, {error.limit}") from error


def _read(name: str, place: str, data: bytes, preset: str | None) -> SignalsReport:
    with bad_input(name, InvalidValue, what=place):
        return run(*_parsed(load_json(data), preset))


def _each(name: str, lines: Iterable[bytes], preset: str | None) -> Iterator[SignalsReport | BadLine]:
    """A report a line, as soon as the line is there; of a bad line why it has none. Blank lines are passed over."""
    for number, text in enumerate(lines, 1):
        if text.strip():
            try:
                yield _read(name, f"{name}, line {number}", text, preset)
            except BadInput as error:
                yield BadLine(number, error.field, error.why)


def run(
    config: Control,
    outcomes: tuple[str, ...],
    ordered: bool,
    positions: tuple[float, ...],
    rounds: Iterable[controller.Observation],
) -> SignalsReport:
    """The controller over these rounds, the blind one first, until it stops or they end."""
    seen = iter(rounds)
    state = controller.begin(config, outcomes, next(seen), ordered=ordered, positions=positions)
    for observation in seen:
        state = controller.advance(config, state, observation)
        if (stop := controller.verdict(config, state)) is not None:
            last = msgspec.structs.replace(state.rounds[-1], stop=stop.reason)
            return SignalsReport(rounds=(*state.rounds[:-1], last), stop=stop, next=None)
    return SignalsReport(
        rounds=state.rounds, stop=None, next=Dials(cl=state.cl, tau_q=state.tau_q, tau_crit=state.tau_crit)
    )


def _bytes(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    with bad_input(path, OSError, what=path):
        return read_plain(path)


def _lines(path: str) -> Iterator[bytes]:
    if path == "-":
        yield from sys.stdin.buffer
        return
    with bad_input(path, OSError, what=path), Path(path).open("rb") as file:
        yield from file


def _parsed(
    document: Any, preset: str | None = None
) -> tuple[Control, tuple[str, ...], bool, tuple[float, ...], list[controller.Observation]]:
    file = struct_of(document, File, "", sections=_SECTION)
    given = {} if preset is None else {"reading": preset}
    constants = struct_of(file.constants, Constants, "constants", sections=_SECTION)
    settings = struct_of({**given, **file.config}, Control, "config", sections=_SECTION)
    config = Tuned(**msgspec.structs.asdict(settings), constants=constants)
    try:
        check_outcomes(file.outcomes, file.ordered, file.positions)
    except InvalidValue as error:
        raise InvalidValue(_SECTION.sub("", error.field), error.value, error.limit) from error
    if not file.rounds:
        raise InvalidValue("rounds", [], "expected one at least, the blind one")
    rounds: list[controller.Observation] = []
    for place, one in enumerate(file.rounds):
        agents = list(rounds[0].beliefs) if rounds else None
        rounds.append(
            _observation(
                struct_of(one, Recorded, f"rounds[{place}]", sections=_SECTION),
                file.outcomes,
                agents,
                f"rounds[{place}]",
            )
        )
    return config, file.outcomes, file.ordered, file.positions, rounds


def _observation(
    seen: Recorded, outcomes: tuple[str, ...], agents: list[str] | None, path: str
) -> controller.Observation:
    if agents is None:
        agents = list(seen.beliefs)
        if len(agents) < 2:
            raise InvalidValue(f"{path}.beliefs", len(agents), "expected two agents or more")
        for agent in agents:
            not_empty(f"{path}.beliefs", agent, 200)
    elif strange := sorted(set(seen.beliefs) - set(agents)):
        raise InvalidValue(f"{path}.beliefs", strange[0], "which has no belief in rounds[0]")
    for name in ("evidence", "crit"):
        _agents(getattr(seen, name), agents, f"{path}.{name}")
    _agents([seen.advocate] if seen.advocate else [], agents, f"{path}.advocate")
    for agent, score in seen.crit.items():
        in_range(join(f"{path}.crit", agent), score, 0, 1)
    fields = {name: getattr(seen, name) for name in Recorded.__struct_fields__}
    # in one order, so that the figures do not hang on how the file is written
    fields["beliefs"] = {
        u: _belief(seen.beliefs[u], outcomes, join(f"{path}.beliefs", u)) for u in agents if u in seen.beliefs
    }
    fields["judges"] = msgspec.UNSET if seen.judges is None else seen.judges
    return controller.Observation(**fields)


def _agents(named: Collection[str], agents: Collection[str], path: str) -> None:
    for agent in named:
        if agent not in agents:
            raise InvalidValue(path, agent, f"no such agent; there are {', '.join(agents)}")


def _belief(value: Any, outcomes: tuple[str, ...], path: str) -> Belief:
    if isinstance(value, dict):
        by_name = value_of(value, dict[str, float], path)
        for name in by_name:
            not_empty(path, name, 200)
        return parse_belief([Share(outcome=name, p=p) for name, p in by_name.items()], outcomes, path)
    listed = value_of(value, tuple[float, ...], path)
    if len(listed) != len(outcomes):
        raise InvalidValue(path, len(listed), f"expected {len(outcomes)} probabilities, one an outcome")
    return checked(listed, path)
