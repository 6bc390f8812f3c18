"""One question of the command line: what is asked becomes an opening, and that an estimate or a session."""

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from parley.client import estimate, task_folder
from parley.client.errors import BadInput
from parley.client.git import history as git_history
from parley.client.opening import names_of, opening_of, read_evidence, spelling
from parley.client.protocols import all_setups, task_setup
from parley.client.show.printing import say_all, warn
from parley.cost import estimated
from parley.planned.chosen import chosen, earlier
from parley.run import Run
from parley.schemas.session import OpenSession
from parley.stack.lease import default_state, read_running


def ask_question(run: Run, question: str, given: Mapping[str, Any], flags: Container[str]) -> tuple[int, Any]:
    """Ask it, show what it comes to, and return the exit status and the document of `--json`. Takes and raises what
    `asked` does; also as parley.asking.run_session."""
    opening, run = asked(run, question, given, flags)
    with spelling("ask", opening.protocol, flags):
        if not run.dry:
            from parley.asking import run_session  # the bus, which an estimate does without

            return run_session(opening, run)
        expected = estimated(opening, run)
        if not run.json:
            say_all(estimate.table(expected))
        estimate.refuse(expected)
        return 0, {**estimate.document(expected), **run.choice.told()}


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
    given = dict(given)
    evidence, folder = given.pop("evidence", None), given.pop("folder", None)
    history, continues = not given.pop("no_history", False), given.get("continues", "")
    bus = run.plan.settings.nats.url
    if run.ephemeral and bus:
        raise BadInput("--ephemeral", f"--ephemeral keeps nothing, but the bus at {bus} keeps its sessions")
    with spelling("ask", "", flags):
        before = earlier(run.plan.settings, continues, ephemeral=run.ephemeral) if continues else None
        named = "protocol" in given
        plan, choice = chosen(
            run.plan, question, folder=folder is not None, documents=bool(evidence or (before and before.documents)),
            ephemeral=run.ephemeral, named=named,
            allowed=() if named else _takers(given, flags, changes=bool(run.into)),
            before=before,
        )  # fmt: skip
    told = [*choice.words(), *([before.words(plan.protocol)] if before is not None else [])]
    for text in () if run.quiet or run.json else told:
        warn(f"parley: {text}")
    works = folder is not None and plan.setup.changes_folder
    run.into.check(folder if works else None)
    given["protocol"] = plan.protocol
    with spelling("ask", plan.protocol, flags):
        documents = read_evidence(plan.protocol, evidence, folder)
        sent = task_folder.read_folder(folder) if works else None
        if sent is not None:
            sent = git_history.with_history(sent) if history else sent
            given["settings"] = {**given["settings"], **sent.settings}
    offer = msgspec.structs.replace(plan.offer(), here=True)
    opening = opening_of(question, given, documents, offer, before=before, door="ask", flags=flags)
    run = replace(run, plan=plan.of(opening), sent=sent, choice=choice)
    if not bus:
        run.plan.stack()
    if sent is not None and _starts(run):
        run.plan.setup.check_here(sent.data, opening.settings)
    return opening, run


def _takers(given: Mapping[str, Any], flags: Container[str], *, changes: bool) -> frozenset[str]:
    """The protocols that take every option that was given; none: no option is of some alone, or they are of several.
    `changes`: what only a task has is wanted, that its result is written into a folder."""
    takers = set()
    for setup in all_setups():
        names = {f"{setup.name}.{name}" for name in names_of(setup.name)} | names_of(setup.name)
        alone = {o.name for other in all_setups() for o in other.options if o.gives in ("question", "no_history")}
        others = alone - {option.name for option in setup.options}
        has_panel = setup.several is not None or "panel" not in given
        if names.issuperset(given["settings"]) and has_panel and not any(name in flags for name in others):
            takers.add(setup.name)
    if changes:
        takers &= {task_setup().name}
    return frozenset(takers if len(takers) < len(all_setups()) else ())


def _starts(run: Run) -> bool:
    """Whether the session gets a stack of its own: none is kept up for it, here or elsewhere."""
    settings = run.plan.settings
    if settings.nats.url:
        return False
    running = None if run.ephemeral else read_running(settings.state or default_state())
    return running is None or not running.permanent
