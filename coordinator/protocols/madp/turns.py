"""madp: builds the turns. A brief has all that a turn needs: experts are shown no posts beside it."""

from collections.abc import Collection, Iterable
from typing import Literal

import msgspec

from parley.coordinator.budget import Reservation, most_calls, reservation, shortfall
from parley.coordinator.commands import AskSeat, Invite, Wish
from parley.coordinator.protocols.madp.depth import REVIEWERS
from parley.coordinator.protocols.madp.evidence import risk
from parley.coordinator.protocols.madp.evidence.ledger import evidence, ledger_lines
from parley.coordinator.protocols.madp.evidence.proof import Proof, proof
from parley.coordinator.protocols.madp.state import (
    CHECK,
    HELPER,
    Phase,
    Says,
    State,
    announced_experts,
    body_of,
    caps,
    degraded,
    diff_so_far,
    own_queue,
    read_said,
    task_of,
)
from parley.coordinator.table import Planned, Step, TurnPlan, Usual, View, WorkerChoice
from parley.schemas.expert import ROLE, Known
from parley.schemas.folders.notes import Note
from parley.schemas.folders.request_kind import wanted
from parley.schemas.protocols.madp.messages import Claim, WordsBrief
from parley.schemas.protocols.madp.work import CheckBrief, ReviewBrief, SupportBrief, Supported, Work, WorkBrief
from parley.schemas.routing import Asking, Match
from parley.schemas.session import Seat
from parley.schemas.tools import main_argument
from parley.schemas.turn import Caps
from parley.schemas.wire import raw

MATCH, WORK, SUPPORT, REVIEW = "match", "work", "support", "review"
WORDS, RUN_CHECK = "words", "check"
MOST_TOLD = 2_000_000
"""Bytes of earlier support that a lead is shown again."""
READS = "read_file"
"""The tool whose calls say what a lead's turn has read: the next turn is told."""
MOST_SEEN = 40
"""Files that it is told of, at most."""
MOST_OTHERS = 24
"""Further experts that a lead is told of, at most."""
ASKING_S = 30.0
"""So long the helper's language model may take to say who leads: beside 9.1's time budget, which the rest keeps."""
MOST_ASKING = (4_000, 300)
"""Tokens of its question and of its answer, at most: some 400 in all, but for long tasks."""
LEAST_CALLS = 2
"""Least calls of a turn of work. Without tools: one step and its repair. With tools: one step that uses them, and the
last step."""
replace = msgspec.structs.replace


REVIEW_CALLS = 8  # enough to read what changed; its tools only read
"""Model calls of one review, at most."""


def invite(v: View, expert: str) -> Invite:
    """The seat of an announced expert, named by its id."""
    return Invite(seat=_seat(v, announced_experts(v)[expert]))


def _seat(v: View, k: Known) -> Seat:
    return Seat(
        seat=k.id, role=ROLE, queue=own_queue(v.opened, k.id), model=k.model, family=k.family, metered=k.metered,
        usd_per_million_input=k.usd_per_million_input, usd_per_million_output=k.usd_per_million_output,
    )  # fmt: skip


def has_helper(v: View) -> bool:
    """Whether there is a helper to ask."""
    return bool(v.seats(HELPER))


def ask_match(v: View) -> AskSeat:
    """The helper: which experts does it call for?"""
    asking, allowed = _asking(v)
    brief = Match(task=task_of(v), experts=len(v.opened.experts), keyword=degraded(v), asking=asking)
    return AskSeat(seat=_helper(v).seat, kind=MATCH, round=0, brief=raw(brief), caps=allowed)


def _asking(v: View) -> tuple[Asking | msgspec.UnsetType, Caps]:
    """(when the helper's language model is asked, caps of the match). Where it may not be asked, it reserves no token:
    so a budget that does not hold its question still holds the match."""
    settings, helper, full = v.settings, _helper(v), caps(v)
    if not helper.metered:
        return msgspec.UNSET, full
    unasked = replace(full, input_tokens=0, output_tokens=0)
    if not settings.ask_below or settings.expert or degraded(v):
        return msgspec.UNSET, unasked
    asking = Asking(below=settings.ask_below, within_s=ASKING_S)
    least = replace(
        full,
        input_tokens=min(full.input_tokens, MOST_ASKING[0]),
        output_tokens=min(full.output_tokens, MOST_ASKING[1]),
    )
    question = reservation(helper, least)
    works = [question + reservation(w.seat, w.least) for w in workers(v)] or [question]
    short = min((shortfall(v.opened.budget, v.ledger, Reservation(), w) for w in works), key=len)
    return (replace(asking, refused=short[:160]), unasked) if short else (asking, least)


