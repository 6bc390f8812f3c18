"""competition: two teams, a judge, and a format that says who speaks when.

Source: seeds/ai-debate.md. The format is data (parley.schemas.protocols.competition.messages.Format), and this module
plays it: stage by stage, item by item. Before a stage each team confers on its own channel; after each speech the judge
scores it; after the stage it sums up; after the last one it reviews the debate.

    CONFERRING -> an item after the other -> SUMMARIZING   for each stage, then REVIEWING -> DONE
    a speech:      SPEAKING -> SCORING
    an exchange:   QUESTIONING -> SCORING -> ANSWERING -> SCORING
    free debate:   [BIDDING ->] DECIDING -> DEBATING -> SCORING, until both teams have used their time
    a vote:        VOTING

A seat that does not reply is silent: recorded, and the debate goes on without it.
"""

import msgspec

from parley.coordinator.commands import Finish, Stop
from parley.coordinator.protocols.competition.check import check
from parley.coordinator.protocols.competition.measures import COUNTED
from parley.coordinator.protocols.competition.outcome import figures, outcome
from parley.coordinator.protocols.competition.plan import plan
from parley.coordinator.protocols.competition.record import overtime_alone, record, say, settle, silence, tally
from parley.coordinator.protocols.competition.retold import departs
from parley.coordinator.protocols.competition.rules import interrupting, of_substance
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
    Interruption,
    Phase,
    Says,
    State,
    Utterance,
    author,
    body_of,
    channel_of,
    format_of,
    free_of,
    item_of,
    longest_silent,
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
    ask_confer,
    ask_debater,
    ask_question,
    ask_review,
    ask_score,
    ask_speech,
    ask_summary,
    ask_votes,
    caps,
    limit_of,
    may_speak,
)
from parley.coordinator.protocols.competition.usual import usual
from parley.coordinator.table import Answered, Illegal, Missed, Protocol, Spoke, Step, Table, Unaffordable, View, to
from parley.schemas.protocols.competition.format import TEAMS, Exchange, Free, Speech, Team, Vote, other, seats_of
from parley.schemas.protocols.competition.messages import (
    Ballot,
    Bid,
    Decision,
    Marks,
    Note,
    Questions,
    Review,
    Reviewed,
    Said,
    Settings,
    Spoken,
    StageSummary,
)
from parley.schemas.wire import raw

replace = msgspec.structs.replace

NOTHING_SAID = "nothing_said"


# ---------------------------------------------------------------- the agenda


def _start(v: View) -> Step:
    return _begin_stage(State(phase=Phase.CONFERRING), v, ())


def _begin_stage(s: State, v: View, says: Says) -> Step:
    """The teams confer, both at once; where they may not, the agenda begins."""
    if s.stage == len(format_of(v).stages):
        return _played(s, v, says)
    s = replace(s, phase=Phase.CONFERRING, item=0, conferred=(0, 0))
    if not stage_of(s, v).confer:
        return _play(s, v, says)
    return s, (*says, *(ask_confer(s, v, says, team) for team in TEAMS))


def _on_conferred(s: State, e: Answered, v: View) -> Step:
    return _confer(s, e, v, (say(s, channel_of(team_of(e.seat)), "note", e.body, e.seat),))


def _on_not_conferred(s: State, e: Missed, v: View) -> Step:
    s, says = silence(s, e, v)
    return _confer(s, e, v, says)


def _confer(s: State, e: Answered | Missed, v: View, says: Says) -> Step:
    """The team's next seat; the stage begins when both teams are through."""
    i = TEAMS.index(team_of(e.seat))
    done = tuple(n + (k == i) for k, n in enumerate(s.conferred))
    s = replace(s, conferred=done)
    team = TEAMS[i]
    if done[i] < len(seats_of(format_of(v), team)) * stage_of(s, v).confer:
        return s, (*says, ask_confer(s, v, says, team))
    return (s, says) if v.open_turns else _play(s, v, says)


def _play(s: State, v: View, says: Says) -> Step:
    """What stands at this place of the agenda."""
    if s.item == len(stage_of(s, v).agenda):
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
    if not stage_of(s, v).summary:
        return _next_stage(s, v, says)
    return replace(s, phase=Phase.SUMMARIZING), (*says, ask_summary(s, v, says))


