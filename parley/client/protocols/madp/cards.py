"""A task's posts as data for pages: who may take it, who claims and challenges it, who leads and why, the work, checks,
reviews, questions to a human. What experts say is shown as text, whatever it is."""

from collections.abc import Iterator
from typing import Any

import msgspec

from parley.client.protocols.madp import check_words, transcript, work_words
from parley.client.protocols.madp.story import Story
from parley.client.show.cards import MOST_TEXT, Card, Chip, Said, Tone
from parley.client.show.words import seat_name
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
from parley.schemas.protocols.madp.work import Checked, Finding, Supported, Work

_VERDICTS: dict[str, Tone] = {"approved": "good", "revision_needed": "warn", "blocked": "warn"}
_DOES = {"request_support": "asks for support", "handoff": "wants to hand over", "blocked": "is blocked"}
_PROPOSES = {
    "lead": "as the lead", "support": "as support", "collaborate": "beside the other", "exclude": "not at all",
}  # fmt: skip
"""What a challenge proposes for the challenged expert."""


def card(body: Any, story: Story) -> Card | None:
    """The card of a post; None: of a kind that is shown by its lines. `story`: the task so far, this post included."""
    match body:
        case TaskPosted():
            return _task(body)
        case ClaimsPosted():
            return Card(place="note", head="claims", parts=tuple(_claims(body)))
        case Worded():
            parts = tuple(Said(who=c.agent_id, text=c.claim, chips=(_relevance(c.relevance),)) for c in body.claims)
            return Card(place="note", head="words what they claim", parts=parts)
        case Challenges():
            return _challenges(body)
        case Consensus():
            return _consensus(body, story)
        case Work():
            return _work(body)
        case Supported():
            text = _paragraphs(body.summary if body.summary != body.output else "", body.output)
            chips = tuple(_did(body))
            return Card(head=f"supports: {body.sub_task}"[:400], text=text, chips=chips, code=body.diff)
        case HandedOver():
            return _handed(body)
        case Checked():
            return _checked(body)
        case Reviewed():
            return _review(body)
        case Item():
            return Card(
                place="note", head=f"asks a human, question {body.id}", text=body.question, chips=_choices(body)
            )
        case Answered():
            return Card(place="line", text=transcript.answered_words(msgspec.to_builtins(body)))
        case Warned():
            return Card(place="line", head="warning", text=body.text)
        case Deliberated():
            return _deliberation(body)
    return None


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)[:MOST_TEXT]


# -- coordination


def _task(body: TaskPosted) -> Card:
    chips = [Chip(text=f"depth {body.depth}", tone="quiet")]
    if body.degraded:
        chips.append(Chip(text="coordination is degraded: experts are chosen by keywords", tone="warn"))
    if body.override:
        chips.append(Chip(text=f"a human chose {seat_name(body.override)}"))
    parts = tuple(
        Said(
            who=c.expert, text=c.why,
            chips=(Chip(text=transcript.fits_words(c.relevance), tone="quiet"),
                   Chip(text=transcript.sure_words(c.confidence), tone="good" if c.confidence >= 0.5 else "quiet")),
        )
        for c in body.candidates
    )  # fmt: skip
    text = f"{transcript.factor_words(body.factors)}{transcript.matcher_words(body.matcher)}"
    return Card(
        place="note", head="who may take it", text=text if parts else _paragraphs("No expert matches.", text),
        chips=tuple(chips), parts=parts,
    )  # fmt: skip


def _relevance(relevance: str) -> Chip:
    return Chip(text=f"relevance {relevance}", tone="good" if relevance == "high" else "quiet")


def _claims(body: ClaimsPosted) -> Iterator[Said]:
    yield from (Said(who=c.agent_id, head="claims it", text=c.claim, chips=tuple(_of_claim(c))) for c in body.claims)
    yield from (Said(who=p.agent_id, head="passes", text=p.why) for p in body.passed)
    yield from (Said(who=expert, chips=(Chip(text="silent", tone="warn"),)) for expert in body.silent)


def _of_claim(c: Claim) -> Iterator[Chip]:
    yield _relevance(c.relevance)
    if c.confidence:
        yield Chip(text=f"confidence {c.confidence:.2f}", tone="quiet")
    for names, what in ((c.defers_to, "defers to"), (c.requires, "needs")):
        for name in names:
            topic = f" for {c.topics[name]}" if c.topics.get(name) else ""
            yield Chip(text=f"{what} {seat_name(name)}{topic}")


def _challenges(body: Challenges) -> Card:
    parts = tuple(
        Said(
            who=c.challenger_id, head=f"challenges {seat_name(c.challenged_id)}", text=c.reason,
            chips=(Chip(text=f"wants it {_PROPOSES.get(c.proposed_resolution, c.proposed_resolution)}", tone="warn"),),
        )
        for c in body.challenges
    )  # fmt: skip
    return Card(place="note", head="challenges", parts=parts) if parts else Card(place="line", text="challenges nobody")


