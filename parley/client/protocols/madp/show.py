"""What the posts and the result of a task say: who takes it and why, the work, the check, reviews, questions.
What experts say is shown as text, whatever it is."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from parley.client.protocols.madp import lessons, trace, work
from parley.client.protocols.madp.setup import SETUP
from parley.client.setup.lesson import Lesson
from parley.client.show.answer import ResultSummary
from parley.client.show.card import Card, CardPart, CardQuote, Chip, Tone, paragraphs
from parley.client.show.open_items import OpenItem
from parley.client.show.palette import seat_name
from parley.client.show.show import Show, in_names
from parley.client.text import count, line
from parley.schemas import log
from parley.schemas.folders.paths import is_rules
from parley.schemas.past_sessions.feedback import NOTES, Kept
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
    Settings,
    TaskPosted,
    Warned,
    Worded,
)
from parley.schemas.protocols.madp.trace import CoordinationTrace
from parley.schemas.protocols.madp.work import Checked, Finding, Supported, Work
from parley.schemas.result import Result
from parley.schemas.routing import ASKED
from parley.schemas.tools import ToolCall

_CLAIM = 110
_HOW = {
    "override": "a human chose it",
    "human": "a human chose it",
    "degraded": "coordination is degraded: by keywords",
    "timeout": "out of time: the most confident",
    "general": "nobody else takes it",
}
"""Why who leads was not agreed among those who claim."""
_DOES = {
    "declined": "declines: it cannot be done",
    "request_support": "asks for support",
    "handoff": "wants to hand over",
    "blocked": "is blocked",
}
_SAYS = {"revision_needed": "asks for a revision", "blocked": "blocks it"}


class MadpShow(Show):
    """Shows a task that experts take."""

    setup = SETUP
    traces = True
    teaches = True
    kinds: ClassVar[Mapping[str, type]] = {
        "task": TaskPosted, "claims": ClaimsPosted, "worded": Worded, "challenges": Challenges, "consensus": Consensus,
        "work": Work, "support": Supported, "handoff": HandedOver, "checked": Checked, "review": Reviewed, "item": Item,
        "answered": Answered, "warning": Warned, "deliberation": Deliberated,
        NOTES: Kept,
    }  # fmt: skip
    decisions: ClassVar[Mapping[str, str]] = {"expert": "an expert's id changes who leads"}

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(settings)
        self._task: TaskPosted | None = None
        self._claims: ClaimsPosted | None = None
        self._calls: list[str] = []
        """Calls of tools, a line each."""
        self._reviews: list[Reviewed] = []
        self._work: int | None = None
        """Number of the post with the last work."""
        self._judged = False
        """The last work was reviewed or checked."""
        self._revisions = 0
        """How often work went back to its lead."""
        self._kept: Kept | None = None
        """What a person left of its notes."""

    @classmethod
    def trace(cls, session: str, entries: Iterable[log.Entry]) -> CoordinationTrace:
        """The coordination trace. Raises NoTrace."""
        return trace.trace(session, entries)

    @classmethod
    def lesson(
        cls, session: str, entries: Sequence[log.Entry], posts: Sequence[Post], result: Result | None
    ) -> Lesson | None:
        """What the task teaches of routing and depth."""
        return lessons.lesson(session, entries, posts, result)

    # -- posts
    def said(self, post: Post, body: Any) -> Card:
        """A post."""
        match body:
            case TaskPosted():
                self._task = body
                return _candidates(body)
            case ClaimsPosted():
                self._claims = body
                return Card(place="note", more=True, head="claims", parts=tuple(_claims(body)))
            case Worded():
                self._claims = trace.in_words(self._claims, body) if self._claims is not None else None
                parts = tuple(
                    CardQuote(who=c.agent_id, text=c.claim, chips=(_relevance(c.relevance),)) for c in body.claims
                )
                return Card(place="note", more=True, head="words what they claim", parts=parts, reply=False)
            case Challenges():
                return _challenges(body)
            case Consensus():
                return self._leads(body)
            case Work():
                self._work, self._judged = post.n, False
                self._called(post.seat, body.calls)
                return _work(body)
            case Supported():
                self._called(body.agent_id, body.calls)
                text = paragraphs(body.summary if body.summary != body.output else "", body.output)
                return Card(head=f"supports: {body.sub_task}"[:400], text=text, chips=tuple(_did(body)), code=body.diff)
            case HandedOver():
                self._judged = False
                return _handed(body)
            case Checked():
                self._judged = body.when == "after"
                return _checked(body)
            case Reviewed():
                self._judged = True
                card = self._review(body)
                self._reviews.append(body)
                return card
            case Item():
                return _asks(body)
            case Answered():
                return Card(place="line", tone="warn", text=_answered(body), settles=body.id)
            case Warned():
                return Card(place="line", tone="warn", head="warning", text=body.text)
            case Deliberated():
                return _deliberation(body)
            case Kept():
                self._kept = body
                left = f"left of this task: {count(len(body.notes), 'note')}"
                return Card(place="line", tone="warn", text=f"{line(body.author)} changed what is remembered; {left}")
        return super().said(post, body)

    def _called(self, seat: str, calls: Sequence[ToolCall]) -> None:
        self._calls += [f"{seat_name(seat)}: {told}" for told in work.call_lines(calls)]

    def _leads(self, body: Consensus) -> Card:
        outcome = body.outcome
        told = [f"Why: {body.rationale}"] if body.rationale else []
        told += [f"In doubt: {body.conflict}"] if body.conflict else []
        parts = [("leads", outcome.lead.agent_id, outcome.lead.responsibility)] if outcome.lead else []
        parts += [("may be asked for support", a.agent_id, a.responsibility) for a in outcome.support]
        parts += [("takes no part", x.agent_id, x.reason) for x in outcome.excluded]
        return Card(
            place="note",
            tone="good" if outcome.lead else "warn",
            position=self.who_leads(body),
            text=paragraphs(*told, *body.notes),
            parts=tuple(CardQuote(who=who, head=head, text=text) for head, who, text in parts),
        )

    def who_leads(self, decision: Consensus) -> str:
        """Who takes it, why, who supports and how deep it went, on one line."""
        lead = decision.outcome.lead
        if lead is None:
            return f"Nobody takes it: {line(decision.rationale, work.WIDE)}"
        claim = next((c for c in (self._claims.claims if self._claims else ()) if c.agent_id == lead.agent_id), None)
        words = lead.responsibility or decision.rationale if claim is None else claim.claim
        words = decision.rationale if decision.how == "preference" else words
        reasons = [(_HOW.get(decision.how) or line(words, _CLAIM)).rstrip(".")]
        if claim is not None and decision.how not in ("override", "human", "preference"):
            sure = f"confidence {claim.confidence:.2f}" if claim.confidence else ""
            reasons = [f"relevance {claim.relevance}", sure, *reasons]
        _, _, model = (self._task.matcher if self._task is not None else "").partition(ASKED)
        reasons += [f"{line(model)} was asked"] if model else []
        names = [seat_name(a.agent_id) for a in decision.outcome.support]
        support = f", and may ask {' and '.join(names)} for support" if names else ""
        depth = f"; {self._task.depth}" if self._task is not None else ""
        return f"{seat_name(lead.agent_id)} leads ({'; '.join(filter(None, reasons))}){support}{depth}"

    def _review(self, body: Reviewed) -> Card:
        """A review; findings that another reviewer of the same work has named already are told as such."""
        head = f"review {body.iteration}" if body.iteration > 1 else "review"
        verdict = _SAYS.get(body.verdict, body.verdict)
        first: dict[Finding, str] = {}
        for other in (r for r in self._reviews if r.iteration == body.iteration):
            for f in other.findings:
                first.setdefault(f, other.reviewer_id)
        again = {first[f] for f in body.findings if f in first}
        told = [f"Says the same as {seat_name(who)}." for who in sorted(again)]
        return Card(
            head=head,
            text=paragraphs("" if body.findings else "No findings.", *told),
            chips=(Chip(text=verdict, tone="good" if body.verdict == "approved" else "warn"),),
            parts=tuple(_finding(f) for f in body.findings if f not in first),
        )

    def goes_on(self, asks: Sequence[log.Ask]) -> Iterator[str]:
        """That work goes back to its lead, and how often it may."""
        for ask in asks:
            again, self._judged = self._judged and ask.kind == "work" and ask.attempt == 1, False
            if not again:
                continue
            self._revisions += 1
            most = self.settings.get("max_reviews", Settings().max_reviews)
            of = f" of {most}" if isinstance(most, int) and self._revisions <= most else ""
            yield f"It goes back to {seat_name(ask.seat)}, revision {self._revisions}{of}"

    # -- the result
    def told(self, result: Result) -> ResultSummary:
        """What the task came to, and whose word that is."""
        outcome, stop = result.outcome, result.stop
        answer = work.whose_word(str(outcome.get("answer") or ""), stop, outcome)
        did, verdicts = outcome.get("work") or {}, outcome.get("reviewed") or {}
        lead, check = seat_name(str(outcome.get("lead") or "")), work.check_words(outcome.get("check"))
        behind = [] if did else [f"{lead} did no work" if lead else "nobody led"]
        if verdicts:
            approved = [seat_name(seat) for seat, v in verdicts.items() if v == "approved"]
            everybody = len(approved) == len(verdicts) < 3
            who = " and ".join(approved) if everybody else f"{len(approved)} of {count(len(verdicts), 'reviewer')}"
            behind.append(f"{'approved' if did.get('performed', True) else 'the plan is approved'} by {who}")
        behind += ["check passed"] if (outcome.get("check") or {}).get("ok") else []
        found = {x: self._found(x) for x in verdicts}
        against = [
            ": ".join(filter(None, (f"{seat_name(x)} {_SAYS.get(v, v)}", found[x])))
            for x, v in verdicts.items()
            if v != "approved"
        ]
        minor = [f"{found[x]} ({seat_name(x)})" for x, v in verdicts.items() if v == "approved" and found[x]]
        changed = work.changed_words(did.get("diff") or "")
        why = "; ".join(filter(None, (f"{lead} changed {changed}" if changed else "", check)))
        summary = "" if str(did.get("summary") or "") in answer else f": {did['summary']}"
        return ResultSummary(
            word="Result",
            text=answer,
            behind="; ".join(behind),
            why=why or (f"{lead} led{summary}" if did else ""),
            posts=(self._work,) if self._work is not None and answer else (),
            weak=in_names(
                (*work.weak(outcome, answer), *minor),
                [str(c.get("expert")) for c in outcome.get("candidates") or ()],
            ),
            dissent="; ".join(against) or ("nobody" if verdicts else ""),
            stop=work.why_stopped(stop, reviewed=bool(self._reviews) or any(r.get("verdicts") for r in result.rounds)),
            parts=tuple(self._parts(result, check)),
        )

    def _found(self, seat: str) -> str:
        """`major (a.py): It leaks.`: what a reviewer found first in the last work; empty: nothing."""
        findings = next((r.findings for r in reversed(self._reviews) if r.reviewer_id == seat), ())
        return work.finding_words(findings[0]) if findings else ""

    def _parts(self, result: Result, check: str) -> Iterator[CardPart]:
        outcome = result.outcome
        if steps := work.summaries(result.rounds):
            task = line(str((outcome.get("task") or {}).get("prompt") or ""), work.WIDE)
            yield CardPart(
                name="revisions", title=f"All turns of work on the task: {task}", lines=tuple(steps), finding=True
            )
        if check:
            yield CardPart(name="check", title="The check", lines=(check,), finding=True)
        if seen := tuple(work.seen_lines(outcome)):
            yield CardPart(name="evidence", title="What the machine saw", lines=seen)
        if told := tuple(_reviewed(outcome)):
            yield CardPart(name="reviews", title="Reviews", lines=told, finding=True)
        if notes := tuple(work.memory_lines(outcome, self._kept)):
            yield CardPart(name="memory", title="What is remembered of tasks in this folder", lines=notes)
        if self._calls:
            yield CardPart(name="calls", title="Calls of tools", lines=tuple(self._calls))
        yield from work.diff_parts(outcome)

    def certificate(self, result: Result) -> Iterator[tuple[str, str]]:
        """What its parts on the check and on what the machine saw do not tell."""
        given = result.stop.certificate
        return self.certificate_rows({k: v for k, v in given.items() if k not in ("check", "evidence")})

    def of_log(self, session: str, entries: Sequence[log.Entry]) -> tuple[CardPart, ...]:
        """What the coordination took, and what came after it."""
        made = trace.trace(session, entries)
        used = made.token_usage
        told = [f"Assigned after {made.duration_ms:,.1f} ms."] if made.duration_ms is not None else []
        told.append(
            f"Tokens of the coordination: {used.total:,} (intake {used.intake:,}, claims {used.claims:,}, challenges"
            f" {used.challenges:,}, consensus {used.consensus:,}); of execution {made.execution.tokens:,}, of reviews"
            f" {made.review.tokens:,}, of sessions beneath {made.deliberation.tokens:,}."
        )
        return (CardPart(name="cost", title="What the coordination took", lines=tuple(told)),)


# -- who takes it


def _candidates(body: TaskPosted) -> Card:
    """The candidates, and how well the task fits them."""
    chips = [Chip(text=f"depth {body.depth}", tone="quiet")]
    if body.degraded:
        chips.append(Chip(text="coordination is degraded: experts are chosen by keywords", tone="warn"))
    if body.override:
        chips.append(Chip(text=f"a human chose {seat_name(body.override)}"))
    parts = tuple(
        CardQuote(
            who=c.expert,
            text=c.why,
            chips=(
                Chip(text=f"fits {c.relevance:.2f}", tone="quiet"),
                Chip(text=f"confidence {c.confidence:.2f}", tone="good" if c.confidence >= 0.5 else "quiet"),
            ),
        )
        for c in body.candidates
    )
    return Card(
        place="note",
        more=not (body.degraded or body.override),
        head="who may take it",
        chips=tuple(chips),
        parts=parts,
        text="" if parts else "No expert matches.",
    )


def _relevance(relevance: str) -> Chip:
    """How near a claim says that the task is."""
    return Chip(text=f"relevance {relevance}", tone="good" if relevance == "high" else "quiet")


def _claims(body: ClaimsPosted) -> Iterator[CardQuote]:
    """What each candidate says."""
    yield from (
        CardQuote(who=c.agent_id, head="claims it", text=c.claim, chips=tuple(_of_claim(c))) for c in body.claims
    )
    yield from (CardQuote(who=p.agent_id, head="passes", text=p.why) for p in body.passed)
    yield from (CardQuote(who=expert, chips=(Chip(text="silent", tone="warn"),)) for expert in body.silent)


def _of_claim(c: Claim) -> Iterator[Chip]:
    yield _relevance(c.relevance)
    if c.confidence:
        yield Chip(text=f"confidence {c.confidence:.2f}", tone="quiet")
    for names, what in ((c.defers_to, "defers to"), (c.requires, "needs")):
        for name in names:
            topic = f" for {c.topics[name]}" if c.topics.get(name) else ""
            yield Chip(text=f"{what} {seat_name(name)}{topic}")


def _challenges(body: Challenges) -> Card:
    """What one expert objects to."""
    parts = tuple(
        CardQuote(
            who=c.challenger_id,
            head=f"challenges {seat_name(c.challenged_id)}",
            text=c.reason,
            chips=(Chip(text=f"proposes: {c.proposed_resolution}", tone="warn"),),
        )
        for c in body.challenges
    )
    return Card(place="note", more=True, head="challenges" if parts else "challenges nobody", parts=parts)


# -- work


def _work(body: Work) -> Card:
    if body.outcome in ("done", "planned"):
        does = Chip(text="done", tone="good") if body.performed else Chip(text="a plan: nothing was done", tone="warn")
    else:
        does = Chip(text=_DOES[body.outcome], tone="warn")
    asked = f"Of {seat_name(body.support.agent_id)}: {body.support.sub_task}" if body.support is not None else ""
    output = body.output if body.output != body.summary else ""
    return Card(
        head="work",
        text=paragraphs(body.summary, asked, body.blocked, output),
        chips=(does, *_did(body)),
        code=body.diff,
    )


def _did(body: Work | Supported) -> Iterator[Chip]:
    if body.calls:
        failed = any(not call.ok for call in body.calls)
        yield Chip(text=work.calls_words(body.calls), tone="warn" if failed else "plain")
    if rules := [path for path in body.shown if is_rules(path)]:
        yield Chip(text=f"rules read first: {', '.join(map(line, rules))}", tone="quiet")
    if body.diff:
        yield Chip(text=work.diff_words(body.diff))


def _handed(body: HandedOver) -> Card:
    state = body.task_state
    lists = (("Completed", state.completed), ("Remaining", state.remaining))
    told = [f"{what}: {'; '.join(parts)}" for what, parts in lists if parts]
    head = f"hands over to {seat_name(body.to_agent)}"
    return Card(place="note", head=head, text=paragraphs(body.reason, *told), reply=False)


def _checked(body: Checked) -> Card:
    result = Chip(text=work.run_words(body), tone="good" if body.green else "warn")
    return Card(
        place="note",
        tone="good" if body.green else "warn",
        head=f"check {body.when} the work",
        chips=(result,),
        text=paragraphs(body.command, *work.run_notes(body)),
        code=body.output,
        reply=False,
    )


def _finding(f: Finding) -> CardQuote:
    where = f" ({f.location})" if f.location else ""
    tone: Tone = "warn" if f.severity in ("critical", "major") else "quiet"
    fix = f"Suggested: {f.suggested_fix}" if f.suggested_fix else ""
    return CardQuote(text=paragraphs(f"{f.description}{where}", fix), chips=(Chip(text=f.severity, tone=tone),))


def _asks(body: Item) -> Card:
    """A question to a human, and what its choices do."""
    default = (Chip(text=f"without an answer: {body.default}", tone="quiet"),) if body.default else ()
    return Card(
        place="note", tone="warn", head=f"asks a human, question {body.id}",
        text=paragraphs(body.question, *work.choice_words(body)),
        chips=(*(Chip(text=c) for c in body.choices), *default),
        asks=OpenItem(
            item=body.id, kind=body.kind, question=body.question, choices=body.choices, default=body.default,
            deadline_ns=body.deadline_ns,
        ),
    )  # fmt: skip


def _answered(answer: Answered) -> str:
    """What was answered, and by whom."""
    comment = f" ({answer.note})" if answer.note else ""
    if answer.author:
        return f"item {answer.id}: {answer.author} answered {answer.choice}{comment}"
    return f"item {answer.id}: nobody answered; the default holds: {answer.choice}"


def _deliberation(body: Deliberated) -> Card:
    chips = (Chip(text=f"session {body.session}", tone="quiet"),)
    if not body.status:
        return Card(place="note", head=f"a {body.protocol} session decides", text=body.question, chips=chips)
    answer = body.result.get("answer") or body.result.get("winner") or body.why or "nothing"
    head = f"the {body.protocol} session ended: {body.reason or body.status}"
    return Card(place="note", head=head, text=str(answer), chips=chips)


def _reviewed(outcome: Mapping[str, Any]) -> Iterator[str]:
    """What reviewers said last, and what they found."""
    verdicts = outcome.get("reviewed") or {}
    if verdicts:
        said = ", ".join(f"{seat_name(x)} {_SAYS.get(v, line(str(v)))}" for x, v in verdicts.items())
        yield f"{said}; {count(outcome.get('revisions', 0), 'revision')}"
    for f in dict.fromkeys(msgspec.convert(outcome.get("findings") or (), list[Finding])):
        yield f"  {work.finding_words(f)}"


SHOW = MadpShow
