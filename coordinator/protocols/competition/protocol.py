"""competition: two teams, a judge, and a format that says who speaks when.

Source: seeds/ai-debate.md. The format is data (parley.schemas.protocols.competition.messages.Format), and this module
plays it: stage by stage, item by item. Before a stage each team confers on its own channel; after each speech the judge
scores it; after the stage it sums up; after the last one it reviews the debate.

    CONFERRING -> an item after the other -> [SUMMARIZING]   for each stage, then REVIEWING -> DONE
    a speech:      SPEAKING
    an exchange:   QUESTIONING -> ANSWERING
    free debate:   [BIDDING ->] DECIDING -> DEBATING, until both teams have used their time
    a vote:        VOTING

What does not need each other goes on at once. A speech is scored while the next one is prepared: nobody who debates
reads scores. The judge has one speech at a time; whoever spoke while it scored waits (SCORING), and so does the end of
a stage. A stage is summed up while the teams confer before the next one.

A seat that does not reply is silent: recorded, and the debate goes on without it.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from parley.coordinator.commands import Finish, Stop
from parley.coordinator.protocol_parts import caps
from parley.coordinator.protocols.competition.check import check
from parley.coordinator.protocols.competition.outcome import COUNTED, figures, outcome
from parley.coordinator.protocols.competition.plan import plan, usual
from parley.coordinator.protocols.competition.record import (
    on_interrupted,
    overtime_alone,
    record,
    say,
    settle,
    silence,
    tally,
)
from parley.coordinator.protocols.competition.review_contradictions import departs
from parley.coordinator.protocols.competition.rules import awaited, of_substance
from parley.coordinator.protocols.competition.seats import ROLES, seat
from parley.coordinator.protocols.competition.speech_words import seconds
from parley.coordinator.protocols.competition.state import (
    AUDIENCE,
    CON,
    JUDGE,
    JUDGE_NOTES,
    PRO,
    PUBLIC,
    SCORES,
    Phase,
    Says,
    State,
    Utterance,
    body_of,
    channel_of,
    format_of,
    item_as,
    item_of,
    longest_silent,
    post_of,
    stage_of,
    team_of,
    turn_of,
)
from parley.coordinator.protocols.competition.turns import (
    ANSWER,
    BID,
    CAPTAIN,
    CONFER,
    DECISION,
    QUESTION,
    REVIEW,
    SCORE,
    SPEAK,
    SUMMARIZE,
    VOTE,
    ask_answer,
    ask_bids,
    ask_captain,
    ask_debater,
    ask_question,
    ask_review,
    ask_score,
    ask_speech,
    ask_summary,
    ask_votes,
    confer_on,
    limit_of,
    may_speak,
    next_to_confer,
)
from parley.coordinator.table import Answered, Missed, Protocol, Spoke, Step, Table, Unaffordable, View, to
from parley.schemas.protocols.competition.format import TEAMS, Exchange, Free, Speech, Team, Vote
from parley.schemas.protocols.competition.messages import (
    Ballot,
    Bid,
    Decision,
    FinalReview,
    Marks,
    Note,
    Questions,
    Reviewed,
    Settings,
    SpeechPost,
    Spoken,
    StageSummary,
)
from parley.schemas.wire import raw

replace = msgspec.structs.replace

NOTHING_SAID = "nothing_said"
Handler = Callable[[State, Any, View], Step]


# ---------------------------------------------------------------- the agenda


def _start(v: View) -> Step:
    return _begin_stage(State(phase=Phase.CONFERRING), v, ())


def _begin_stage(s: State, v: View, says: Says) -> Step:
    """The teams confer, both at once; where they may not, the agenda begins."""
    if s.stage == len(format_of(v).stages):
        return _played(s, v, says)
    s = replace(s, phase=Phase.CONFERRING, item=0, conferred=(0, 0))
    asked = 0
    for team in TEAMS:
        s, more = confer_on(s, v, says, team)
        says, asked = (*says, *more), asked + len(more)
    return (s, says) if asked else _play(s, v, says)


def _on_conferred(s: State, e: Answered, v: View) -> Step:
    return _confer(s, e, v, (say(s, channel_of(team_of(e.seat)), "note", e.body, e.seat),))


def _on_not_conferred(s: State, e: Missed, v: View) -> Step:
    s, says = silence(s, e, v)
    return _confer(s, e, v, says)


def _confer(s: State, e: Answered | Missed, v: View, says: Says) -> Step:
    """The team's next seat; the stage begins when both teams are through, and the one before is summed up."""
    i = TEAMS.index(team_of(e.seat))
    s = replace(s, conferred=tuple(n + (k == i) for k, n in enumerate(s.conferred)))
    s, more = confer_on(s, v, says, TEAMS[i])
    if more or v.open_turns:
        return s, (*says, *more)
    return _play(s, v, says)


