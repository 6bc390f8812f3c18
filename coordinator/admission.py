"""Admission: from a request to the complete first event of a session, or to the reason why it cannot run."""

import difflib
import traceback
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from parley.coordinator.table import Inadmissible, Protocol
from parley.schemas import log
from parley.schemas.expert import Known
from parley.schemas.past_sessions.learned import Learned
from parley.schemas.presence import EXTRACTIVE, Announcement
from parley.schemas.session import EVERYBODY, USUAL_TURN_S, Document, OpenSession, Seat, is_human, is_variant
from parley.schemas.wire import SchemaError, decode, encode, in_words

MAX_EVIDENCE_BYTES = 13_000_000
"""Bytes of all documents as JSON: the first event is one message, and the bus carries at most 16 MB in one."""
_PROMPT_TOKENS = 3_000
"""Tokens of a usual prompt."""
_MOST_TURN_S = 3_600.0
"""Seconds for a turn of a slow model, if nobody asked for more."""
_SHOWN_SEATS = 3
_WHY_CHARS = 500
SET_A_MODEL = "set LLM_PROVIDER and LLM_MODEL (`parley doctor` says what is missing)"
_HARMLESS_CONTROLS = frozenset("\n\t")
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that reorder what a terminal shows."""


def admit(
    protocol: Protocol, request: OpenSession, workers: tuple[Announcement, ...], seed: int, author: str,
    *, experts: tuple[Known, ...] = (), known: Mapping[str, Any] | None = None,
    reasoning_tokens: int | msgspec.UnsetType = msgspec.UNSET, fits: bool = False, trace: str = "",
    heard: bool = False,
) -> log.Opened:  # fmt: skip
    """The first event of a session, complete: settings with defaults, seats, documents dealt.

    Parameters
    ----------
    experts, known
        Those that are announced, and what standing sessions say, where the protocol wants them.
    reasoning_tokens
        The most that an announced model may think in one call; UNSET: none says.
    fits
        Caps of turns are narrowed to a budget that is short (`log.Opened.fits`).
    trace
        What it hangs on where it is traced (`log.Opened.trace`).
    heard
        Everybody who is alive has been heard: a role that the protocol goes on without may have no worker.

    Raises
    ------
    Inadmissible
        Unknown or bad settings, a role without a living worker, an unknown seat, a seat that needs a language model
        and has none, nothing to read for seats of which none has one.
    """
    settings = build_settings(protocol, request.settings)
    workers = taking_part(request.queues, workers)
    named = {s.queue for s in request.seats}
    agents = (w for w in workers if w.queue in named or not is_human(w.queue))  # people take seats by themselves
    workers = tuple(sorted(agents, key=lambda w: (w.queue, w.instance)))
    absent = _absent(protocol, workers) if heard else ()
    _verify(request.documents)
    seeded = msgspec.structs.replace(request, seed=seed)
    seats = tuple(described(s, workers, protocol) for s in protocol.seat(seeded, settings, (*workers, *absent)))
    alive = {(role, w.queue) for w in (*workers, *absent) if not w.draining for role in w.roles}
    for s in seats:
        if (s.role, s.queue) not in alive:
            raise Inadmissible(
                f"seats.{s.seat}",
                f"no worker is alive for role {s.role} on queue {s.queue}; start one: parley agent {s.queue}",
            )
    for seat in request.waits:
        if seat not in (seat_names := [s.seat for s in seats]):
            raise Inadmissible(
                "waits", f"waits: there is no seat {seat[:64]}; seats are {', '.join(seat_names)}", worker=False
            )
    for role in protocol.roles:
        have = sum(1 for s in seats if s.role == role.name)
        if have < role.least:
            raise Inadmissible(
                "seats",
                f"role {role.name}: {role.least} needed, {have} there; start one: parley agent {role.name}",
            )
    check_language_models(protocol, workers, seats, request.waits)
    if not request.waits:
        check_sources(protocol, seats, reads=any(d.background is not True for d in request.documents))
    own = {r.name for r in protocol.roles} | {s.role for s in seats}
    serving = tuple(
        msgspec.structs.replace(w, queue=request.queues.get(w.queue, w.queue))
        for w in workers
        if not own.isdisjoint(w.roles)
    )
    return log.Opened(
        question=request.question, protocol=protocol.name, version=protocol.version,
        settings=decode(encode(settings), dict[str, Any]),
        seats=tuple(msgspec.structs.replace(s, queue=request.queues.get(s.queue, s.queue)) for s in seats),
        documents=deal(request.documents, protocol, seats), left_out=request.left_out,
        budget=request.budget, seed=seed, turn_timeout_s=_time(request, settings, serving),
        workers=serving, author=author,
        continues=request.continues, parent=request.parent, experts=experts, known=dict(known or {}),
        waits=request.waits, reasoning_tokens=reasoning_tokens, fits=(fits and _is_limited(request)) or msgspec.UNSET,
        trace=trace or msgspec.UNSET, learned=_learned(protocol, request), queues=request.queues or msgspec.UNSET,
    )  # fmt: skip


def taking_part(queues: Mapping[str, str], workers: Iterable[Announcement]) -> tuple[Announcement, ...]:
    """Those of the workers that a session may seat, each under the name that the session knows its queue by. `queues`:
    as OpenSession has it."""
    if not queues:
        return tuple(w for w in workers if not is_variant(w.queue))
    names = {queue: name for name, queue in queues.items()}
    return tuple(
        msgspec.structs.replace(w, queue=names.get(w.queue, w.queue))
        for w in workers
        if w.queue in names or is_human(w.queue)
    )


def check(protocols: Mapping[str, Protocol], request: OpenSession) -> None:
    """Refuse before anything is started what `admit` would refuse whoever is alive. Raises Inadmissible."""
    protocol = protocols[request.protocol]
    try:
        admit(protocol, request, (), 0, "")
    except Inadmissible as error:
        if not error.worker:
            raise
    except Exception as error:
        raise Inadmissible("protocol", f"the code of protocol {protocol.name} failed: {where(error)}") from error
    check_future_child(protocols, protocol, request, ())


def where(error: BaseException) -> str:
    """An error of a protocol's own code in words, with the file and line that raised it; the end of the file's path,
    which is the same on every machine."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    file = "/".join(Path(last.filename).parts[-3:])
    return f"{type(error).__name__}: {str(error)[:_WHY_CHARS]} ({file}:{last.lineno})"


