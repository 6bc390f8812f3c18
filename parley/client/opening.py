"""The one way in: a text, options, documents and what stands already become the opening of a session.

Every door (the command line, the page, MCP, /v1, the Python API) reads what it was given, calls `opening_of`, and opens
what it gets. The options are rows of parley.client.setup.options. What is wrong is found by the moderator's own
admission, and is told by the name that the door has for it.
"""

import difflib
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from parley.client.errors import BadInput, Refusal, bad_input
from parley.client.evidence import ReadEvidence, Sources, list_of, read
from parley.client.learned.past import PastOutcomes, applied
from parley.client.protocols import all_setups, setup_of
from parley.client.setup.options import PANEL, Door, by_place, spelled
from parley.client.task_folder import as_documents
from parley.coordinator import admission
from parley.coordinator.machine import Inadmissible, Protocol
from parley.coordinator.protocols import DEFAULT, PROTOCOLS
from parley.schemas import registry
from parley.schemas.session import USUAL_TURN_S, Budget, Document, OpenSession, Seat
from parley.schemas.wire import InvalidValue

if TYPE_CHECKING:
    from parley.client.follow_up import Earlier


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What stands before anything is asked: a protocol with the operator's settings, or a panel."""

    name: str = ""
    """A protocol's, or that of a panel file."""
    protocol: str = DEFAULT
    settings: Mapping[str, Any] = {}
    """The operator's; what is asked for goes over them."""
    seats: tuple[Seat, ...] = ()
    """Who sits where; none: the queues that are alive."""
    budget: Budget = Budget()
    seed: int | None = None
    turn_timeout_s: float = USUAL_TURN_S
    humans: tuple[str, ...] = ()
    """Seats that a person may take."""
    wait_for_human: float | None = None
    """Seconds that each turn of those waits for its person."""
    past: PastOutcomes = PastOutcomes()
    """What past outcomes may change."""
    shipped_tools: bool = False
    """Experts have the tools that ship, which are for a folder."""
    here: bool = False
    """Whoever asks sits at this machine: settings may name files of it."""


def opening_of(
    text: str,
    given: Mapping[str, Any],
    documents: ReadEvidence | Sequence[Document] = (),
    offer: Offer | None = None,
    *,
    before: "Earlier | None" = None,
    door: Door,
    flags: Container[str] = (),
    person: bool = False,
) -> OpenSession:
    """The session that is asked for, checked as far as it can be before anything is started.

    Parameters
    ----------
    text
        The question or the task.
    given
        Options as the door's documents have them: `{"settings": {"threshold": 80}, "budget": {"calls": 9}}`.
    documents
        As they were read; those that name no holder are dealt.
    offer
        What stands already; None: the protocol that is named, with its defaults.
    before
        The session that it goes on from.
    flags
        Names of the flags of the command line that were given.
    person
        Whether somebody sits at the terminal, and may be asked.

    Raises
    ------
    BadInput
        Names the field as the door spells it, the value and what is allowed.
    """
    protocol = str(given.get("protocol") or (offer or Offer()).protocol)
    with spelling(door, protocol, flags):
        with bad_input("", Inadmissible, InvalidValue):
            if (person or door == "page") and (more := setup_of(protocol).with_person):
                given = {**given, "settings": {**more, **(given.get("settings") or {})}}
            found = documents if isinstance(documents, ReadEvidence) else ReadEvidence(tuple(documents))
            return _opening(text, placed(given, door), found, offer or Offer(), before)


def placed(given: Mapping[str, Any], door: Door) -> dict[str, Any]:
    """Options by their place, each of its type. Raises BadInput."""
    try:
        return by_place(given, door)
    except ValueError as error:
        raise BadInput(*error.args) from error


_UNTYPED = ("evidence", "budget", "seats", "folder")
"""Options that a program gives as values of its own; the others are of the table."""


def check_types(question: Any, options: Mapping[str, Any]) -> None:
    """Raise BadInput where what a program asks with is of a type that it cannot be."""
    if not isinstance(question, str):
        raise BadInput("question", f"got {question!r:.80}, expected a text")
    folder, seats = options.get("folder"), options.get("seats")
    if folder is not None and not isinstance(folder, str | Path):
        raise BadInput("folder", f"got {folder!r:.80}, expected a path")
    if seats is not None and not (isinstance(seats, Sequence) and all(isinstance(seat, Seat) for seat in seats)):
        raise BadInput("seats", f"got {seats!r:.80}, expected a list of parley.Seat")
    placed({name: value for name, value in options.items() if name not in _UNTYPED}, "python")