def _play(s: State, v: View, says: Says) -> Step:
    """What stands at this place of the agenda. A stage ends once all that was said in it is scored."""
    if s.item == len(stage_of(s, v).agenda):
        if awaited(s, v):
            return replace(s, phase=Phase.SCORING), says
        return _end_stage(s, v, says)
    match item_of(s, v):
        case Speech() as item:
            return replace(s, phase=Phase.SPEAKING), (*says, ask_speech(s, v, says, item))
        case Exchange() as item:
            return replace(s, phase=Phase.QUESTIONING), (*says, ask_question(s, v, says, item))
        case Vote() as item:
            return replace(s, phase=Phase.VOTING, ballots=()), (*says, *ask_votes(s, v, says, item))
        case Free():
            return _next_place(s, v, says)


def _next_item(s: State, v: View, says: Says) -> Step:
    return _play(replace(s, item=s.item + 1), v, says)


def _end_stage(s: State, v: View, says: Says) -> Step:
    """The judge sums up; meanwhile the teams confer before the next stage, if they do."""
    if not stage_of(s, v).summary:
        return _next_stage(s, v, says)
    says = (*says, ask_summary(s, v, says))
    if s.stage + 1 < len(format_of(v).stages):
        after = replace(s, stage=s.stage + 1, conferred=(0, 0))
        if any(next_to_confer(after, v, says, team) is not None for team in TEAMS):
            return _next_stage(s, v, says)
    return replace(s, phase=Phase.SUMMARIZING), says


def _next_stage(s: State, v: View, says: Says) -> Step:
    return _begin_stage(replace(s, stage=s.stage + 1), v, says)


def _on_summarized(s: State, e: Answered, v: View) -> Step:
    stage = e.round - 1
    says = (say(replace(s, stage=stage), SCORES, "summary", e.body, e.seat),)
    return _summed_up(replace(s, summaries=(*s.summaries, (stage, v.next_post))), v, says)


def _on_not_summarized(s: State, e: Missed, v: View) -> Step:
    now = s.stage
    s, says = silence(replace(s, stage=e.round - 1), e, v)
    return _summed_up(replace(s, stage=now), v, says)


def _summed_up(s: State, v: View, says: Says) -> Step:
    if s.phase == Phase.SUMMARIZING:
        return _next_stage(s, v, says)
    return (s, says) if v.open_turns else _play(s, v, says)


# ---------------------------------------------------------------- speeches


def _on_spoken(s: State, e: Answered, v: View) -> Step:
    item = item_as(s, v, Speech)
    body: Spoken = e.body
    s, says = record(s, v, e.seat, item.act, body.text, item.words, citations=body.citations)
    if item.scored:
        return _score(s, v, says)
    return _next_item(s, v, (*says, *overtime_alone(s, v, says)))


def _on_skipped(s: State, e: Missed, v: View) -> Step:
    """Silence: the item is over. Without questions there is nothing to answer."""
    s, says = silence(s, e, v)
    return _next_item(s, v, says)


def _on_asked(s: State, e: Answered, v: View) -> Step:
    item = item_as(s, v, Exchange)
    q: Questions = e.body
    text = "\n".join(q.questions)
    s, says = record(s, v, e.seat, "question", text, item.question_words, answerer=q.answerer, questions=q.questions)
    return _score(s, v, says)


def _on_answered(s: State, e: Answered, v: View) -> Step:
    item = item_as(s, v, Exchange)
    body: Spoken = e.body
    s, says = record(s, v, e.seat, "answer", body.text, item.answer_words, citations=body.citations)
    return _score(s, v, says)


# ---------------------------------------------------------------- free debate


def _next_place(s: State, v: View, says: Says) -> Step:
    """The team whose turn it is decides who speaks; where both are through, the free debate is over."""
    team = turn_of(s, v)
    if team is None:
        return _next_item(s, v, says)
    s = replace(s, bids=())
    if item_as(s, v, Free).mode == "concurrent":
        return replace(s, phase=Phase.BIDDING), (*says, *ask_bids(s, v, says, team))
    return replace(s, phase=Phase.DECIDING), (*says, ask_captain(s, v, says, team, {}))


