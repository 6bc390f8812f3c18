"""One question of the command line: what is asked becomes an opening, and that an estimate or a session."""

import sys
import time
from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from parley.client import estimate, task_folder
from parley.client.choice import Choice, choose, takers
from parley.client.errors import BadInput
from parley.client.evidence import telling
from parley.client.follow_up import Earlier
from parley.client.learned.memory import project_of, with_project
from parley.client.opening import opening_of, read_evidence, spelling
from parley.client.protocols import setup_of
from parley.client.show.printing import say_all, warn
from parley.cost import estimate_cost
from parley.planned.access import on_last_stack, place
from parley.run import Run
from parley.schemas.session import SESSION_ID, OpenSession
from parley.settings import Settings

_TELL_S = 3.0
"""Seconds between two lines of a long reading."""


def ask_question(run: Run, question: str, given: Mapping[str, Any], flags: Container[str]) -> tuple[int, Any]:
    """Ask it, show what it comes to, and return the exit status and the document of `--json`. Takes and raises what
    `asked` does; also as parley.ask_session.run_session."""
    opening, run = read_request(run, question, given, flags)
    with spelling("ask", opening.protocol, flags):
        if not run.dry:
            from parley.ask_session import run_session  # the bus, which an estimate does without

            return run_session(opening, run)
        expected = estimate_cost(opening, run)
        if not run.json:
            say_all(estimate.table(expected))
        estimate.refuse(expected)
        return 0, {**estimate.document(expected), **run.choice.told()}


def read_request(run: Run, question: str, given: Mapping[str, Any], flags: Container[str]) -> tuple[OpenSession, Run]:
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
    given = dict(given)
    evidence, folder = given.pop("evidence", None), given.pop("folder", None)
    continues = given.pop("continues", "")
    bus = run.plan.settings.nats.url
    if run.ephemeral and bus:
        raise BadInput("--ephemeral", f"--ephemeral keeps nothing, but the bus at {bus} keeps its sessions")
    with spelling("ask", "", flags):
        before = _earlier(run.plan.settings, continues, ephemeral=run.ephemeral) if continues else None
        documents_given = bool(evidence or (before and before.documents))
        choice = _chosen(run, question, given, flags, before, documents=documents_given, folder=folder is not None)
    given["protocol"] = protocol = choice.protocol
    told = [*choice.words(), *([before.words(protocol)] if before is not None else [])]
    for text in () if run.quiet or run.json else told:
        warn(f"parley: {text}")
    works = folder is not None and setup_of(protocol).changes_folder
    run.into.check(folder if works else None)
    with spelling("ask", protocol, flags), telling(_progress()):
        documents = read_evidence(protocol, evidence, folder)
        sent = task_folder.read_folder(folder) if works else None
        offer = msgspec.structs.replace(run.plan.offer(protocol), here=True)
        project = "" if sent is None else project_of(sent.folder)
        if sent is not None:
            kept = before.settings if before is not None and before.had_folder else offer.settings
            given["settings"] = {**with_project(given["settings"], kept, project), **sent.settings}
    opening = opening_of(question, given, documents, offer, before=before, door="ask", flags=flags, person=run.person)
    if sent is not None and not run.ephemeral:
        opening = offer.past.of_folder(opening, sent.folder, project)
    run = replace(run, plan=run.plan.of(opening), sent=sent, choice=choice)
    if not bus:
        run.plan.stack()
    if sent is not None and not (bus or run.plan.uses_kept(ephemeral=run.ephemeral)):
        run.plan.setup.check_here(sent.data, opening.settings)
    return opening, run


def _progress() -> Callable[[str], None]:
    """Says every few seconds how far a long reading is, on a terminal."""
    told = time.monotonic()

    def tell(said: str) -> None:
        nonlocal told
        if sys.stderr.isatty() and time.monotonic() - told >= _TELL_S:
            told = time.monotonic()
            warn(f"parley: reading {said}")

    return tell


def _chosen(
    run: Run, question: str, given: Mapping[str, Any], flags: Container[str], before: Earlier | None, *,
    documents: bool, folder: bool,
) -> Choice:  # fmt: skip
    if named := given.get("protocol") or (run.plan.named and before is None and run.plan.protocol):
        return Choice(protocol=named)
    return choose(
        question,
        folder=folder,
        documents=documents,
        is_file=_is_file(question),
        allowed=takers(given, flags, changes=bool(run.into)),
        follows=before.protocol if before else "",
        had_folder=bool(before and before.had_folder),
    )


def _earlier(settings: Settings, sid: str, *, ephemeral: bool = False) -> Earlier:
    """What a finished session leaves to the one that goes on from it. Raises BadInput, Unreachable."""
    if ephemeral:
        raise BadInput("--continue", f"--ephemeral keeps nothing, so there is no session {sid} to go on from")
    if not SESSION_ID.fullmatch(sid):
        raise BadInput("--continue", f"{sid!r} is no session's id")

    why = f"there is no session {sid}: no session ever ran in {place(settings)}"
    return on_last_stack(settings, lambda parley: parley.earlier(sid), BadInput("--continue", why))


def _is_file(question: str) -> bool:
    name = question.strip()
    try:
        return bool(name) and not name.endswith("?") and Path(name).is_file()
    except (OSError, ValueError):
        return False
