"""madp: the one record of what the machine saw in a task. It is added up from the posts, whose calls, diffs and lists
of tools the workers write and no model does; what a lead says beside it is a claim (told.py)."""

import re
from collections.abc import Iterator

import msgspec

from parley.coordinator.commands import SayOn
from parley.coordinator.protocols.madp.evidence import risk
from parley.coordinator.protocols.madp.evidence.diffs import added_prose, added_tests, is_prose, paths_of, that_run
from parley.coordinator.protocols.madp.evidence.proof import EMPTY, tests_may_change
from parley.coordinator.protocols.madp.evidence.told import runs_unheld, tells, unheld
from parley.coordinator.protocols.madp.state import Says, State, diff_so_far, read_said
from parley.coordinator.table import View
from parley.schemas.folders.request_kind import wanted
from parley.schemas.protocols.madp.messages import Reviewed
from parley.schemas.protocols.madp.work import MOST_RECORDED, Checked, Evidence, Ran, Supported, Work
from parley.schemas.tools import START, ToolCall, main_argument
from parley.schemas.wire import decode

Body = Work | Supported | Reviewed
_KINDS: dict[str, type] = {"work": Work, "support": Supported, "review": Reviewed}
_READS = frozenset({"read_file"})
_LOOKS = _READS | {"list_files", "search", "read_output"}
"""Tools that change nothing: after a call of any other, what was run before it says nothing of the work."""
_OF_TEXTS = re.compile(
    r"\b(?:readme|docs?|document\w*|changelog|pages?|guides?|notes?|texts?|spell\w*|typos?|word(?:ing|s)|translat\w*|"
    r"manuals?|records?|adr|comments?|übersetz\w*|doku\w*)\b|\.(?:md|rst|txt|adoc)\b",
    re.I,
)
NOTHING_RUN = "no command was run"
replace = msgspec.structs.replace


def evidence(s: State, v: View, says: Says = ()) -> Evidence:
    """The record so far. `says`: what this transition posts, which the view has not yet."""
    diff = diff_so_far(s, v, says)
    bodies = list(_bodies(v, says))
    unasked = _unasked(s, v, diff)
    given = tuple(x.name for x in v.opened.documents)
    record = replace(_recorded(bodies, diff, given), unasked=unasked)
    if s.work is None:
        return record
    work = read_said(v, says, s.work, Work)
    own = _recorded([(seat, body) for seat, body in bodies if not isinstance(body, Reviewed)], diff, given)
    about, own = tells(v.opened.question, work.outcome), replace(own, unasked=unasked)
    claims = unheld(work.summary, own, s.checks, about.summary) + unheld(work.output, own, s.checks, about.output)
    claims += runs_unheld(added_prose(diff), own, s.checks, about.output)
    return replace(record, claims=tuple(dict.fromkeys(claims))[:MOST_RECORDED])


def _unasked(s: State, v: View, diff: str) -> tuple[str, ...]:
    """What the work touches although the task speaks of none of it."""
    run = [f"files that {kind}: {few(paths, 5)}" for kind, paths in that_run(diff).items()]
    fields = [x for x in (risk.of_diff(diff) if diff else ()) if x not in risk.of_task(v.opened.question)]
    may = tests_may_change(v.opened.question)
    tests = [row for c in s.checks for row in c.weakened if row.startswith(EMPTY) or not may]
    return (*fields, *run, *tests)[:MOST_RECORDED]


def _recorded(bodies: list[tuple[str, Body]], diff: str, given: tuple[str, ...]) -> Evidence:
    """`given`: the documents of the session, which every turn is shown."""
    commands: list[Ran] = []
    read = dict.fromkeys(given)
    offered: dict[str, None] = {}
    refused: list[str] = []
    for seat, body in bodies:
        offered |= dict.fromkeys(body.offered)
        read |= dict.fromkeys(body.shown)
        for call in body.calls:
            what = main_argument(call.arguments)
            if call.tool in _READS and call.ok:
                read[what] = None
            if call.tool != START and isinstance(call.ended, str):
                tests = call.tests if isinstance(call.tests, str) else ""
                commands.append(Ran(by=seat, command=what[:200], ended=call.ended, tests=tests))
            elif not call.ok:
                refused.append(_refused(seat, call, what))
            elif call.tool not in _LOOKS:
                commands = [replace(c, stale=True) for c in commands]
    return Evidence(
        commands=tuple(commands[-MOST_RECORDED:]),
        read=tuple(read)[:MOST_RECORDED],
        written=paths_of(diff)[:MOST_RECORDED],
        tests=added_tests(diff),
        offered=tuple(offered)[:MOST_RECORDED],
        refused=tuple(refused[:MOST_RECORDED]),
    )


def _bodies(v: View, says: Says) -> Iterator[tuple[str, Body]]:
    """(who, what) of every turn that may use tools."""
    said = [(x.kind, x.seat, x.body) for x in v.posts]
    said += [(w.kind, w.seat, w.body) for w in says if isinstance(w, SayOn)]
    yield from ((seat, decode(body, _KINDS[kind])) for kind, seat, body in said if kind in _KINDS and seat)


def _refused(seat: str, call: ToolCall, what: str) -> str:
    why = " ".join(call.result.split())[:160]
    return f"{seat}: {call.server}.{call.tool} {what[:80]}: {why}"


def prose_alone(s: State, v: View, says: Says) -> bool:
    """Whether the task changed texts for people and nothing else, or no file at all, and no text claims a run. A text
    beside what is to be changed is not what a task asks for that speaks of none."""
    if s.changed is None:
        return True
    diff = diff_so_far(s, v, says)
    prose, about = added_prose(diff), tells(v.opened.question).output
    return (
        is_prose(diff)
        and _prose_asked(v.opened.question, diff)
        and not (prose and runs_unheld(prose, evidence(s, v, says), s.checks, about))
    )


def _prose_asked(task: str, diff: str) -> bool:
    named = any(path.rpartition("/")[2].lower() in task.lower() for path in paths_of(diff))
    return not diff or wanted(task) != "change" or named or bool(_OF_TEXTS.search(task))


def ledger_lines(record: Evidence, checks: tuple[Checked, ...]) -> tuple[str, ...]:
    """The record in words, the weightiest first."""
    rows = [f"the check {c.when} the work, `{c.command}`: {_came_to(c)}" for c in checks]
    rows += [f"{r.by} ran `{r.command}`: {_ended(r)}" for r in record.commands[-20:]]
    if not any(c.ran for c in checks) and not record.commands:
        rows.insert(0, NOTHING_RUN)
    rows.append(f"files changed: {few(record.written) or 'none'}")
    rows.append(f"tests that the change adds: {record.tests}")
    rows += [f"beside what the task asks: {few(record.unasked)}"] if record.unasked else []
    rows.append(f"files read: {few(record.read) or 'none'}")
    rows.append(f"tools offered: {few(record.offered) or 'none'}")
    rows += [f"a call that was refused or failed: {row}" for row in record.refused[:5]]
    return tuple(rows)


def _ended(ran: Ran) -> str:
    return ", ".join(x for x in (ran.ended, ran.tests, "files were changed after it" if ran.stale else "") if x)


def _came_to(run: Checked) -> str:
    if run.exit is None:
        return f"no result ({run.ended[:200]})"
    counts = [f"{len(run.failed)} failed"] if run.failed else []
    counts += [f"{run.passed} passed"] if run.passed is not None else []
    return ", ".join([f"exit {run.exit}", *counts]) + (f": {few(run.failed, 5)}" if run.failed else "")


def few(names: tuple[str, ...], most: int = 20) -> str:
    """Names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
