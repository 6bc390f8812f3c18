"""Reads settings and their panel file once: which protocol, who sits where, on which stack."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec

from parley.client.errors import BadInput
from parley.client.opening import Offer, known_protocol, whole_settings
from parley.client.protocols import SETUPS, Setup, setup_of
from parley.client.reliability.past import Past
from parley.coordinator.admission import SET_A_MODEL, build_settings, without_model
from parley.coordinator.machine import Inadmissible
from parley.coordinator.protocols import PROTOCOLS
from parley.planned.learned_file import file_to_read
from parley.schemas.presence import Announcement
from parley.schemas.session import Budget, OpenSession
from parley.settings import Settings, has_tools, names_tools, nearest, no_run_of, tools_of
from parley.stack.announce import announced
from parley.stack.lease import Stack
from parley.stack.panel_file import Panel, read_panel, role_of
from parley.stack.people import people
from parley.stack.rows import AgentRow, rows_of, rows_of_all


@dataclass(frozen=True)
class Plan:
    """Settings with their panel file."""

    settings: Settings
    file: Panel | None
    """The panel file; None: no file says who sits where."""
    every: bool = False
    """The stack serves every protocol, and not the one of the settings alone."""
    beside: tuple[AgentRow, ...] = ()
    """Who serves the embedded stack beside them: the seats of saved panels."""
    opening: OpenSession | None = None
    """The one session that it is for; None: for any."""

    @property
    def named(self) -> bool:
        """Whether somebody named the protocol."""
        return "protocol" in self.settings.model_fields_set or bool(self.file and self.file.protocol)

    @property
    def protocol(self) -> str:
        """The protocol's name, as the session, the settings or the panel file have it; whether there is one is not
        said."""
        if self.opening is not None:
            return self.opening.protocol
        in_file = self.file.protocol if self.file and "protocol" not in self.settings.model_fields_set else ""
        return in_file or self.settings.protocol

    @cached_property
    def panel(self) -> Panel | None:
        """The seats of the file as the protocol has them. Raises BadInput."""
        if self.file is None:
            return None
        return self.file.playing(self.protocol, self.own, self.settings.stack.copies)

    @property
    def setup(self) -> Setup:
        """The protocol's."""
        return setup_of(self.protocol)

    @property
    def own(self) -> Mapping[str, Any]:
        """The protocol's own settings: those of the session, else as they were given."""
        return self.settings.of(self.protocol) if self.opening is None else self.opening.settings

    @cached_property
    def rows(self) -> tuple[AgentRow, ...]:
        """The rows of the embedded stack. Raises BadInput."""
        return (*self._own_rows(), *self.beside)

    def _own_rows(self) -> tuple[AgentRow, ...]:
        section = self.settings.stack
        if self.every:
            of = {name: self.settings.of(name) for name in SETUPS}
            rows = rows_of_all(of, section.copies)
            if self.file is None:
                return rows
            played = {row.queue for name in SETUPS for row in self.file.playing(name, of[name]).rows}
            mine = {row.queue for row in self.file.rows}
            return (*self.file.rows, *(row for row in rows if row.queue in played - mine))
        if self.panel:
            return self.panel.rows
        if section.agents is None or not section.agents:
            return self._seated()
        for queue, times in Counter(a.queue for a in section.agents).items():
            if times > 1:
                raise BadInput(
                    "stack.agents", f"queue {queue} is listed {times} times; use copies to run it several times"
                )
        return tuple(AgentRow(queue=a.queue, spec=a.spec, copies=a.copies) for a in section.agents)

    def _seated(self) -> tuple[AgentRow, ...]:
        """Whom the protocol seats, and beside them whom a session seats that one of it may start. Whether there is such
        a protocol is said where all settings are checked."""
        copies = self.settings.stack.copies
        rows = rows_of(self.protocol, settings=self.own, copies=copies)
        beneath = self.setup.beneath(self.own)
        if beneath is None or beneath.protocol not in SETUPS:
            return rows
        have = {row.queue for row in rows}
        more = rows_of(beneath.protocol, settings=beneath.settings, copies=copies)
        return (*rows, *(row for row in more if row.queue not in have))

    @cached_property
    def announced(self) -> list[Announcement]:
        """What the workers of the embedded stack will announce. Raises BadInput where a model cannot be made, or the
        allow list of tools cannot be used."""
        announcements = announced(self.rows, tools=has_tools(self.settings))
        why = no_run_of(self.settings)[:200] if any(a.tools for a in announcements) else ""
        return (
            [msgspec.structs.replace(a, no_run=why) if a.tools else a for a in announcements] if why else announcements
        )

    def without_model(self) -> str:
        """One line that names the protocols whose sessions the embedded stack refuses for want of a language model;
        empty: there are none. Raises BadInput."""
        served = tuple(SETUPS) if self.every else (self.protocol,)
        names = [name for name in served if without_model(PROTOCOLS[name], self.announced)]
        need = "needs" if len(names) == 1 else "need"
        told = f"{', '.join(names)} {need} a language model, and sessions are refused until there is one: {SET_A_MODEL}"
        return told if names else ""

    def roles(self) -> dict[str, str]:
        """Seat -> role of the embedded stack. Raises BadInput."""
        return {row.queue: role_of(row) for row in self.rows}

    def stack(self) -> Stack:
        """The embedded stack. Raises BadInput."""
        section = self.settings.stack
        return Stack(
            agents=_without_agents(self.rows, section.free),
            humans=people(section.humans, self.roles()) if section.humans else {},
            moderators=section.moderators, ack_wait_s=section.ack_wait_s,
            log_max_age_s=self.settings.retention.log_days * 86_400, notify_url=self.settings.notify.webhook,
            partitions=self.settings.bus.partitions, servers=section.servers, replicas=self.settings.bus.replicas,
            unreadable_s=self.settings.retention.unreadable_hours * 3_600, env=tools_of(self.settings),
        )  # fmt: skip

    def offer(self, panel: Panel | None = None, name: str = "") -> Offer:
        """What stands for sessions of its protocol, or of a saved panel, as the settings have it. Raises BadInput where
        a file of what was learned is named and is not there."""
        settings = self.settings
        if panel is None and self.panel is not None:
            panel, name = self.panel, name or str(settings.panel_file)
        protocol = panel.protocol if panel else self.protocol
        own, several = settings.of(protocol), setup_of(protocol).several
        if panel and several and panel.seats:
            own[several.setting] = panel.seated(several.role)
        learned = settings.learned
        used = learned.reliability or learned.calibration
        past = Past(
            file=file_to_read(settings) if used else None, reliability=learned.reliability,
            calibration=learned.calibration,
        )  # fmt: skip
        return Offer(
            name=name or protocol, protocol=protocol, settings=own, seats=panel.seats if panel else (),
            budget=Budget(**settings.budget.model_dump()), seed=settings.seed, turn_timeout_s=settings.turn_timeout_s,
            humans=tuple(settings.stack.humans), wait_for_human=settings.stack.wait_for_human,
            kind=learned.kind, past=past, shipped_tools=not settings.nats.url and not names_tools(settings),
        )  # fmt: skip

    def check(self) -> None:
        """Raise BadInput where the protocol does not exist, or one of its own settings cannot be right."""
        protocol = known_protocol(self.protocol)
        try:
            build_settings(protocol, whole_settings(self.protocol, self.own))
        except Inadmissible as error:
            raise BadInput(error.field, str(error)) from error

    def of(self, opening: OpenSession) -> "Plan":
        """For one session."""
        return replace(self, opening=opening)

    def of_every_protocol(self) -> "Plan":
        """With a stack that serves them all, where neither one protocol is named nor who sits where."""
        return self if self.named or self.settings.stack.agents else replace(self, every=True)

    def asked(self, protocol: str) -> "Plan":
        """Of a session of this protocol. Raises BadInput where its settings contradict the panel file."""
        return _checked(replace(self, settings=self.settings.model_copy(update={"protocol": protocol})))


