"""madp: work, support, handoff and review (seeds/madp.md 5 and 6, 9.1's last two rows).

The accepted folder is the lead's: what support gives back is an artifact beside it, never in its place. Reviewers are
asked at once, and what they find goes back to the lead as often as the settings allow.
"""

from typing import Any

import msgspec

from parley.coordinator.commands import StartChild
from parley.coordinator.protocols.madp.evidence import risk
from parley.coordinator.protocols.madp.evidence.ledger import prose_alone
from parley.coordinator.protocols.madp.evidence.proof import restored_words, weakened_words
from parley.coordinator.protocols.madp.evidence.told import claims_change, tells
from parley.coordinator.protocols.madp.items import end, open_item, warn
from parley.coordinator.protocols.madp.lead_changes import hand_over, with_artifact
from parley.coordinator.protocols.madp.seats import deliberation
from parley.coordinator.protocols.madp.state import (
    APPROVE,
    GIVE_UP,
    LEAVE,
    Phase,
    Says,
    State,
    WorkTurn,
    announced_experts,
    body_of,
    diff_so_far,
    number,
    revisions,
    room,
    say,
    task_of,
)
from parley.coordinator.protocols.madp.turns import (
    affordable,
    ask_check,
    ask_reviews,
    ask_support,
    choose_reviewers,
    is_checked,
    proven,
    read_work,
    to_work,
    touched,
    whole_diff,
    without_calls,
)
from parley.coordinator.table import Answered, ChildEnded, Missed, Step, Unaffordable, View
from parley.schemas.folders.request_kind import wanted
from parley.schemas.protocols.madp.messages import Deliberated, Reviewed, Settings
from parley.schemas.protocols.madp.work import Checked, Finding, Review, Support, Supported, Work
from parley.schemas.wire import decode

replace = msgspec.structs.replace
GO_ON = "Go on with what you know, and say what is open."
AGREE_MORE = "They agree more easily than different models would."
NOT_CHANGED = (
    "No file of the folder is changed: make the change that is asked for or told of, or end as planned or declined."
)
MOST_FINDINGS = 40
_TASK, _OUTPUT, _DIFF = 4_000, 1_500, 5_000
"""Characters of the task, of what its check printed, and of its diff, that a session beneath it is shown."""
MOST_OTHERS = 4
"""Experts that a human is offered in place of one that failed, at most."""


def on_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """End: what was done stands, but the next turn does not fit the budget."""
    return end(s, v, (), "budget", what=e.what)


def on_worked(s: State, e: Answered, v: View) -> Step:
    """The lead is done, or wants support, or hands over, or is blocked."""
    w = _seen(s, v, e.body)
    post = number(v, ())
    says: Says = (say(s, "work", w, e.seat),)
    s = replace(s, rounds=(*s.rounds, WorkTurn(lead=e.seat, outcome=w.outcome, post=post)), advice="")
    if w.outcome != "blocked":
        if w.folder is not None:
            s = replace(s, folder=w.folder.id, task_state=with_artifact(s.task_state, w.folder))
        if w.folder is not None or w.diff:
            s = replace(s, changed=post)
    match w.outcome:
        case "done" | "planned":
            return _done(replace(s, work=post), v, says, w)
        case "declined":
            return end(replace(s, work=post), v, says, "declined")
        case "request_support":
            return _request_support(s, v, says, w)
        case "handoff":
            return _hand_over(s, v, says, w)
        case "blocked":
            return block(s, v, says, w.blocked)


def _seen(s: State, v: View, w: Work) -> Work:
    """The work as the machine saw it. Where no file of the folder was changed it is the text that the task asks for, or
    nothing was done: the task wants a change, or the lead claims one, or says itself that it only plans."""
    if w.diff or w.folder is not None or s.changed is not None:
        return replace(w, performed=w.performed and w.outcome != "planned")
    task, about = wanted(v.opened.question), tells(v.opened.question)
    folder = bool(v.settings.folder)
    done = w.performed and not folder if task == "change" else w.performed or not (w.offered or folder)
    done = task in ("text", "question") or (done and w.outcome != "planned")
    lied = claims_change(w.summary, about.summary) or claims_change(w.output, about.output)
    return replace(w, performed=done and not lied)