def _on_bid(s: State, e: Answered, v: View) -> Step:
    says = (say(s, channel_of(team_of(e.seat)), "bid", e.body, e.seat),)
    return _bids_in(replace(s, bids=(*s.bids, v.next_post)), v, says)


def _on_no_bid(s: State, e: Missed, v: View) -> Step:
    """Whoever does not answer within the window does not want to speak."""
    return _bids_in(s, v, ())


def _bids_in(s: State, v: View, says: Says) -> Step:
    """The captain picks among the bids; nobody bid: the seat that was silent the longest speaks."""
    if any(t.ask.kind == BID for t in v.open_turns):
        return s, says
    bids = {post_of(v, says, n).seat: body_of(v, says, n, Bid) for n in s.bids}
    if not any(b.wants for b in bids.values()):
        return _longest_silent(s, v, says)
    return replace(s, phase=Phase.DECIDING), (*says, ask_captain(s, v, says, _at_turn(s, v), bids))


def _on_decided(s: State, e: Answered, v: View) -> Step:
    d: Decision = e.body
    says = (say(s, channel_of(team_of(e.seat)), DECISION, d, e.seat),)
    return replace(s, phase=Phase.DEBATING), (*says, ask_debater(s, v, says, d.speaker, d.direction))


def _on_not_decided(s: State, e: Missed, v: View) -> Step:
    s, says = silence(s, e, v)
    return _longest_silent(s, v, says)


def _longest_silent(s: State, v: View, says: Says) -> Step:
    speaker = longest_silent(s, format_of(v), may_speak(s, v, _at_turn(s, v)))
    return replace(s, phase=Phase.DEBATING), (*says, ask_debater(s, v, says, speaker))


def _at_turn(s: State, v: View) -> Team:
    team = turn_of(s, v)
    assert team is not None, "somebody decides or bids, so a team has the place"
    return team


def _on_debated(s: State, e: Answered, v: View) -> Step:
    body: Spoken = e.body
    s, says = record(s, v, e.seat, "free", body.text, limit_of(s, v, team_of(e.seat)), citations=body.citations)
    return _score(s, v, says)


def _on_not_debated(s: State, e: Missed, v: View) -> Step:
    """A silent place takes the time that its speech might have taken."""
    s, says = silence(s, e, v)
    took = seconds(limit_of(s, v, team_of(e.seat)), format_of(v).pace)
    line = Utterance(seat=e.seat, act="free", stage=s.stage, item=s.item, post=None, seconds=took)
    return _next_place(replace(s, lines=(*s.lines, line)), v, says)


# ---------------------------------------------------------------- scores


def _score(s: State, v: View, says: Says) -> Step:
    """Have what was just said scored, and go on; if the judge is still at the speech before, wait for that."""
    if any(t.ask.kind == SCORE for t in v.open_turns):
        return replace(s, phase=Phase.SCORING), says
    return _after_speech(s, v, (*says, ask_score(s, v, says)))


def _on_scored(s: State, e: Answered, v: View) -> Step:
    judge_marks: Marks = e.body
    says: Says = (
        (say(s, JUDGE_NOTES, "note", Note(text=judge_marks.comment), e.seat),) if judge_marks.comment.strip() else ()
    )
    s, says = settle(s, v, replace(judge_marks, comment=""), says)  # the comment stands in the judge's notes alone
    return _after_score(s, v, says)


def _on_not_scored(s: State, e: Missed, v: View) -> Step:
    """The speech counts 0, and the debate goes on."""
    s, says = silence(s, e, v)
    s, says = settle(s, v, None, says)
    return _after_score(s, v, says)


def _after_score(s: State, v: View, says: Says) -> Step:
    """What waited for the judge: a speech, or the end of the stage or of the money. Else the others are still at it."""
    match s.phase:
        case Phase.SCORING if s.short:
            return _conclude(s, v, "budget", says, s.short)
        case Phase.SCORING if awaited(s, v):
            return _score(s, v, says)
        case Phase.SCORING:
            return _play(s, v, says)
    return s, says


def _after_speech(s: State, v: View, says: Says) -> Step:
    """To questions an answer, in free debate the other team, else the next item."""
    line, item = s.lines[-1], item_of(s, v)
    match item:
        case Exchange() if line.act == "question":
            assert line.post is not None
            question = body_of(v, says, line.post, SpeechPost)
            return replace(s, phase=Phase.ANSWERING), (*says, ask_answer(s, v, says, item, question))
        case Free():
            return _next_place(s, v, says)
    return _next_item(s, v, says)


