"""Work in words: calls of tools, diffs, findings, the check, what the machine saw, and whose word a result is."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from parley.client.show.card import CardPart
from parley.client.show.palette import seat_name
from parley.client.text import count, line
from parley.schemas.folders.notes import Memory, Note, note_words
from parley.schemas.past_sessions.feedback import Kept
from parley.schemas.protocols.madp.messages import Item
from parley.schemas.protocols.madp.work import Checked, Evidence, Finding
from parley.schemas.result import Stop
from parley.schemas.tools import ToolCall, ended_words
from parley.schemas.wire import SchemaError

WIDE = 300
"""Characters of what is said at length, on one line."""
_MOST_STEPS, _SUMMARY = 10, 200
"""Turns of work that a result names, and characters of the summary of one."""
_MOST, _FAILED = 10, 40
NOTHING_RUN = "No command was run."


# -- work


def call_lines(calls: Sequence[ToolCall]) -> Iterator[str]:
    """Each call, and how it ended where it did not succeed."""
    for call in calls:
        ended = ended_words(call)
        ending = "" if ended == "ok" else f", {ended}"
        yield f"{line(call.server)}.{line(call.tool)} {line(call.arguments, WIDE)}{ending}"


def calls_words(calls: Sequence[ToolCall]) -> str:
    """`5 calls of tools, 1 failed: 3 edit_file, 2 read_file`."""
    by_tool: dict[str, int] = {}
    for call in calls:
        name = call.tool or call.server  # a call of what is no tool has no tool's name
        by_tool[name] = by_tool.get(name, 0) + 1
    failed = sum(ended_words(call) != "ok" for call in calls)
    bad = f", {failed} failed" if failed else ""
    counts = ", ".join(f"{n} {line(tool)}" for tool, n in by_tool.items())
    return f"{count(len(calls), 'call')} of tools{bad}: {counts}"


def diff_words(diff: str) -> str:
    """`diff of 2 files, +12 −3 lines`."""
    rows = diff.split("\n")
    files = sum(row.startswith("+++ ") or row.startswith("Binary files ") for row in rows) or 1
    more = sum(row.startswith("+") and not row.startswith("+++ ") for row in rows)
    less = sum(row.startswith("-") and not row.startswith("--- ") for row in rows)
    return f"diff of {count(files, 'file')}, +{more} −{less} lines"


def changed_words(diff: str) -> str:
    """`a.py and b.py, +12 −3 lines`; empty: nothing was changed."""
    names = [row[6:] for row in diff.split("\n") if row.startswith(("+++ b/", "--- a/"))]
    names = [line(name, 60) for name in dict.fromkeys(names)]
    more = f" and {count(len(names) - 2, 'more file')}" if len(names) > 2 else ""
    lines = diff_words(diff).rpartition(", ")[2]
    return f"{(', ' if more else ' and ').join(names[:2])}{more}, {lines}" if names else ""


def diff_parts(outcome: Mapping[str, Any]) -> Iterator[CardPart]:
    """The change, and whose word it is; what was kept of work that was not finished."""
    work, kept = outcome.get("work") or {}, outcome.get("kept") or {}
    whose = "as the lead reports it" if work.get("performed", True) else "proposed in the reply, and not applied"
    for name, text, note in (
        ("diff", work.get("diff"), whose),
        ("kept", kept.get("diff"), "of work that was not finished, and not applied"),
    ):
        if text:
            yield CardPart(name=name, title=f"{diff_words(text).capitalize()}, {note}", code=text, finding=True)


def finding_words(f: Finding) -> str:
    """`major (app.py:3): It leaks. Suggestion: close it.`"""
    at = f" ({line(f.location)})" if f.location else ""
    fault, fix = line(f.description, WIDE), line(f.suggested_fix, WIDE)
    end = "" if fault.endswith((".", "!", "?", "…")) else "."
    return f"{f.severity}{at}: {fault}" + (f"{end} Suggestion: {fix}" if fix else "")


def summaries(rounds: Sequence[Mapping[str, Any]]) -> list[str]:
    """`1. SRE: The query is cached.`: what each turn of work that was done or handed over came to, as its lead sums it
    up, in order; the middle of many is left out. Nothing where it was one turn."""
    rows = [r for r in rounds if r.get("summary") and r.get("outcome") in ("done", "planned", "handoff")]
    steps = [
        f"{n}. {seat_name(str(r.get('lead')))}: {line(str(r['summary']), _SUMMARY)}" for n, r in enumerate(rows, 1)
    ]
    if len(steps) > _MOST_STEPS:
        left = len(steps) - _MOST_STEPS
        steps = [steps[0], f"({left} more, which stand among the rounds)", *steps[left + 1 :]]
    return steps if len(steps) > 1 else []


def memory_lines(outcome: Mapping[str, Any], kept: Kept | None = None) -> Iterator[str]:
    """The notes of earlier tasks that experts saw, with the session of each; and those that this task leaves, as a
    person left them."""
    recalled = msgspec.convert(outcome.get("recalled") or (), tuple[Note, ...])
    memory = msgspec.convert(outcome.get("memory"), Memory | None)
    yield from (f"seen: {line(note_words(note), WIDE * 2)}" for note in recalled)
    left = kept.notes if kept is not None else memory.notes if memory is not None else ()
    yield from (f"left, by {seat_name(note.by)}: {line(note_words(note), WIDE * 2)}" for note in left)


def whose_word(answer: str, stop: Stop, outcome: Mapping[str, Any]) -> str:
    """An answer, marked as the lead's word alone where nothing was done or the check speaks against it."""
    work = outcome.get("work") or {}
    if answer and stop.reason in ("unproven", "unchecked"):
        return f"not shown to be right; {_lead_says(answer)}"
    if not answer or work.get("performed", True) or answer.lower().startswith("nothing was done"):
        return answer
    return f"nothing was done; {_lead_says(answer)}"


