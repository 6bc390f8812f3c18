"""The Python API: open sessions on a bus, and wait for their results. A stack of one's own: parley.local."""

import asyncio
import difflib
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.bus.errors import BadKeyFile, BusError, addresses
from parley.client import evidence as documents_of
from parley.client import task_folder, task_history
from parley.client.errors import BadInput, NotAllowed, Unreachable
from parley.client.evidence import Sources
from parley.client.opened_session import Session
from parley.client.protocols import all_setups, setup_of
from parley.client.reliability import store
from parley.client.reliability.past import Past
from parley.client.rendering.told import Result
from parley.coordinator.admission import build_settings
from parley.coordinator.machine import Inadmissible, Protocol
from parley.coordinator.protocols import DEFAULT, PROTOCOLS
from parley.observability import caller
from parley.schemas import rooms
from parley.schemas.session import Budget, Document, ForkSession, OpenSession, Seat
from parley.schemas.wire import InvalidValue

if TYPE_CHECKING:
    from parley.client.client import Client
    from parley.client.reliability.learning import LearnReport

CONNECT_S = 3.0
_ADDRESS_S = 2.0
"""nats-py gives up an address after so long, and tries the next."""


def connect_s(url: str) -> float:
    """Seconds within which one server of an address answers, if the others are frozen."""
    return CONNECT_S + _ADDRESS_S * (len(addresses(url)) - 1)


