"""Sessions that were opened with what was learned of their controller: what that changes, that a replay and a fork are
exact, and what their records teach in turn."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.client.faces.course import Course
from parley.client.protocols import face_of
from parley.client.records import Record
from parley.client.reliability import store
from parley.client.reliability.policy import LEAST, Case, carried
from parley.client.reliability.verdicts import Verdict, question_hash, verdict
from parley.client.rendering import explain
from parley.client.show.learned_words import learned_words
from parley.coordinator.admission import admit
from parley.coordinator.forks.carry import Wanted, carry
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.coordinator.schedulers.bandit import ACTIONS, Ucb
from parley.reliability.applied import with_learned
from parley.reliability.steering import learned_policies, policy_words
from parley.schemas import log
from parley.schemas.afterwards.learned import Learned
from parley.schemas.afterwards.policy import Arm, Policy
from parley.schemas.log import Opened
from parley.schemas.session import Budget, OpenSession
from parley.schemas.turn import Usage
from parley.schemas.wire import decode, encode
from parley.settings import LearnedSection, Settings, load
from tests.protocols.maci import play as maci
from tests.protocols.maci.play import MACI, OUTCOMES, Play, belief
from tests.support.play import BasePlay

NOW = 10**18
ARMS = tuple(Arm(pulls=10, mean=0.9 if k == 5 else 0.1, tokens=700) for k in range(len(ACTIONS)))
BANDIT = {"schedule": "learned", "round_limit": 3, "reading": "paper"}


def known(**more: Any) -> Policy:
    return Policy(sessions=40, as_of_ns=1, half_life_days=180, price=0.005, **more)


def debate(settings: dict[str, Any], policy: Policy | msgspec.UnsetType = msgspec.UNSET, rounds: int = 3) -> Play:
    """A debate in which one debater comes over to the other."""
    play = Play({**settings, **({} if policy is msgspec.UNSET else policy.settings)}, q0=None, metered=True)
    opening = play.entries[0].event
    assert isinstance(opening, Opened)
    if policy is not msgspec.UNSET:
        opening = msgspec.structs.replace(opening, learned=decode(encode(Learned(policy=policy)), Learned))
    BasePlay.__init__(play, play.protocol, opening)
    play.reply("helper", maci.retrieved(0.6))
    play.blind(belief(0.9, 0.1), belief(0.1, 0.9))
    for number in range(1, rounds + 1):
        if play.phase == "arguing":
            play.argue(
                maci.case(belief(0.9, 0.1), maci.argument(f"one {number}")),
                maci.case(belief(0.1 + 0.25 * number, 0.9 - 0.25 * number), maci.argument(f"two {number}")),
            )
            play.measure()
            play.reply("judge_1", scores(play), Usage(input_tokens=100 * number, calls=1))
    while not play.session.closed:
        play.fail("analyst")
    return play


def scores(play: Play) -> Any:
    items = play.brief("judge_1")["items"]
    return {"scores": [{"item": item["item"], "links": [0.9] * len(item["reasons"]), "evidence": 0.8, "logic": 0.8,
                        "relevance": 0.8} for item in items]}  # fmt: skip


def said(play: Play, right: bool = True, answer: str = "") -> Verdict:
    play.event(log.FeedbackGiven(author="me", right=right, answer=answer), "in:99")
    found = verdict(Record(sid="s1", entries=tuple(encode(entry).decode() for entry in play.entries)))
    assert found is not None
    return found


def of(play: Play) -> Course:
    found = said(play).course
    assert found is not None
    return found


# ---------------------------------------------------------------- what a session uses


def test_a_session_with_learned_values_replays_byte_for_byte_after_more_was_learned(tmp_path: Path) -> None:
    """The store is not looked at: everything lies in the opening."""
    play = debate(BANDIT, known(arms=ARMS))
    keep(tmp_path, 3 * LEAST)
    found = replay(PROTOCOLS.get, "s1", play.log)
    assert encode(found.session) == encode(play.session)
    assert [encode(entry) for entry in found.entries] == play.log
    assert b'"arms"' in play.log[0]


def test_the_bandit_of_a_session_begins_with_what_was_carried_over() -> None:
    anew, taken = debate(BANDIT), debate(BANDIT, known(arms=ARMS))
    first, second = (play.session.inner.control.learned.policy for play in (anew, taken))
    assert isinstance(first, Ucb) and isinstance(second, Ucb)
    assert (first.counts[0], first.counts[5], second.counts[5]) == (2, 0, 12)
    assert "policy" not in anew.certificate and "learned" not in msgspec.to_builtins(anew.entries[0].event)


def test_a_fork_carries_what_its_record_was_opened_with() -> None:
    play = debate(BANDIT, known(arms=ARMS))
    found = replay(PROTOCOLS.get, "s1", play.log)
    opened = play.entries[0].event
    assert isinstance(opened, Opened)
    wanted = Wanted(
        sid="f1", parent="s1", protocol=MACI, record=found, opened=opened, changes=(), round=2,
        position=len(found.entries) - 1,
    )  # fmt: skip
    steps = carry(wanted, NOW, "in:1")
    again = replay(PROTOCOLS.get, "f1", [encode(step.entry) for step in steps])
    assert again.session.opened.learned == opened.learned
    assert encode(again.session.inner.control) == encode(steps[-1].after.inner.control)
    assert again.session.inner.control.learned.policy.counts[5] > 10


def test_the_certificate_says_what_was_learned_and_from_what() -> None:
    play = debate({"reading": "paper"}, known(settings={"round_limit": 1}, kind="law"))
    told = play.certificate["policy"]
    assert play.stop["reason"] == "round_limit" and play.certificate["round"] == 1
    assert (told["settings"], told["sessions"], told["kind"]) == ({"round_limit": 1}, 40, "law")
    words = "\n".join(learned_words(play.result))
    heading = "Policy of the controller, learned from 40 past sessions on questions of the kind law, as of 1970-01-01:"
    assert f"{heading}\n  Learned settings in force: round_limit 1." in words
    carried_ = debate(BANDIT, known(arms=ARMS))
    assert carried_.certificate["policy"]["arms"][5] == {"pulls": 10, "mean": 0.9, "tokens": 700}
    explained = "\n".join(explain.words(Record(sid="s1", entries=tuple(entry.decode() for entry in carried_.log))))
    assert "Learned settings in force: none.\n  The bandit carried over 100.0 pulls." in explained
    assert "as_of_ns" not in explained and "policy: " not in explained, "no raw structure"


def test_a_setting_that_is_not_in_force_is_not_called_learned() -> None:
    play = Play({"round_limit": 2})
    opening = msgspec.structs.replace(play.session.opened, learned=Learned(policy=known(settings={"round_limit": 1})))
    BasePlay.__init__(play, play.protocol, opening)
    while not play.session.closed:
        play.fail(next(iter(play.session.turns.values())).ask.seat)
    assert play.certificate["policy"]["settings"] == {}


def admitted(learned: Policy, protocol: str = "maci", **settings: Any) -> Learned | msgspec.UnsetType:
    given = {"outcomes": OUTCOMES, **settings} if protocol == "maci" else settings
    request = OpenSession(
        question="q?", protocol=protocol, settings=given, learned=Learned(policy=learned), documents=(maci.document(),)
    )
    from tests.protocols.consensus import play as consensus

    there = maci.workers(judges=("a", "b", "c")) if protocol == "maci" else consensus.workers()
    return admit(PROTOCOLS[protocol], request, there, 1, "me").learned


def test_only_what_the_controller_uses_enters_the_opening() -> None:
    matrices = tuple(
        msgspec.structs.replace(arm, inverse=(0.0,) * 64, earned=(0.0,) * 8) if k == 3 else arm
        for k, arm in enumerate(ARMS)
    )
    given = known(arms=matrices, settings={"round_limit": 2})
    ucb = admitted(given, schedule="learned")
    lin = admitted(given, schedule="learned", policy="linucb")
    assert ucb == Learned(policy=msgspec.structs.replace(given, arms=ARMS)) and lin == Learned(policy=given)
    assert admitted(given) == Learned(policy=msgspec.structs.replace(given, arms=()))
    assert admitted(known(arms=ARMS)) is msgspec.UNSET
    assert admitted(given, "consensus") is msgspec.UNSET
    assert admitted(known(arms=ARMS[1:]), schedule="learned") is msgspec.UNSET, "arms of another bandit"


# ---------------------------------------------------------------- what its record teaches


def test_a_record_tells_the_actions_with_rewards_contexts_and_costs() -> None:
    play = debate({**BANDIT, "policy": "linucb"})
    pulls = of(play).pulls
    assert [pull.tokens for pull in pulls] == [200, 300]
    control = play.session.inner.control
    arms, _ = carried([Case(course=Course(pulls=pulls), right=1.0)])
    assert [arm.inverse for arm in arms] == [
        tuple(round(figure, 9) for figure in row) for row in control.learned.policy.inverse
    ]
    plain = debate(BANDIT)
    ucb, _ = carried([Case(course=Course(pulls=of(plain).pulls), right=1.0)])
    own = plain.session.inner.control.learned.policy
    assert [arm.pulls for arm in ucb] == list(own.counts)
    assert [arm.mean for arm in ucb] == pytest.approx(own.means)


def test_what_was_carried_over_is_not_learned_again() -> None:
    assert len(of(debate(BANDIT, known(arms=ARMS))).pulls) == 2


def test_a_record_tells_where_each_setting_would_have_ended_it_and_whether_that_was_right() -> None:
    play = debate({"reading": "paper", "round_limit": 3})
    found = of(play)
    assert play.outcome["answer"] == "dengue"
    assert found.right[-1] == 1.0 and len(found.right) == 4
    assert found.tokens == (0, 100, 300, 600)
    assert (found.ends["round_limit 1"], found.ends["round_limit 3"]) == (1, 3)
    assert "published" not in found.ends, "eight rounds are the published limit, and it was cut at three"
    record = Record(sid="s1", entries=tuple(entry.decode() for entry in play.log))
    assert face_of("maci").course(record, lambda name: None) == Course(), "nobody says what is right"
    named = said(debate({"reading": "paper", "round_limit": 3}), right=False, answer="chikungunya").course
    assert named is not None and named.right[-1] == 0.0


def test_a_budget_would_have_ended_more_patient_settings_too() -> None:
    spent = Play({"reading": "paper"}, budget=Budget(calls=14))
    spent.blind(belief(0.9, 0.1), belief(0.1, 0.9))
    spent.round(maci.case(belief(0.9, 0.1), maci.argument("one")), maci.case(belief(0.1, 0.9), maci.argument("two")))
    while not spent.session.closed:
        spent.fail("analyst")
    assert spent.stop["reason"] == "budget"
    ends = of(spent).ends
    assert ends["published"] == ends["tau_stop 3"] == len(of(spent).right) - 1


# ---------------------------------------------------------------- the store, the switch, the words


def keep(folder: Path, n: int, **more: Any) -> None:
    """Sessions in which the first round was right and those after it were not."""
    course = Course(right=(0, 1, 0), tokens=(1_000, 2_000, 3_000), ends={"published": 2, "round_limit 1": 1})
    verdicts = tuple(
        Verdict(
            session=f"s{i}", question=question_hash(f"q{i}"), protocol="maci", at_ns=NOW, right=True, course=course,
            **more,
        )
        for i in range(n)
    )  # fmt: skip
    store.write(folder / "learned.json", store.Store(verdicts=verdicts))


def settings(folder: Path, **section: object) -> Settings:
    return load(None, {"learned": {"file": str(folder / "learned.json"), **section}})


def opened(folder: Path, given: dict[str, Any] | None = None, protocol: str = "maci", **section: object) -> OpenSession:
    request = OpenSession(question="another?", protocol=protocol, settings=given or {})
    return with_learned(request, settings(folder, **section), NOW + 1)


def why_nothing(folder: Path, given: dict[str, Any] | None = None, **more: object) -> str:
    """What is told where a policy is on and nothing is taken over; empty: nothing is told."""
    told: list[str] = []
    section = {"policy": "on", **more}
    protocol = str(section.pop("protocol", "maci"))
    request = OpenSession(question="another?", protocol=protocol, settings=given or {})
    with_learned(request, settings(folder, **section), NOW + 1, told.append)
    return "".join(told)


def test_it_is_off_unless_it_is_switched_on(tmp_path: Path) -> None:
    keep(tmp_path, 2 * LEAST)
    assert not LearnedSection().policy
    plain = opened(tmp_path)
    assert plain.learned is msgspec.UNSET and plain.settings == {}
    on = opened(tmp_path, {"tau_stop": 3}, policy="on")
    assert on.settings == {"tau_stop": 3, "round_limit": 1}
    assert on.learned is not msgspec.UNSET and on.learned.policy is not msgspec.UNSET
    assert (on.learned.policy.sessions, on.learned.policy.settings) == (2 * LEAST, {"round_limit": 1})
    assert opened(tmp_path, protocol="consensus", policy="on").settings == {}


def test_what_somebody_sets_stands(tmp_path: Path) -> None:
    keep(tmp_path, 2 * LEAST)
    assert opened(tmp_path, {"round_limit": 6}, policy="on").settings == {"round_limit": 6}


def test_with_too_little_nothing_is_applied_and_that_is_said(tmp_path: Path) -> None:
    keep(tmp_path, LEAST - 1)
    few = opened(tmp_path, policy="on")
    assert few.settings == {} and few.learned is msgspec.UNSET
    words = "\n".join(policy_words(learned_policies(settings(tmp_path)), on=False))
    assert f"maci: {LEAST - 1} past sessions with feedback" in words
    assert f"too little for settings: fewer than {LEAST} of these sessions" in words
    assert "too little for the bandit" in words and "learned.policy is off" in words
    on = settings(tmp_path, policy="on")
    told = "nothing is learned yet from 29 past sessions of maci with feedback; 30 are needed"
    assert why_nothing(tmp_path) == f"learned.policy is on, but {told}"
    assert why_nothing(tmp_path, protocol="consensus") == why_nothing(tmp_path, policy="off") == ""
    keep(tmp_path, 2 * LEAST)
    assert why_nothing(tmp_path) == ""
    assert "surely better from 60 past" in why_nothing(tmp_path, {"round_limit": 6})
    of_kind = "\n".join(policy_words(learned_policies(on, "zzz"), on=True, kind="zzz"))
    assert "fewer than 30 past sessions are of the kind zzz, so those of all kinds count" in of_kind


def test_the_words_name_the_cost_of_each_action_and_what_would_be_applied(tmp_path: Path) -> None:
    keep(tmp_path, 2 * LEAST)
    words = "\n".join(policy_words(learned_policies(settings(tmp_path), now_ns=NOW), on=True))
    assert "chosen: round_limit 1" in words and "sessions use it" in words
    row = next(line for line in words.splitlines() if line.startswith("round_limit 1 "))
    assert "2,000" in row and "0.9" in row
    assert "no session shows what it comes to" in words
    keep(tmp_path, 2 * LEAST, kind="law")
    assert "of the kind law" in "\n".join(policy_words(learned_policies(settings(tmp_path), "law", NOW), on=True))


def test_the_words_list_every_arm_with_its_tokens() -> None:
    words = "\n".join(policy_words({"maci": known(arms=ARMS)}, on=True))
    assert words.count("alpha ") == 9 and "no-op" in words and words.count("700") == 10


def test_a_file_of_before_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "learned.json"
    path.write_text('{"format":1,"verdicts":[{"session":"s","question":"q","at_ns":5,"protocol":"maci","right":true}]}')
    assert store.read(path).verdicts[0].course is None
    assert opened(tmp_path, policy="on").learned is msgspec.UNSET