def _without_agents(rows: tuple[AgentRow, ...], free: Sequence[str]) -> tuple[AgentRow, ...]:
    """The rows, of which these queues have no agent in the stack. Raises BadInput where there is no such queue."""
    queues = [row.queue for row in rows]
    for queue in free:
        if queue not in queues:
            raise BadInput("free", f"there is no queue {queue}; {nearest(queue, queues)}")
    return tuple(msgspec.structs.replace(row, copies=0) if row.queue in free else row for row in rows)


def plan_of(settings: Settings) -> Plan:
    """Settings with the panel file that they name, which is opened here and nowhere else.

    Raises
    ------
    BadInput
        As parley.stack.panel_file.read_panel; also settings that contradict the file.
    """
    path = settings.panel_file
    if path is None:
        return Plan(settings, None)
    if settings.nats.url:
        raise BadInput(
            "panel-file",
            f"{path} describes an embedded stack, but --nats names a bus that runs elsewhere; leave one out",
        )
    if settings.stack.agents:
        raise BadInput("panel-file", f"{path} and stack.agents both give models to seats; leave one out")
    return _checked(Plan(settings, read_panel(path)))


def _checked(plan: Plan) -> Plan:
    """The plan, whose settings do not contradict its panel file. Raises BadInput."""
    path, several = plan.settings.panel_file, plan.setup.several
    if plan.file is None or plan.protocol not in PROTOCOLS or plan.panel is None:
        return plan
    if several:
        size = plan.own.get(several.setting)
        seated = plan.panel.seated(several.role)
        if size is not None and seated and size != seated:
            where = f"{plan.protocol}.{several.setting}"
            raise BadInput(where, f"got {size}, {path} seats {seated} {several.role}s")
    return plan