def _next_stage(s: State, v: View, says: Says) -> Step:
    return _begin_stage(replace(s, stage=s.stage + 1), v, says)


def _on_summarized(s: State, e: Answered, v: View) -> Step:
    says = (say(s, SCORES, "summary", e.body, e.seat),)
    return _next_stage(replace(s, summaries=(*s.summaries, (s.stage, v.next_post))), v, says)


def _on_not_summarized(s: State, e: Missed, v: View) -> Step:
    s, says = silence(s, e, v)
    return _next_stage(s, v, says)


# ---------------------------------------------------------------- speeches


def _on_spoken(s: State, e: Answered, v: View) -> Step:
    item = item_of(s, v)
    assert isinstance(item, Speech), "the agenda has a speech here"
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
    item = item_of(s, v)
    assert isinstance(item, Exchange), "the agenda has an exchange here"
    q: Questions = e.body
    text = "\n".join(q.questions)
    s, says = record(s, v, e.seat, "question", text, item.question_words, answerer=q.answerer, questions=q.questions)
    return _score(s, v, says)


def _on_answered(s: State, e: Answered, v: View) -> Step:
    item = item_of(s, v)
    assert isinstance(item, Exchange), "the agenda has an exchange here"
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
    if free_of(s, v).mode == "concurrent":
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
    if v.open_turns:
        return s, says
    bids = {author(v, says, n): body_of(v, says, n, Bid) for n in s.bids}
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


def _on_interrupted(s: State, e: Spoke, v: View) -> Step:
    """Words from the floor enter no debate. Those of the team that spoke last, while the other has the floor or has it
    next, are the same team's second speech in a row: a fine, once a place. Where the other team is through there is
    none.

    Raises
    ------
    Illegal
        From anybody else, or nobody has spoken in this debate yet.
    """
    f = format_of(v)
    by = next((x.seat for x in v.opened.seats if x.queue == e.author and x.role in (PRO, CON)), "")
    here = [x for x in s.here() if x.post is not None]
    if not by or e.channel != PUBLIC or not isinstance(item_of(s, v), Free):
        raise Illegal(f"{e.author} may not speak up here")
    if not here or here[-1].team != team_of(by) or turn_of(s, v) != other(team_of(by)):
        raise Illegal(f"{by}: speeches are asked for; wait until your captain names you")
    if any(x.after == len(s.lines) and team_of(x.seat) == team_of(by) for x in s.interruptions):
        raise Illegal(f"{by}: your team has spoken out of turn here already")
    s = replace(s, interruptions=(*s.interruptions, Interruption(seat=by, after=len(s.lines))))
    return s, (say(s, SCORES, "fine", interrupting(by, f), by),)


# ---------------------------------------------------------------- scores


def _score(s: State, v: View, says: Says) -> Step:
    s = replace(s, phase=Phase.SCORING)
    return s, (*says, ask_score(s, v, says))


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
    """To questions an answer, in free debate the other team, else the next item."""
    line, item = s.lines[-1], item_of(s, v)
    match item:
        case Exchange() if line.act == "question":
            assert line.post is not None
            question = body_of(v, says, line.post, Said)
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
    if v.open_turns:
        return s, says
    item = item_of(s, v)
    assert isinstance(item, Vote), "the agenda has a vote here"
    s, says = tally(s, v, item.name, says)
    return _next_item(s, v, says)


# ---------------------------------------------------------------- the end


def _played(s: State, v: View, says: Says) -> Step:
    """Where neither team said anything of substance nobody has won, and the session ends with that."""
    s = replace(s, stage=s.stage - 1, complete=True)
    return _conclude(s, v, "played" if any(of_substance(s, v, says).values()) else NOTHING_SAID, says)


def _conclude(s: State, v: View, reason: str, says: Says, what: str = "") -> Step:
    """The stop decision with its certificate, and the judge's review."""
    stop = Stop(reason=reason, certificate=raw(figures(s, v, says) | ({"what": what} if what else {})))
    return replace(s, phase=Phase.REVIEWING), (*says, stop, ask_review(s, v, says))