def _absent(protocol: Protocol, workers: tuple[Announcement, ...]) -> tuple[Announcement, ...]:
    """What stands at the opening for workers of the roles that a session opens without, and that nobody serves."""
    served = {role for w in workers if not w.draining for role in w.roles}
    needed = (role.name for role in protocol.roles if role.least and role.name in protocol.opens_without)
    return tuple(
        Announcement(instance="absent", queue=role, roles=(role,), model="", family="")
        for role in needed
        if role not in served
    )


def without_model(
    protocol: Protocol,
    workers: Iterable[Announcement],
    seats: Sequence[Seat] | None = None,
    people: Container[str] = (),
) -> tuple[str, ...]:
    """Who would play a session of this protocol and cannot, for want of a language model: seats, or queues.

    Parameters
    ----------
    seats
        Those of the session; None: whoever serves a role may play it. Where a task chooses its experts, they lack a
        model only if none of them has one.
    people
        Seats that a person is waited for.
    """
    serving: dict[tuple[str, str], list[Announcement]] = {}
    for worker in workers:
        for role in protocol.needs_model:
            if role in worker.roles and not worker.draining:
                serving.setdefault((role, worker.queue), []).append(worker)
    lacking = {key for key, copies in serving.items() if all(w.keyless for w in copies)}
    if protocol.experts or seats is None:
        of_all = not protocol.experts or len(lacking) == len(serving)
        return tuple(sorted({queue for _, queue in lacking})) if of_all else ()
    return tuple(s.seat for s in seats if (s.role, s.queue) in lacking and s.seat not in people)


def check_language_models(
    protocol: Protocol,
    workers: Iterable[Announcement],
    seats: Sequence[Seat] | None = None,
    people: Container[str] = (),
) -> None:
    """Refuse a session in which somebody cannot play for want of a language model, or too few can since their models'
    servers are away. Takes what `without_model` takes. Raises Inadmissible: names protocol and seats, and says what to
    set."""
    workers = tuple(workers)
    _check_servers(protocol, workers, seats)
    lacking = without_model(protocol, workers, seats, people)
    if not lacking:
        return
    shown = ", ".join(lacking[:_SHOWN_SEATS])
    more = f" and {len(lacking) - _SHOWN_SEATS} more" if len(lacking) > _SHOWN_SEATS else ""
    have = f"{shown}{more} have none" if len(lacking) > 1 else f"{shown} has none"
    raise Inadmissible("seats", f"seats: {protocol.name} needs a language model, and {have}: {SET_A_MODEL}")


def check_sources(protocol: Protocol, playing: Iterable[Seat | Announcement], *, reads: bool) -> None:
    """Refuse a session whose seats all quote documents, and that has none. `reads`: it has. Raises Inadmissible."""
    families = {who.family for who in playing}
    if families == {EXTRACTIVE} and not (reads or protocol.needs_model):
        why = f"evidence: there is nothing to answer it from: give documents, or {SET_A_MODEL}"
        raise Inadmissible("evidence", why, worker=True)


