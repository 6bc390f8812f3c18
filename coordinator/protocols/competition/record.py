"""competition: what is recorded: speeches counted, silences, marks with what they come to."""

from typing import Literal

import msgspec

from parley.coordinator.commands import SayOn
from parley.coordinator.protocols.competition.rules import awaited, fines_for, interrupting, points, score
from parley.coordinator.protocols.competition.speech_words import count, seconds
from parley.coordinator.protocols.competition.state import (
    CON,
    PRO,
    PUBLIC,
    SCORES,
    Interruption,
    Says,
    Silent,
    State,
    Utterance,
    body_of,
    format_of,
    item_as,
    item_of,
    new_post,
    post_of,
    stage_of,
    team_of,
    time_left,
    turn_of,
)
from parley.coordinator.protocols.competition.turns import BID, CAPTAIN, CONFER, SCORE, SUMMARIZE
from parley.coordinator.table import Illegal, Missed, Spoke, Step, View
from parley.schemas.post import WITHHELD
from parley.schemas.protocols.competition.format import Act, Free, other
from parley.schemas.protocols.competition.messages import AudienceVotes, Ballot, Marks, Scored, Silence, SpeechPost
from parley.schemas.wire import raw

replace = msgspec.structs.replace

UNHEARD = frozenset({CONFER, BID, CAPTAIN, SCORE, SUMMARIZE})
"""Turns whose replies belong on a channel that whoever watches does not read: what is wrong with one may quote it."""
NONE_CAME = "no reply came"


def say(s: State, channel: str, kind: str, body: object, seat_: str = "") -> SayOn:
    """A post; its round is the stage's number, from 1."""
    return SayOn(channel=channel, kind=kind, round=s.stage + 1, body=raw(body), seat=seat_)


def silence(s: State, e: Missed, v: View) -> tuple[State, Says]:
    """A turn that came to nothing is recorded, for whoever watches."""
    why = (NONE_CAME if e.late else WITHHELD) if e.kind in UNHEARD else e.why
    post = Silence(seat=e.seat, asked=e.kind, stage=stage_of(s, v).title, why=why)
    s = replace(s, silent=(*s.silent, Silent(seat=e.seat, asked=e.kind, stage=s.stage)))
    return s, (say(s, SCORES, "silent", post),)


def record(s: State, v: View, seat_: str, act: Act, text: str, limit: int, **more: object) -> tuple[State, Says]:
    """Something said, counted: posted in public, and remembered by its number."""
    f = format_of(v)
    words = count(text, f.pace)
    took = seconds(words, f.pace)
    line = Utterance(seat=seat_, act=act, stage=s.stage, item=s.item, post=v.next_post, seconds=took)
    s = replace(s, lines=(*s.lines, line))
    post = SpeechPost(
        seat=seat_,
        stage=stage_of(s, v).title,
        act=act,
        text=text,
        words=words,
        limit=limit,
        seconds=took,
        overtime=words > limit,
        left=time_left(s, item_as(s, v, Free)) if act == "free" else {},
        **more,  # type: ignore[arg-type]
    )
    return s, (say(s, PUBLIC, "speech", post, seat_),)


def overtime_alone(s: State, v: View, says: Says) -> Says:
    """A speech that is not to be scored costs overtime all the same."""
    line = s.lines[-1]
    assert line.post is not None
    fines = fines_for(line.seat, body_of(v, says, line.post, SpeechPost), None, format_of(v))
    return tuple(say(s, SCORES, "fine", fine, line.seat) for fine in fines)


def settle(s: State, v: View, judge_marks: Marks | None, says: Says) -> tuple[State, Says]:
    """Marks, fines and totals of the first speech that is not scored yet, posted where debaters do not read. What was
    said since is in no total before it is scored."""
    line, f = awaited(s, v)[0], format_of(v)
    assert line.post is not None, "silence is not scored"
    fines = fines_for(line.seat, body_of(v, says, line.post, SpeechPost), judge_marks, f)
    post = Scored(
        post=line.post, seat=line.seat, marks=judge_marks, score=score(judge_marks, f), fines=fines, totals={}
    )
    scored = replace(line, scored=new_post(v, says))
    s = replace(s, lines=tuple(scored if x is line else x for x in s.lines))
    later = awaited(s, v)
    until = replace(s, lines=tuple(replace(x, post=None) if x in later else x for x in s.lines))
    totals = points(until, v, (*says, say(s, SCORES, "scored", post, line.seat))).all()
    return s, (*says, say(s, SCORES, "scored", replace(post, totals=totals), line.seat))


def tally(s: State, v: View, name: Literal["before", "after"], says: Says) -> tuple[State, Says]:
    """The ballots of a vote, counted."""
    ballots = {post_of(v, says, n).seat: body_of(v, says, n, Ballot).choice for n in s.ballots}
    chosen = tuple(ballots.values())
    votes = {choice: chosen.count(choice) for choice in ("pro", "con", "undecided")}
    s = replace(s, tallies=(*s.tallies, new_post(v, says)))
    return s, (*says, say(s, SCORES, "tally", AudienceVotes(name=name, votes=votes, ballots=dict(ballots))))


# ---------------------------------------------------------------- words from the floor


def on_interrupted(s: State, e: Spoke, v: View) -> Step:
    """Words from the floor enter no debate. Those of the team that spoke last, while the other has the floor or has it
    next, are the same team's second speech in a row: a fine, once a place. Where the other team is through there is
    none. Raises Illegal: from anybody else, or nobody has spoken in this debate yet."""
    f = format_of(v)
    by = next((x.seat for x in v.opened.seats if x.queue == e.author and x.role in (PRO, CON)), "")
    here = [x for x in s.here() if x.post is not None]
    over = s.item == len(stage_of(s, v).agenda)
    if not by or e.channel != PUBLIC or over or not isinstance(item_of(s, v), Free):
        raise Illegal(f"{e.author} may not speak up here")
    if not here or here[-1].team != team_of(by) or turn_of(s, v) != other(team_of(by)):
        raise Illegal(f"{by}: speeches are asked for; wait until your captain names you")
    if any(x.after == len(s.lines) and team_of(x.seat) == team_of(by) for x in s.interruptions):
        raise Illegal(f"{by}: your team has spoken out of turn here already")
    s = replace(s, interruptions=(*s.interruptions, Interruption(seat=by, after=len(s.lines))))
    return s, (say(s, SCORES, "fine", interrupting(by, f), by),)