class Parley:
    """A connection on which you open sessions. `connect` and `parley.local` make it."""

    def __init__(
        self,
        client: "Client",
        protocol: str = DEFAULT,
        *,
        learned: Path | None = None,
        reliability: bool = True,
        calibration: bool = True,
    ) -> None:
        self.client = client
        self.protocol = protocol
        """Of sessions that name none."""
        self.learned = learned
        """The file of what was learned from past outcomes (docs/reliability.md); None: none."""
        self.reliability = reliability
        """Whether members weigh by their records, where the file has any."""
        self.calibration = calibration
        """Whether confidence is told as past outcomes say it should be read, where the file has a fit."""

    def _seated(self, protocol: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Settings with as many seats as there are, where they do not say it. On a bus that runs elsewhere: as they
        are."""
        return settings

    async def start(
        self,
        question: str,
        *,
        protocol: str | None = None,
        evidence: Sources | None = None,
        settings: Mapping[str, Any] | None = None,
        budget: Budget | Mapping[str, Any] | None = None,
        seed: int | None = None,
        turn_timeout_s: float = 120.0,
        seats: Sequence[Seat] = (),
        continues: str = "",
        folder: Path | str | None = None,
        panel: int | None = None,
        kind: str | None = None,
    ) -> Session:
        """Open a session. Returns once a moderator has taken it.

        Parameters
        ----------
        protocol
            The protocol's name (parley.coordinator.protocols.PROTOCOLS). None: that of `local` or `connect`, or else
            the default, experts for a task.
        evidence
            Folders, files or patterns of documents, one or several (parley.client.evidence).
        settings
            The protocol's settings, such as `{"threshold": 80}`. Others have their defaults. Some may name a file,
            which the protocol's SETUP reads.
        budget
            Limits: tokens, calls, cost_usd, seconds.
        seed
            Seed of the order in which positions are shown; None: a random one.
        turn_timeout_s
            Seconds for one turn, 0.25 to 86,400.
        seats
            Which queue serves each seat; none: the queues that are alive.
        continues
            The id of a finished session, whose result becomes a document of this one (owners only).
        folder
            The folder of a task. Experts work on a copy of it (parley.client.task_folder writes the result back).
        panel
            Number of panelists or debaters, as the setting `panel`. None: the setting's value, or that of `local`.
        kind
            The kind of question, in a word of your own, at most 64 characters. Records of this kind count first. None:
            no kind.

        Raises
        ------
        BadInput
            An argument has a wrong value. The error names the field.
        Refusal
            A moderator refused the session, with the reason.
        Unreachable
            No moderator answered.
        """
        protocol = protocol or self.protocol
        settings = self._seated(protocol, with_panel(protocol, settings or {}, panel))
        previous = await self.previous(continues) if continues else None
        sent = None
        if folder is not None:
            sent = task_history.with_history(task_folder.read_folder(Path(folder)))
            settings = {**settings, **sent.settings}
        opening = request(
            question, protocol=protocol, evidence=evidence, settings=settings, budget=budget,
            seed=seed, turn_timeout_s=turn_timeout_s, seats=seats, previous=previous, continues=continues,
        )  # fmt: skip
        past = Past(file=self.learned, reliability=self.reliability, calibration=self.calibration)
        return await self._begin(past.into(opening, kind), sent)

    async def _begin(self, opening: OpenSession, sent: task_folder.Sent | None) -> Session:
        """The session, once a moderator has taken it; `sent`: the folder that it begins with."""
        from parley.client.client import new_sid

        sid = new_sid()
        if sent is not None:
            await task_folder.send(self.client, sid, sent)
        return Session(self.client, await self.client.open(opening, sid))

    async def fork(
        self,
        session: str,
        *,
        round: int | None = None,
        seats: Sequence[Seat] = (),
        budget: Budget | Mapping[str, Any] | None = None,
        turn_timeout_s: float | None = None,
        **settings: Any,
    ) -> Session:
        """Open a session that continues the record of one of your own sessions, with other settings or models.
        Returns once a moderator has taken it.

        Parameters
        ----------
        session
            A closed session's id.
        round
            The round after which the fork continues on its own; None: the last whole round.
        seats
            Seats that other queues serve now.
        budget
            Limits of the fork itself. None: the full limits of the recorded session.
        settings
            Settings of the protocol to change, such as `threshold=80`.

        Raises
        ------
        BadInput, Refusal, Unreachable
            As `start`.
        """
        from parley.client.what_if import wanted as wanted_settings

        row = await self.client.row(session)
        if row is None:
            raise BadInput("of", f"there is no session {session}")
        try:
            limits = budget if budget is None or isinstance(budget, Budget) else Budget(**dict(budget))
            changed = wanted_settings(row.protocol, {row.protocol: settings})
            wanted = ForkSession(
                of=session, round=round, settings=changed, seats=tuple(seats), budget=limits,
                turn_timeout_s=turn_timeout_s,
            )  # fmt: skip
        except InvalidValue as error:
            raise BadInput(error.field, str(error)) from error
        except TypeError as error:
            raise BadInput("budget", str(error)) from error
        return Session(self.client, await self.client.fork(wanted))

    async def learn(self, known: Path | str | None = None, *, file: Path | str | None = None) -> "LearnReport":
        """Update the records of members, and how confidence is to be read, from the feedback on all stored sessions.
        Sessions of this connection that open afterwards use them. The same as `parley reliability learn`.

        Parameters
        ----------
        known
            A file of answers that are known to be right or wrong, one JSON object a line (docs/reliability.md).
        file
            Where it is kept, and read from then on. None: `learned`.

        Raises
        ------
        BadInput
            No file is named, or one cannot be read or written; the credentials are no owner's.
        """
        from parley.client.reliability.learning import learn

        self.learned, report = await learn(self.client, self.learned if file is None else Path(file), known)
        return report

    def session(self, sid: str) -> Session:
        """A session that was opened before, by its id."""
        return Session(self.client, sid)

    async def previous(self, sid: str) -> Document:
        """The result of a finished session, as a document for the session that follows it up.

        Raises
        ------
        BadInput
            There is no such session, it is still open, or was erased; or the credentials are no owner's.
        """
        from parley.client import follow_up
        from parley.client.records import record_of

        if not self.client.owner:
            raise NotAllowed("continue", "an owner's credentials are needed to read an earlier session")
        entries = await self.client.log(sid)
        if not entries:
            raise BadInput("continue", f"there is no session {sid}, or its record is gone")
        return follow_up.document(record_of(sid, entries))

    async def ask(
        self,
        question: str,
        *,
        protocol: str | None = None,
        evidence: Sources | None = None,
        settings: Mapping[str, Any] | None = None,
        budget: Budget | Mapping[str, Any] | None = None,
        seed: int | None = None,
        turn_timeout_s: float = 120.0,
        seats: Sequence[Seat] = (),
        continues: str = "",
        folder: Path | str | None = None,
        panel: int | None = None,
        kind: str | None = None,
    ) -> Result:
        """Open a session, wait until it is closed, and return its result. Takes and raises what `start` does."""
        with caller.root("parley ask"):
            session = await self.start(
                question, protocol=protocol, evidence=evidence, settings=settings, budget=budget, seed=seed,
                turn_timeout_s=turn_timeout_s, seats=seats, continues=continues, folder=folder, panel=panel,
                kind=kind,
            )  # fmt: skip
            return await session.result()


def request(
    question: str,
    *,
    protocol: str = DEFAULT,
    evidence: Sources | None = None,
    settings: Mapping[str, Any] | None = None,
    budget: Budget | Mapping[str, Any] | None = None,
    seed: int | None = None,
    turn_timeout_s: float = 120.0,
    seats: Sequence[Seat] = (),
    previous: Document | None = None,
    continues: str = "",
) -> OpenSession:
    """A session as it is submitted, checked as far as it can be without a moderator.

    Parameters
    ----------
    evidence
        Folders, files or patterns of documents, one or several (parley.client.evidence).
    settings
        The protocol's settings; what is absent has its default.
    budget
        Limits: tokens, calls, cost_usd, seconds.
    seats
        Which queue serves each seat; none: the queues that are alive.
    previous, continues
        For a follow-up: what an earlier session came to (parley.client.follow_up), and its id.

    Raises
    ------
    BadInput
        Names the field, the value and what is allowed.
    """
    known = known_protocol(protocol)
    try:
        settings = whole_settings(protocol, settings or {})
        setup_of(protocol).check_question(question)
        build_settings(known, settings)
        limits = budget if isinstance(budget, Budget) else Budget(**dict(budget or {}))
        fields = {
            "question": question, "protocol": protocol, "settings": dict(settings), "budget": limits,
            "seed": seed, "turn_timeout_s": turn_timeout_s, "seats": tuple(seats), "continues": continues,
        }  # fmt: skip
        checked = OpenSession(**fields)  # type: ignore[arg-type]  # before a folder is read
        if evidence is None and previous is None:
            return checked
        roles = [role.name for role in known.roles]
        documents = () if evidence is None else documents_of.read_documents(evidence, roles)
        return OpenSession(**fields, documents=(*documents, *([previous] if previous else ())))  # type: ignore[arg-type]
    except (Inadmissible, InvalidValue) as error:
        raise BadInput(error.field, str(error)) from error
    except TypeError as error:
        raise BadInput("budget", str(error)) from error


def whole_settings(protocol: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A protocol's settings, with what stands in files read in, also of a session that one of it may start. Raises
    BadInput."""
    setup = setup_of(protocol)
    whole = setup.whole(given)
    beneath = setup.beneath(given)
    if beneath is not None:
        whole[beneath.inner] = whole_settings(beneath.protocol, beneath.settings)
    return whole


def with_panel(protocol: str, settings: Mapping[str, Any], panel: int | None) -> dict[str, Any]:
    """Settings with as many in the role of which the protocol has several as `panel` says; None: as they are. Raises
    BadInput where it has no such role, or the settings say otherwise."""
    several = setup_of(protocol).several
    if panel is None:
        return dict(settings)
    if several is None:
        having = sorted(setup.name for setup in all_setups() if setup.several)
        raise BadInput("panel", f"got {panel} with {protocol}; it is for {' and '.join(having)}")
    if settings.get(several.setting, panel) != panel:
        raise BadInput("panel", f"got {panel}, and {settings[several.setting]} in the settings; leave one out")
    return {**settings, several.setting: panel}


def known_protocol(name: str) -> Protocol:
    """The protocol of this name. Raises BadInput with the nearest known one."""
    known = PROTOCOLS.get(name)
    if known is None or known.standing:
        if name in rooms.entries(PROTOCOLS.group):
            try:
                rooms.load(PROTOCOLS.group, name)
            except rooms.NotUsable as error:
                raise BadInput("protocol", str(error)) from error
        names = sorted(n for n, protocol in PROTOCOLS.items() if not protocol.standing)
        near = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(names)}"
        raise BadInput("protocol", f"{name!r} is not a protocol; {hint}")
    return known


