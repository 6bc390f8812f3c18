"""The Python API: open sessions on a bus, and wait for their results. A stack of one's own: parley.local."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import msgspec

from parley.bus.errors import BadKeyFile, BusError, addresses
from parley.client import task_folder
from parley.client.choice import PYTHON, choose, takers
from parley.client.errors import BadInput, NotAllowed, Unreachable, bad_input
from parley.client.evidence import Sources
from parley.client.learned import memory, store
from parley.client.learned.memory import project_of, with_project
from parley.client.learned.past import PastOutcomes
from parley.client.opened_session import Session, leave, open_session
from parley.client.opening import Offer, check_types, known_protocol, limits_of, opening_of, read_evidence, spelling
from parley.client.protocols import setup_of
from parley.client.rendering.told import Result
from parley.observability import caller
from parley.schemas.post import Live, Post
from parley.schemas.session import Budget, ForkSession, OpenSession, Seat

if TYPE_CHECKING:
    from parley.bus.accounts import Credentials
    from parley.bus.connection import Connection
    from parley.client.client import Client
    from parley.client.follow_up import Earlier
    from parley.client.learned.learning import LearnReport

CONNECT_S = 3.0
_ADDRESS_S = 2.0
"""nats-py gives up an address after so long, and tries the next."""


def connect_s(url: str) -> float:
    """Seconds within which one server of an address answers, if the others are frozen."""
    return CONNECT_S + _ADDRESS_S * (len(addresses(url)) - 1)


async def connected(url: str, credentials: "Credentials", name: str = "") -> "Connection":
    """A connection of one's own, which the bus shows as `name`, else as its user. Raises Unreachable."""
    from parley.bus.connection import connect as connect_bus

    try:
        async with asyncio.timeout(connect_s(url)):
            return await connect_bus(url, credentials, name=name or credentials.user)
    except TimeoutError:
        raise Unreachable(f"no NATS server answers at {url} within {connect_s(url):g} s") from None
    except BusError as error:
        raise Unreachable(str(error)) from error


class AskOptions(TypedDict, total=False):
    """What a session may be asked with (parley.client.setup.options); None: not given."""

    protocol: str | None
    evidence: Sources | None
    settings: Mapping[str, Any] | None
    budget: Budget | Mapping[str, Any] | None
    seed: int | None
    turn_timeout_s: float | None
    seats: Sequence[Seat] | None
    continues: str | None
    folder: Path | str | None
    panel: int | Literal["auto"] | None
    kind: str | None