def _check_servers(protocol: Protocol, workers: tuple[Announcement, ...], seats: Sequence[Seat] | None) -> None:
    """Refuse a session in which fewer of a role can be asked than the protocol needs."""
    least = {role.name: role.least for role in protocol.roles}
    if protocol.experts:
        least |= dict.fromkeys(protocol.needs_model, 1)
    for role, needed in least.items():
        seated = None if seats is None else {s.queue for s in seats}
        of_role = [w for w in workers if role in w.roles and (seated is None or w.queue in seated)]
        there = {w.queue for w in of_role if not w.no_server}
        away = {w.queue: w.no_server for w in of_role if w.no_server and w.queue not in there}
        if away and len(there) < needed:
            names, why = ", ".join(list(away)[:_SHOWN_SEATS]), next(iter(away.values()))
            raise Inadmissible("seats", f"seats: {names}: {why}", worker=False)


def _learned(protocol: Protocol, request: OpenSession) -> Learned | msgspec.UnsetType:
    """What was learned, as far as a session of this protocol uses it."""
    records = request.learned
    if records is msgspec.UNSET:
        return msgspec.UNSET
    if not protocol.trusts:
        records = msgspec.structs.replace(records, reliability=msgspec.UNSET)
    if not protocol.experts:
        records = msgspec.structs.replace(records, notes=msgspec.UNSET, folder=msgspec.UNSET, preferences=msgspec.UNSET)
    of = msgspec.UNSET if records.calibration is msgspec.UNSET else records.calibration.protocol
    if of not in (msgspec.UNSET, "", protocol.name):
        records = msgspec.structs.replace(records, calibration=msgspec.UNSET)
    return msgspec.UNSET if records == Learned() else records


def _is_limited(request: OpenSession) -> bool:
    return any(limit is not None for limit in (request.budget.tokens, request.budget.calls, request.budget.cost_usd))


def _time(request: OpenSession, settings: Any, workers: tuple[Announcement, ...]) -> float:
    """Seconds for a turn: where the request names none of its own, as many as the slowest model needs for its prompt,
    its answer and a repair."""
    if request.turn_timeout_s != USUAL_TURN_S:
        return request.turn_timeout_s
    output = getattr(settings, "max_output_tokens", 0)
    speeds = [(w.input_s, w.output_s) for w in workers if w.metered and not w.draining]
    needed = [
        2 * (_PROMPT_TOKENS / i + output / o) for i, o in speeds if i is not msgspec.UNSET and o is not msgspec.UNSET
    ]
    least = float(getattr(settings, "least_turn_s", 0.0))
    return max(least, min(max([USUAL_TURN_S, *needed]), _MOST_TURN_S))


def check_future_child(
    protocols: Mapping[str, Protocol], protocol: Protocol, request: OpenSession, workers: tuple[Announcement, ...]
) -> None:
    """Look whether the session that this one may start beneath it would be refused for what the request says. Workers
    that are missing may be there when it starts, so they are no reason. Raises Inadmissible: it would; names the
    setting that asks for it and why."""
    child = protocol.beneath(request, build_settings(protocol, request.settings))
    if child is None:
        return
    of, (asks, holds) = protocols.get(child.protocol), protocol.beneath_by
    setting = f"{protocol.name}.{asks}"
    if of is None:
        raise Inadmissible(setting, f"{setting}: got {child.protocol!r}, which is not known here")
    try:
        admit(of, msgspec.structs.replace(child, queues=request.queues), workers, 0, "")
    except Inadmissible as error:
        if error.worker:
            return
        if error.field.startswith(f"{of.name}."):
            setting = f"{protocol.name}.{holds}"
        why = f"{setting}: got {of.name!r}, whose session would be refused when it is needed: {error}"
        raise Inadmissible(setting, why) from error


def described(seat: Seat, workers: tuple[Announcement, ...], protocol: Protocol) -> Seat:
    """What the workers of a seat's queue announced; never what the request says. If copies differ, the highest price
    counts. A language model that is never asked is not counted in tokens."""
    serving = [w for w in workers if w.queue == seat.queue and seat.role in w.roles and not w.draining]
    computed = [role.name for role in protocol.roles if role.computes]
    return msgspec.structs.replace(
        seat,
        model=serving[0].model if serving else "",
        family=serving[0].family if serving else "",
        metered=any(w.metered for w in serving if w.keyless or seat.role not in computed),
        usd_per_million_input=max((w.usd_per_million_input for w in serving), default=0.0),
        usd_per_million_output=max((w.usd_per_million_output for w in serving), default=0.0),
    )


