"""A MADP task's posts and outcome in words. What its experts say is shown as text, whatever it is."""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from types import MappingProxyType
from typing import Any

import msgspec

from parley.client.protocols.madp import check_words, evidence_words, work_words
from parley.client.protocols.madp.story import Story
from parley.client.protocols.madp.work_words import (
    DIFF_LINES,
    WIDE,
    call_lines,
    calls_words,
    diff_lines,
    diff_note,
    diff_words,
    finding_lines,
    text_lines,
)
from parley.client.show.lines import StyledLine
from parley.client.show.open_items import OpenItem, item_lines
from parley.client.text import count, line
from parley.schemas.post import Post
from parley.schemas.protocols.madp.messages import (
    Answered,
    Challenges,
    Claim,
    ClaimsPosted,
    Consensus,
    Deliberated,
    HandedOver,
    Item,
    Reviewed,
    TaskPosted,
    Warned,
    Worded,
)
from parley.schemas.protocols.madp.trace import CoordinationTrace
from parley.schemas.protocols.madp.work import Checked, Finding, Supported, Work
from parley.schemas.routing import ASKED, Factors
from parley.schemas.wire import SchemaError

NOTHING: Mapping[str, Any] = MappingProxyType({})
_CLAIM = 110
_BRIEF_DIFF = 12
_BRIEF_WHO = 200
_OUTPUT_LINES = 400
_NOTHING_DONE = "nothing was done"
HOW = {
    "override": "a human chose it", "human": "a human chose it", "degraded": "coordination is degraded: by keywords",
    "timeout": "out of time: the most confident", "general": "nobody else takes it",
}  # fmt: skip
"""Why who leads was not agreed among those who claim."""
_MATCHED_BY = {
    "better": "words and meaning", "better, by words": "words alone", "words": "the triggers of experts",
    "keyword": "keywords",
}  # fmt: skip
"""Matcher -> what it looks at."""
_BY_HUMAN = ("override", "human")
"""Where nobody had to be sure."""
_DOES = {"request_support": "asks for support", "handoff": "hands over", "blocked": "is blocked", "done": "is done"}


def lines(
    post: Post,
    body: Any,
    story: Story,
    width: int,
    *,
    brief: bool = False,
    where: str = "",
    ending: Mapping[str, Any] = NOTHING,
) -> Iterator[StyledLine]:
    """One post of a task.

    Parameters
    ----------
    body
        The post's, as its type.
    story
        The task so far, this post included.
    width
        Characters of what is said in passing; work is shown in full unless `brief`.
    brief
        Leave out how the coordination went.
    where
        Options that name the bus, for commands that are shown.
    ending
        The outcome, where it is shown below: what it has is left out here.
    """
    match body:
        case TaskPosted():
            yield from _task(body, brief)
        case ClaimsPosted() if not brief:
            yield from _claims(body)
        case Worded() if not brief:
            yield "quiet", f"  {line(post.seat)} words what they claim:"
            for c in body.claims:
                yield "seat", f"      {line(c.agent_id)} ({line(c.relevance)}): {line(c.claim, WIDE)}"
        case Challenges() if not brief:
            yield from _challenges(body)
        case Consensus():
            yield from _consensus(body, story, brief)
        case Work():
            yield from _work(post.seat, body, width, brief, ending)
        case Supported():
            yield "seat", f"  {line(body.agent_id)} gives support: {line(body.sub_task, width)}"
            if body.summary and body.summary != body.output:
                yield "quiet", f"      {line(body.summary, max(width, WIDE))}"
            yield from _done(body, brief, 8 if brief else _OUTPUT_LINES)
        case HandedOver():
            yield from _handed(body)
        case Checked():
            yield from check_words.post_lines(body, brief)
        case Reviewed():
            yield from _review(body, story)
        case Item():
            yield from item_lines(post.session, open_item(body), post.at_ns, where)
            yield from work_words.choice_lines(body)
        case Answered():
            yield "score", f"  {answered_words(msgspec.to_builtins(body))}"
        case Warned():
            yield "score", f"  warning: {line(body.text, WIDE)}"
        case Deliberated():
            yield from _deliberation(body)


# ---------------------------------------------------------------- coordination