def _lead_says(answer: str) -> str:
    """An answer as its lead's word; one that says so already as it is."""
    return f"{answer[0].lower()}{answer[1:]}" if "The lead says: " in answer[:_SUMMARY] else f"the lead says: {answer}"


def why_stopped(stop: Stop, *, reviewed: bool) -> str:
    """Which of the cases that a stop reason stands for it was; empty: the reason says it. `reviewed`: some revision
    was."""
    if stop.reason == "unreviewed" and reviewed:
        return "the work is done; its last revision was not reviewed"
    if stop.reason != "rejected" or not stop.certificate.get("by"):
        return ""
    if stop.certificate["by"] == "nobody answered":
        return "nobody was left to go on with the task"
    why = stop.certificate.get("why")
    if why == "a human stopped it before the work":
        return "a human stopped the task before the work"
    return "a human gave the task up" if why == "give up" else "a human rejected the work"


_CHOICES = {
    "review_limit": {
        "emit": "the task ends with the work as it is, which is not approved: --apply leaves it",
        "revise": "it goes back to the lead once more, which is paid; --note TEXT tells the lead what to do",
        "reject": "the task ends, and the work is refused",
    },
    "unchecked": {
        "approve": "the task ends approved, by your word: no check was run",
        "leave": "the task ends with the work as it is, which is not approved: --apply leaves it",
    },
}
"""Kind of question -> choice -> what becomes of the work."""


def choice_words(item: Item) -> Iterator[str]:
    """What the choices of an open item mean."""
    told = _CHOICES.get(item.kind, {})
    yield from (f"{line(c)}: {told[c]}" for c in item.choices if c in told)


# -- the check


def run_words(body: Checked) -> str:
    """`4 failed, 12 passed (3.1 s)`."""
    return _came_to(body) + ("" if body.exit is None else f" ({body.seconds:.1f} s)")


def _came_to(body: Checked) -> str:
    """`4 failed, 12 passed`."""
    if body.exit is None:
        return f"no result: {line(body.ended, WIDE)}"
    parts = [f"{len(body.failed)} failed"] if body.failed else []
    parts += [f"{body.passed} passed"] if body.passed is not None else []
    if not parts or (bool(body.exit) != bool(body.failed)):
        parts += [f"exit status {body.exit}"]
    return ", ".join(parts)