def _verify(documents: tuple[Document, ...]) -> None:
    """Names must differ, since evidence is cited by name. Ids must be the hashes of the texts, since texts are cached
    by id."""
    seen: set[str] = set()
    for d in documents:
        if d.name in seen:
            raise Inadmissible("evidence", f"evidence {d.name}: two documents have this name")
        seen.add(d.name)
        if sha256(d.text.encode()).hexdigest() != d.id:
            raise Inadmissible("evidence", f"evidence {d.name}: its id is not the SHA-256 of its text")
    size = len(encode(documents))
    if size > MAX_EVIDENCE_BYTES:
        raise Inadmissible("evidence", f"evidence: {size:,} bytes, allowed are at most {MAX_EVIDENCE_BYTES:,}")


@lru_cache
def _names(settings: type) -> frozenset[str]:
    """Of its fields."""
    return frozenset(f.encode_name for f in msgspec.structs.fields(settings))


def build_settings(protocol: Protocol, settings: Mapping[str, Any]) -> Any:
    """Typed settings from what a client gave: by their names, or by those that `--set` takes (`consensus.threshold`).
    Raises Inadmissible: an unknown name (with the nearest known one), a wrong type, a value out of range."""
    known = _names(protocol.settings)
    settings = {name.removeprefix(f"{protocol.name}."): value for name, value in settings.items()}
    for name in settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {protocol.name}.{near[0]}?" if near else f"; known are {', '.join(sorted(known))}"
            raise Inadmissible(f"{protocol.name}.{name}", f"{protocol.name}.{name}: no such setting{hint}")
    try:
        return msgspec.convert(settings, protocol.settings)
    except (msgspec.ValidationError, SchemaError) as error:
        text = str(error)
        field = text.split("$.")[-1].rstrip("`") if "$." in text else text.split(":")[0]
        name = field if field.startswith(protocol.name) else f"{protocol.name}.{field}"
        plain = isinstance(settings.get(field), str | int | float | None)  # a whole format would say nothing
        shown = f"got {settings[field]!r}, " if field in settings and plain else ""
        said = in_words(text.partition(" - at `$")[0], protocol.settings, field)
        raise Inadmissible(name, text if text.startswith(name) else f"{name}: {shown}{said}") from error


def deal(documents: tuple[Document, ...], protocol: Protocol, seats: tuple[Seat, ...]) -> tuple[Document, ...]:
    """Documents with their holders: a holder that names a role stands for all its seats. Those that name none go to all
    seats of the protocol's readers; where it has none, to the seats of the first role in turn, or to all of them where
    there are fewer documents than seats. What is background goes to every seat. Raises Inadmissible: a document names a
    seat or a role that is not there."""
    names = {s.seat for s in seats}
    holding = {s.role: tuple(t.seat for t in seats if t.role == s.role) for s in seats} | {n: (n,) for n in names}
    takers = [s.seat for s in seats if s.role in (protocol.readers or (protocol.roles[0].name,))]
    everybody = tuple(s.seat for s in seats)

    def named(d: Document) -> Document:
        d = msgspec.structs.replace(d, looked=msgspec.UNSET)  # another session's
        if d.background is True:
            return msgspec.structs.replace(d, holders=everybody)
        return msgspec.structs.replace(d, holders=tuple(takers)) if d.holders == (EVERYBODY,) else d

    documents = tuple(map(named, documents))
    for d in documents:
        for holder in d.holders:
            if holder not in holding:
                seated = ", ".join(sorted(names))
                mend = f"; seat more, or name its folder after one of these, or after none for all: {seated}"
                raise Inadmissible("evidence", f"evidence {d.name}: there is no seat {holder}{mend}")
    documents = tuple(
        msgspec.structs.replace(d, holders=tuple(dict.fromkeys(seat for h in d.holders for seat in holding[h])))
        for d in documents
    )
    undealt = [d for d in documents if not d.holders]
    out = []
    i = 0
    for d in documents:
        if not d.holders:
            every = bool(protocol.readers) or len(undealt) < len(takers) or not takers
            d = msgspec.structs.replace(d, holders=tuple(takers) if every else (takers[i % len(takers)],))
            i += 1
        out.append(d)
    return tuple(out)


def refuse_controls(field: str, text: str) -> None:
    """Refuse control characters, line breaks and tabs aside: they would steer terminals. Raises Inadmissible: names the
    field, the character and where it stands."""
    if text.isprintable() and _REORDERING.isdisjoint(text):
        return  # nearly always so, and much quicker
    for i, c in enumerate(text):
        if steers(c):
            raise Inadmissible(
                field, f"{field}: control character U+{ord(c):04X} at character {i + 1:,}; none is allowed"
            )


def steers(char: str) -> bool:
    """Whether a character is a control character, half of one, or reorders what a terminal shows."""
    return char in _REORDERING or (char not in _HARMLESS_CONTROLS and unicodedata.category(char) in {"Cc", "Cs"})
