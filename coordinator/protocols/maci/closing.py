"""maci: what a closed round posts: who is shown what of it, the outcomes that it added, and what was looked up."""

import msgspec

from parley.coordinator.commands import SayOn, Wish
from parley.coordinator.protocols.maci import round as maci_round
from parley.coordinator.protocols.maci.lexical import of_looked_up
from parley.coordinator.protocols.maci.round import Judged, NumberedArgument
from parley.coordinator.protocols.maci.state import (
    JUDGE,
    AdmittedArgument,
    ClosedRound,
    State,
    passages,
    shares,
)
from parley.coordinator.protocols.maci.turns import advocate, item_order
from parley.coordinator.schedulers import controller
from parley.coordinator.table import View, with_said
from parley.schemas.control import Verdict
from parley.schemas.protocols.maci.messages import Case, Crit, Group, Merged, Passages, Score
from parley.schemas.protocols.maci.messages import RoundSignals as Post
from parley.schemas.text import ClosedList
from parley.schemas.wire import decode, raw

PUBLIC, SCORES = "public", "scores"
Says = tuple[Wish, ...]
replace = msgspec.structs.replace


def say(channel: str, kind: str, round_: int, body: object, seat_: str = "") -> SayOn:
    """A post of the moderator's, in a debater's or judge's name where there is one."""
    return SayOn(channel=channel, kind=kind, round=round_, body=raw(body), seat=seat_)


def part(s: State, debaters: dict[str, Case]) -> tuple[State, Says, dict[str, Case]]:
    """Who says that its words are another answer than they count as gets an outcome for them. Who replied has seen what
    its words count as. Also the cases, whose beliefs name outcomes word for word: what a debater was shown is what it
    meant, whatever another one adds."""
    named = {name: maci_round.with_outcome_names(s.outcomes, case) for name, case in debaters.items()}
    s = replace(s, unconfirmed={name: told for name, told in s.unconfirmed.items() if name not in debaters})
    says: Says = ()
    for name, case in debaters.items():
        new = maci_round.widened(s.outcomes, case)[len(s.outcomes) :]
        if new:
            members = ClosedList(m for g in s.groups for m in g.members)
            gone = {members.find(words) for words in new}
            kept = (replace(g, members=tuple(m for m in g.members if m not in gone)) for g in s.groups)
            groups = (*kept, *(Group(name=words, members=(words,)) for words in new))
            s = replace(s, outcomes=(*s.outcomes, *new), groups=groups, control=controller.parted(s.dials, new))
            says = (*says, say(PUBLIC, "outcomes", s.round, Merged(groups=groups), name))
    return s, says, named


def scored_by(s: State, v: View, arguments: tuple[NumberedArgument, ...]) -> dict[str, tuple[Score, ...]]:
    """Judge -> its scores in the order of `arguments`, each with the argument's own number."""
    by_judge = {}
    for judge in (j.seat for j in v.seats(JUDGE) if j.seat in s.scores):
        order = item_order(v, s.round, judge, arguments)
        by_item = {score.item: score for score in decode(s.scores[judge], Crit).scores}
        by_number = {a.number: replace(by_item[i], item=a.number) for i, a in enumerate(order, 1)}
        by_judge[judge] = tuple(by_number[a.number] for a in arguments)
    return by_judge


def posts_of(
    s: State,
    v: View,
    debaters: dict[str, Case],
    scored: dict[str, tuple[Score, ...]],
    arguments: tuple[NumberedArgument, ...],
    judged: Judged,
) -> tuple[Says, tuple[AdmittedArgument, ...], tuple[int, ...], tuple[int, ...]]:
    """(Posts, the admitted arguments, posts of the refused ones, those of them that debaters read beside the
    admitted). Debaters read no scores."""
    says = [say(SCORES, "case", s.round, case, name) for name, case in debaters.items()]
    says += [say(SCORES, "crit", s.round, Crit(scores=scores), judge) for judge, scores in scored.items()]
    admitted: list[AdmittedArgument] = []
    refused: list[int] = []
    good: list[int] = []
    for a, ruled in zip(arguments, judged.ruled, strict=True):
        post = v.next_post + len(says)
        if ruled.admitted:
            admitted.append(AdmittedArgument(post=post, id=ruled.id, seat=a.seat, tests=ruled.tests is True))
        else:
            refused.append(post)
        good += [post] if maci_round.good(v, ruled) else []
        shown = ruled.admitted or post in good
        kind, body = "argument" if ruled.admitted else "refused", replace(ruled, scores=()) if shown else ruled
        says.append(say(PUBLIC if shown else SCORES, kind, s.round, body, a.seat))
    return tuple(says), tuple(admitted), tuple(refused), tuple(good)


def signals_of(s: State, v: View, closed: ClosedRound, verdict: Verdict | None) -> Post:
    """What every debater reads of a round: its signals, beliefs, and who argues how in the next one."""
    dials = s.dials
    return Post(
        signals=replace(dials.rounds[-1], stop=verdict.reason if verdict else None),
        beliefs={name: shares(s.outcomes, belief) for name, belief in dials.beliefs.items()},
        admitted=tuple(entry.id for entry in closed.admitted),
        refused=len(closed.refused),
        missing=closed.missing,
        next_cl=None if verdict else dials.cl,
        next_tau_q=None if verdict else dials.tau_q,
        next_tau_crit=None if verdict else dials.tau_crit,
        next_advocate="" if verdict else advocate(s, v, closed.number + 1),
    )


def looked_up(s: State, v: View, says: Says) -> tuple[State, Says]:
    """What debaters looked up is among the passages from now on."""
    documents = [d for d in v.opened.documents if d.looked]
    now = with_said(v, says)
    found = of_looked_up(v, documents[s.looked :], len(passages(s, now)) + 1)
    if not found:
        return s, says
    s = replace(s, looked=len(documents), passages=(*s.passages, now.next_post))
    return s, (*says, say(PUBLIC, "passages", s.round, Passages(passages=found, looked=True)))