def coordination_s(v: View) -> float:
    """9.1's time budget, and beside it the time for the language model that may be asked."""
    asking, _ = _asking(v) if has_helper(v) else (msgspec.UNSET, None)
    waits = isinstance(asking, Asking) and not asking.refused
    return float(v.settings.coordination_s) + (ASKING_S if waits else 0.0)


def _helper(v: View) -> Seat:
    return v.seats(HELPER)[0]


def workers(v: View) -> tuple[WorkerChoice, ...]:
    """Who may lead: everybody announced, or whom a human named; and what one turn of work may take. Of those that cost
    the same one stands for all: there may be hundreds."""
    named = v.settings.expert
    kinds = {
        (k.metered, k.usd_per_million_input, k.usd_per_million_output, k.tools): k
        for k in reversed(v.opened.experts)
        if not named or k.id == named
    }
    return tuple(
        WorkerChoice(seat=_seat(v, k), least=caps(v, least_calls(v)), most=caps(v, _work_calls(v, k)))
        for k in reversed(kinds.values())
    )


def least_calls(v: View) -> int:
    """The fewest calls that a turn of work is given."""
    return min(LEAST_CALLS, int(v.settings.work_calls))


def _work_calls(v: View, k: Known) -> int:
    """The most calls that a turn of work of this expert can make use of."""
    return int(v.settings.work_calls) if k.tools and v.settings.tool_calls else least_calls(v)


def _granted(v: View, expert: str, successor: str) -> tuple[int, tuple[tuple[Seat, Caps], ...]]:
    """(calls of a turn of work: as many as the budget holds beside a least turn of `successor`, who comes after it;
    that turn)."""
    seat = invite(v, expert).seat
    after = ((invite(v, successor).seat, caps(v, least_calls(v))),) if successor else ()
    most = _work_calls(v, announced_experts(v)[expert])
    return most_calls(most, least_calls(v), lambda n: not v.affords([(seat, caps(v, n)), *after])), after


def no_words(s: State, v: View, expert: str) -> str:
    """Why no model words what an expert says: the budget would not hold a turn of work beside it, for any expert that
    may lead. Empty: a model may."""
    wording_turn = (invite(v, expert).seat, caps(v))
    leads = dict.fromkeys((*s.claims, *(c.expert for c in s.candidates)))
    experts = announced_experts(v)
    seats = [_seat(v, experts[x]) for x in leads if x in experts]
    return next((short for x in seats if (short := v.affords([wording_turn, (x, caps(v, least_calls(v)))]))), "")


def ask_words(s: State, v: View) -> tuple[Wish, ...]:
    """Ask the general-purpose expert, which claims nothing, to word the challenges and the claims in question."""
    brief = WordsBrief(task=task_of(v), claims=disputed(s), challenges=s.challenges)
    return _ask(v, s.general, WORDS, 0, brief)


def disputed(s: State) -> tuple[Claim, ...]:
    """The claims of whoever challenges, or is challenged."""
    who = {x for c in s.challenges for x in (c.challenger_id, c.challenged_id)}
    return tuple(claim for expert, claim in s.claims.items() if expert in who)


def _ask(
    v: View,
    expert: str,
    kind: str,
    round_: int,
    brief: object,
    calls: int = 2,
    before: tuple[tuple[Seat, Caps], ...] = (),
) -> tuple[Wish, ...]:
    ask = AskSeat(seat=expert, kind=kind, round=round_, brief=raw(brief), caps=caps(v, calls), before=before)
    return invite(v, expert), ask


def to_work(s: State, v: View, says: Says, supported: tuple[Supported, ...] = ()) -> Step:
    """5.1: the lead receives the full context. `supported` is what this transition posts, and is not in the view yet.
    If the check has not run on what the task begins with, it is run first."""
    settings = v.settings
    before = settings.check and settings.folder and not s.checks and not s.rounds
    if before and wanted(v.opened.question) != "text":
        return ask_check(s, v, says)
    previous = read_said(v, says, s.work, Work) if s.work is not None else None
    known = [x for x in s.profiles if x != s.lead and x not in {a.agent_id for a in s.team}]
    earlier_support = _earlier_support(s, v)
    calls, review = _granted(v, s.lead, next(iter(choose_reviewers(s, v)), ""))
    brief = WorkBrief(
        task=task_of(v), expert=s.lead, responsibility=s.responsibility, team=s.team,
        others=tuple(known[:MOST_OTHERS]), state=s.task_state, handoff=s.handoff,
        supported=(*earlier_support, *supported), advice=s.advice, findings=s.findings,
        previous=f"{previous.summary}\n\n{previous.output}".strip() if previous else "",
        base=settings.folder, folder=s.folder, tool_calls=settings.tool_calls, model_calls=calls,
        diff=diff_so_far(s, v, says), seen=_files_read(s, v, says), checks=s.checks,
        evidence=ledger_lines(evidence(s, v, says), s.checks) if s.rounds else (), notes=_notes(v),
    )  # fmt: skip
    s = replace(s, phase=Phase.WORKING)
    return s, (*says, *_ask(v, s.lead, WORK, s.round, brief, calls, review))


