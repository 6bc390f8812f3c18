"""How sessions may end, a small play each: what the card of the result says of every kind of ending.

python -m tests.client.golden    writes them anew, into golden/endings.txt
"""

from collections.abc import Callable
from typing import Any

import msgspec

from parley.client.rendering.terminal import answer_lines, bare
from parley.schemas import log
from parley.schemas.protocols.consensus import Position
from parley.schemas.text import Citation
from tests.client import shown
from tests.protocols.competition import play as competition
from tests.protocols.consensus import play as consensus
from tests.protocols.consensus.test_faces import one_does_not_sign, one_never_answered, tie
from tests.protocols.critic.test_attacks import (
    a_fatal_objection_that_is_met,
    a_verdict_that_narrows,
    fatal_left_open,
)
from tests.protocols.maci import play as maci
from tests.protocols.madp.evidence.test_risk import SECURITY_TASKS, degraded
from tests.protocols.madp.play import SRE, artifact, done
from tests.protocols.madp.play import Play as Task
from tests.protocols.madp.test_checks import half_done, run
from tests.protocols.single import worlds as single

NOW = log.Hurried(author="ann")
FASTER = "A page takes 0.2 s now, and took 3 s before: its query is cached."
STOPPED = log.Cancelled(author="ann", reason="asked the wrong thing")


def after(play: Any, *steps: Callable[[Any], Any]) -> Any:
    """A play after further steps."""
    for step in steps:
        step(play)
    return play


def event(what: Any) -> Callable[[Any], Any]:
    return lambda play: play.event(what)


def panel(*answers: Any, **settings: Any) -> consensus.Play:
    play = consensus.Play(settings, panel=len(answers))
    play.answers(*answers)
    return play


def one_source() -> consensus.Play:
    """Seats without a language model, all of which quote one sentence."""
    document = consensus.document("a.md", "Tape lasts thirty years.")
    play = consensus.Play(documents=[document], there=consensus.workers(3, family="extractive"))
    cited = (Citation(document="a.md", quote="Tape lasts thirty years."),)
    said = Position(answer="Tape", reasoning="It lasts.", confidence=0.8, citations=cited)
    play.answers(said, said, said)
    return play


def debate(*scores: tuple[str, float | None]) -> competition.Play:
    """A speech each; None: the judge cannot score it."""
    play = competition.Play(competition.small(*(competition.speech(seat) for seat, _ in scores)))
    for seat, score in scores:
        play.says(seat)
        play.scores(score) if score is not None else play.fail("judge")
    play.auto("judge")
    return play


def nobody_speaks() -> competition.Play:
    play = competition.Play(competition.small(competition.speech("pro_1"), competition.speech("con_1")))
    for seat in ("pro_1", "con_1"):
        play.fail(seat)
    play.auto("judge")
    return play


def task(*works: Any, **settings: Any) -> Task:
    play = Task(settings).working()
    for work in works:
        play.reply(SRE, work)
    return play


def works(text: str, output: str, **more: Any) -> Any:
    """Done work, its result in other words than its summary."""
    return msgspec.structs.replace(done(text, **more), output=output)


def abstains() -> single.Play:
    play = single.Play()
    play.reply("answerer", single.ABSTAINS)
    return play


def tied() -> maci.Play:
    """Two debaters who argue, and do not move."""
    play = maci.Play()
    beliefs = maci.belief(0.95, 0.05), maci.belief(0.05, 0.95)
    play.blind(*beliefs)
    while play.phase == "arguing":
        play.same(*beliefs)
    play.plan()
    return play


def one_dissents() -> maci.Play:
    """Of another answer than the one in front, with the better argument."""
    play = maci.Play({"gamma": 0.0, "round_limit": 1})
    play.blind(maci.belief(0.9, 0.1), maci.belief(0.2, 0.8))
    marks = {"the platelets fell": 0.6, "the joints are swollen": 0.95}
    mine, theirs = marks
    play.round(
        maci.case(maci.belief(0.9, 0.1), maci.argument(mine)),
        maci.case(maci.belief(0.3, 0.7), maci.argument(theirs, 2)),
        score=lambda claim: marks[claim],
    )
    play.plan()
    return play


ENDINGS: dict[str, Callable[[], Any]] = {
    "consensus, one does not sign": one_does_not_sign,
    "consensus, a seat is missing": one_never_answered,
    "consensus, a tie": tie,
    "consensus, one document": one_source,
    "consensus, answered now": lambda: after(panel("tea", "tea", "coffee"), event(NOW)),
    "consensus, nobody answers": lambda: panel(None, None, None),
    "consensus, cancelled": lambda: after(consensus.Play(), event(STOPPED)),
    "critic, objections met": a_fatal_objection_that_is_met,
    "critic, the verdict narrows": a_verdict_that_narrows,
    "critic, refused": fatal_left_open,
    "maci, one dissents": one_dissents,
    "maci, a tie": tied,
    "competition, a draw": lambda: debate(("pro_1", 7), ("con_1", 7)),
    "competition, unscored": lambda: debate(("pro_1", 7), ("con_1", None)),
    "competition, nobody speaks": nobody_speaks,
    "madp, nobody reviews": lambda: after(
        task(works("The query is cached.", FASTER)), lambda p: p.vanish(*(seat for seat, _ in p.asked()))
    ),
    "madp, a plan": lambda: task(
        works("I would cache it.", "Cache the query of the start page for a minute.", performed=False)
    ).approve(),
    "madp, check not passed": lambda: after(
        half_done(max_reviews=1),
        lambda p: p.reply("check", run("after", "t.py::b")),
        lambda p: p.reply(SRE, works("The query is cached.", FASTER, folder=artifact(2))),
        lambda p: p.reply("check", run("after", "t.py::b")),
        lambda p: p.expire(),
    ),
    "madp, a human must decide": lambda: after(degraded(SECURITY_TASKS[0]), lambda p: p.expire()),
    "madp, the lead fails": lambda: after(task(), lambda p: p.fail(SRE), lambda p: p.expire()),
    "single, no answer": abstains,
    "single, the seat fails": lambda: after(single.Play(), lambda p: p.fail("answerer")),
}


def text() -> str:
    """All cards in lines."""
    told: list[str] = []
    for name, play in ENDINGS.items():
        card = shown.card(play())
        told += (f"== {name} ({card.kind})", *bare(answer_lines(card)), "")
    return "\n".join(told)