def _task(body: TaskPosted, brief: bool) -> Iterator[StyledLine]:
    if body.degraded:
        yield "score", "  coordination is degraded: experts are chosen by keywords"
    if body.override:
        yield "score", f"  a human chose {line(body.override)}"
    if brief:
        return
    yield "quiet", f"  depth {body.depth}: {factor_words(body.factors)}{matcher_words(body.matcher)}"
    for c in body.candidates:
        why = f" ({line(c.why)})" if c.why else ""
        yield "quiet", f"      {line(c.expert)}: {fits_words(c.relevance)}, {sure_words(c.confidence)}{why}"
    if not body.candidates:
        yield "quiet", "      no expert matches"


def matcher_words(matcher: str) -> str:
    """`; candidates found by words and meaning (matcher better)`; empty: the matcher is not named."""
    name, asked, model = matcher.partition(ASKED)
    how = f" by {_MATCHED_BY[name]}" if name in _MATCHED_BY else ""
    text = f"; candidates found{how} (matcher {line(name)})" if name else ""
    return text + (f", {line(model)} was asked" if asked else "")


def fits_words(relevance: float) -> str:
    """How well a task fits an expert, 0 to 1, in words."""
    how = "well" if relevance >= 0.7 else "in part" if relevance >= 0.3 else "hardly"
    return f"fits the task {how}"


def sure_words(confidence: float) -> str:
    """How likely an expert is the right lead, 0 to 1, in words."""
    return f"{'a likely' if confidence >= 0.5 else 'a possible' if confidence >= 0.1 else 'an unlikely'} lead"


def factor_words(f: Factors) -> str:
    """3.2's factors on one line."""
    return ", ".join((
        count(f.candidate_count, "candidate"), f"confidence variance {f.confidence_variance:.4f}",
        "domains overlap" if f.domain_overlap else "domains apart",
        "it names a definite action" if f.action_clarity else "it names no action, or a general one (fix, improve)",
        "the scope is clear" if f.scope_definition else "the scope is vague",
    ))  # fmt: skip


def _claims(body: ClaimsPosted) -> Iterator[StyledLine]:
    for c in body.claims:
        yield "seat", f"  {line(c.agent_id)} claims it ({claim_words(c)}): {line(c.claim, WIDE)}"
        for names, what in ((c.defers_to, "defers to"), (c.requires, "requires")):
            if names:
                yield "quiet", f"      {what} {', '.join(_topic(x, c.topics) for x in names)}"
    for p in body.passed:
        yield "quiet", f"  {line(p.agent_id)} passes" + (f": {line(p.why, WIDE)}" if p.why else "")
    if body.silent:
        yield "score", f"  silent: {', '.join(map(line, body.silent))}"


def claim_words(c: Claim) -> str:
    """`relevance high, confidence 0.82`."""
    return f"relevance {c.relevance}" + (f", confidence {c.confidence:.2f}" if c.confidence else "")


def _topic(expert: str, topics: Mapping[str, str]) -> str:
    return f"{line(expert)} ({line(topics[expert], WIDE)})" if topics.get(expert) else line(expert)


def _challenges(body: Challenges) -> Iterator[StyledLine]:
    for c in body.challenges:
        who = f"{line(c.challenger_id)} challenges {line(c.challenged_id)}"
        yield "seat", f"  {who} ({c.proposed_resolution}): {line(c.reason, WIDE)}"


def who_words(decision: Consensus, story: Story) -> str:
    """Who takes it, why, who supports and how deep it went, on one line."""
    lead = decision.outcome.lead
    if lead is None:
        return f"nobody takes it: {line(decision.rationale, WIDE)}"
    relevance, confidence = story.sure(lead.agent_id) if decision.how not in _BY_HUMAN else ("", None)
    figures = ", ".join((
        *([f"relevance {relevance}"] if relevance else []),
        *([f"confidence {confidence:.2f}"] if confidence is not None else []),
    ))  # fmt: skip
    why = HOW.get(decision.how) or line(story.words(lead.agent_id) or lead.responsibility or decision.rationale, _CLAIM)
    reasons = "; ".join(part for part in (figures, why.rstrip("."), _who_was_asked(story)) if part)
    names = [line(a.agent_id) for a in decision.outcome.support]
    support = f", and may ask {' and '.join(names)} for support" if names else ""
    depth = f"; {story.task.depth}" if story.task is not None else ""
    return f"{line(lead.agent_id)} leads ({reasons}){support}{depth}"


