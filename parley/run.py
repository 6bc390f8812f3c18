"""How one session is run and shown, beside what is asked (parley.schemas.session.OpenSession)."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from parley.applying import NOWHERE, Into
from parley.client import task_folder, task_history
from parley.client.errors import BadInput
from parley.client.opening import opening_of, read_evidence, spelling
from parley.client.task_folder import Sent
from parley.planned.plan import Plan
from parley.schemas.session import SESSION_ID, ForkSession, OpenSession
from parley.stack.lease import default_state, remembered


@dataclass(frozen=True, kw_only=True)
class Run:
    """How one session is run and shown."""

    plan: Plan
    """On which bus, or stack."""
    json: bool = False
    quiet: bool = False
    plain: bool = False
    verbose: bool = False
    """Everything that is said, and not one screen."""
    everything: bool = False
    """Every channel, which takes an owner's credentials."""
    page: bool = False
    """On a page in the browser too."""
    ephemeral: bool = False
    """Nothing is kept."""
    sent: Sent | None = None
    """The folder that it begins with."""
    into: Into = NOWHERE
    """Where an approved change of that folder goes."""
    fork: ForkSession | None = None
    """What is opened in place of the opening, which says what that comes to."""


def asked(run: Run, question: str, given: Mapping[str, Any], flags: Container[str]) -> tuple[OpenSession, Run]:
    """What the command line asks for, checked as far as it can be before anything is started: of a dry run just as of a
    run.

    Parameters
    ----------
    given
        The options, as parley.client.opening takes them, with the sources of `evidence` and the `folder`.
    flags
        Names of those that were given as flags.

    Raises
    ------
    BadInput
        Names the option, its value and what is allowed.
    """
    given, offer = dict(given), msgspec.structs.replace(run.plan.offer(), here=True)
    evidence, folder = given.pop("evidence", None), given.pop("folder", None)
    history, protocol = not given.pop("no_history", False), given.get("protocol") or offer.protocol
    _check_place(run, given.get("continues", ""))
    run.into.check(folder)
    sent = None
    with spelling("ask", protocol, flags):
        documents = read_evidence(protocol, evidence)
        if folder is not None:
            sent = task_folder.read_folder(folder)
            sent = task_history.with_history(sent) if history else sent
            given["settings"] = {**given["settings"], **sent.settings}
    opening = opening_of(question, given, documents, offer, door="ask", flags=flags)
    run = replace(run, plan=run.plan.of(opening), sent=sent)
    if not run.plan.settings.nats.url:
        run.plan.stack()
    if sent is not None and not (run.plan.settings.nats.url or run.plan.uses_kept(ephemeral=run.ephemeral)):
        run.plan.setup.check_here(sent.data, opening.settings)
    return opening, run


def _check_place(run: Run, continues: str) -> None:
    """Raise BadInput where a session cannot be kept, or followed up, on this bus."""
    settings = run.plan.settings
    bus, state = settings.nats.url, settings.state or default_state()
    if run.ephemeral and bus:
        raise BadInput("--ephemeral", f"--ephemeral keeps nothing, but the bus at {bus} keeps its sessions")
    if not continues:
        return
    if run.ephemeral:
        raise BadInput("--continue", f"--ephemeral keeps nothing, so there is no session {continues} to go on from")
    if not SESSION_ID.fullmatch(continues):
        raise BadInput("--continue", f"{continues!r} is no session's id")
    if not bus and remembered(state) is None:
        raise BadInput("--continue", f"there is no session {continues}: no session ever ran in {state}")