def on_not_worked(s: State, e: Missed, v: View) -> Step:
    """9.1: the turn was already retried. A human says who goes on; if nobody answers, a supporter or another claimant
    does. If nobody serves the lead any more, the next that fits goes on at once. If there is none, a human says whether
    the lead is back."""
    s = replace(s, rounds=(*s.rounds, WorkTurn(lead=e.seat, outcome="missed")), failed=(*s.failed, e.seat))
    if e.short:
        return end(s, v, (), "budget", what=e.short)
    others = instead(s, v)
    s, says = warn(s, (), f"{e.seat} gave no work that could be used: {e.why[:400]}")
    if e.gone and others:
        return hand_over(s, v, says, others[0], f"{e.seat} gave no work: {e.why}", "the coordination")
    question = f"{e.seat} gave no work that could be used ({e.why[:1_000]}). Who goes on?"
    claimants = (*(a.agent_id for a in s.team), *s.claims)
    default = next((x for x in others if x in claimants), GIVE_UP)
    same_expert = (e.seat,) if e.gone else ()
    return open_item(s, v, says, "invalid", question, (*others, *same_expert, GIVE_UP), default)


def instead(s: State, v: View) -> tuple[str, ...]:
    """Who may lead in place of those that failed: supporters first, then claimants, then candidates that were not
    asked, then the general-purpose expert. Nobody who passed or was silent."""
    experts = announced_experts(v)
    fit = dict.fromkeys((*(a.agent_id for a in s.team), *s.claims, *(c.expert for c in s.candidates), s.general))
    excluded = {*s.failed, *s.passed, *s.silent}
    return tuple(x for x in fit if x in experts and x not in excluded and room(v, x))[:MOST_OTHERS]


# ---------------------------------------------------------------- support and handoff


def _request_support(s: State, v: View, says: Says, w: Work) -> Step:
    """5.1's request_support(): the turn ended; the lead is asked again with the result."""
    assert w.support is not None, "the schema has it with this outcome"
    s = replace(
        s, phase=Phase.SUPPORTING, supports=s.supports + 1, helping=w.support.agent_id, sub_task=w.support.sub_task
    )
    return s, (*says, *ask_support(s, v))


def on_supported(s: State, e: Answered, v: View) -> Step:
    """5.1: artifacts go to the lead, and its own work stays as it is."""
    b: Support = e.body
    supported = Supported(
        agent_id=e.seat, sub_task=s.sub_task, output=b.output or b.summary, summary=b.summary,
        artifacts=(b.folder,) if b.folder is not None else (), diff=b.diff, calls=b.calls,
        offered=b.offered, shown=b.shown,
    )  # fmt: skip
    return _back(replace(s, task_state=with_artifact(s.task_state, b.folder)), v, (), supported, e.seat)


def on_not_supported(s: State, e: Missed, v: View) -> Step:
    """Support failed: the lead goes on without it."""
    if e.short:
        return end(s, v, (), "budget", what=e.short)
    s, says = warn(s, (), f"{e.seat} gave no support: {e.why[:400]}")
    nothing = Supported(agent_id=e.seat, sub_task=s.sub_task, output=f"It gave nothing back: {e.why[:1_000]}")
    return _back(s, v, says, nothing, "")


def _back(s: State, v: View, says: Says, supported: Supported, seat: str) -> Step:
    s = replace(s, supported=(*s.supported, number(v, says)), helping="", sub_task="")
    return to_work(s, v, (*says, say(s, "support", supported, seat)), (without_calls(supported),))


def _hand_over(s: State, v: View, says: Says, w: Work) -> Step:
    """5.2: somebody else leads, with what is completed, what remains, and the artifacts."""
    h = w.handoff
    assert h is not None, "the schema has it with this outcome"
    state = replace(s.task_state, completed=(*s.task_state.completed, *h.completed)[-40:], remaining=h.remaining)
    s = replace(s, handoffs=s.handoffs + 1)
    return hand_over(s, v, says, h.to_agent, h.reason, s.lead, state)


# ---------------------------------------------------------------- what blocks