class Parley:
    """A connection on which you open sessions. `connect` and `parley.local` make it."""

    def __init__(
        self,
        client: "Client",
        protocol: str = "",
        *,
        learned: Path | None = None,
    ) -> None:
        self.client = client
        self.protocol = protocol
        """Of sessions that name none; empty: what is asked decides."""
        self.learned = learned
        """The file of what was learned from past outcomes (docs/reliability.md); None: none."""
        self.recalls(self._past())
        self.held = AsyncExitStack()
        """What `close` ends."""

    async def close(self) -> None:
        """End what `parley.start` began, and wait until its processes are gone."""
        await self.held.aclose()

    def _past(self) -> PastOutcomes:
        return PastOutcomes(file=self.learned)

    def recalls(self, past: PastOutcomes) -> None:
        """Have past tasks teach those that are opened on this connection."""
        self.client.recall = None if past.file is None else lambda opening: past.taught(self.client, opening)

    def _offer(self, protocol: str) -> Offer:
        """What stands for sessions of a protocol before anything is asked."""
        return Offer(protocol=protocol, past=self._past(), here=True)

    async def start(self, question: str, **options: Unpack[AskOptions]) -> Session:
        """Open a session. Returns once a moderator has taken it.

        Parameters
        ----------
        protocol
            The protocol's name (parley.coordinator.protocols.PROTOCOLS). None: that of `local` or `connect`, or else
            what is asked decides: a change of a folder goes to experts, everything else to a panel.
        evidence
            Folders, files and patterns; a `Document`; or names with texts or bytes, such as `{"notes.md": "..."}`. A
            file is read by the end of its name.
        settings
            The protocol's settings, such as `{"threshold": 80}`. Others have their defaults. Some may name a file,
            which the protocol's SETUP reads.
        budget
            Limits: tokens, calls, cost_usd, seconds.
        seed
            Seed of the order in which positions are shown; None: a random one.
        turn_timeout_s
            Seconds for one turn, 0.25 to 86,400. None: 120, or more for a model that was measured to be slow.
        seats
            Which queue serves each seat; none: the queues that are alive.
        continues
            The id of a finished session that this one goes on from, with its protocol, settings, documents and result
            (owners only). What is given here goes over it.
        folder
            The folder of a task. Experts work on a copy of it (parley.client.task_folder writes the result back). A
            panel reads it as documents.
        panel
            Number of panelists or debaters, as the setting `panel`. `auto`: as many panelists as the question calls
            for. None: the setting's value, or that of `local`.
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
        opening, sent = await self._asked(question, options)
        with spelling("python", opening.protocol):
            return await self._begin(opening, sent)

    async def _asked(self, question: str, options: AskOptions) -> tuple[OpenSession, task_folder.SentFolder | None]:
        """What is asked for, and the folder that it begins with."""
        check_types(question, options)
        given: dict[str, Any] = dict(options)
        evidence, folder, seats, sid = (given.pop(name, None) for name in ("evidence", "folder", "seats", "continues"))
        with spelling("python", ""):
            before = await self.earlier(sid) if sid else None
        protocol = given.get("protocol") or ("" if before else self.protocol)
        if not protocol:
            protocol = choose(
                question,
                folder=folder is not None,
                documents=evidence is not None,
                allowed=takers(given),
                follows=before.protocol if before else "",
                had_folder=bool(before and before.had_folder),
                spelled=PYTHON,
            ).protocol
        given["protocol"] = protocol
        if isinstance(given.get("budget"), Budget):
            given["budget"] = msgspec.structs.asdict(given["budget"])
        documents, sent = read_evidence(protocol, evidence, folder), None
        if folder is not None and setup_of(protocol).changes_folder:
            sent = task_folder.read_folder(Path(folder))
        offer = msgspec.structs.replace(self._offer(protocol), seats=tuple(seats or ()))
        project = "" if sent is None else project_of(sent.folder)
        if sent is not None:
            kept = before.settings if before is not None and before.had_folder else offer.settings
            own = with_project(given.get("settings") or {}, kept, project)
            given["settings"] = {**own, **sent.settings}
        opening = opening_of(question, given, documents, offer, door="python", before=before)
        return opening if sent is None else offer.past.of_folder(opening, sent.folder, project), sent

    async def _begin(self, opening: OpenSession, sent: task_folder.SentFolder | None) -> Session:
        """The session, once a moderator has taken it; `sent`: the folder that it begins with."""
        from parley.client.client import new_sid

        sid = new_sid()
        if sent is not None:
            await task_folder.send(self.client, sid, sent)
            opening = await memory.recalled(self.client, opening, sent)
        return Session(self.client, await open_session(self.client, opening, sid))

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
        """Open a session that continues the record of one of your own closed sessions, with other settings or models.

        Parameters
        ----------
        session
            Its id.
        round
            The round after which the fork continues on its own. None: the last whole round.
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
        with bad_input():
            limits = budget if isinstance(budget, Budget) else limits_of(budget, "python")
            changed = wanted_settings(row.protocol, {row.protocol: settings})
            wanted = ForkSession(
                of=session,
                round=round,
                settings=changed,
                seats=tuple(seats),
                budget=limits,
                turn_timeout_s=turn_timeout_s,
            )
        return Session(self.client, await self.client.fork(wanted))

    async def learn(self, *, file: Path | str | None = None) -> "LearnReport":
        """As `parley.learn`, from all stored sessions. Sessions of this connection that open afterwards use it.

        Parameters
        ----------
        file
            Where it is kept, and read from then on. None: `learned`.

        Raises
        ------
        BadInput
            No file is named, or one cannot be read or written; the credentials are no owner's.
        """
        from parley.client.learned.learning import learn

        self.learned, report = await learn(self.client, self.learned if file is None else Path(file))
        self.recalls(self._past())
        return report

    def session(self, sid: str) -> Session:
        """A session that was opened before, by its id."""
        return Session(self.client, sid)

    async def earlier(self, sid: str) -> "Earlier":
        """What a finished session leaves to the one that goes on from it. Raises BadInput: there is no such session, it
        is still open, or was erased; or the credentials are no owner's."""
        from parley.client import follow_up
        from parley.client.records import record_of

        if not self.client.owner:
            raise NotAllowed("continue", "an owner's credentials are needed to read an earlier session")
        entries = await self.client.log(sid)
        if not entries:
            raise BadInput("continue", f"there is no session {sid}, or its record is gone")
        return follow_up.earlier(record_of(sid, entries))

    async def ask(
        self,
        question: str,
        *,
        detach: bool = False,
        on_post: Callable[[Post], None] | None = None,
        on_live: Callable[[Live], None] | None = None,
        **options: Unpack[AskOptions],
    ) -> Result:
        """Open a session as `start` does, wait until it is closed, and return its result.

        Whoever stops waiting, by a timeout, a cancelled task or an error, has the session cancelled.

        Parameters
        ----------
        detach
            The session goes on though nobody waits for it any more.
        on_post, on_live
            As `Session.result` takes them. A post names its session.
        """
        with caller.root("parley ask"):
            session = await self.start(question, **options)
            try:
                return await session.result(on_post, on_live)
            except BaseException:
                if not detach:
                    await leave(self.client, session.sid)
                raise