def _opening(
    text: str, asked: Mapping[str, Any], found: ReadEvidence, offer: Offer, before: "Earlier | None"
) -> OpenSession:
    protocol = asked.get("protocol") or offer.protocol
    known_protocol(protocol)
    own = with_panel(protocol, own_settings(protocol, asked.get("settings", {})), asked.get(PANEL.name))
    if not offer.here:
        without_files(protocol, own)
    if before is not None:
        own = before.whole(protocol, own, folder="folder" in own, seated=bool(offer.seats))
    setup = setup_of(protocol)
    settings = {**offer.settings, **own}
    kind = asked.get("kind", "")
    known = offer.past.known()
    thresholds = applied(known, protocol, kind, _panel(offer, protocol, settings))
    if thresholds is not None:
        settings = {**thresholds.settings(), **settings}
    if offer.shipped_tools and "folder" not in settings:
        settings = {**setup.without_folder, **settings}
    limits = {place.removeprefix("budget."): value for place, value in asked.items() if place.startswith("budget.")}
    humans, wait_s = asked.get("humans", offer.humans), asked.get("wait_for_human", offer.wait_for_human)
    if wait_s is not None and not humans:
        raise BadInput("wait_for_human", "no seat is named for the person; name one that waits")
    opening = OpenSession(
        question=text, protocol=protocol, settings=whole_settings(protocol, settings), documents=found.documents,
        left_out=found.left_out or msgspec.UNSET,
        seats=_seats(offer, protocol, own), budget=Budget(**{**msgspec.structs.asdict(offer.budget), **limits}),
        seed=asked.get("seed", offer.seed), turn_timeout_s=asked.get("turn_timeout_s", offer.turn_timeout_s),
        continues=asked.get("continues", ""), waits={} if wait_s is None else dict.fromkeys(humans, wait_s),
    )  # fmt: skip
    opening = opening if before is None else before.into(opening)
    admission.check(PROTOCOLS, opening)
    return offer.past.into(opening, known, kind, thresholds=thresholds)


def _panel(offer: Offer, protocol: str, settings: Mapping[str, Any]) -> int:
    """Seats of the role of which a protocol has several, where the settings, which are not checked yet, tell."""
    several = setup_of(protocol).several
    if several is None:
        return 0
    size = settings.get(several.setting)
    named = sum(seat.role == several.role for seat in offer.seats)
    return size if isinstance(size, int) and size else named or several.size


