"""Attacks on MACI's endings, and honest sessions; what MACI may say of a debate, and what the screen says of a stop.

The exit status is that of the stop reason and of `converged` (parley.schemas.stops): 0 says that the debaters agree.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.protocols import kind_of
from parley.client.protocols.maci.gates import tested as stood
from parley.client.protocols.maci.gates import unlike_words
from parley.client.protocols.maci.show import MaciShow
from parley.coordinator.schedulers.controller import Observation, advance, begin, verdict
from parley.coordinator.signals.beliefs import parse_belief
from parley.coordinator.signals.reliability import trust
from parley.schemas.belief import Belief, Share
from parley.schemas.post import Post
from parley.schemas.protocols.maci.messages import Case, Met, Outcome, Ruled
from parley.schemas.protocols.maci.settings import Settings
from parley.schemas.stops import STOPS
from parley.schemas.text import ClosedList
from parley.schemas.wire import InvalidValue, raw
from tests.client.shown import card, part
from tests.learned.test_sessions import opened_with, records
from tests.protocols.maci.play import (
    AGAINST,
    AGREED,
    FOR,
    GATED,
    NAMES,
    Play,
    advocate_of,
    argument,
    attack,
    begun,
    belief,
    case,
    check_up,
    exit_code,
    retrieved,
)
from tests.protocols.maci.record import ruled
from tests.support.tuned import control

# ---------------------------------------------------------------- attacks: none ends with exit 0 and a wrong claim


def _answers(*met: Met, belief_: Belief = AGREED) -> Callable[[Play], None]:
    """The others answer the attack so, as often as they are asked. Arguments are counted from 0, of those that wait."""

    def strike(play: Play) -> None:
        attack(play, [AGREED, AGREED], argument("it is not"), argument("it is none", 2))
        while play.phase == "arguing":
            for seat, kind in play.asked():
                posts = play.brief(seat)["answers"]
                said = tuple(
                    msgspec.structs.replace(m, argument=posts[int(m.argument)])
                    for m in met
                    if int(m.argument) < len(posts)
                )
                play.reply(seat, Case(belief=belief_, answers=said) if kind == "answer" else case(AGREED))

    return strike


def _met(why: str, *, fails: bool = True) -> tuple[Met, Met]:
    return Met(argument="0", why=why, fails=fails), Met(argument="1", why=why, fails=fails)


def _gives_way_in_silence(play: Play) -> None:
    """It takes .02 in each round in which it answers nothing, and answers once that sums up."""
    attack(play, [AGREED, AGREED], argument("it is not"))
    p = 0.95
    for why in ("ok", "ok", "ok", "the platelets fell"):
        p -= 0.02
        closed = len(play.posts("signals"))
        while len(play.posts("signals")) == closed:
            ((seat, _),) = play.asked()
            met = Met(argument=play.brief(seat)["answers"][0], why=why, fails=True)
            play.reply(seat, Case(belief=belief(p, 1 - p), answers=(met,)))
    assert not play.posts("stop"), "it is no agreement"
    while play.phase in ("arguing", "judging"):
        play.round(*[None] * 2)


def _plays_along(play: Play) -> None:
    """The devil's advocate argues for what all hold, and judges say so."""
    while play.phase in ("arguing", "judging"):
        n = play.session.inner.round
        cases = (case(AGREED, argument(f"it is dengue {s} {n}")) for s in play.debaters)
        play.round(*cases, against=lambda claim: False)


def _merged(play: Play) -> None:
    """The analyst takes opposite answers for one, and everybody goes along but who was merged."""
    play.merge(("positive", ("positive", "negative")), ("unclear", ("unclear",)))
    names = ("positive", "unclear")
    while play.phase in ("arguing", "judging"):
        for seat, _ in play.asked():
            brief = play.brief(seat)
            wrong = [one["proposed"] for one in brief["counts_as"]]
            own = wrong[0] if wrong else play.last("signals")["beliefs"][seat][0]["outcome"]
            posts = tuple(Met(argument=post, why="the count fell", fails=True) for post in brief["answers"])
            said = belief(0.95, 0.05, names=(own, "unclear"))
            args = () if posts else (argument(f"{seat} {brief['round']}"),)
            others = [name for name in brief["outcomes"] if name != brief["against"]]
            speaks_for = others[0] if brief["against"] else ""
            play.reply(
                seat, Case(belief=said, answers=posts, apart=tuple(wrong), arguments=args, speaks_for=speaks_for)
            )  # fmt: skip
        if play.phase == "judging":
            play.measure()
            play.judge("judge_1")
    assert "negative" in play.session.inner.outcomes and names[0] in play.session.inner.outcomes


