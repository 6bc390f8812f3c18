"""competition: builds the turns: what each seat is asked, and what it is shown.

Debaters see what was said in public and their own team's channel; the judge what was said in public and its notes; the
audience what was said in public. Nobody is shown `scores`.
"""

from typing import Any

import msgspec

from parley.coordinator.commands import AskSeat
from parley.coordinator.protocol_parts import ask
from parley.coordinator.protocols.competition.review_contradictions import account
from parley.coordinator.protocols.competition.rules import awaited, best, points, possible, swing, votes, winner
from parley.coordinator.protocols.competition.seats import audience_of
from parley.coordinator.protocols.competition.speech_words import words_in
from parley.coordinator.protocols.competition.state import (
    JUDGE,
    JUDGE_NOTES,
    PUBLIC,
    Says,
    State,
    body_of,
    channel_of,
    format_of,
    item_as,
    must_speak,
    on_channel,
    post_of,
    stage_of,
    team_of,
    time_left,
    unspoken,
)
from parley.coordinator.table import View
from parley.schemas.protocols.competition.format import (
    LEAST_WORDS,
    TEAMS,
    Exchange,
    Format,
    Free,
    Item,
    Speech,
    Team,
    Vote,
    captain_of,
    other,
    seats_of,
)
from parley.schemas.protocols.competition.messages import (
    AnswerBrief,
    BallotBrief,
    Bid,
    BidBrief,
    CaptainBrief,
    ConferBrief,
    Identity,
    Note,
    QuestionBrief,
    ReviewBrief,
    ScoreBrief,
    SpeechBrief,
    SpeechPost,
    SummaryBrief,
)
from parley.schemas.text import answer_key

CONFER, SPEAK, QUESTION, ANSWER, BID, CAPTAIN = "confer", "speak", "question", "answer", "bid", "captain"
SCORE, SUMMARIZE, REVIEW, VOTE = "score", "summarize", "review", "vote"
DECISION = "decision"
"""Kind of the post that a captain's decision is."""


CONTEXT_POSTS = 60  # a whole debate of the longest format that ships
"""Public posts that a debater is shown at most: the last ones."""


def stances(v: View) -> dict[Team, str]:
    """What each team holds."""
    configured: dict[Team, str] = v.settings.stances
    return {"pro": configured.get("pro", "for the motion"), "con": configured.get("con", "against the motion")}


def identity(v: View, seat: str) -> Identity:
    """The layers of a debater's prompt (seed, "DebaterAgent")."""
    f, team, position = format_of(v), team_of(seat), int(seat.rpartition("_")[2])
    return Identity(
        team=team,
        team_name=f.teams[team].name,
        position=position,
        stance=stances(v)[team],
        role=f.positions[position - 1] if position <= len(f.positions) else "",
        personality=v.settings.personalities.get(v.settings.styles.get(seat, "")),
        mates=tuple(s for s in seats_of(f, team) if s != seat),
    )


def last_posts(v: View, says: Says, *channels: str, but: str = "") -> tuple[int, ...]:
    """The last posts of some channels, in the order in which they were posted; `but`: those of a kind are left out."""
    return tuple(sorted(n for c in channels for n in on_channel(v, says, c, but)[-CONTEXT_POSTS:]))


def _ask(
    v: View, says: Says, s: State, seat: str, kind: str, brief: object, *, own: bool = False, **more: Any
) -> AskSeat:
    """A turn of a debater; `own`: its reply belongs on its team's channel. A captain's direction is for one speech, and
    stands in its brief: whoever speaks is not shown those that were for others."""
    team = channel_of(team_of(seat))
    sees = last_posts(v, says, PUBLIC, team, but=DECISION if kind == SPEAK else "")
    stream, channel = kind not in (BID, CAPTAIN), team if own else ""
    return ask(v, seat, kind, s.stage + 1, brief, sees=sees, stream=stream, channel=channel, **more)


# ---------------------------------------------------------------- debaters


def ask_confer(s: State, v: View, says: Says, team: str) -> AskSeat:
    """The team's next turn on its own channel, at `conferred`: one seat after another, so that each hears the last."""
    f, stage = format_of(v), stage_of(s, v)
    seats = seats_of(f, team)
    done = s.conferred[TEAMS.index(team)]
    seat = seats[done % len(seats)]
    ahead = tuple(line for item in stage.agenda for line in agenda_lines(item, team, f))
    brief = ConferBrief(
        me=identity(v, seat), stage=stage.title, ahead=ahead, turn=done // len(seats) + 1, turns=stage.confer
    )
    return _ask(v, says, s, seat, CONFER, brief, own=True)