def own_settings(protocol: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that were asked for, by their names alone. Raises BadInput where one is another protocol's."""
    own = {}
    for name, value in given.items():
        of, dot, setting = name.partition(".")
        own[setting if dot and of == protocol else name] = value
    mine = names_of(protocol)
    strange = [name for name in own if name not in mine]
    names = {p: names_of(p) for p in sorted(PROTOCOLS)} if strange else {}
    for name in strange:
        of, dot, setting = name.partition(".")
        having = [p for p, known in names.items() if (setting if dot else name) in known and (not dot or p == of)]
        if having:
            field = f"settings.{name}"
            others = " and ".join(filter(None, (", ".join(having[:-1]), having[-1])))
            raise BadInput(field, f"{field} is not for {protocol}, but for {others}")
    return own


def with_panel(protocol: str, settings: Mapping[str, Any], panel: int | str | None) -> dict[str, Any]:
    """Settings with as many in the role of which the protocol has several as `panel` says; None: as they are. Raises
    BadInput where it has no such role, it does not choose by the question (`auto`), or the settings say otherwise."""
    several = setup_of(protocol).several
    if panel is None:
        return dict(settings)
    if several is None:
        having = sorted(setup.name for setup in all_setups() if setup.several)
        raise BadInput(PANEL.name, f"got {panel} with {protocol}; it is for {' and '.join(having)}")
    if panel == "auto":
        if not several.chooses:
            raise BadInput(PANEL.name, f"got auto with {protocol}, which seats as many as a number says")
        panel = 0
    elif several.chooses and panel == 0:  # the setting's word for auto
        least = next(role.least for role in PROTOCOLS[protocol].roles if role.name == several.role)
        raise BadInput(PANEL.name, f"got 0, allowed is {least} to {several.chooses}, or auto")
    if settings.get(several.setting, panel) != panel:
        raise BadInput(PANEL.name, f"got {panel}, and {settings[several.setting]} in the settings; leave one out")
    return {**settings, several.setting: panel}


def names_of(protocol: str) -> frozenset[str]:
    """What a protocol's settings and its options give; empty: no session of it can be opened."""
    known = PROTOCOLS.get(protocol)
    if known is None or known.standing:
        return frozenset()
    fields = msgspec.structs.fields(known.settings)
    return frozenset(f.encode_name for f in fields) | {option.setting for option in setup_of(protocol).options}


def _seats(offer: Offer, protocol: str, own: Mapping[str, Any]) -> tuple[Seat, ...]:
    """The offer's seats; of the role of which there are several, as many as are asked for. Raises BadInput."""
    several = setup_of(protocol).several if protocol == offer.protocol else None
    count = own.get(several.setting) if several else None
    if several is None or not offer.seats or not isinstance(count, int):
        return offer.seats
    same_role = [seat for seat in offer.seats if seat.role == several.role]
    if several.chooses and count <= len(same_role):
        return offer.seats  # the question says which of them sit
    if count > len(same_role):
        field = f"{protocol}.{several.setting}"
        raise BadInput(field, f"got {count}, {offer.name} seats {len(same_role)} of role {several.role}")
    left_out = same_role[count:]
    return tuple(seat for seat in offer.seats if seat not in left_out)


def without_files(protocol: str, settings: Mapping[str, Any]) -> None:
    """Raise BadInput where settings, or those of a session that one of them may start, name a file: it would be read
    on another machine than that of who asks."""
    setup = setup_of(protocol)
    try:
        setup.refuse_local_files(settings)
    except BadInput as error:
        raise BadInput(f"{protocol}.{error.field}", error.why) from error
    beneath = setup.beneath(settings)
    if beneath is not None:
        without_files(beneath.protocol, beneath.settings)


def whole_settings(protocol: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A protocol's settings, with what stands in files read in, also of a session that one of it may start. Raises
    BadInput."""
    setup = setup_of(protocol)
    whole = setup.whole(given)
    beneath = setup.beneath(given)
    if beneath is not None:
        whole[beneath.inner] = whole_settings(beneath.protocol, beneath.settings)
    return whole


def known_protocol(name: str) -> Protocol:
    """The protocol of this name. Raises BadInput with the nearest known one."""
    known = PROTOCOLS.get(name)
    if known is None or known.standing:
        try:
            registry.load(PROTOCOLS.group, name)
        except KeyError as error:
            if isinstance(error, registry.NotUsable):
                raise BadInput("protocol", str(error)) from error
        names = sorted(n for n, protocol in PROTOCOLS.items() if not protocol.standing)
        near = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(names)}"
        raise BadInput("protocol", f"{name!r} is not a protocol; {hint}")
    return known


def read_evidence(protocol: str, evidence: Sources | None, folder: Path | str | None = None) -> ReadEvidence:
    """The documents of a session of this protocol, of whose seats and roles files may be; where it changes no folder,
    what the folder holds is read too. Raises BadInput."""
    roles = [role.name for role in known_protocol(protocol).roles]
    sources = list_of(evidence)
    if folder is None or setup_of(protocol).changes_folder:
        return read(sources, roles) if sources else ReadEvidence()
    with as_documents(Path(folder)) as copy:
        return read([*sources, copy], roles)


def limits_of(budget: Mapping[str, Any] | None, door: Door) -> Budget | None:
    """Limits as a door was given them; None: it was given none. Raises BadInput."""
    with bad_input():
        found = placed({"budget": budget}, door)
        return Budget(**{place.removeprefix("budget."): value for place, value in found.items()}) if found else None


@contextmanager
def spelling(door: Door, protocol: str, flags: Container[str] = ()) -> Iterator[None]:
    """Errors about what was asked for, also a moderator's, by the names that the door has. Takes what `opening_of`
    takes."""
    try:
        yield
    except (BadInput, Refusal) as error:
        own = [option for setup in all_setups() for option in setup.options]
        name = spelled(error.field, door, own, protocol=protocol, given=flags)
        if name == error.field:
            raise
        told = error.why.removeprefix(error.field)
        raise type(error)(name, error.why if told == error.why else f"{name}{told}") from error