def _never_told(play: Play) -> None:
    """Who was merged into the opposite is not asked again before the debate could end."""
    play.merge(("positive", ("positive", "negative")))
    both = belief(1.0, names=("positive",))
    while play.phase in ("arguing", "judging"):
        play.round(case(both), None)


def _convinces_itself(play: Play) -> None:
    """The advocate goes over to the truth, and the other does not move: they hold different answers."""
    who = advocate_of(play)
    attack(play, [AGAINST if s == who else AGREED for s in play.debaters], argument("it is not"))
    while play.phase in ("arguing", "judging"):
        play.round(*(case(AGAINST if s == who else AGREED) for s in play.debaters))


def _drips(play: Play) -> None:
    """Each round takes .04 from the answer: less than a move, and it sums up."""
    p = 0.95
    while play.phase == "arguing":
        p -= 0.04
        play.same(belief(p, 1 - p), belief(p, 1 - p))


def _drifts_apart(play: Play) -> None:
    """One goes .04 a round away, without an argument, and never reaches `least_move`."""
    p = 0.95
    while play.phase == "arguing":
        p -= 0.04
        play.round(case(AGREED), case(belief(p, 1 - p)))


def _hides_behind_a_refusal(play: Play) -> None:
    """Every attack is scored so low that it is refused: nobody ever answers one."""
    while play.phase == "arguing":
        play.same(AGREED, AGREED, score=0.1)


def _without_judges(play: Play) -> None:
    """No judge ever replies, and all hold the same."""
    while play.phase == "arguing":
        play.argue(*(case(AGREED, argument(f"{seat} {play.session.inner.round}")) for seat in play.debaters))
        play.measure()
        play.fail("judge_1")


def _barely_first(play: Play) -> None:
    """The same answer is first with everybody, at a third and a hair."""
    names = ("dengue", "chikungunya", "zika")
    while play.phase == "arguing":
        play.round(*(case(belief(0.34, 0.33, 0.33, names=names)) for _ in play.debaters))


def _answers_by_leaving(play: Play) -> None:
    """Who should answer the attack never comes back."""
    attack(play, [AGREED, AGREED], argument("it is not"))
    attacker = play.signals["advocate"]
    while play.phase in ("arguing", "judging"):
        play.round(*(case(AGREED, argument(f"{s} again")) if s == attacker else None for s in play.debaters))


def _one_is_away(play: Play) -> None:
    """One of three says nothing after its blind belief. The two others bring nothing that puts the answer to the
    test."""
    while play.phase in ("arguing", "judging"):
        n = play.session.inner.round
        cases = (None if s == "debater_2" else case(AGREED, argument(f"{s} {n}")) for s in play.debaters)
        play.round(*cases, against=lambda claim: False)


def _two_cases_of_one_name(play: Play) -> None:
    """They agree on names that differ in case alone, which are two answers."""
    names = ("5 mW", "5 MW")
    while play.phase == "arguing":
        play.round(case(belief(0.9, 0.1, names=names)), case(belief(0.1, 0.9, names=names)))


def _even_handed(play: Play) -> None:
    """They hold one half and a hair, which a reader sees as one half."""
    while play.phase in ("arguing", "judging"):
        play.same(HALF, HALF)