def _consensus(body: Consensus, story: Story) -> Card:
    lead = body.outcome.lead
    chips = [Chip(text=transcript.HOW[body.how], tone="quiet")] if body.how in transcript.HOW else []
    if body.conflict:
        chips.append(Chip(text=f"in doubt: {body.conflict}", tone="warn"))
    parts = []
    if lead is not None:
        relevance, confidence = story.sure(lead.agent_id)
        sure = [_relevance(relevance)] if relevance else []
        sure += [Chip(text=f"confidence {confidence:.2f}", tone="quiet")] if confidence is not None else []
        parts.append(Said(who=lead.agent_id, head="leads", text=lead.responsibility, chips=tuple(sure)))
    support, excluded = body.outcome.support, body.outcome.excluded
    parts += [Said(who=a.agent_id, head="may be asked for support", text=a.responsibility) for a in support]
    parts += [Said(who=x.agent_id, head="takes no part", text=x.reason) for x in excluded]
    return Card(
        place="note", head="who leads", position="" if lead is not None else "Nobody takes it.",
        text=_paragraphs(f"Why: {body.rationale}" if body.rationale else "", *body.notes), chips=tuple(chips),
        parts=tuple(parts),
    )  # fmt: skip


# -- work


def _work(body: Work) -> Card:
    if body.outcome == "done":
        does = Chip(text="done", tone="good") if body.performed else Chip(text="a plan: nothing was done", tone="warn")
    else:
        does = Chip(text=_DOES[body.outcome], tone="warn")
    asked = f"Of {seat_name(body.support.agent_id)}: {body.support.sub_task}" if body.support is not None else ""
    text = _paragraphs(body.summary if body.summary != body.output else "", asked, body.blocked, body.output)
    return Card(head="work", text=text, chips=(does, *_did(body)), code=body.diff)


def _did(body: Work | Supported) -> Iterator[Chip]:
    if body.calls:
        failed = any(not call.ok for call in body.calls)
        yield Chip(text=work_words.calls_words(body.calls), tone="warn" if failed else "plain")
    if body.diff:
        yield Chip(text=work_words.diff_words(body.diff))


def _handed(body: HandedOver) -> Card:
    state = body.task_state
    lists = (("Completed", state.completed), ("Remaining", state.remaining))
    paragraphs = [f"{what}: {'; '.join(parts)}" for what, parts in lists if parts]
    head = f"{seat_name(body.from_agent)} hands over to {seat_name(body.to_agent)}"
    return Card(place="note", head=head, text=_paragraphs(body.reason, *paragraphs))


def _checked(body: Checked) -> Card:
    fails = f"Fails: {', '.join(body.failed)}" if body.failed else ""
    result = Chip(text=check_words.run_words(body), tone="good" if body.green else "warn")
    return Card(
        place="note", head=f"check {body.when} the work", text=_paragraphs(body.command, fails), chips=(result,),
        code=body.output,
    )  # fmt: skip


def _review(body: Reviewed) -> Card:
    head = f"review {body.iteration}" if body.iteration > 1 else "review"
    verdict = "asks for a revision" if body.verdict == "revision_needed" else body.verdict.replace("_", " ")
    none = "" if body.findings else "No findings."
    return Card(
        head=head, text=none, chips=(Chip(text=verdict, tone=_VERDICTS.get(body.verdict, "plain")),),
        parts=tuple(_finding(f) for f in body.findings),
    )  # fmt: skip


def _finding(f: Finding) -> Said:
    where = f" ({f.location})" if f.location else ""
    tone: Tone = "warn" if f.severity in ("critical", "major") else "quiet"
    fix = f"Suggested: {f.suggested_fix}" if f.suggested_fix else ""
    return Said(text=_paragraphs(f"{f.description}{where}", fix), chips=(Chip(text=f.severity, tone=tone),))


def _choices(body: Item) -> tuple[Chip, ...]:
    default = (Chip(text=f"without an answer: {body.default}", tone="quiet"),) if body.default else ()
    return (*(Chip(text=choice) for choice in body.choices), *default)


def _deliberation(body: Deliberated) -> Card:
    chips = (Chip(text=f"session {body.session}", tone="quiet"),)
    if not body.status:
        return Card(place="note", head=f"a {body.protocol} session decides", text=body.question, chips=chips)
    answer = body.result.get("answer") or body.result.get("winner") or body.why or "nothing"
    head = f"the {body.protocol} session ended: {body.reason or body.status}"
    return Card(place="note", head=head, text=str(answer), chips=chips)
