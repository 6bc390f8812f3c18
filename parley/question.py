"""One question of the command line: what is asked becomes an opening, and that an estimate or a session."""

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from parley.client import estimate, task_folder, task_history
from parley.client.errors import BadInput
from parley.client.opening import opening_of, read_evidence, spelling
from parley.client.show.printing import say_all, warn
from parley.cost import estimated
from parley.run import Run
from parley.schemas.session import SESSION_ID, OpenSession
from parley.stack.lease import default_state, read_running, remembered


def ask_question(run: Run, question: str, given: Mapping[str, Any], flags: Container[str]) -> tuple[int, Any]:
    """Ask it, show what it comes to, and return the exit status and the document of `--json`. Takes and raises what
    `asked` does; also as parley.asking.run_session."""
    opening, run = asked(run, question, given, flags)
    with spelling("ask", opening.protocol, flags):
        if not run.dry:
            from parley.asking import run_session  # the bus, which an estimate does without

            return run_session(opening, run)
        expected = estimated(opening, run, None if run.quiet else lambda text: warn(f"parley: {text}"))
        if not run.json:
            say_all(estimate.table(expected))
        estimate.refuse(expected)
        return 0, estimate.document(expected)


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
    if sent is not None and _starts(run):
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


def _starts(run: Run) -> bool:
    """Whether the session gets a stack of its own: none is kept up for it, here or elsewhere."""
    settings = run.plan.settings
    if settings.nats.url:
        return False
    running = None if run.ephemeral else read_running(settings.state or default_state())
    return running is None or not running.permanent
