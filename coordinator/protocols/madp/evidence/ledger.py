"""madp: the one record of what the machine saw in a task. It is added up from the posts, whose calls, diffs and lists
of tools the workers write and no model does; what a lead says beside it is a claim (told.py)."""

import re
from collections.abc import Iterator

import msgspec

from parley.coordinator.commands import SayOn
from parley.coordinator.protocols.madp.evidence.told import unheld
from parley.coordinator.protocols.madp.state import Says, State, read_said
from parley.coordinator.table import View
from parley.schemas.protocols.madp.messages import Reviewed
from parley.schemas.protocols.madp.work import MOST_RECORDED, Checked, Evidence, Ran, Supported, Work
from parley.schemas.tools import CUT, START, ToolCall, main_argument
from parley.schemas.wire import decode

Body = Work | Supported | Reviewed
_KINDS: dict[str, type] = {"work": Work, "support": Supported, "review": Reviewed}
_HEAD = "diff --git a/"
_PROSE = re.compile(r".+\.(?:md|rst|txt|adoc)", re.I)
_NO_PROSE = re.compile(r"(?:.*/)?(?:[\w.-]*(?:requirements|constraints)[\w.-]*|CMakeLists|robots|llms)\.txt", re.I)
"""Texts that a machine reads."""
_TEST = re.compile(
    r"^\+[ \t]*(?:(?:async )?def test|func Test\w|#\[test\]|(?:it|test)\s*(?:\.each.*)?\()|"
    r"^\+[ \t]*@pytest\.mark\.parametrize",
    re.M,
)
_READS = frozenset({"read_file"})
_LOOKS = _READS | {"list_files", "search", "history_log", "history_blame", "history_diff", "read_output"}
"""Tools that change nothing: after a call of any other, what was run before it says nothing of the work."""
NOTHING_RUN = "no command was run"
replace = msgspec.structs.replace


def evidence(s: State, v: View, says: Says = ()) -> Evidence:
    """The record so far. `says`: what this transition posts, which the view has not yet."""
    diff = read_said(v, says, s.changed, Work).diff if s.changed is not None else ""
    bodies = list(_bodies(v, says))
    record = _recorded(bodies, diff)
    if s.work is None:
        return record
    work = read_said(v, says, s.work, Work)
    own = _recorded([(seat, body) for seat, body in bodies if not isinstance(body, Reviewed)], diff)
    return replace(record, claims=unheld(f"{work.summary}\n{work.output}", own, s.checks)[:MOST_RECORDED])


def _recorded(bodies: list[tuple[str, Body]], diff: str) -> Evidence:
    commands: list[Ran] = []
    read: dict[str, None] = {}
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
        commands=tuple(commands[-MOST_RECORDED:]), read=tuple(read)[:MOST_RECORDED],
        written=paths_of(diff)[:MOST_RECORDED], tests=len(_TEST.findall(diff)),
        offered=tuple(offered)[:MOST_RECORDED], refused=tuple(refused[:MOST_RECORDED]),
    )  # fmt: skip


def _bodies(v: View, says: Says) -> Iterator[tuple[str, Body]]:
    """(who, what) of every turn that may use tools."""
    said = [(x.kind, x.seat, x.body) for x in v.posts]
    said += [(w.kind, w.seat, w.body) for w in says if isinstance(w, SayOn)]
    yield from ((seat, decode(body, _KINDS[kind])) for kind, seat, body in said if kind in _KINDS and seat)


def _refused(seat: str, call: ToolCall, what: str) -> str:
    why = " ".join(call.result.split())[:160]
    return f"{seat}: {call.server}.{call.tool} {what[:80]}: {why}"


def paths_of(diff: str) -> tuple[str, ...]:
    """The files of a folder's diff."""
    rests = [line[len(_HEAD) :] for line in diff.split("\n") if line.startswith(_HEAD)]
    # A path stands twice in its head line: `a/PATH b/PATH`.
    return tuple(rest[: (len(rest) - len(" b/")) // 2] for rest in rests)


def prose_alone(s: State, v: View, says: Says) -> bool:
    """Whether the task changed texts for people and nothing else, or no file at all."""
    if s.changed is None:
        return True
    diff = read_said(v, says, s.changed, Work).diff
    paths = paths_of(diff)
    prose = bool(paths or not diff) and all(_PROSE.fullmatch(x) and not _NO_PROSE.fullmatch(x) for x in paths)
    return prose and "\nBinary files " not in diff and "file mode 100755" not in diff and not diff.endswith(CUT)


def words(record: Evidence, checks: tuple[Checked, ...]) -> tuple[str, ...]:
    """The record in words, the weightiest first."""
    rows = [f"the check {c.when} the work, `{c.command}`: {_came_to(c)}" for c in checks]
    rows += [f"{r.by} ran `{r.command}`: {_ended(r)}" for r in record.commands[-20:]]
    if not any(c.ran for c in checks) and not record.commands:
        rows.insert(0, NOTHING_RUN)
    rows.append(f"files changed: {_few(record.written) or 'none'}")
    rows.append(f"tests that the change adds: {record.tests}")
    rows.append(f"files read: {_few(record.read) or 'none'}")
    rows.append(f"tools offered: {_few(record.offered) or 'none'}")
    rows += [f"a call that was refused or failed: {row}" for row in record.refused[:5]]
    return tuple(rows)


def _ended(ran: Ran) -> str:
    return ", ".join(x for x in (ran.ended, ran.tests, "files were changed after it" if ran.stale else "") if x)


def _came_to(run: Checked) -> str:
    if run.exit is None:
        return f"no result ({run.ended[:200]})"
    counts = [f"{len(run.failed)} failed"] if run.failed else []
    counts += [f"{run.passed} passed"] if run.passed is not None else []
    return ", ".join([f"exit {run.exit}", *counts]) + (f": {_few(run.failed, 5)}" if run.failed else "")


def _few(names: tuple[str, ...], most: int = 20) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