def _notes(v: View) -> tuple[Note, ...]:
    learned = v.opened.learned
    return () if learned is msgspec.UNSET else learned.notes or ()


def _files_read(s: State, v: View, says: Says) -> tuple[str, ...]:
    """Files that this lead's last turn of work read, by its calls of tools."""
    last = s.rounds[-1] if s.rounds else None
    if last is None or last.lead != s.lead or last.post is None:
        return ()
    calls = (c for c in read_said(v, says, last.post, Work).calls if c.ok and c.tool == READS)
    return tuple(dict.fromkeys(path for c in calls if (path := main_argument(c.arguments))))[:MOST_SEEN]


def ask_check(s: State, v: View, says: Says) -> Step:
    """Have the check run on the accepted folder: before the first work, and after finished work."""
    settings = v.settings
    when: Literal["before", "after"] = "after" if s.rounds else "before"
    brief = CheckBrief(
        when=when, command=settings.check, seconds=settings.check_s, folder=s.folder, base=settings.folder
    )
    s = replace(s, phase=Phase.CHECKING)
    seat = v.seats(CHECK)[0].seat
    return s, (*says, AskSeat(seat=seat, kind=RUN_CHECK, round=s.round, brief=raw(brief), caps=caps(v, 1)))


def is_checked(s: State, v: View) -> bool:
    """Whether the check says anything of the work that is accepted: of a text, or of a plan, it says nothing."""
    return bool(v.settings.check) and s.changed is not None and read_work(s, v).performed


def proven(s: State, v: View) -> Proof:
    """What the check proves of the work that is accepted."""
    runs = {c.when: c for c in s.checks}
    return proof(runs.get("before"), runs.get("after"), v.settings.check_goal, v.opened.question)


def read_work(s: State, v: View) -> Work:
    """The last finished work."""
    assert s.work is not None, "what is checked or reviewed is done"
    return body_of(v, s.work, Work)


def _earlier_support(s: State, v: View) -> tuple[Supported, ...]:
    """What support gave back earlier. If it is too much for one message, the newest of it."""
    results: list[Supported] = []
    size = 0
    for n in reversed([n for n in s.supported if n < len(v.posts)]):
        size += len(bytes(v.posts[n].body))
        if size > MOST_TOLD:
            break
        results.append(without_calls(body_of(v, n, Supported)))
    return tuple(reversed(results))


def without_calls(support: Supported) -> Supported:
    """Support's result as a lead is shown it, without its calls of tools: those are for readers of the log."""
    return replace(support, calls=())


def ask_support(s: State, v: View) -> tuple[Wish, ...]:
    """5.1: a scoped sub-task, on a copy of the folder."""
    calls, lead = _granted(v, s.helping, s.lead)
    brief = SupportBrief(
        task=task_of(v), expert=s.helping, lead=s.lead, sub_task=s.sub_task, folder=s.folder,
        tool_calls=v.settings.tool_calls, model_calls=calls,
    )  # fmt: skip
    return _ask(v, s.helping, SUPPORT, s.round, brief, calls, lead)


def choose_reviewers(s: State, v: View, diff: str = "") -> tuple[str, ...]:
    """6.1: who reviews: whoever guards a field that the task or its diff touches, at every depth; and the reviewers
    that the work calls for, as many as the depth has. A guard that the work calls for is one of these, unless it looks
    at security alone. Where the lead is the only one: another who has a part in the task, or takes what nobody does.
    Never the lead, and nobody who led before as long as there are others."""
    experts, led = announced_experts(v), {r.lead for r in s.rounds}
    guards = risk.guards(v, touched(v, diff), s.lead)
    first = [x for x in guards if experts[x].category != risk.SECURITY]
    called = _no_leads(s.reviewers, s.lead, led, experts)
    called = sorted(called, key=lambda x: x not in first)[: REVIEWERS[s.depth or "instant"]]
    if not guards and not called and s.lead in s.reviewers:
        general = (x for x, k in experts.items() if k.general)
        near = (*(a.agent_id for a in s.team), *s.claims, *(c.expert for c in s.candidates), *general)
        called = _no_leads(dict.fromkeys(near), s.lead, led, experts)[:1]
    return tuple(dict.fromkeys((*guards, *called)))