def _who_was_asked(story: Story) -> str:
    """The language model that said who leads, where the matcher was unsure."""
    _, _, model = (story.task.matcher if story.task is not None else "").partition(ASKED)
    return f"{line(model)} was asked" if model else ""


def _consensus(body: Consensus, story: Story, brief: bool) -> Iterator[StyledLine]:
    text = who_words(body, story)
    yield "stop" if body.outcome.lead else "score", f"  {line(text, _BRIEF_WHO) if brief else text}"
    if body.conflict:
        yield "score", f"      in doubt: {line(body.conflict, WIDE)}"
    if brief:
        return
    if body.outcome.lead is not None:
        yield "quiet", f"      lead: {line(body.outcome.lead.responsibility, WIDE)}"
    for a in body.outcome.support:
        yield "quiet", f"      may be asked for support, {line(a.agent_id)}: {line(a.responsibility, WIDE)}"
    for x in body.outcome.excluded:
        yield "quiet", f"      not {line(x.agent_id)}: {line(x.reason, WIDE)}"
    yield "quiet", f"      why: {line(body.rationale, WIDE)} ({body.how}, {body.token_cost:,} tokens)"
    for note in body.notes:
        yield "quiet", f"      {line(note, WIDE)}"


# ---------------------------------------------------------------- work


def _work(seat: str, body: Work, width: int, brief: bool, ending: Mapping[str, Any]) -> Iterator[StyledLine]:
    does = _DOES[body.outcome] if body.performed or body.outcome != "done" else "did nothing, and replies"
    yield "seat", f"  {line(seat)} {does}: {line(body.summary, max(width, WIDE))}"
    if body.support is not None:
        yield "quiet", f"      of {line(body.support.agent_id)}: {line(body.support.sub_task, WIDE)}"
    if body.blocked:
        yield "score", f"      {line(body.blocked, WIDE)}"
    yield from _done(body, brief, 0 if brief else _OUTPUT_LINES, ending)


def _done(body: Work | Supported, brief: bool, most: int, ending: Mapping[str, Any] = NOTHING) -> Iterator[StyledLine]:
    """Calls of tools, the diff and so many lines of the text, of a lead or of support; without the text and the diff
    that the outcome has, where that is shown below."""
    diffs = [(ending.get(name) or {}).get("diff") for name in ("work", "kept")]
    if body.calls:
        yield "quiet", f"      {calls_words(body.calls)}"
    if body.diff:
        yield "quiet", f"      {diff_words(body.diff)}"
    if not brief:
        yield from call_lines(body.calls)
    if most and body.output != ending.get("answer"):
        yield from text_lines(body.output, most)
    if not brief and body.diff not in diffs:
        yield from diff_lines(body.diff, "      ")


def _handed(body: HandedOver) -> Iterator[StyledLine]:
    yield "stop", f"  {line(body.from_agent)} hands over to {line(body.to_agent)}: {line(body.reason, WIDE)}"
    for what, parts in (("completed", body.task_state.completed), ("remaining", body.task_state.remaining)):
        if parts:
            yield "quiet", f"      {what}: {'; '.join(line(p, WIDE) for p in parts)}"


def _review(body: Reviewed, story: Story) -> Iterator[StyledLine]:
    style = "stop" if body.verdict == "approved" else "score"
    verdict = "asks for a revision" if body.verdict == "revision_needed" else body.verdict.replace("_", " ")
    nth = f" (review {body.iteration})" if body.iteration > 1 else ""
    yield style, f"  {line(body.reviewer_id)} reviews{nth}: {line(verdict)}"
    reviewers: dict[Finding, str] = {}
    of_this = (r for r in story.reviews if r.iteration == body.iteration)
    for other in takewhile(lambda r: r.reviewer_id != body.reviewer_id, of_this):
        reviewers.update((f, other.reviewer_id) for f in other.findings if f not in reviewers)
    yield from finding_lines([f for f in body.findings if f not in reviewers], "      ")
    again: dict[str, list[str]] = {}
    for f in body.findings:
        if f in reviewers:
            again.setdefault(reviewers[f], []).append(f.severity)
    for reviewer, severities in again.items():
        yield "quiet", f"      says the same as {line(reviewer)}: {', '.join(severities)}"


