"""Work in words: calls of tools, diffs, findings of reviews, work that goes back to its lead, and how a task ended."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from parley.client.show.lines import StyledLine
from parley.client.text import clean, count, line
from parley.schemas.protocols.madp.messages import Item, Settings
from parley.schemas.protocols.madp.work import Finding
from parley.schemas.result import Result, Stop
from parley.schemas.tools import ToolCall, ended_words

WIDE = 300
"""Characters of what is said at length, on one line."""
MOST_STEPS, _SUMMARY = 10, 200
"""Turns of work that a result names, and characters of the summary of one."""
DIFF_LINES = 200
"""Of a diff in a result."""


def call_lines(calls: Sequence[ToolCall]) -> Iterator[StyledLine]:
    """Each call, and how it ended where it did not succeed."""
    for call in calls:
        ended = ended_words(call)
        ending = "" if ended == "ok" else f", {ended}"
        yield "quiet", f"        {line(call.server)}.{line(call.tool)} {line(call.arguments, WIDE)}{ending}"


def calls_words(calls: Sequence[ToolCall]) -> str:
    """`5 calls of tools, 1 failed: 3 edit_file, 2 read_file`."""
    by_tool: dict[str, int] = {}
    for call in calls:
        by_tool[call.tool] = by_tool.get(call.tool, 0) + 1
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


def diff_lines(diff: str, indent: str = "  ", most: int = DIFF_LINES) -> Iterator[StyledLine]:
    """A unified diff, cut to so many lines."""
    rows = clean(diff).rstrip("\n").split("\n") if diff else []
    for row in rows[:most]:
        style = {"+": "stop", "-": "score"}.get(row[:1], "quiet")
        yield style, f"{indent}{row}"
    if len(rows) > most:
        more = count(len(rows) - most, "more line")
        yield "quiet", f"{indent}and {more} (parley sessions export --format json has all)"


def text_lines(text: str, most: int, indent: str = "      ") -> Iterator[StyledLine]:
    """A text, cut to so many lines."""
    rows = clean(text).rstrip("\n").split("\n") if text else []
    yield from (("", f"{indent}{row}") for row in rows[:most])
    if len(rows) > most:
        yield "quiet", f"{indent}and {count(len(rows) - most, 'more line')}"


def finding_lines(findings: Sequence[Finding], indent: str = "  ") -> Iterator[StyledLine]:
    """What reviews found."""
    for f in findings:
        at = f" ({line(f.location)})" if f.location else ""
        yield "quiet", f"{indent}{f.severity}{at}: {_joined(line(f.description, WIDE), line(f.suggested_fix, WIDE))}"


def _joined(fault: str, fix: str) -> str:
    """A finding and what is suggested, as two sentences."""
    if not fix:
        return fault
    return f"{fault}{'' if fault.endswith(('.', '!', '?', '…')) else '.'} Suggestion: {fix}"


def goes_back(lead: str, revision: int, most: Any) -> StyledLine:
    """Work is asked for again. `most`: the setting `max_reviews`; None: its default."""
    most = Settings().max_reviews if most is None else most
    of = f" of {most}" if isinstance(most, int) and revision <= most else ""
    return "score", f"  goes back to {line(lead)}, revision {revision}{of}"


class _Told(msgspec.Struct):
    """Of a brief of work."""

    findings: tuple[Finding, ...] = ()


def told_findings(brief: bytes) -> tuple[Finding, ...]:
    """What the lead is told to mend; nothing for a brief that cannot be read."""
    try:
        return msgspec.json.decode(brief, type=_Told).findings
    except msgspec.DecodeError:
        return ()


_CHOICES = {
    "emit": "the task ends with the work as it is, which is not approved: --apply and --branch leave it",
    "revise": "it goes back to the lead once more, which is paid; --note TEXT tells the lead what to do",
    "reject": "the task ends, and the work is refused",
}
"""Of a question what becomes of work that was sent back too often."""
_APPROVALS = {
    "approve": "the task ends approved, by your word: no check was run",
    "leave": "the task ends with the work as it is, which is not approved: --apply and --branch leave it",
}
"""Of a question whether work is approved that no check bears out."""


def choice_lines(item: Item) -> Iterator[StyledLine]:
    """What the choices of an open item mean, and which setting says how long it waits."""
    told = {"review_limit": _CHOICES, "unchecked": _APPROVALS}.get(item.kind, {})
    yield from (("quiet", f"      {line(c)}: {told[c]}") for c in item.choices if c in told)
    yield "quiet", f"      how long a question waits: --set madp.item_s=SECONDS (default {Settings().item_s:g})"


def why_stopped(stop: Stop, *, reviewed: bool) -> str:
    """Which of the cases that a stop reason stands for it was; empty: the reason says it.

    Parameters
    ----------
    reviewed
        Some revision was.
    """
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


def asked(result: Result) -> str:
    """The task's question; empty where the result does not tell it."""
    return str((result.outcome.get("task") or {}).get("prompt") or "")


def summaries(rounds: Sequence[Mapping[str, Any]]) -> list[str]:
    """`1. sre: The query is cached.`: what each turn of work that was done or handed over came to, as its lead sums it
    up, in order; the middle of many is left out. Nothing where it was one turn."""
    rows = [r for r in rounds if r.get("summary") and r.get("outcome") in ("done", "handoff")]
    steps = [f"{n}. {line(str(r.get('lead')))}: {line(str(r['summary']), _SUMMARY)}" for n, r in enumerate(rows, 1)]
    if len(steps) > MOST_STEPS:
        left = len(steps) - MOST_STEPS
        steps = [steps[0], f"({left} more, which parley explain shows)", *steps[left + 1 :]]
    return steps if len(steps) > 1 else []


def whose_word(answer: str, work: Mapping[str, Any]) -> str:
    """An answer; that of a lead that did nothing is marked, unless it begins with saying so itself."""
    if not answer or work.get("performed", True) or answer.lower().startswith("nothing was done"):
        return answer
    return f"nothing was done; {lead_says(answer)}"


def lead_says(answer: str) -> str:
    """An answer as its lead's word; one that says so already as it is."""
    return f"{answer[0].lower()}{answer[1:]}" if "The lead says: " in answer[:_SUMMARY] else f"the lead says: {answer}"


def diff_note(work: Mapping[str, Any]) -> str:
    """Says whose word a diff is."""
    return "as the lead reports it" if work.get("performed", True) else "proposed in the reply, and not applied"