@asynccontextmanager
async def connect(
    url: str,
    creds: Path | str,
    *,
    protocol: str = DEFAULT,
    patience_s: float = 30.0,
    outlasts: bool = True,
    learned: Path | str | None = None,
    reliability: bool = True,
    calibration: bool = True,
) -> AsyncIterator[Parley]:
    """Connect to a bus that runs elsewhere.

    Parameters
    ----------
    creds
        A client's or an owner's credentials file.
    protocol
        The protocol of sessions that name none.
    patience_s
        How long to wait for a moderator.
    outlasts
        Whether to wait longer while servers of the bus are away, until they are back. The log says what is missing
        meanwhile. If no server answers at the beginning, it does not wait.
    learned
        The file of records (`parley reliability learn --file`); None: sessions use no records.
    reliability, calibration
        Whether sessions use the records of members, and the calibration of their confidence.

    Raises
    ------
    Unreachable
        Nobody listens there, or the server does not take the credentials.
    BadInput
        There is no such protocol, or the credentials file or the file `learned` cannot be used.
    """
    known_protocol(protocol)
    file = None if learned is None else store.named(learned)
    async with connected(url, Path(creds), patience_s, outlasts=outlasts) as client:
        yield Parley(client, protocol, learned=file, reliability=reliability, calibration=calibration)


@asynccontextmanager
async def connected(
    url: str, creds: Path, patience_s: float, *, outlasts: bool = False, lacking_s: float = math.inf
) -> AsyncIterator["Client"]:
    """A client over a connection of its own. `lacking_s`: as Client takes it. Raises as `connect`."""
    from parley.bus.accounts import CLIENT as CLIENT_KIND
    from parley.bus.accounts import OWNER as OWNER_KIND
    from parley.bus.accounts import VIEWER as VIEWER_KIND
    from parley.bus.accounts import load_credentials
    from parley.bus.connection import connect as connect_bus
    from parley.client.client import Client

    try:
        credentials = load_credentials(creds)
    except BadKeyFile as error:
        raise BadInput("creds", str(error)) from error
    if credentials.kind not in (CLIENT_KIND, OWNER_KIND, VIEWER_KIND):
        what = f"{creds} is for {credentials.user!r}, of kind {credentials.kind}"
        raise BadInput("creds", f"{what}; expected a client's or an owner's")
    try:
        async with asyncio.timeout(connect_s(url)):
            connection = await connect_bus(url, credentials, name="parley")
    except TimeoutError:
        raise Unreachable(f"no NATS server answers at {url} within {connect_s(url):g} s") from None
    except BusError as error:
        raise Unreachable(str(error)) from error
    async with connection:
        user, where = credentials.user, connection.url
        yield Client(connection, user, url=where, patience_s=patience_s, outlasts=outlasts, lacking_s=lacking_s)