def _deliberation(body: Deliberated) -> Iterator[StyledLine]:
    if not body.status:
        text = f"a {line(body.protocol)} session decides: {line(body.question, WIDE)}"
        yield "seat", f"  {text}"
        yield "quiet", f"      session {line(body.session)}"
        return
    answer = body.result.get("answer") or body.result.get("winner") or body.why or "nothing"
    ended = f"the {line(body.protocol)} session ended ({line(body.reason or body.status)})"
    yield "seat", f"  {ended}: {line(str(answer), WIDE)}"


# ---------------------------------------------------------------- questions to a human


def open_item(item: Item) -> OpenItem:
    """A question to a human, as the inbox shows it."""
    return OpenItem(
        id=item.id, kind=item.kind, question=item.question, choices=item.choices, default=item.default,
        deadline_ns=item.deadline_ns,
    )  # fmt: skip


def answered_words(answer: Mapping[str, Any]) -> str:
    """What was answered, and by whom."""
    choice, note = line(str(answer.get("choice")), WIDE), str(answer.get("note") or "")
    comment = f" ({line(note, WIDE)})" if note else ""
    if answer.get("author"):
        return f"item {line(str(answer['id']))}: {line(str(answer['author']))} answered {choice}{comment}"
    return f"item {line(str(answer['id']))}: nobody answered; the default holds: {choice}"


# ---------------------------------------------------------------- what it came to


def lead_words(outcome: Mapping[str, Any], story: Story | None = None) -> str:
    """Who leads and why, on one line; empty where no consensus is told."""
    try:
        decision = msgspec.convert(outcome.get("consensus"), Consensus)
    except (msgspec.ValidationError, SchemaError):
        return ""
    if story is not None and story.consensus is not None:
        return who_words(decision, story)
    return who_words(decision, of_outcome(outcome))


def of_outcome(outcome: Mapping[str, Any]) -> Story:
    """As much of a task as its outcome tells: enough for the one line."""
    story = Story()
    kept = {k: outcome.get(k) for k in ("task", "depth", "candidates", "factors", "matcher")}
    try:
        story.task = msgspec.convert({**kept, "claims": "none"}, TaskPosted)
    except (msgspec.ValidationError, SchemaError):
        story.task = None
    return story


def in_short(outcome: Mapping[str, Any], ended: str) -> str:
    """Who led, what reviews said, and how it ended; first that nothing was done, if so. `ended`: how, in words."""
    lead, verdicts = outcome.get("lead"), outcome.get("reviewed") or {}
    approved = sum(v == "approved" for v in verdicts.values())
    planned = not (outcome.get("work") or {}).get("performed", True)
    what = "the plan is approved" if planned else "approved"
    parts = [f"{line(str(lead))} led"] if lead else ["nobody led"]
    parts += [f"{what} by {approved} of {count(len(verdicts), 'reviewer')}"] if verdicts else []
    waits = [i for i in outcome.get("items") or () if i.get("choice") is None]
    parts += [f"{count(len(waits), 'question')} for a human open"] if waits else []
    ending = line(ended, WIDE)
    if not planned:
        return "; ".join((*parts, ending))
    return "; ".join((ending, *parts) if ending.startswith(_NOTHING_DONE) else (_NOTHING_DONE, *parts, ending))