HALF = belief(0.500001, 0.499999)
POSITIVE = belief(0.9, 0.1, names=("positive", "unclear"))
NEGATIVE = belief(0.9, 0.1, names=("negative", "unclear"))
THIRDS = ("dengue", "chikungunya", "zika")
POWERS = ("5 mW", "5 MW")
LIKELY = belief(0.9, 0.05, 0.05, names=THIRDS)
LEVEL = belief(0.34, 0.33, 0.33, names=THIRDS)
ATTACKS: dict[str, tuple[Any, dict[str, Any], tuple[Belief, ...]]] = {
    **{
        f"answered with {why!r}": (_answers(*_met(why)), {}, (AGREED, AGREED))
        for why in ("ok", "…", "Noted, I agree.", "It fails.", "Verstanden, das stimmt so.")
    },
    "granted, and nothing changes": (_answers(*_met("the platelets", fails=False)), {}, (AGREED, AGREED)),
    "giving way in silence": (_gives_way_in_silence, {}, (AGREED, AGREED)),
    "one of two is answered": (_answers(_met("the platelets fell")[1]), {}, (AGREED, AGREED)),
    "nothing is answered": (_answers(), {}, (AGREED, AGREED)),
    "a share that prints as one half": (_even_handed, {}, (HALF, HALF)),
    "opposites merged": (_merged, {"outcomes": ()}, (POSITIVE, NEGATIVE)),
    "opposites merged unseen": (
        _never_told, {"outcomes": (), "tau_stop": 1}, tuple(belief(1.0, names=(n,)) for n in ("positive", "negative"))
    ),
    "the advocate convinces itself": (_convinces_itself, {}, (AGREED, AGREED)),
    "a drip below a move": (_drips, {"round_limit": 4}, (AGREED, AGREED)),
    "a drift apart in silence": (_drifts_apart, {"round_limit": 6}, (AGREED, AGREED)),
    "attacks are scored down": (_hides_behind_a_refusal, {}, (AGREED, AGREED)),
    "no judge replies": (_without_judges, {}, (AGREED, AGREED)),
    "first at a third": (_barely_first, {"outcomes": THIRDS}, (LEVEL, LEVEL)),
    "who is to answer leaves": (_answers_by_leaving, {"round_limit": 4}, (AGREED, AGREED)),
    "one of three is away": (_one_is_away, {"debaters": 3, "tau_stop": 2}, (AGREED, FOR, AGREED)),
    "names that differ in case": (
        _two_cases_of_one_name, {"outcomes": POWERS}, (belief(0.9, 0.1, names=POWERS), belief(0.1, 0.9, names=POWERS))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_on_an_ending_is_an_agreement(name: str) -> None:
    strike, settings, beliefs = ATTACKS[name]
    play = begun(settings, *beliefs, debaters=len(beliefs))
    strike(play)
    assert play.posts("stop"), "it ends"
    assert exit_code(play) != 0, play.stop["reason"]
    told = STOPS[play.stop["reason"]]
    moved = play.signals["moved"]
    assert "no longer changes" not in (told.words, told.unless) or moved < 0.05


def test_an_advocate_that_speaks_for_the_answer_tests_nothing() -> None:
    """It is asked for another outcome than the one that all hold; what it says is the judges' to see."""
    play = begun({"outcomes": THIRDS}, LIKELY, LIKELY)
    who = advocate_of(play)
    play.reply(who, Case(belief=LIKELY, arguments=(argument("it is dengue"),), speaks_for="dengue"))
    assert "speaks_for: got 'dengue'" in play.ask(who).error
    play = begun({}, AGREED, AGREED)
    _plays_along(play)
    assert play.stop["reason"] != "agreement" and not any(r["tests"] for r in play.certificate["advocates"])
    (first, *_) = play.bodies("argument")
    assert (first["speaks_for"], first["tests"]) == ("chikungunya", False)
    assert exit_code(play) != 0 or not stood(play.certificate)


@pytest.mark.parametrize("other", ["5 mw", "5 mW"])
def test_words_that_differ_in_case_from_what_they_were_merged_into_get_an_outcome(other: str) -> None:
    """The other one, which names the outcome in the same round in letters of its own, means what it was shown."""
    blind = belief(0.9, 0.1, names=("5 mW", "unclear")), belief(0.1, 0.9, names=("5 MW", "unclear"))
    play = begun({"outcomes": ()}, *blind)
    play.merge(("5 mW", POWERS), ("unclear", ("unclear",)))
    said = {"debater_1": belief(0.9, 0.1, names=(other, "unclear")), "debater_2": belief(0.9, 0.1, names=POWERS[::-1])}
    for seat in NAMES:
        merged = tuple(one["proposed"] for one in play.brief(seat)["counts_as"])
        play.reply(seat, Case(belief=said[seat], apart=merged))
    beliefs = play.last("signals")["beliefs"]
    assert beliefs["debater_1"][0] == {"outcome": "5 mW", "p": 0.9}
    assert {share["outcome"]: share["p"] for share in beliefs["debater_2"]} == {"5 mW": 0.1, "5 MW": 0.9}
    members = [group["members"] for group in play.last("outcomes")["groups"]]
    assert members == [["5 mW"], ["unclear"], ["5 MW"]]


# ---------------------------------------------------------------- honest sessions end with exit 0


def _answered(play: Play) -> None:
    """One attack, answered in words."""
    attack(play, [AGREED, FOR], argument("it is not"))
    play.round(*(case(b, changed="the platelets outweigh it") for b in (AGREED, FOR)))


def _granted(play: Play) -> None:
    """One attack, of which something is right: the belief is lower, and the answer stands."""
    attack(play, [AGREED, AGREED], argument("it is not"))
    ((seat, _),) = play.asked()
    (post,) = play.brief(seat)["answers"]
    met = Met(argument=post, why="the joints hurt, which is less common in dengue", fails=False)
    play.reply(seat, Case(belief=belief(0.92, 0.08), answers=(met,)))


def _asked_again(play: Play) -> None:
    """The first answer says nothing; asked once more, it gives a reason."""
    attack(play, [AGREED, AGREED], argument("it is not"))
    ((seat, _),) = play.asked()
    (post,) = play.brief(seat)["answers"]
    play.reply(seat, Case(belief=AGREED, answers=(Met(argument=post, why="ok", fails=True),)))
    assert "got no reason" in play.ask(seat).error
    play.reply(seat, Case(belief=AGREED, answers=(Met(argument=post, why="the platelets fell", fails=True),)))


def _one_answer_in_two_words(play: Play) -> None:
    """The analyst merges two names of one answer, whose owner is shown it in its next turn and has nothing to say."""
    play.merge(("dengue", ("dengue", "dengue fever")), ("zika", ("zika",)))
    said = belief(0.95, 0.05, names=("dengue", "zika"))
    attack(play, [said, said], argument("it is not"))
    play.round(case(said), case(said))


def _persuaded(play: Play) -> None:
    """They begin apart, one is convinced, and what they then share stands."""
    play.round(case(FOR, argument("the platelets")), case(AGAINST, argument("the joints", 2)))
    play.same(FOR, FOR)
    while play.phase == "arguing":
        play.same(FOR, FOR)


def _nothing_against_it(play: Play) -> None:
    """The passages hold nothing against the answer: a plateau, which says that nobody tested it."""
    while play.phase == "arguing":
        play.round(*(case(AGREED, changed="nothing speaks against it") for _ in play.debaters))


def _truth_wins(play: Play) -> None:
    """The advocate is convinced by its own case, and the others follow it."""
    who = advocate_of(play)
    attack(play, [AGAINST if s == who else AGREED for s in play.debaters], argument("it is not"))
    while play.phase == "arguing":
        play.same(*(AGAINST for _ in play.debaters))


HONEST: dict[str, tuple[Any, tuple[Belief, ...], str, str]] = {
    "answered in words": (_answered, (AGREED, FOR), "agreement", "dengue"),
    "something is granted": (_granted, (AGREED, AGREED), "agreement", "dengue"),
    "asked again": (_asked_again, (AGREED, AGREED), "agreement", "dengue"),
    "one answer in two words": (
        _one_answer_in_two_words,
        (belief(0.9, 0.1, names=("dengue", "zika")), belief(0.9, 0.1, names=("dengue fever", "zika"))),
        "agreement",
        "dengue",
    ),
    "persuaded": (_persuaded, (FOR, AGAINST), "agreement", "dengue"),
    "nothing against it": (_nothing_against_it, (AGREED, AGREED), "plateau", "dengue"),
    "the truth wins": (_truth_wins, (AGREED, AGREED), "agreement", "chikungunya"),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_session_ends_with_exit_0(name: str) -> None:
    play_on, beliefs, reason, answer = HONEST[name]
    play = begun({"outcomes": ()} if name == "one answer in two words" else None, *beliefs)
    play_on(play)
    assert (play.stop["reason"], exit_code(play)) == (reason, 0)
    if reason == "plateau":
        play.plan(check_up())
    assert play.phase == "done"
    assert play.result.outcome["answer"] == answer
    assert stood(play.certificate) is (reason != "plateau")


SHARE = st.integers(0, 100).map(lambda p: (p / 100, 1 - p / 100))


@given(st.lists(st.tuples(SHARE, SHARE), min_size=2, max_size=9), st.sampled_from(["relative", "absolute"]))
def test_over_any_debate_a_rise_flags_nothing_and_no_plateau_ends_a_round_that_moved(
    debate: list[tuple[Any, Any]], plateau: str
) -> None:
    config = control(plateau=plateau, round_limit=50)
    cited: dict[str, tuple[str, ...]] = {"u": ("p1",), "v": ("p1",)}
    states = [begin(config, ("a", "b"), Observation(beliefs=dict(zip("uv", debate[0], strict=True)), q=0.8))]
    for u, v in debate[1:]:
        seen = Observation(beliefs={"u": u, "v": v}, q=0.8, evidence=cited, crit={"u": 0.8, "v": 0.8}, arguments=2)
        states.append(advance(config, states[-1], seen))
        before, now = states[-2], states[-1]
        last = now.rounds[-1]
        if last.jsd > before.rounds[-1].jsd + 1e-9:
            assert not last.pi_i and not last.pi_d
            assert now.cl == before.cl and (now.tau_q, now.tau_crit) == (before.tau_q, before.tau_crit)
        ended = verdict(config, now)
        if ended is not None and ended.reason == "plateau":
            assert isinstance(last.moved, float) and last.moved < 0.05


def test_by_default_what_decides_is_admitted_and_q_says_what_it_would_have_refused() -> None:
    """The finding of the trial: CRIT .92, q .37."""
    play = begun({"round_limit": 1})
    play.round(case(FOR, argument("the small joints are swollen", 2, q=0.3)), case(AGAINST), score=lambda claim: 0.92)
    play.plan(check_up())
    (ruled,) = msgspec.convert(play.result.outcome, Outcome).record
    assert ruled.q == pytest.approx(0.3) and ruled.doubted and ruled.tau_q == 0
    (told,) = unlike_words(play.result.rounds, (ruled,))
    assert told.startswith("q alone would have refused 1 of the admitted; ")


def test_what_judges_passed_and_the_gate_refused_is_shown_as_such_to_debaters_and_readers() -> None:
    play = begun({**GATED, "round_limit": 2})
    play.round(case(FOR, argument("swollen", 2, q=0.3)), case(AGAINST, argument("rumour", 3, q=0.2)),
               score=lambda claim: 0.9 if claim == "swollen" else 0.1)  # fmt: skip
    good, bad = play.posts("refused")
    assert (good.channel, bad.channel) == ("public", "scores")
    for seat in NAMES:
        assert good.n in play.ask(seat).sees and bad.n not in play.ask(seat).sees
        assert good.n not in play.brief(seat)["rebuttable"], "it is not in the record"
    kind = kind_of("maci", "argue")
    assert kind.prompt_post is not None
    body = msgspec.convert(msgspec.json.decode(good.body), kind.posts["refused"])
    told_of = kind.prompt_post(body)
    assert "judges passed it" in told_of["not in the record"] and not body.scores
    play.round(case(FOR), case(AGAINST))
    play.plan()
    assert list(unlike_words(play.result.rounds, ())) == ["The judges passed it, q 0.30 refused it: swollen"]


def test_thirds_are_equally_likely_and_so_are_shares_of_many() -> None:
    thirds = parse_belief([Share(outcome=name, p=0.333) for name in "abc"], ("a", "b", "c"))
    assert len(set(thirds)) == 1
    level = [Share(outcome=f"o{i}", p=0.0067) for i in range(150)]
    assert len(set(parse_belief(level, [f"o{i}" for i in range(150)]))) == 1


def test_the_certificate_has_the_factors_of_the_weights_that_were_used() -> None:
    """Five outcomes: K is 5, not 2."""
    names = tuple(f"o{i}" for i in range(5))
    play = opened_with(Play({"outcomes": names, "round_limit": 1}, q0=None), records(debater_1=0.3, debater_2=0.9))
    play.reply("helper", retrieved())
    beliefs = (belief(0.8, 0.05, 0.05, 0.05, 0.05, names=names), belief(0.05, 0.8, 0.05, 0.05, 0.05, names=names))
    play.blind(*beliefs)
    play.round(*(case(b) for b in beliefs))
    factors = {s: row["factor"] for s, row in play.certificate["reliability"]["seats"].items()}
    assert factors == play.session.inner.control.trust and "trust" not in play.certificate
    weights = [play.signals["weights"][seat] for seat in NAMES]
    assert weights[0] / weights[1] == pytest.approx(factors["debater_1"] / factors["debater_2"])
    assert factors != trust(play.session.opened, play.session.opened.seats[:2]), "those of two outcomes are others"


def test_names_that_differ_in_case_alone_are_two_and_are_found_where_case_is_plain() -> None:
    assert Settings(outcomes=("5 mW", "5 MW")).outcomes == ("5 mW", "5 MW")
    with pytest.raises(InvalidValue, match="the same"):
        Settings(outcomes=("dengue", "dengue."))
    p = parse_belief([Share(outcome="5 MW", p=0.9), Share(outcome="5 mW", p=0.1)], ("5 mW", "5 MW"))
    assert p == (0.1, 0.9)
    with pytest.raises(InvalidValue, match="no such outcome"):
        parse_belief([Share(outcome="5 mw", p=1.0)], ("5 mW", "5 MW"))
    assert parse_belief([Share(outcome="DENGUE", p=1.0)], ("dengue", "zika")) == (1.0, 0.0)
    assert ClosedList(["dengue", "Dengue fever"]).find("dengue Fever") == "Dengue fever"


@pytest.mark.parametrize(
    ("families", "wanted", "told"),
    [
        (("two",), 3, "1 judge scored, and 3 are wanted"),
        (("two", "two", "two"), 3, "judges of one model family (two) may err alike"),
        (("two", "three", "four"), 3, None),
    ],
)
def test_the_screen_says_where_judges_are_few_or_of_one_family(
    families: tuple[str, ...], wanted: int, told: str | None
) -> None:
    play = Play({"judges": wanted, "round_limit": 1}, judges=families)
    play.blind(FOR, AGAINST)
    play.round(case(FOR), case(AGAINST))
    play.plan()
    texts = card(play).weak
    found = [text for text in texts if "judge" in text and ("wanted" in text or "family (" in text)]
    assert (told is None and not found) or (told is not None and found[0].startswith(told))


@pytest.mark.parametrize(
    ("q", "crit", "why"),
    [
        (0.31, 0.8, "q 0.31 < 0.50, although CRIT 0.80 ≥ 0.30"),
        (0.0, 0.0, "q 0.00 < 0.50 and CRIT 0.00 < 0.30"),
        (0.4999, 0.8, "q 0.4999 < 0.5000, although CRIT 0.80 ≥ 0.30"),
        (0.62, None, "not judged, although q 0.62 ≥ 0.50"),
        (None, None, "evidence not measured and not judged"),
    ],
)
def test_a_refused_argument_names_the_gate_the_value_and_the_threshold(
    q: float | None, crit: float | None, why: str
) -> None:
    refused: Ruled = msgspec.structs.replace(ruled(), q=q, crit=crit)
    post = Post(
        session="s", channel="public", k=0, n=0, transition=1, at_ns=0, kind="refused", round=1, body=raw(refused),
        seat="debater_2",
    )  # fmt: skip
    shown_ = MaciShow().card(post)
    assert shown_.refused == why and shown_.chips[0].text == "refused"
    assert "Judge 1: 0.10 (evidence 0.10, logic 0.10, relevance 0.10, links 0.90)" in shown_.text


def test_a_stop_that_is_no_convergence_says_which_tests_failed() -> None:
    apart = belief(0.95, 0.05), belief(0.05, 0.95)
    play = begun(None, *apart)
    while play.phase == "arguing":
        play.same(*apart)
    play.plan()
    shown_ = card(play)
    assert (shown_.reason, shown_.kind, shown_.word, shown_.text) == ("plateau", "unsettled", "Answer", "")
    assert shown_.open == "2 outcomes are equally likely"
    assert shown_.sure.startswith("not settled: 2 outcomes are equally likely") and "consensus" not in shown_.sure
    tests = part(shown_, "tests").lines
    assert any(re.match(r"  no: disagreement: 0\.7\d+, wanted", text) for text in tests)
    assert "  no: debaters that hold the most widely held answer: 1, wanted at least 2" in tests


# ---------------------------------------------------------------- room for a quotation
