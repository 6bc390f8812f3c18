"""The request of `parley ask`: everything that can be checked before anything starts, in one frozen object."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from parley.applying import NOWHERE, Into
from parley.client import task_folder, task_history
from parley.client.api import known_protocol, request
from parley.client.errors import BadInput
from parley.client.evidence import Sources
from parley.client.task_folder import Sent
from parley.planned.plan import Plan
from parley.reliability.applied import with_learned
from parley.schemas.session import SESSION_ID, ForkSession, OpenSession
from parley.stack.lease import default_state, remembered
from parley.stack.people import with_people


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a session is shown."""

    json: bool = False
    quiet: bool = False
    plain: bool = False
    verbose: bool = False
    """Everything that is said, and not one screen."""
    everything: bool = False
    """Every channel, which takes an owner's credentials."""
    page: bool = False
    """On a page in the browser too."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One session that is to be run, and how."""

    plan: Plan
    opening: OpenSession
    look: Look = Look()
    sent: Sent | None = None
    """The folder that it begins with."""
    into: Into = NOWHERE
    """Where an approved change of that folder goes."""
    ephemeral: bool = False
    """Nothing is kept."""
    continues: str = ""
    """A finished session whose result is context."""
    fork: ForkSession | None = None
    """What is opened in place of `opening`, which says what that comes to."""

    def with_folder(self) -> OpenSession:
        """The session with the settings that its folder brings."""
        if self.sent is None:
            return self.opening
        return msgspec.structs.replace(self.opening, settings={**self.opening.settings, **self.sent.settings})


def opening_of(plan: Plan, question: str, evidence: Sources | None) -> OpenSession:
    """The session that settings and panel file describe, checked. Raises BadInput."""
    settings, panel = plan.settings, plan.panel
    known_protocol(plan.protocol)
    own = plan.own
    several = plan.setup.several
    if panel and several:
        own.setdefault(several.setting, panel.seated(several.role))
    opening = request(
        question,
        protocol=plan.protocol,
        evidence=evidence,
        settings=own,
        seats=panel.seats if panel else (),
        budget=settings.budget.model_dump(),
        seed=settings.seed,
        turn_timeout_s=settings.turn_timeout_s,
    )
    opening = with_learned(opening, settings)
    return with_people(opening, settings.stack)


def request_of(
    plan: Plan,
    question: str,
    evidence: Sources | None,
    *,
    look: Look,
    ephemeral: bool = False,
    continues: str = "",
    folder: Path | None = None,
    history: bool = True,
    into: Into = NOWHERE,
) -> Request:
    """What is asked for, checked as far as it can be before anything is started: of a dry run just as of a run. Raises
    BadInput."""
    opening, bus = opening_of(plan, question, evidence), plan.settings.nats.url
    if ephemeral and bus:
        raise BadInput("--ephemeral", f"--ephemeral keeps nothing, but the bus at {bus} keeps its sessions")
    if not bus:
        plan.stack()
    if continues and ephemeral:
        raise BadInput("continue", f"--ephemeral keeps nothing, so there is no session {continues} to go on from")
    if continues and not SESSION_ID.fullmatch(continues):
        raise BadInput("continue", f"{continues!r} is no session's id")
    state = plan.settings.state or default_state()
    if continues and not bus and remembered(state) is None:
        raise BadInput("continue", f"there is no session {continues}: no session ever ran in {state}")
    into.check(folder)
    sent = task_folder.read_folder(folder) if folder is not None else None
    if sent is not None and history:
        sent = task_history.with_history(sent)
    if sent is not None and not (bus or plan.uses_kept(ephemeral=ephemeral)):
        plan.setup.check_here(sent.data, opening.settings)
    return Request(
        plan=plan, opening=opening, look=look, sent=sent, into=into, ephemeral=ephemeral, continues=continues
    )