def block(s: State, v: View, says: Says, question: str) -> Step:
    """6.1: the question needs deliberation. If the settings name a protocol, a child session deliberates; else a human
    decides."""
    settings: Settings = v.settings
    s = replace(s, question=question, blocks=s.blocks + 1)
    if not settings.deliberation:
        return ask_human(s, v, says)
    question_in_context = f"{question}\n\nIt came up in this task:\n{task_of(v).prompt[:_TASK]}{_so_far(s, v, says)}"
    opening = deliberation(settings, question_in_context, v.opened.turn_timeout_s)
    post = Deliberated(session=v.child(), protocol=settings.deliberation, question=question)
    s = replace(s, phase=Phase.DELIBERATING, child=v.child())
    return s, (*says, say(s, "deliberation", post), StartChild(opening=opening))


def _so_far(s: State, v: View, says: Says) -> str:
    """What a session beneath is shown of the work: the check's last run, and the diff."""
    diff = diff_so_far(s, v, says)
    parts = [f"The check {c.when} the work, `{c.command}`:\n{c.output[-_OUTPUT:] or c.ended}" for c in s.checks[-1:]]
    parts += [f"What the task has changed so far:\n{diff[:_DIFF]}"] if diff else []
    return "".join(f"\n\n{part}" for part in parts)


def ask_human(s: State, v: View, says: Says) -> Step:
    """An open item, answered in words."""
    return open_item(s, v, says, "blocked", s.question, (), GO_ON)


def on_deliberated(s: State, e: ChildEnded, v: View) -> Step:
    """The child's result is advice for the lead. If there is none, a human is asked."""
    if e.session != s.child:
        return s, ()
    result: dict[str, Any] = decode(e.result, dict[str, Any]) if e.result is not None else {}
    post = Deliberated(
        session=e.session,
        protocol=e.protocol,
        status=e.status,
        reason=e.reason,
        why=e.why,
        result=result.get("outcome", {}),
    )
    s = replace(s, child="")
    says: Says = (say(s, "deliberation", post),)
    advice = advice_of(result.get("outcome", {})) if e.status == "finished" else ""
    if not advice:
        why = e.why or f"it ended: {e.reason or e.status}"
        s, says = warn(s, says, f"the deliberation ({e.protocol}) came to nothing: {why}")
        return ask_human(s, v, says)
    return to_work(replace(s, advice=f"A deliberation ({e.protocol}, {e.reason}) came to this:\n{advice}"), v, says)


def on_stray_child(s: State, e: ChildEnded, v: View) -> Step:
    """Cancel a deliberation: a human's decision overtook it."""
    return s, ()


def advice_of(outcome: dict[str, Any]) -> str:
    """What a session of any of our protocols came to, in words: its answer and why, or its winner and the review."""
    answer = outcome.get("answer") or outcome.get("winner") or ""
    why = outcome.get("reasoning") or outcome.get("review") or ""
    return f"{answer}\n{why}".strip()[:8_000] if isinstance(answer, str) and answer else ""


# ---------------------------------------------------------------- review


def _done(s: State, v: View, says: Says, w: Work) -> Step:
    """A change is checked, if there is a check; then the work is reviewed. Who only tells of a change, and has the
    tools to make it, is asked once to make it."""
    told = w.outcome == "done" and not w.performed and s.changed is None
    if told and w.offered and v.settings.folder and s.revisions < min(1, v.settings.max_reviews):
        finding = Finding(severity="critical", description=NOT_CHANGED, location="the folder")
        return to_work(replace(s, revisions=1, findings=(finding,)), v, says)
    checked = v.settings.check and w.performed and s.changed is not None
    return ask_check(s, v, says) if checked else review(s, v, says, w)