def outcome_lines(
    outcome: Mapping[str, Any],
    story: Story | None = None,
    *,
    diff: bool = True,
    brief: bool = False,
    above: bool = False,
) -> Iterator[StyledLine]:
    """What a task's result has beside its answer. `above`: the work was shown in full before it."""
    leads = lead_words(outcome, story)
    shown = brief and story is not None and story.consensus is not None  # above, where it was said
    if leads and not shown:
        yield "quiet", f"By: {leads}"
    first = ((outcome.get("consensus") or {}).get("outcome") or {}).get("lead") or {}
    last = outcome.get("lead")
    if leads and last and last != first.get("agent_id"):
        yield (
            "quiet",
            f"Finished by: {line(str(last))}" if outcome.get("answer") else f"Led in the end by: {line(str(last))}",
        )
    for h in outcome.get("handoffs") or ():
        yield "quiet", f"Handed over: {line(h['from_agent'])} to {line(h['to_agent'])}: {line(h['reason'], WIDE)}"
    yield from check_words.outcome_lines(outcome.get("check"))
    yield from evidence_words.lines(outcome)
    verdicts = outcome.get("reviewed") or {}
    if verdicts:
        said = ", ".join(f"{line(x)} {line(str(v).replace('_', ' '))}" for x, v in verdicts.items())
        yield "quiet", f"Reviews: {said}; {count(outcome.get('revisions', 0), 'revision')}"
    if not shown:
        yield from finding_lines(list(dict.fromkeys(msgspec.convert(outcome.get("findings") or (), list[Finding]))))
    for _, body in story.steps if story is not None else ():
        if isinstance(body, Deliberated) and body.status:
            yield from (("quiet", f"Deliberated: {text.strip()}") for _, text in _deliberation(body))
    for item in outcome.get("items") or ():
        if item.get("choice") is not None:
            yield "quiet", f"Asked ({line(str(item['kind']))}): {answered_words(item)}"
    if outcome.get("overrides"):
        yield "quiet", f"Experts that a human chose: {outcome['overrides']}"
    if not shown:
        yield from (("score", f"Warning: {line(str(text), WIDE)}") for text in outcome.get("warnings") or ())
    work = outcome.get("work") or {}
    kept = outcome.get("kept") or {}
    of_work = {b.diff for _, b in story.steps if isinstance(b, Work)} if story is not None and above else ()
    for style, text, note in (
        ("score", kept.get("diff"), "of work that was not finished, and not applied"),
        ("", work.get("diff"), diff_note(work)),
    ):
        if diff and text:
            yield style, f"{diff_words(text).capitalize()}, {note}{'; it is shown above' if text in of_work else ':'}"
        if diff and text and text not in of_work:
            yield from diff_lines(text, most=_BRIEF_DIFF if brief else DIFF_LINES)


def explained(story: Story) -> Iterator[str]:
    """How the coordination went, in lines."""
    if story.task is not None:
        yield from (text for _, text in _task(story.task, False))
    if story.claims is not None:
        yield from (text for _, text in _claims(story.claims))
    for challenges in story.challenges:
        yield from (text for _, text in _challenges(challenges))
    if story.consensus is not None:
        yield from (text for _, text in _consensus(story.consensus, story, False))


def steps_words(story: Story) -> Iterator[str]:
    """Calls of tools, support, reviews and sessions beneath, in their order: what the rounds do not tell."""
    for post, body in story.steps:
        if not isinstance(body, Work):
            yield from (text for _, text in lines(post, body, story, WIDE, brief=True))
        elif body.calls:
            yield f"  {line(post.seat)}: {calls_words(body.calls)}"
        if isinstance(body, Work | Supported):
            yield from (text for _, text in call_lines(body.calls))


def trace_words(trace: CoordinationTrace) -> Iterator[str]:
    """What the coordination took, and what came after it."""
    used = trace.token_usage
    if trace.duration_ms is not None:
        yield f"Assigned after {trace.duration_ms:,.1f} ms."
    yield (
        f"Tokens of the coordination: {used.total:,} (intake {used.intake:,}, claims {used.claims:,}, challenges"
        f" {used.challenges:,}, consensus {used.consensus:,}); of execution {trace.execution.tokens:,}, of reviews"
        f" {trace.review.tokens:,}, of sessions beneath {trace.deliberation.tokens:,}."
    )


def round_words(r: Mapping[str, Any]) -> Iterator[str]:
    """One turn of work of a result."""
    calls = f", {r['calls']} calls of tools" if r.get("calls") else ""
    yield f"Round {r.get('round')}: {line(str(r.get('lead')))}, {line(str(r.get('outcome')).replace('_', ' '))}{calls}."
    if r.get("summary"):
        yield f"  {line(str(r['summary']), WIDE)}"
    for reviewer, verdict in (r.get("verdicts") or {}).items():
        yield f"  {line(reviewer)}: {line(str(verdict).replace('_', ' '))}"
    for reviewer in r.get("no_verdict") or ():
        yield f"  {line(str(reviewer))} gave no verdict"