def agenda_lines(item: Item, team: str, f: Format) -> tuple[str, ...]:
    """What an item of the agenda asks of a team, in a line; nothing where it asks nothing."""
    match item:
        case Speech(seat=seat) if team_of(seat) == team:
            return (f"{seat} speaks ({item.words:,} words): {item.task}",)
        case Exchange(asker=asker) if team_of(asker) == team:
            answerers = " or ".join(item.answerers)
            return (f"{asker} asks {answerers} at least {item.questions} questions ({item.question_words:,} words)",)
        case Exchange():
            own = " or ".join(item.answerers)
            return (f"{own} answers the questions of {item.asker} ({item.answer_words:,} words)",)
        case Free():
            first = f"{f.teams[item.first].name} speaks first, then the teams alternate"
            everybody = "; everybody must speak" if item.everybody else ""
            return (f"free debate: {item.seconds:g} s a team, {item.words:,} words a speech; {first}{everybody}",)
    return ()


def ask_speech(s: State, v: View, says: Says, item: Speech) -> AskSeat:
    """A speech that the agenda gives to a seat."""
    brief = SpeechBrief(
        me=identity(v, item.seat), stage=stage_of(s, v).title, act=item.act, task=item.task, words=item.words
    )
    return _ask(v, says, s, item.seat, SPEAK, brief)


def ask_question(s: State, v: View, says: Says, item: Exchange) -> AskSeat:
    """The asker chooses who answers."""
    brief = QuestionBrief(
        me=identity(v, item.asker),
        stage=stage_of(s, v).title,
        answerers=item.answerers,
        least=item.questions,
        words=item.question_words,
    )
    return _ask(v, says, s, item.asker, QUESTION, brief)


def ask_answer(s: State, v: View, says: Says, item: Exchange, question: SpeechPost) -> AskSeat:
    """Whom the asker chose; the questions are the last post shown."""
    brief = AnswerBrief(
        me=identity(v, question.answerer),
        stage=stage_of(s, v).title,
        questions=question.questions,
        words=item.answer_words,
    )
    return _ask(v, says, s, question.answerer, ANSWER, brief)


# ---------------------------------------------------------------- free debate


def may_speak(s: State, v: View, team: str) -> tuple[str, ...]:
    """Who may be chosen: those that have not had a place yet, while there are any (seed, "Free Debate")."""
    return must_speak(s, v, team) or seats_of(format_of(v), team)


def limit_of(s: State, v: View, team: str) -> int:
    """Words of the next speech: the format's limit, or what the team's time still holds; each that must still speak has
    an equal share of that, and never less than a team's least."""
    free = item_as(s, v, Free)
    share = words_in(time_left(s, free)[team], format_of(v).pace) // max(1, len(must_speak(s, v, team)))
    return max(LEAST_WORDS, min(free.words, share))


def ask_bids(s: State, v: View, says: Says, team: str) -> tuple[AskSeat, ...]:
    """Everybody of the team at once, within the window."""
    free = item_as(s, v, Free)
    asks = []
    for seat in seats_of(format_of(v), team):
        brief = BidBrief(
            me=identity(v, seat),
            stage=stage_of(s, v).title,
            seconds_left=time_left(s, free)[team],
            words=limit_of(s, v, team),
        )
        asks.append(_ask(v, says, s, seat, BID, brief, own=True, window_s=free.bid_seconds))
    return tuple(asks)


def ask_captain(s: State, v: View, says: Says, team: str, bids: dict[str, Bid]) -> AskSeat:
    """The seed's seven inputs: the task, the team's posts and the public ones, who spoke how often, who has not, the
    time left, and the form of the answer."""
    f, free = format_of(v), item_as(s, v, Free)
    seat = captain_of(f, team)
    may = may_speak(s, v, team)
    spoken = {x: sum(line.seat == x and line.post is not None for line in s.here()) for x in seats_of(f, team)}
    wanting = tuple(x for x in may if x in bids and bids[x].wants)
    styles = {x: style for x in wanting or may if (style := v.settings.styles.get(x))}
    brief = CaptainBrief(
        me=identity(v, seat),
        stage=stage_of(s, v).title,
        spoken=spoken,
        unspoken=unspoken(s, f, team),
        may=wanting or may,
        seconds_left=time_left(s, free)[team],
        words=limit_of(s, v, team),
        bids=bids,
        styles=styles,
    )
    return _ask(v, says, s, seat, CAPTAIN, brief, own=True)