def review(s: State, v: View, says: Says, w: Work) -> Step:
    """6.1: after execution, review agents examine the output."""
    diff = whole_diff(s, v, w)
    reviewers = choose_reviewers(s, v, diff)
    if without := risk.unguarded(v, touched(v, diff)):
        s, says = warn(s, says, f"it touches {', '.join(without)}, and no reviewer of that is running")
    if not reviewers:
        why = "no reviewer of such work is running"
        if s.factors is None or s.unmatched:
            why = "nobody could say who reviews: the helper did not answer, or with nothing that could be used"
        s, says = warn(s, says, f"not reviewed: {why}")
        return _over(s, v, says, "unreviewed", w.performed)
    former_leads = [x for x in reviewers if x in {r.lead for r in s.rounds}]
    if former_leads:
        s, says = warn(
            s, says, f"reviewed by {', '.join(former_leads)}, who led it before: no other reviewer is running"
        )
    reviewers, short = affordable(v, reviewers)
    if short:
        s, says = warn(s, says, f"reviewed by {', '.join(reviewers)} alone, the budget holds no more ({short})")
    if model := _one_model(s, v, reviewers):
        s, says = warn(s, says, f"lead and reviewers are of one model ({model}). {AGREE_MORE}")
    s = replace(s, phase=Phase.REVIEWING, iteration=s.iteration + 1)
    asks = ask_reviews(s, v, says, w, reviewers)
    return s, (*says, *asks)


def _one_model(s: State, v: View, reviewers: tuple[str, ...]) -> str:
    """The model that led and gives every review, if it is one language model; else empty."""
    experts = announced_experts(v)
    models = {experts[x].model for x in (s.lead, *reviewers) if x in experts}
    return models.pop() if len(models) == 1 and s.lead in experts and experts[s.lead].metered else ""


def on_reviewed(s: State, e: Answered, v: View) -> Step:
    """One verdict came; it is decided when all are in."""
    r: Review = e.body
    body = Reviewed(
        reviewer_id=e.seat,
        verdict=r.verdict,
        findings=r.findings,
        iteration=s.iteration,
        calls=r.calls,
        offered=r.offered,
        shown=r.shown,
    )
    last = s.rounds[-1]
    last = replace(last, reviews={**last.reviews, e.seat: v.next_post})
    s = replace(s, rounds=(*s.rounds[:-1], last))
    return _verdict(s, v, (say(s, "review", body, e.seat),), body)


def on_not_reviewed(s: State, e: Missed, v: View) -> Step:
    """A reviewer gave no verdict."""
    last = s.rounds[-1]
    s = replace(s, rounds=(*s.rounds[:-1], replace(last, silent=(*last.silent, e.seat))))
    s, says = warn(s, (), f"{e.seat} gave no review: {e.why[:400]}")
    return _verdict(s, v, says, None)


def _verdict(s: State, v: View, says: Says, new: Reviewed | None) -> Step:
    """6.1's outcomes: a blocked one needs deliberation, one that wants a revision sends the work back, and if all
    approve it ships."""
    if v.open_turns:
        return s, says
    reviews = [body_of(v, n, Reviewed) for n in s.rounds[-1].reviews.values() if n < len(v.posts)]
    reviews += [new] if new is not None else []
    assert s.work is not None, "what is reviewed is done"
    performed = body_of(v, s.work, Work).performed
    if not reviews:
        s, says = warn(s, says, "not reviewed: no reviewer gave a verdict")
        return _over(s, v, says, "unreviewed", performed)
    verdicts = {r.reviewer_id: r.verdict for r in reviews}
    s = replace(s, findings=tuple(f for r in reviews for f in r.findings)[:MOST_FINDINGS])
    if "blocked" in verdicts.values():
        if s.revisions < v.settings.max_reviews:
            blocking = tuple(f for r in reviews if r.verdict == "blocked" for f in r.findings)
            return block(replace(s, revisions=s.revisions + 1), v, says, _question(blocking))
        return stuck(s, v, says)
    if "revision_needed" not in verdicts.values():
        return _over(s, v, says, "approved", performed, verdicts=verdicts)
    if s.revisions >= v.settings.max_reviews:
        return stuck(s, v, says)
    return to_work(replace(s, revisions=s.revisions + 1), v, says)


def _question(findings: tuple[Finding, ...]) -> str:
    what = "\n".join(f"- {f.severity}: {f.description}" for f in findings)
    return f"A review found what must be decided before the work can go on:\n{what}"[:8_000]


