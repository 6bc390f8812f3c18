"""What past tasks of a folder change in a task, how it is folded from them, and what a task's log teaches."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from parley.agents.expert_matching.expert_scores import Matcher, matching_encoder
from parley.client.learned.taught import LEAST, likenesses, preferences
from parley.client.protocols import show_of
from parley.client.protocols.madp.routing_preview import RoutingPreview, task_of
from parley.client.records import Record
from parley.client.rendering import explain
from parley.client.setup.lesson import Lesson
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.routing import specs_of
from parley.schemas import log
from parley.schemas.past_sessions.learned import Calibration, Choice, Learned, Preferences
from parley.schemas.routing import Matched
from parley.schemas.wire import encode
from tests.learned.test_sessions import opened_with
from tests.protocols.madp.play import ARCH, IMPL, SEC, SRE, Play, done, hands

NOW, DAY = 10**18, 86_400 * 10**9


def chose(expert: str, instead_of: str = SRE, weight: float = 1.0, times: int = 1) -> Choice:
    return Choice(expert=expert, instead_of=instead_of, weight=weight, times=times)


def play(*choices: Choice, settings: dict[str, Any] | None = None, **more: Any) -> Play:
    """A task that begins with what was learned."""
    known = Preferences(choices=choices, tasks=9, as_of_ns=NOW, half_life_days=180, **more)
    learned = Learned(folder="shop@git:1", preferences=known)
    begun = opened_with(Play(settings), learned)
    assert isinstance(begun, Play)
    return begun


def test_three_choices_move_the_fourth_lead_and_it_is_explained() -> None:
    p = play(chose(IMPL, weight=1.2, times=3)).match({SRE: 0.95})
    assert (p.lead, p.consensus["how"], p.consensus["instead_of"]) == (IMPL, "preference", SRE)
    why = f"three times in this folder you chose {IMPL} for such a task"
    assert p.consensus["rationale"] == why and p.excluded() == {SRE: why}
    p.reply(IMPL, done())
    p.approve()
    told = "\n".join(explain.explanation_lines(Record(sid="s1", entries=tuple(encode(e).decode() for e in p.entries))))
    assert f"Three times in this folder you chose {IMPL} for such a task." in told
    found = replay(PROTOCOLS.get, "s1", [encode(entry) for entry in p.entries])
    assert encode(found.session) == encode(p.session), "a replay needs no file"


@pytest.mark.parametrize(
    ("choices", "lead"),
    [
        ((chose(IMPL, weight=0.34),), SRE),
        ((chose(IMPL, weight=0.35),), IMPL),
        ((chose(IMPL, instead_of=ARCH, weight=0.6),), SRE),  # another miss: it counts half
        ((chose(IMPL, instead_of=ARCH, weight=0.8),), IMPL),
        ((chose(IMPL, weight=0.5), chose(SRE, weight=0.6)), SRE),  # what was chosen later
        ((chose("nobody-here", weight=9.0),), SRE),
        ((chose(ARCH, instead_of=ARCH, weight=2.0, times=0),), SRE),  # another expert's tasks went well, no more
    ],
)
def test_who_leads_by_what_weighs_most(choices: tuple[Choice, ...], lead: str) -> None:
    assert play(*choices).match({SRE: 0.95}).lead == lead


def test_a_security_task_is_asked_about_until_people_have_chosen_three_times() -> None:
    for times, kinds in ((1, ["security"]), (3, [])):
        p = play(chose(IMPL, times=times)).match({SEC: 0.95}, security=True)
        assert (p.lead, [i["kind"] for i in p.bodies("item")]) == (IMPL, kinds)


@pytest.mark.parametrize(
    ("candidates", "step", "depth"),
    [
        ({SRE: 0.95}, -1, "instant"),
        ({SRE: 0.8}, 1, "standard"),
        ({SRE: 0.8}, -1, "instant"),
        ({SRE: 0.3, IMPL: 0.3, ARCH: 0.3, SEC: 0.2}, 1, "extended"),
        ({SRE: 0.3, IMPL: 0.3, ARCH: 0.3, SEC: 0.2}, -1, "standard"),
    ],
)
def test_the_depth_moves_by_a_step_at_most(candidates: dict[str, float], step: int, depth: str) -> None:
    p = play(depth=step, depth_times=2).match(candidates)
    assert p.bodies("task")[0]["depth"] == depth
    moved = [text for text in p.session.inner.learned if text.startswith(f"depth {depth} and not ")]
    assert bool(moved) is ((depth, step) not in (("instant", -1), ("extended", 1)) or candidates == {SRE: 0.8})


def test_confidence_is_corrected_by_outcomes() -> None:
    fit = Calibration(version="routing", method="isotonic", knots=((0.0, 0.0), (1.0, 0.6)), fitted_on="", outcomes=12)
    p = play(confidence=fit).match({SRE: 0.95})
    assert p.session.inner.candidates[0].confidence == 0.57
    assert p.bodies("task")[0]["depth"] == "standard", "it was instant"
    assert p.session.inner.learned[0].startswith(f"confidence 0.95 in {SRE} reads as 0.57")


# ---------------------------------------------------------------- the fold


def past(n: int, **more: Any) -> Lesson:
    """A task of n days ago, which routing gave to one expert and in which nothing happened that is not said."""
    routed = dict.fromkeys(("first", "proposed", "lead"), SRE)
    given = {"task": "t", **routed, "confidence": 0.95, "rule": "quick", "depth": "quick", **more}
    return Lesson(session=f"s{n}", at_ns=NOW - n * DAY, **given)


def fold(*lessons: Lesson, like: float = 0.8) -> Preferences:
    found = preferences(lessons, {one.session: like for one in lessons}, NOW)
    return found or Preferences(tasks=0, as_of_ns=NOW, half_life_days=180)


def leads(*lessons: Lesson, like: float = 0.8) -> str:
    """Who leads a task like these."""
    return play(*fold(*lessons, like=like).choices).match({SRE: 0.95}).lead


def test_the_latest_choice_outweighs_those_before_and_what_nobody_said() -> None:
    again = [past(n, became="accepted") for n in range(2, 12)]
    assert leads(*again) == SRE
    assert leads(past(1, chosen=IMPL), *again) == IMPL, "once is enough"
    before = [past(n, chosen=IMPL) for n in range(2, 5)]
    assert leads(*before) == IMPL and leads(past(1, chosen=SRE), *before) == SRE
    assert [(c.times, c.sessions) for c in fold(*before).choices] == [(3, ("s2", "s3", "s4"))]


def test_a_choice_decays_and_what_came_of_it_counts() -> None:
    assert leads(past(100, chosen=IMPL)) == IMPL and leads(past(400, chosen=IMPL)) == SRE
    assert leads(past(1, chosen=IMPL, became="wrong")) == SRE
    assert leads(past(1, lead=IMPL, became="right")) == IMPL, "the person said that this one was right"
    handed = [past(n, handed_to=IMPL, lead=IMPL) for n in (1, 2)]
    assert leads(handed[0], like=0.6) == SRE and leads(*handed, like=0.6) == IMPL


@pytest.mark.parametrize(
    ("lessons", "step"),
    [
        ((past(1, depth="instant", depth_asked=True),), -1),
        ((past(1, depth="extended", depth_asked=True),), 1),
        ((past(1, depth="quick", depth_asked=True), past(2, depth="instant", depth_asked=True)), 0),
        ((past(1, became="rejected"),), 1),
        ((past(1, became="accepted"), past(2, became="revised")), 0),
        ((past(1, became="accepted", depth="standard"), past(2, became="revised")), 1),
        ((past(1, became="accepted"),), 0),
        ((past(1, rule=""),), 0),
    ],
)
def test_depth_follows_what_was_set_and_what_was_rejected(lessons: tuple[Lesson, ...], step: int) -> None:
    assert fold(*lessons).depth == step


def test_confidence_is_fitted_to_what_became_of_a_folders_tasks() -> None:
    kinds = [{"became": "accepted"}, {"chosen": IMPL}, {"handed_to": IMPL}, {"became": "wrong"}, {"became": "revised"}]
    assert not fold(*(past(n, **k) for n, k in enumerate(kinds[:4]))).confidence, "too few"
    fit = fold(*(past(n, **k) for n, k in enumerate(kinds))).confidence
    assert fit and fit.outcomes == 5
    shares = [share for _, share in fit.knots]
    assert shares == sorted(shares) and shares[-1] == pytest.approx((4 * 0.95 + 1.5) / 9, abs=0.01)
    assert not preferences([past(n) for n in range(9)], {}, NOW), "of tasks that ended otherwise nobody knows"


# ---------------------------------------------------------------- what a log teaches


def lesson(p: Play) -> Lesson:
    if not p.session.closed:
        p.event(log.Cancelled(author="owner"))
    found = show_of("madp").lesson("s1", p.entries, p.session.posts, p.result)
    assert found is not None
    return found


def test_a_log_teaches_who_was_chosen_and_what_became_of_it() -> None:
    p = Play().working()
    p.decide("expert", IMPL)
    p.reply(IMPL, done())
    p.approve()
    taught = lesson(p)
    assert (taught.first, taught.proposed, taught.chosen, taught.lead) == (SRE, SRE, IMPL, IMPL)
    assert (taught.confidence, taught.rule, taught.depth, taught.became) == (0.95, "instant", "instant", "accepted")
    p.event(log.FeedbackGiven(author="owner", right=False))
    assert lesson(p).became == "wrong" and lesson(p).teaches
    named = lesson(Play({"expert": IMPL, "depth": "standard"}).match({SRE: 0.95}))
    assert (named.proposed, named.chosen, named.depth, named.rule) == (SRE, IMPL, "standard", "instant")
    assert named.depth_asked and named.became == ""


def test_a_log_teaches_handovers_and_what_was_learned_before() -> None:
    p = Play().working()
    p.reply(SRE, hands(IMPL))
    assert (lesson(p).handed_to, lesson(p).proposed, lesson(p).chosen) == (IMPL, SRE, "")
    p = play(chose(IMPL)).match({SRE: 0.95})
    taught = lesson(p)
    assert (taught.proposed, taught.lead, taught.chosen, taught.folder) == (SRE, IMPL, "", "shop@git:1")


def test_a_folder_that_nobody_named_teaches_nothing() -> None:
    p = Play({"folder": "f" * 64}).match({SRE: 0.95})
    p.event(log.Cancelled(author="owner"))
    assert show_of("madp").lesson("s1", p.entries, p.session.posts, p.result) is None


# ---------------------------------------------------------------- the same miss twice

MISSES = [json.loads(text) for text in Path(__file__).with_name("misses.jsonl").read_text().splitlines()]


def led(router: RoutingPreview, task: str, matched: Matched, like: dict[str, float], taught: Sequence[Lesson]) -> str:
    """Who leads a task."""
    found = preferences(taught, like, NOW)
    routed = router.routed(task_of(task), matched, learned=None if found is None else Learned(preferences=found))
    return routed.lead.expert if routed.lead is not None else ""


def test_a_miss_that_was_corrected_does_not_happen_again_and_moves_nothing_else() -> None:
    assert len(MISSES) == 40
    router = RoutingPreview(specs_of(None))

    async def matches() -> tuple[list[str], list[Matched]]:
        first = await router.route_all([task_of(m["task"]) for m in MISSES])
        again = await Matcher(matching_encoder()).match_all([task_of(m["again"]) for m in MISSES], specs_of(None))
        return [route.lead.expert if route.lead else "" for route in first], again

    first, again = asyncio.run(matches())
    lessons = [
        Lesson(
            session=f"s{n}", at_ns=NOW, task=m["task"], first=who, proposed=who, lead=m["wanted"], chosen=m["wanted"]
        )
        for n, (m, who) in enumerate(zip(MISSES, first, strict=True))
    ]
    _, lessons = asyncio.run(likenesses("any", lessons))
    missed, moved, others = [], [], 0
    for n, (miss, matched) in enumerate(zip(MISSES, again, strict=True)):
        like, _ = asyncio.run(likenesses(miss["again"], lessons))
        if led(router, miss["again"], matched, like, [lessons[n]]) != miss["wanted"]:
            missed.append((miss["again"], like.get(f"s{n}")))
        plain = led(router, miss["again"], matched, {}, ())
        for k, other in enumerate(lessons):
            if k != n and other.chosen != plain:
                others += 1
                if like.get(other.session, 0) >= LEAST and led(router, miss["again"], matched, like, [other]) != plain:
                    moved.append((other.task, miss["again"]))
    assert all(who != m["wanted"] for who, m in zip(first, MISSES, strict=True)), "each is a miss"
    assert len(missed) <= 0.05 * len(MISSES), missed
    assert len(moved) <= 0.01 * others, moved