@asynccontextmanager
async def connect(
    url: str,
    creds: Path | str,
    *,
    protocol: str = "",
    patience_s: float = 30.0,
    outlasts: bool = True,
    learned: Path | str | None = None,
) -> AsyncIterator[Parley]:
    """Connect to a bus that runs elsewhere.

    Parameters
    ----------
    creds
        A client's or an owner's credentials file.
    protocol
        The protocol of sessions that name none; empty: what is asked decides.
    patience_s
        How long to wait for a moderator.
    outlasts
        Whether to wait longer while servers of the bus are away. The log says what is missing
        meanwhile. If no server answers at the beginning, it does not wait.
    learned
        The file of records (`parley reliability learn --file`). None: none.

    Raises
    ------
    Unreachable
        Nobody listens there, or the server does not take the credentials.
    BadInput
        There is no such protocol, or the credentials file or the file `learned` cannot be used.
    """
    if protocol:
        known_protocol(protocol)
    file = None if learned is None else store.existing_file(learned)
    async with open_client(url, Path(creds), patience_s, outlasts=outlasts) as client:
        yield Parley(client, protocol, learned=file)


def read_credentials(creds: Path | None) -> "Credentials":
    """Those of a bus that runs elsewhere. Raises BadInput where none are named, or they cannot be used."""
    from parley.bus.accounts import load_credentials

    if creds is None:
        raise BadInput("nats.creds", "a bus at --nats needs a credentials file, --creds FILE")
    with bad_input("creds", BadKeyFile):
        return load_credentials(creds)


@asynccontextmanager
async def open_client(
    url: str, creds: Path | None, patience_s: float, *, outlasts: bool = False, lacking_s: float = math.inf
) -> AsyncIterator["Client"]:
    """A client over a connection of its own. `lacking_s`: as Client takes it. Raises as `connect`."""
    from parley.bus.accounts import CLIENT as CLIENT_KIND
    from parley.bus.accounts import OWNER as OWNER_KIND
    from parley.bus.accounts import VIEWER as VIEWER_KIND
    from parley.client.client import Client

    credentials = read_credentials(creds)
    if credentials.kind not in (CLIENT_KIND, OWNER_KIND, VIEWER_KIND):
        what = f"{creds} is for {credentials.user!r}, of kind {credentials.kind}"
        raise BadInput("creds", f"{what}; expected a client's or an owner's")
    async with await connected(url, credentials, "parley") as connection:
        user, where = credentials.user, connection.url
        yield Client(connection, user, url=where, patience_s=patience_s, outlasts=outlasts, lacking_s=lacking_s)
