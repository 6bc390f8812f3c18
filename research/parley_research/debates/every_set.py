"""A whole run: every data set, kept as soon as it is finished, so that a run that was stopped goes on."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from parley_research.debates import manifest as manifests
from parley_research.debates.harness import missing
from parley_research.debates.manifest import Manifest, Settings
from parley_research.debates.method import Method, Needs
from parley_research.debates.one_set import WHY, SetReport, evaluated
from parley_research.debates.record import of_half
from parley_research.debates.registry import DataSet, Registry
from parley_research.debates.sets.own import own_set
from parley_research.debates.speed import Speed
from parley_research.debates.speed import measured as speed_of
from parley_research.debates.validity import Check, checks
from parley_research.loaders import BadData, NoData

KEPT = "sets"
SPEED_ON = "ford"
WOULD_DO: dict[Needs, str] = {
    "rounds": "more than one round",
    "members": "several members",
    "pair": "several members",
    "samples": '"samples": true',
    "verdicts": 'a "verdict" after each round',
    "words": '"words" in the statements',
    "beliefs": 'a "belief" in the statements',
    "confidence": 'a "confidence" in the statements',
    "evidence": '"evidence" in the statements',
}
"""What a method needs -> how a file of one's own has it. What is left out, no file has."""
Told = Callable[[str], None]