def run_notes(body: Checked) -> Iterator[str]:
    """What a run of the check tells beside its result, and what one that says little means for whoever waits."""
    if body.failed:
        yield f"Fails: {', '.join(line(name, WIDE) for name in body.failed[:_FAILED])}"
    if body.restored:
        told = ", ".join(line(path) for path in body.restored)
        yield f"Run with these as they were before the work, for they decide what it runs: {told}"
    if body.weakened:
        yield f"What the work did about tests: {', '.join(line(name) for name in body.weakened[:_FAILED])}"
    if body.when == "before" and body.exit is None:
        yield "As long as the check has no result, the work cannot be approved; its turns are paid all the same."
        yield "To avoid that, end the task (Ctrl-C), and ask again with a --check that runs, or --check off."
    elif body.when == "before" and body.exit and not body.failed:
        yield "Its output names no test, so failures cannot be compared: only a check that succeeds counts."


def check_words(proof: Mapping[str, Any] | None) -> str:
    """`python -m pytest -q: 4 failed, 12 passed before the work, 16 passed after it`; empty: there was no check."""
    if not proof:
        return ""
    runs = {"before the work": proof.get("before"), "after it": proof.get("after")}
    came = [f"{_came_to(msgspec.convert(run, Checked))} {when}" for when, run in runs.items() if run]
    told = f"{line(proof['command'], WIDE)}: {', '.join(came) or 'not run'}"
    return told + (f"; {line(proof['why'], WIDE)}" if proof.get("why") else "")


# -- what the machine saw


def record(outcome: Mapping[str, Any]) -> Evidence | None:
    """The record of a task that came to work; None: there is none."""
    if not outcome.get("work") or not outcome.get("evidence"):
        return None
    try:
        return msgspec.convert(outcome["evidence"], Evidence)
    except (msgspec.ValidationError, SchemaError):
        return None


def nothing_run(outcome: Mapping[str, Any]) -> bool:
    """Whether the record says that no command was run, nor the check."""
    found = record(outcome)
    check = outcome.get("check") or {}
    ran = any((check.get(when) or {}).get("ran", bool(check.get(when))) for when in ("before", "after"))
    return found is not None and not found.commands and not ran


def weak(outcome: Mapping[str, Any], answer: str) -> Iterator[str]:
    """What speaks against trusting a result, beside what reviewers found. `answer`: as it is shown."""
    if nothing_run(outcome) and not answer.startswith(NOTHING_RUN):
        yield NOTHING_RUN
    if (found := record(outcome)) is not None and found.claims:
        yield f"{count(len(found.claims), 'claim')} of the lead not borne out"
    asked = outcome.get("items") or ()
    if waits := sum(item.get("choice") is None for item in asked):
        yield f"{count(waits, 'question')} for a human open"
    unasked = [i["question"] for i in asked[-1:] if not i.get("author") and not answer]
    yield from (f"nobody answered: {line(str(question), WIDE)}" for question in unasked)
    warned = (line(str(text), WIDE) for text in outcome.get("warnings") or ())
    yield from (text for text in warned if text.partition(":")[0] not in "".join(unasked))


def seen_lines(outcome: Mapping[str, Any]) -> Iterator[str]:
    """The record, and what the lead claims and the machine did not see."""
    found = record(outcome)
    if found is None:
        return
    read, written = count(len(found.read), "file"), count(len(found.written), "file")
    commands = count(len(found.commands), "command") if found.commands else "no command"
    refused = f", {count(len(found.refused), 'call')} refused or failed" if found.refused else ""
    yield f"{commands} run by experts, {read} shown or read, {written} changed{refused}"
    for ran in found.commands[-_MOST:]:
        tests = f", {line(ran.tests)}" if ran.tests else ""
        later = "; files were changed after it" if ran.stale else ""
        yield f"  {seat_name(ran.by)} ran {line(ran.command, WIDE)}: {line(ran.ended, WIDE)}{tests}{later}"
    if found.unasked:
        yield f"Beside what the task asks: {', '.join(line(what, WIDE) for what in found.unasked[:_MOST])}"
    yield from (f"Not borne out: {line(claim, WIDE)}" for claim in found.claims[:_MOST])
