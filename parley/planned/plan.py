"""Reads settings and their panel file once: which protocol, who sits where, on which stack."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec

from parley.client.errors import BadInput, bad_input
from parley.client.opening import Offer, known_protocol, whole_settings
from parley.client.protocols import SETUPS, Setup, panel_setup, setup_of
from parley.coordinator.admission import SET_A_MODEL, build_settings, without_model
from parley.coordinator.machine import Inadmissible
from parley.coordinator.protocols import PROTOCOLS
from parley.planned.learned_file import past_of
from parley.schemas.expert import expert_of, queue_of
from parley.schemas.presence import Announcement
from parley.schemas.session import Budget, OpenSession
from parley.settings import Settings, has_tools, lists_of, names_tools, nearest, no_run_of
from parley.stack.announce import expected_announcements
from parley.stack.lease import Stack, default_state, read_running
from parley.stack.panel_file import Panel, read_panel, role_of
from parley.stack.rows import AgentRow, names_models, people, rows_for, rows_of_all


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
        """Whether the settings or the panel file name the protocol."""
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
        return self._playing(self.protocol, self.own)

    def _playing(self, protocol: str, own: Mapping[str, Any]) -> Panel | None:
        return None if self.file is None else self.file.playing(protocol, own, self.settings.stack.copies)

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
        return (*self._joined(self._own_rows()), *self.beside)

    def _joined(self, rows: tuple[AgentRow, ...]) -> tuple[AgentRow, ...]:
        """With the experts of the folder that the settings name, where experts are among the rows."""
        folder, process = self.settings.experts, next((r.process for r in rows if expert_of(r.queue)), None)
        if folder is None or process is None:
            return rows
        from parley.agents.experts import ExpertError, read_files

        with bad_input("experts", ExpertError):
            files = {queue_of(name): path.resolve() for name, (_, path) in read_files(folder).items()}
        copies = self.settings.stack.copies
        own = {q: AgentRow(queue=q, spec=str(path), copies=copies, process=process) for q, path in files.items()}
        return tuple(({row.queue: row for row in rows} | own).values())

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
        opening = self.opening or OpenSession(question="?", protocol=self.protocol, settings=dict(self.own))
        return rows_for(opening, copies=section.copies)

    def rows_for(self, opening: OpenSession) -> tuple[AgentRow, ...]:
        """The rows that serve one session. Raises BadInput."""
        named = {seat.queue for seat in opening.seats}
        beside = {row.queue: row for row in self.beside if row.queue in named}
        if self.file is not None:
            panel = self.file.playing(opening.protocol, opening.settings, self.settings.stack.copies)
            return tuple({**{row.queue: row for row in panel.rows}, **beside}.values())
        rows = self._joined(rows_for(opening, copies=self.settings.stack.copies))
        return tuple(beside.get(row.queue, row) for row in rows)

    @cached_property
    def announced(self) -> list[Announcement]:
        """What the workers of the embedded stack will announce. Raises BadInput where a model cannot be made, or the
        allow list of tools cannot be used."""
        announcements = expected_announcements(self.rows, tools=has_tools(self.settings))
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

    def people(self) -> dict[str, str]:
        """Queue -> role of people who may take seats. Raises BadInput."""
        humans = self.settings.stack.humans
        return people(humans, self.roles()) if humans else {}

    def stack(self) -> Stack:
        """The embedded stack with its agents. Raises BadInput."""
        section = self.settings.stack
        return Stack(
            agents=_without_agents(self.rows, section.free),
            humans=self.people(),
            moderators=section.moderators,
            log_max_age_s=self.settings.retention.log_days * 86_400,
            env=lists_of(self.settings),
        )

    def offer(self, protocol: str = "", panel: Panel | None = None, name: str = "") -> Offer:
        """What stands for sessions of a protocol or a panel, as the settings have it; with neither, for those that
        name no other. Raises BadInput where a file of what was learned is named and is not there."""
        settings = self.settings
        protocol = panel.protocol if panel else protocol or self.protocol
        own, several = settings.of(protocol), setup_of(protocol).several
        if panel is None and protocol in PROTOCOLS:
            panel = self._playing(protocol, own)
            name = name or str(settings.panel_file or "")
        if panel and several and panel.team and several.chooses:
            own.setdefault(several.setting, min(several.size, panel.seated(several.role)))
        elif panel and several and panel.seats:
            seated = panel.seated(several.role)
            if own.setdefault(several.setting, seated) != seated:
                field = f"{protocol}.{several.setting}"
                raise BadInput(field, f"got {own[several.setting]}, {name} seats {seated} {several.role}s")
        return Offer(
            name=name or protocol, protocol=protocol, settings=own, seats=panel.seats if panel else (),
            budget=Budget(**settings.budget.model_dump()), seed=settings.seed, turn_timeout_s=settings.turn_timeout_s,
            humans=tuple(settings.stack.humans), wait_for_human=settings.stack.wait_for_human,
            past=past_of(settings),
            shipped_tools=not settings.nats.url and not names_tools(settings),
        )  # fmt: skip

    def uses_kept(self, *, ephemeral: bool = False) -> bool:
        """Whether sessions get the models of the stack that `parley up` keeps, since none is named here."""
        if self.settings.nats.url or ephemeral:
            return False
        running = read_running(self.settings.state or default_state())
        return running is not None and running.permanent and not names_models(self.rows)

    def check(self) -> None:
        """Raise BadInput where the protocol does not exist, or one of its own settings cannot be right."""
        protocol = known_protocol(self.protocol)
        with bad_input("", Inadmissible):
            build_settings(protocol, whole_settings(self.protocol, self.own))

    def of(self, opening: OpenSession) -> "Plan":
        """For one session."""
        return replace(self, opening=opening)

    def of_a_question(self) -> "Plan":
        """For the panel to which a question goes, where no protocol is named."""
        panel = self.settings.model_copy(update={"protocol": panel_setup().name})
        return self if self.named else replace(self, settings=panel)

    def of_every_protocol(self) -> "Plan":
        """With a stack that serves them all, where no protocol is named."""
        return self if self.named else replace(self, every=True)


def _without_agents(rows: tuple[AgentRow, ...], free: Sequence[str]) -> tuple[AgentRow, ...]:
    """The rows, of which these queues have no agent in the stack. Raises BadInput where there is no such queue."""
    queues = [row.queue for row in rows]
    for queue in free:
        if queue not in queues:
            raise BadInput("free", f"there is no queue {queue}; {nearest(queue, queues)}")
    return tuple(msgspec.structs.replace(row, copies=0) if row.queue in free else row for row in rows)


def plan_of(settings: Settings) -> Plan:
    """Settings with the panel file that they name, which is opened here and nowhere else. Raises BadInput: as
    parley.stack.panel_file.read_panel; also where the bus runs elsewhere."""
    path = settings.panel_file
    if settings.experts is not None and settings.nats.url:
        why = f"{settings.experts} is for an embedded stack, but --nats names a bus elsewhere; enroll them there"
        raise BadInput("experts", why)
    if path is None:
        return Plan(settings, None)
    if settings.nats.url:
        raise BadInput(
            "panel-file",
            f"{path} describes an embedded stack, but --nats names a bus that runs elsewhere; leave one out",
        )
    return Plan(settings, read_panel(path))