def _on_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """What was played so far stands, with its totals. The review is paid from what was held back; without time, or
    where nothing was said, there is none."""
    says: Says = ()
    if s.phase == Phase.SCORING:
        s, says = settle(s, v, None, says)
    if any(x.post is not None for x in s.lines) and not e.seconds:
        return _conclude(s, v, "budget", says, e.what)
    stop = Stop(reason="budget", certificate=raw(figures(s, v, says) | {"what": e.what}))
    return replace(s, phase=Phase.DONE), (*says, stop, Finish())


def _on_reviewed(s: State, e: Answered, v: View) -> Step:
    """Where it departs from the count the post says so."""
    body: Review = e.body
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

# Which event is legal in which phase is decided here and nowhere else. A pair that is absent is illegal.
TABLE: Table = {
    Phase.CONFERRING: {
        Answered: to(_on_conferred, *ITEMS, Phase.CONFERRING),
        Missed: to(_on_not_conferred, *ITEMS, Phase.CONFERRING),
        Unaffordable: to(_on_unaffordable, *END),
    },
    Phase.SPEAKING: {
        Answered: to(_on_spoken, Phase.SCORING, *NEXT),
        Missed: to(_on_skipped, *NEXT),
        Unaffordable: to(_on_unaffordable, *END),
    },
    Phase.QUESTIONING: {
        Answered: to(_on_asked, Phase.SCORING),
        Missed: to(_on_skipped, *NEXT),
        Unaffordable: to(_on_unaffordable, *END),
    },
    Phase.ANSWERING: {
        Answered: to(_on_answered, Phase.SCORING),
        Missed: to(_on_skipped, *NEXT),
        Unaffordable: to(_on_unaffordable, *END),
    },
    Phase.BIDDING: {
        Answered: to(_on_bid, Phase.BIDDING, Phase.DECIDING, Phase.DEBATING),
        Missed: to(_on_no_bid, Phase.BIDDING, Phase.DECIDING, Phase.DEBATING),
        Unaffordable: to(_on_unaffordable, *END),
        Spoke: to(_on_interrupted, Phase.BIDDING),
    },
    Phase.DECIDING: {
        Answered: to(_on_decided, Phase.DEBATING),
        Missed: to(_on_not_decided, Phase.DEBATING),
        Unaffordable: to(_on_unaffordable, *END),
        Spoke: to(_on_interrupted, Phase.DECIDING),
    },
    Phase.DEBATING: {
        Answered: to(_on_debated, Phase.SCORING),
        Missed: to(_on_not_debated, *NEXT),
        Unaffordable: to(_on_unaffordable, *END),
        Spoke: to(_on_interrupted, Phase.DEBATING),
    },
    Phase.SCORING: {
        Answered: to(_on_scored, Phase.ANSWERING, *NEXT),
        Missed: to(_on_not_scored, Phase.ANSWERING, *NEXT),
        Unaffordable: to(_on_unaffordable, *END),
        Spoke: to(_on_interrupted, Phase.SCORING),
    },
    Phase.VOTING: {
        Answered: to(_on_ballot, *NEXT),
        Missed: to(_on_no_ballot, *NEXT),
        Unaffordable: to(_on_unaffordable, *END),
    },
    Phase.SUMMARIZING: {
        Answered: to(_on_summarized, *ITEMS, Phase.CONFERRING, Phase.REVIEWING),
        Missed: to(_on_not_summarized, *ITEMS, Phase.CONFERRING, Phase.REVIEWING),
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
        CONFER: Note, SPEAK: Spoken, QUESTION: Questions, ANSWER: Spoken, BID: Bid, CAPTAIN: Decision, SCORE: Marks,
        SUMMARIZE: StageSummary, REVIEW: Review, VOTE: Ballot,
    },
    roles=ROLES,
    channel=PUBLIC,
    seat=seat,
    start=_start,
    final=lambda v: ((JUDGE, caps(v)),),
    check=check,
    outcome=outcome,
    stops=("played", NOTHING_SAID, "budget"),
    attempts=lambda settings: int(settings.attempts),
    plan=plan,
    usual=usual,
    counted=COUNTED,
    shows_refused=True,
    fixed=True,
    readers=(PRO, CON),
    needs_model=(PRO, CON, JUDGE, AUDIENCE),
)  # fmt: skip
