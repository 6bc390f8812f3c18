"""How one session is run and shown, beside what is asked (parley.schemas.session.OpenSession)."""

from collections.abc import Container, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from parley.applying import NOWHERE, Into
from parley.client import task_folder, task_history
from parley.client.choice import NAMED, Choice, choose, takers
from parley.client.errors import BadInput
from parley.client.follow_up import Earlier
from parley.client.opening import opening_of, read_evidence, spelling
from parley.client.protocols import setup_of
from parley.client.task_folder import Sent
from parley.planned.chosen import earlier, has_model, is_file
from parley.planned.plan import Plan
from parley.schemas.session import ForkSession, OpenSession
from parley.stack.lease import default_state, read_running


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
    choice: Choice = NAMED
    """How its protocol was chosen."""
    before: Earlier | None = None
    """The session that it goes on from."""
    fork: ForkSession | None = None
    """What is opened in place of the opening, which says what that comes to."""

    def words(self) -> list[str]:
        """What was chosen, and what the session before leaves, a line each."""
        return [*self.choice.words(), *([self.before.words(self.choice.protocol)] if self.before else [])]


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
    given, settings = dict(given), run.plan.settings
    evidence, folder = given.pop("evidence", None), given.pop("folder", None)
    history, continues = not given.pop("no_history", False), given.pop("continues", "")
    if run.ephemeral and settings.nats.url:
        why = f"--ephemeral keeps nothing, but the bus at {settings.nats.url} keeps its sessions"
        raise BadInput("--ephemeral", why)
    run.into.check(folder)
    before = earlier(settings, continues, ephemeral=run.ephemeral) if continues else None
    choice = _chosen(run, question, given, flags, before, documents=bool(evidence), folder=folder is not None)
    given["protocol"] = protocol = choice.protocol
    sent: Sent | None = None
    copy: AbstractContextManager[Path | None] = nullcontext()
    with spelling("ask", protocol, flags):
        if folder is not None and not setup_of(protocol).changes_folder:
            copy, folder = task_folder.as_documents(folder), None
        with copy as read:
            documents = read_evidence(protocol, [*(evidence or ()), *([read] if read else ())] or None)
        if folder is not None:
            sent = task_folder.read_folder(folder)
            sent = task_history.with_history(sent) if history else sent
            given["settings"] = {**given["settings"], **sent.settings}
        offer = msgspec.structs.replace(run.plan.offer(protocol), here=True)
    opening = opening_of(question, given, documents, offer, door="ask", flags=flags, before=before)
    run = replace(run, plan=run.plan.of(opening), sent=sent, choice=choice, before=before)
    if not run.plan.settings.nats.url:
        run.plan.stack()
    if sent is not None and _starts(run):
        run.plan.setup.check_here(sent.data, opening.settings)
    return opening, run


def _chosen(
    run: Run, question: str, given: Mapping[str, Any], flags: Container[str], before: Earlier | None, *,
    documents: bool, folder: bool,
) -> Choice:  # fmt: skip
    """The protocol that is named, or the one that what is asked goes to. Raises BadInput as parley.client.choice."""
    if named := given.get("protocol") or (run.plan.named and before is None and run.plan.protocol):
        return Choice(protocol=named)
    return choose(
        question, folder=folder, documents=documents or bool(before and before.documents),
        model=has_model(run.plan, ephemeral=run.ephemeral), is_file=is_file(question),
        allowed=takers(given, flags, changes=run.into is not NOWHERE and run.into != NOWHERE),
        follows=before.protocol if before else "", had_folder=bool(before and before.had_folder),
    )  # fmt: skip


def _starts(run: Run) -> bool:
    """Whether the session gets a stack of its own: none is kept up for it, here or elsewhere."""
    settings = run.plan.settings
    if settings.nats.url:
        return False
    running = None if run.ephemeral else read_running(settings.state or default_state())
    return running is None or not running.permanent