def ask_debater(s: State, v: View, says: Says, seat: str, direction: str = "") -> AskSeat:
    """A speech in free debate, with its captain's direction where one was given for this very place."""
    free, team = item_as(s, v, Free), team_of(seat)
    along = ", in the direction that your captain gave" if direction else ""
    task = f"Speak in the free debate: answer what {other(team)} said last{along}."
    brief = SpeechBrief(
        me=identity(v, seat),
        stage=stage_of(s, v).title,
        act="free",
        task=task,
        words=limit_of(s, v, team),
        seconds_left=time_left(s, free)[team],
        direction=direction,
    )
    return _ask(v, says, s, seat, SPEAK, brief)


# ---------------------------------------------------------------- judge and audience


def ask_score(s: State, v: View, says: Says) -> AskSeat:
    """What was said and is not scored yet; its post is the last public one shown."""
    line = awaited(s, v)[0]
    assert line.post is not None, "silence is not scored"
    speech = body_of(v, says, line.post, SpeechPost)
    item = format_of(v).stages[line.stage].agenda[line.item]
    task = item.task if isinstance(item, Speech) else ""
    brief = ScoreBrief(
        stage=speech.stage,
        act=line.act,
        seat=line.seat,
        task=task,
        words=speech.words,
        limit=speech.limit,
        violations=possible(line.act),
        weights=format_of(v).weights,
    )
    return _ask_judge(s, v, says, SCORE, brief)


def ask_summary(s: State, v: View, says: Says) -> AskSeat:
    """A stage is over."""
    brief = SummaryBrief(stage=stage_of(s, v).title, totals=points(s, v, says).all())
    return _ask_judge(s, v, says, SUMMARIZE, brief)


def _ask_judge(s: State, v: View, says: Says, kind: str, brief: object, *, last: bool = False) -> AskSeat:
    """Its replies are heard by nobody else, but for the `last` one."""
    sees, channel = last_posts(v, says, PUBLIC, JUDGE_NOTES), "" if last else JUDGE_NOTES
    return ask(v, JUDGE, kind, s.stage + 1, brief, sees=sees, stream=last, final=last, channel=channel)


def ask_review(s: State, v: View, says: Says) -> AskSeat:
    """All is said; paid from what was held back for it."""
    tallies = votes(s, v, says)
    brief = ReviewBrief(
        totals=points(s, v, says).all(),
        winner=winner(s, v, says),
        best=", ".join(best(s, v, says)),
        decided_by=format_of(v).decided_by,
        accounts={team: account(s, v, team, says) for team in TEAMS},
        votes={t.name: t.votes for t in tallies},
        swing=swing(tallies),
    )
    return _ask_judge(s, v, says, REVIEW, brief, last=True)


def ask_votes(s: State, v: View, says: Says, item: Vote) -> tuple[AskSeat, ...]:
    """The whole audience at once; none sees what another votes."""
    brief, sees = BallotBrief(name=item.name, stances=stances(v)), last_posts(v, says, PUBLIC)
    return tuple(ask(v, seat, VOTE, s.stage + 1, brief, sees=sees) for seat in audience_of(format_of(v)))


# ---------------------------------------------------------------- conferring on a team's own channel


def confer_on(s: State, v: View, says: Says, team: str) -> tuple[State, Says]:
    """The team's next turn to confer, past those that are not needed; none: it is through."""
    pro, con = s.conferred
    place = next_to_confer(s, v, says, team)
    at = len(seats_of(format_of(v), team)) * stage_of(s, v).confer if place is None else place
    conferred = (at, con) if team == "pro" else (pro, at)
    s = msgspec.structs.replace(s, idle=s.idle + sum(conferred) - pro - con, conferred=conferred)
    return s, () if place is None else (ask_confer(s, v, says, team),)


def next_to_confer(s: State, v: View, says: Says, team: str) -> int | None:
    """The place of a team's next turn to confer before this stage; None: it is through. A seat whose last note repeats
    one of its own is not asked again: its conferring changed nothing."""
    seats = seats_of(format_of(v), team)
    places = range(s.conferred[TEAMS.index(team)], len(seats) * stage_of(s, v).confer)
    return next((n for n in places if not _repeats(v, says, seats[n % len(seats)])), None)


def _repeats(v: View, says: Says, seat: str) -> bool:
    posts = (n for n in on_channel(v, says, channel_of(team_of(seat)), DECISION) if post_of(v, says, n).seat == seat)
    notes = [answer_key(body_of(v, says, n, Note).text) for n in posts if post_of(v, says, n).kind == "note"]
    return bool(notes) and notes[-1] in notes[:-1]