def _over(s: State, v: View, says: Says, reason: str, performed: bool, **more: Any) -> Step:
    """The end of a task with finished work. A mere plan is not approved, nor work that the check does not confirm.
    Where nothing was run, a text for people may end as it is; of anything else a human says whether it is approved."""
    if not performed:
        return end(s, v, says, "planned", **more)
    if is_checked(s, v) and not (proof := proven(s, v)).ok:
        return end(s, v, says, "unproven", why=proof.why, **more)
    if missing := unheard_guards(s, v, says):
        question = f"{', '.join(missing)} had to review what the work touches, and did not. Do you approve the work?"
        return open_item(s, v, says, "unchecked", question, (APPROVE, LEAVE), LEAVE)
    if is_checked(s, v):
        return end(s, v, says, reason, **more)
    if prose_alone(s, v, says):
        return end(s, v, says, "reviewed" if reason == "approved" else reason, **more)
    if reason != "approved":
        return end(s, v, says, "unchecked", **more)
    question = "Reviewers approve the work, and no check was run that shows whether it is right. Do you approve it?"
    return open_item(s, v, says, "unchecked", question, (APPROVE, LEAVE), LEAVE)


def unheard_guards(s: State, v: View, says: Says) -> tuple[str, ...]:
    """Who guards security-critical fields that the work touches, and gave no verdict on it."""
    critical = [field for field in touched(v, diff_so_far(s, v, says)) if field in risk.CRITICAL]
    return tuple(x for x in risk.guards(v, critical, s.lead) if x not in s.rounds[-1].reviews)


def stuck(s: State, v: View, says: Says) -> Step:
    """9.1: after more than so many iterations the work is emitted with a warning, unless a human says otherwise."""
    what = "Reviews still ask for a revision"
    if is_checked(s, v) and not (proof := proven(s, v)).ok:
        what = f"The check `{v.settings.check}` does not show that the work is right ({proof.why})"
    question = f"{what} after {revisions(s)}. What becomes of the work?"
    return open_item(s, v, says, "review_limit", question, ("emit", "revise", "reject"), "emit")


# ---------------------------------------------------------------- the check


_UNCOMPARED = "it had no result before the work, so nobody can say whether tests were taken away"


def on_checked(s: State, e: Answered, v: View) -> Step:
    """What the command came to."""
    return _checked(s, v, e.body, e.seat)


def on_not_checked(s: State, e: Missed, v: View) -> Step:
    """Nobody ran the check: work does not begin without it, and is not approved without it."""
    settings: Settings = v.settings
    why = f"nobody ran it: {e.why}"[:1_000]
    when = "after" if s.rounds else "before"
    checked = Checked(when=when, command=settings.check, ended=why, ran=False)  # type: ignore[arg-type]
    return _checked(s, v, checked, "")


def _checked(s: State, v: View, checked: Checked, seat: str) -> Step:
    says: Says = (say(s, "checked", checked, seat),)
    if checked.ended:
        s, says = warn(
            s, says, f"the check `{checked.command}` came to no result {checked.when} the work: {checked.ended}"
        )
    if restored := restored_words(checked):
        s, says = warn(s, says, restored)
    if touched := weakened_words(checked):
        s, says = warn(s, says, touched)
    s = replace(s, checks=(*(c for c in s.checks if c.when == "before"), checked))
    if checked.when == "before":
        return _before(s, v, says, checked)
    ok, why = proven(s, v)
    if ok or (checked.exit is None and not _ended_by_a_limit(checked)):
        why = why or (_UNCOMPARED if _no_result(s) else "")
        if ok and why:
            s, says = warn(s, says, f"the check `{checked.command}`: {why}")
        return review(s, v, says, read_work(s, v))
    text = f"The check `{checked.command}` does not show that the work is right: {why}"
    text = f"{text}. Moreover, {restored}" if restored else text
    s = replace(s, findings=(Finding(severity="critical", description=text[:4_000]),))
    if s.revisions >= v.settings.max_reviews:
        return stuck(s, v, says)
    return to_work(replace(s, revisions=s.revisions + 1), v, says)


def _before(s: State, v: View, says: Says, checked: Checked) -> Step:
    """The check cannot be run, so that no work could be approved: none is begun, and none is paid."""
    if not checked.ran:
        return end(s, v, says, "no_check", why=checked.ended)
    return to_work(s, v, says)


def _ended_by_a_limit(checked: Checked) -> bool:
    """The check ran and did not end, as when the work hangs: the lead must repair that."""
    return checked.exit is None and checked.ran


def _no_result(s: State) -> bool:
    return any(c.when == "before" and c.exit is None for c in s.checks)