# ---------------------------------------------------------------- votes


def _on_ballot(s: State, e: Answered, v: View) -> Step:
    says = (say(s, SCORES, "ballot", e.body, e.seat),)
    return _ballots_in(replace(s, ballots=(*s.ballots, v.next_post)), v, says)


def _on_no_ballot(s: State, e: Missed, v: View) -> Step:
    s, says = silence(s, e, v)
    return _ballots_in(s, v, says)


def _ballots_in(s: State, v: View, says: Says) -> Step:
    """Counted when everybody has voted or had time to; told to nobody who argues or votes."""
    if any(t.ask.kind == VOTE for t in v.open_turns):
        return s, says
    item = item_as(s, v, Vote)
    s, says = tally(s, v, item.name, says)
    return _next_item(s, v, says)


# ---------------------------------------------------------------- the end


def _played(s: State, v: View, says: Says) -> Step:
    """Where neither team said anything of substance nobody has won, and the session ends with that."""
    s = replace(s, stage=s.stage - 1, complete=True)
    return _conclude(s, v, "played" if any(of_substance(s, v, says).values()) else NOTHING_SAID, says)


def _conclude(s: State, v: View, reason: str, says: Says, what: str = "") -> Step:
    stop = Stop(reason=reason, certificate=raw(figures(s, v, says) | ({"what": what} if what else {})))
    return replace(s, phase=Phase.REVIEWING), (*says, stop, ask_review(s, v, says))


def _on_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """What was played so far stands, with its totals. The review is paid from what was held back; without time, or
    where nothing was said, there is none."""
    says: Says = ()
    scoring = any(t.ask.kind == SCORE for t in v.open_turns)
    if awaited(s, v) and not e.seconds and not s.short:  # it is scored alone, if that fits
        s = replace(s, phase=Phase.SCORING, short=e.what)
        return s, () if scoring else (ask_score(s, v, ()),)
    while awaited(s, v):
        s, says = settle(s, v, None, says)
    if any(x.post is not None for x in s.lines) and not e.seconds:
        return _conclude(s, v, "budget", says, e.what)
    stop = Stop(reason="budget", certificate=raw(figures(s, v, says) | {"what": e.what}))
    return replace(s, phase=Phase.DONE), (*says, stop, Finish())


def _on_reviewed(s: State, e: Answered, v: View) -> Step:
    """Where it departs from the count the post says so."""
    body: FinalReview = e.body
    review = say(s, PUBLIC, "review", Reviewed(text=body.text, departs=departs(body.text, s, v)), e.seat)
    return replace(s, phase=Phase.DONE, review=v.next_post), (review, Finish())