def _no_leads(names: Iterable[str], lead: str, led: Collection[str], there: Collection[str]) -> list[str]:
    """Those that are there without the lead, and without who led before as long as there are others."""
    found = [x for x in names if x in there and x != lead]
    return [x for x in found if x not in led] or found


def touched(v: View, diff: str) -> tuple[str, ...]:
    """The fields of harm that the task or its diff touches."""
    return tuple(dict.fromkeys((*risk.of_task(v.opened.question), *risk.of_diff(diff))))


def affordable(v: View, reviewers: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """(as many of the reviewers as the budget holds, but one at least; which limit the rest would pass)."""
    turns = [(invite(v, x).seat, caps(v)) for x in reviewers]
    n = most_calls(len(turns), 1, lambda n: not v.affords(turns[:n]))
    return reviewers[:n], v.affords(turns) if n < len(turns) else ""


def whole_diff(s: State, v: View, work: Work) -> str:
    """The diff of all that the task has changed: this work's, else that of the last turn that handed in its folder."""
    return work.diff or ("" if work.folder is not None else diff_so_far(s, v))


def ask_reviews(s: State, v: View, says: Says, work: Work, reviewers: tuple[str, ...]) -> tuple[Wish, ...]:
    """Ask all reviewers at once: none sees what another finds. Those whose models use tools may read the folder."""
    record = evidence(s, v, says)
    wishes: list[Wish] = []
    granted = _looks(v, reviewers)
    for expert in reviewers:
        calls = granted.get(expert, LEAST_CALLS)
        brief = ReviewBrief(
            task=task_of(v), expert=expert, lead=s.lead, summary=work.summary, output=work.output,
            diff=whole_diff(s, v, work), iteration=s.iteration, findings=s.findings, base=v.settings.folder,
            folder=s.folder, performed=work.performed, checks=s.checks,
            tool_calls=v.settings.tool_calls if calls > LEAST_CALLS else 0, model_calls=calls,
            evidence=ledger_lines(record, s.checks), claims=record.claims,
            notes=tuple(note for note in _notes(v) if note.kind != "decision"),
        )  # fmt: skip
        wishes += _ask(v, expert, REVIEW, s.round, brief, calls)
    return tuple(wishes)


def _looks(v: View, reviewers: tuple[str, ...]) -> dict[str, int]:
    """Reviewer that may use tools -> calls of its model: as many as the budget holds for all of them."""
    experts = announced_experts(v)
    if not v.settings.tool_calls:
        return {}
    may = [x for x in reviewers if experts[x].tools]
    rest = [(invite(v, x).seat, caps(v)) for x in reviewers if x not in may]
    seats = [invite(v, x).seat for x in may]
    most = max(LEAST_CALLS, REVIEW_CALLS)
    calls = most_calls(most, LEAST_CALLS, lambda n: not v.affords([*rest, *((seat, caps(v, n)) for seat in seats)]))
    return dict.fromkeys(may, calls)


def plan(v: View) -> TurnPlan:
    """The part of the plan that is known before it is known who leads: the match. The rest depends on the experts."""
    if not has_helper(v):
        return TurnPlan(rounds=v.settings.max_reviews + 1, least=(), most=(), workers=workers(v))
    helper, (_, allowed) = _helper(v).seat, _asking(v)
    match = Planned(helper, MATCH, allowed)
    most = Planned(helper, MATCH, allowed, v.attempts)
    return TurnPlan(rounds=v.settings.max_reviews + 1, least=(match,), most=(most,), workers=workers(v))


# ---------------------------------------------------------------- a usual course


_TOOLS, _REVIEWED = 3_900, 4_100
"""Tokens of the folder's files, of the tools, and of what they returned; of the work that is reviewed."""


def usual(v: View, rounds: int | None) -> tuple[Usual, ...]:
    """The turns of a task, its experts being like the dearest of those that may lead."""
    turns = []
    if has_helper(v):
        turns.append(Usual(v.seats(HELPER)[0].seat, MATCH))
    if v.settings.check:
        turns.append(Usual(v.seats(CHECK)[0].seat, RUN_CHECK, 2))
    who = max(workers(v), key=lambda w: (w.seat.metered, w.seat.usd_per_million_input, w.most.calls), default=None)
    if who is None:
        return tuple(turns)
    steps = 1 if who.most.calls <= 2 else 3
    work = Usual(who.seat.seat, WORK, 2, _TOOLS if steps > 1 else _TOOLS // 2, 255, steps)
    return (*turns, work, Usual(who.seat.seat, REVIEW, 1, _REVIEWED, 180))