class Absent(msgspec.Struct, frozen=True):
    """A data set that is not there."""

    name: str
    why: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What the pages are made of."""

    manifest: Manifest
    sets: tuple[SetReport, ...]
    absent: tuple[Absent, ...]
    checks: tuple[Check, ...]
    speed: Speed | None = None
    notes: tuple[str, ...] = ()
    """Such as what differs from the run that this one repeats."""


class Idle(ValueError):
    """None of the methods that were asked for by name can be played on any of the data sets."""


class Unknown(ValueError):
    """A data set or method that nobody added. `known` says which there are."""

    def __init__(self, option: str, name: str, known: Sequence[str]) -> None:
        super().__init__(f"{option}: got {name!r}, known: {', '.join(known)}")
        self.option = option


def chosen(registry: Registry, settings: Settings) -> tuple[list[DataSet], list[Method]]:
    """The data sets and methods that the settings name. Raises Unknown, Idle, NoData, BadData."""
    sets = {one.name: one for one in registry.sets()}
    methods = {one.name: one for one in registry.methods()}
    for option, names, known in (("--set", settings.sets, sets), ("--method", settings.methods, methods)):
        for name in names:
            if name not in known and name in registry.missing:
                raise Idle(f"{name} cannot be run here: {registry.missing[name]}.")
            if name not in known:
                raise Unknown(option, name, list(known))
    _named_apart(settings.files)
    own = [_with_test_half(own_set(Path(file))) for file in settings.files]
    wanted = [sets[name] for name in settings.sets] or ([] if own else list(sets.values()))
    return [*wanted, *own], [methods[name] for name in settings.methods] or list(methods.values())


def _named_apart(files: Sequence[str]) -> None:
    """Raises BadData where two files have one name: reports, plots and halves are kept by it."""
    by_name: dict[str, str] = {}
    for file in files:
        name = Path(file).stem
        if name in by_name:
            raise BadData(f"{by_name[name]} and {file} have one name, {name!r}; rename one of them or leave it out")
        by_name[name] = file


def _with_test_half(one: DataSet) -> DataSet:
    """The same. Raises BadData where every figure would be of no debate."""
    debates = list(one.load(Path()))
    if not of_half(one.name, debates, "test"):
        raise BadData(
            f"{one.title}: no debate lies in the test half, of which every figure is. Debates in the file: "
            f"{len(debates)}. A hash of the file's name and the question's name draws the half; add more questions"
        )
    return one


def _refuse_idle(methods: Sequence[Method], sets: Sequence[DataSet], registry: Registry, data: Path) -> None:
    """Raises Idle where the report would say nothing but "not run". A set that is not there says nothing."""
    whys: dict[str, list[str]] = {method.name: [] for method in methods}
    for one in sets:
        try:
            debates = list(one.load(data))
        except NoData:
            continue
        for method in methods:
            lacks = missing(method, one, debates)
            if not lacks:
                return
            whys[method.name].append(f"{one.name}: {' and '.join(WHY.get(need, need) for need in lacks)}")
    if any(whys.values()):
        raise Idle(
            " ".join(
                f"{method.name} cannot be played on this data. {'; '.join(whys[method.name])}. "
                f"{_would_do(method, registry)}."
                for method in methods
            )
        )


def _would_do(method: Method, registry: Registry) -> str:
    """Which data a method can be played on, in words."""
    wanted = [need for need in sorted(method.needs) if need in WOULD_DO]
    if len(wanted) < len(method.needs):
        return f"`--cell {method.name}` of `parley eval live` plays it"
    recorded = {need for need in wanted if need not in ("members", "pair")}
    names = [one.name for one in registry.sets() if recorded <= one.records]
    own = f"or a FILE with {' and '.join(WOULD_DO[need] for need in wanted)}"
    return (
        f"What would do: --set {', --set '.join(names)}, {own}" if recorded and names else f"What would do: {own[3:]}"
    )


def whole(registry: Registry, settings: Settings, data: Path, keep: Path, told: Told) -> Report:
    """Every data set that was asked for, those from `keep` that a run before finished with the same data and code.

    Parameters
    ----------
    data
        The folder of the data sets.
    keep
        A folder; a file a data set is written there when it is finished.
    told
        Takes lines of progress.

    Raises
    ------
    Unknown, BadData
    Idle
        No method that the settings name can be played on any of the data sets.
    NoData
        None of the data sets is there.
    """
    sets, methods = chosen(registry, settings)
    if settings.methods:
        _refuse_idle(methods, sets, registry, data)
    own = [Path(file) for file in settings.files]
    made = manifests.made(settings, sets, data, own)
    reports: list[SetReport] = []
    absent: list[Absent] = []
    for number, one in enumerate(sets, 1):
        told(f"data set {number} of {len(sets)}: {one.title}")
        if one.note and one.name in {file.stem for file in own}:
            told(f"{one.title}: {one.note}")
        try:
            reports.append(_kept(one, data, methods, made, keep, told, {} if settings.methods else registry.missing))
        except NoData as error:
            told(f"{one.name}: not there ({error})")
            absent.append(Absent(one.name, str(error)))
    if not reports:
        lacking = "; ".join(f"{one.name} ({one.origin})" for one in sets)
        raise NoData(f"not in {data}: {lacking}. Give a FILE of your own debates, or the folder of the sets")
    validity: tuple[Check, ...] = ()
    if not settings.sets and not settings.files:
        told("checks of validity")
        validity = tuple(checks(data))
    timed = next((one for one in sets if one.name == SPEED_ON and one.name not in {a.name for a in absent}), None)
    return Report(
        manifest=made,
        sets=tuple(reports),
        absent=tuple(absent),
        checks=validity,
        speed=None if timed is None else speed_of(list(timed.load(data))),
    )


def _kept(
    one: DataSet, data: Path, methods: Sequence[Method], made: Manifest, keep: Path, told: Told,
    absent: Mapping[str, str],
) -> SetReport:  # fmt: skip
    """The report of one data set: from the folder, if it is of the same data, code and settings; else computed."""
    key = _key(one, methods, made)
    file = keep / KEPT / f"{one.name}-{key}.json"
    if file.is_file():
        try:
            report = msgspec.json.decode(file.read_bytes(), type=SetReport)
        except msgspec.MsgspecError:
            told(f"{one.name}: {file} cannot be read, so it is computed again")
        else:
            told(f"{one.name}: taken from {file}, finished before")
            return report
    report = evaluated(one, data, methods, margin=made.settings.margin, told=told, absent=absent)
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1))
    part.replace(file)
    return report


def _key(one: DataSet, methods: Sequence[Method], made: Manifest) -> str:
    """What a kept report depends on, as a short name."""
    hashes = {name: made.data.get(name, "") for name in one.files}
    parts = [made.code, made.seed, made.resamples, made.split, made.settings.margin, sorted(hashes.items())]
    return sha256(repr([*parts, [m.name for m in methods]]).encode()).hexdigest()[:12]