def _on_not_reviewed(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """The totals stand without it."""
    return replace(s, phase=Phase.DONE), (Finish(),)


ITEMS = (Phase.SPEAKING, Phase.QUESTIONING, Phase.BIDDING, Phase.DECIDING, Phase.VOTING)
"""Where an item begins."""
NEXT = (*ITEMS, Phase.CONFERRING, Phase.SUMMARIZING, Phase.REVIEWING)
"""Where the end of an item leads to: the next one, or past the end of its stage."""
END = (Phase.REVIEWING, Phase.DONE)


def _either(kind: str, beside: Handler, handler: Handler) -> Handler:
    """A phase's handler, and `beside` for turns of a kind that go on at the same time."""

    def handle(s: State, e: Answered | Missed, v: View) -> Step:
        return beside(s, e, v) if e.kind == kind else handler(s, e, v)

    return handle


# Which event is legal in which phase is decided here and nowhere else. A pair that is absent is illegal.
TABLE: Table = {
    Phase.CONFERRING: {
        Answered: to(_either(SUMMARIZE, _on_summarized, _on_conferred), *ITEMS, Phase.CONFERRING),
        Missed: to(_either(SUMMARIZE, _on_not_summarized, _on_not_conferred), *ITEMS, Phase.CONFERRING),
        Unaffordable: to(_on_unaffordable, *END),
    },
    Phase.SPEAKING: {
        Answered: to(_either(SCORE, _on_scored, _on_spoken), Phase.SCORING, *NEXT),
        Missed: to(_either(SCORE, _on_not_scored, _on_skipped), Phase.SCORING, *NEXT),
        Unaffordable: to(_on_unaffordable, Phase.SCORING, *END),
    },
    Phase.QUESTIONING: {
        Answered: to(_either(SCORE, _on_scored, _on_asked), Phase.QUESTIONING, Phase.ANSWERING, Phase.SCORING),
        Missed: to(_either(SCORE, _on_not_scored, _on_skipped), Phase.SCORING, *NEXT),
        Unaffordable: to(_on_unaffordable, Phase.SCORING, *END),
    },
    Phase.ANSWERING: {
        Answered: to(_either(SCORE, _on_scored, _on_answered), Phase.ANSWERING, Phase.SCORING, *ITEMS),
        Missed: to(_either(SCORE, _on_not_scored, _on_skipped), Phase.ANSWERING, Phase.SCORING, *NEXT),
        Unaffordable: to(_on_unaffordable, Phase.SCORING, Phase.DONE),
    },
    Phase.BIDDING: {
        Answered: to(_either(SCORE, _on_scored, _on_bid), Phase.BIDDING, Phase.DECIDING, Phase.DEBATING),
        Missed: to(_either(SCORE, _on_not_scored, _on_no_bid), Phase.BIDDING, Phase.DECIDING, Phase.DEBATING),
        Unaffordable: to(_on_unaffordable, Phase.SCORING, *END),
        Spoke: to(on_interrupted, Phase.BIDDING),
    },
    Phase.DECIDING: {
        Answered: to(_either(SCORE, _on_scored, _on_decided), Phase.DECIDING, Phase.DEBATING),
        Missed: to(_either(SCORE, _on_not_scored, _on_not_decided), Phase.DECIDING, Phase.DEBATING),
        Unaffordable: to(_on_unaffordable, Phase.SCORING, *END),
        Spoke: to(on_interrupted, Phase.DECIDING),
    },
    Phase.DEBATING: {
        Answered: to(_either(SCORE, _on_scored, _on_debated), Phase.DEBATING, Phase.SCORING, *ITEMS),
        Missed: to(_either(SCORE, _on_not_scored, _on_not_debated), Phase.DEBATING, Phase.SCORING, *NEXT),
        Unaffordable: to(_on_unaffordable, Phase.SCORING, *END),
        Spoke: to(on_interrupted, Phase.DEBATING),
    },
    Phase.SCORING: {
        Answered: to(_on_scored, Phase.ANSWERING, Phase.SCORING, *NEXT),
        Missed: to(_on_not_scored, Phase.ANSWERING, Phase.SCORING, *NEXT),
        Unaffordable: to(_on_unaffordable, Phase.SCORING, *END),
        Spoke: to(on_interrupted, Phase.SCORING),
    },
    Phase.VOTING: {
        Answered: to(_either(SCORE, _on_scored, _on_ballot), Phase.SCORING, *NEXT),
        Missed: to(_either(SCORE, _on_not_scored, _on_no_ballot), Phase.SCORING, *NEXT),
        Unaffordable: to(_on_unaffordable, Phase.SCORING, *END),
    },
    Phase.SUMMARIZING: {
        Answered: to(_on_summarized, *ITEMS, Phase.REVIEWING),
        Missed: to(_on_not_summarized, *ITEMS, Phase.REVIEWING),
        Unaffordable: to(_on_unaffordable, *END),
    },
    Phase.REVIEWING: {
        Answered: to(_on_reviewed, Phase.DONE),
        Missed: to(_on_not_reviewed, Phase.DONE),
        Unaffordable: to(_on_not_reviewed, Phase.DONE),
    },
    Phase.DONE: {},
}

PROTOCOL = Protocol(
    name="competition",
    version=1,
    settings=Settings,
    state=State,
    table=TABLE,
    done=Phase.DONE,
    replies={
        CONFER: Note,
        SPEAK: Spoken,
        QUESTION: Questions,
        ANSWER: Spoken,
        BID: Bid,
        CAPTAIN: Decision,
        SCORE: Marks,
        SUMMARIZE: StageSummary,
        REVIEW: FinalReview,
        VOTE: Ballot,
    },
    roles=ROLES,
    channel=PUBLIC,
    seat=seat,
    start=_start,
    final=lambda v: ((JUDGE, caps(v)),),
    check=check,
    outcome=outcome,
    stops=("played", NOTHING_SAID, "budget"),
    plan=plan,
    usual=usual,
    counted=COUNTED,
    shows_refused=True,
    fixed=True,
    readers=(PRO, CON),
    needs_model=(PRO, CON, JUDGE, AUDIENCE),
)
