"""maci's rounds: who is asked what, who sees it, what the gates do, seats that fail."""

from typing import Any

import msgspec
import pytest

from parley.bus.channels import ACCOUNT_OF_ROLE, PANEL, may_read
from parley.schemas import log
from parley.schemas.belief import Share
from parley.schemas.protocols.maci.messages import Argument, Blind, Case, Crit, Excerpt, Passages, Retrieved
from parley.schemas.text import squeeze
from parley.schemas.wire import decode, raw
from tests.protocols.maci.play import (
    AGAINST,
    AGREED,
    FOR,
    GATED,
    NAMES,
    OUTCOMES,
    TEXTS,
    Play,
    argument,
    begun,
    belief,
    case,
    retrieved,
)


def shown_to_debaters(play: Play) -> set[int]:
    roles = {s.seat: s.role for s in play.session.opened.seats}
    asks = [c for e in play.entries for c in e.commands if isinstance(c, log.Ask)]
    return {n for a in asks if ACCOUNT_OF_ROLE[roles[a.seat]] == PANEL for n in a.sees}


# ---------------------------------------------------------------- passages


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (retrieved(texts=["Dengue is rare."]), "this does not stand in notes.md: 'Dengue is rare.'"),
        (retrieved(name="other.md"), "there is no document 'other.md'"),
        (retrieved(texts=[TEXTS[0], TEXTS[0]]), "is there twice"),
        (
            Retrieved(passages=(Excerpt(document="notes.md", text=TEXTS[0]),)),
            "similar.dots: got 0 figures, wanted are 1",
        ),
        (retrieved(q=1.5), "similar.dots: got 1.5, allowed is -1 to 1"),
    ],
)
def test_what_the_helper_brings_is_checked(reply: Retrieved, fault: str) -> None:
    play = Play(q0=None)
    play.reply("helper", reply)
    assert fault in play.ask("helper").error and play.phase == "retrieving"


def test_without_a_helper_passages_are_found_by_the_questions_words() -> None:
    play = Play({"k_ret": 2}, q0=None)
    play.fail("helper")
    assert play.phase == "blind"
    found = decode(play.posts("passages")[-1].body, Passages)
    assert found.q is None and 1 <= len(found.passages) <= 2
    texts = {d.name: squeeze(d.text) for d in play.session.opened.documents}
    assert all(p.text in texts[p.document] for p in found.passages)


# ---------------------------------------------------------------- round 0


def test_round_0_is_blind() -> None:
    """Every agent answers alone, with no arguments to defend."""
    play = Play()
    assert play.phase == "blind" and {t.ask.seat for t in play.session.turns.values()} == set(NAMES)
    for seat in NAMES:
        assert play.ask(seat).sees == (0,) and not play.ask(seat).stream
        assert play.brief(seat) == {"outcomes": list(OUTCOMES), "ordered": False}
    play.reply("debater_1", Blind(belief=FOR, reasoning="fever"))
    assert play.posts("blind") == [], "nobody can read it before all are in"
    play.reply("debater_2", Blind(belief=AGAINST))
    assert [(p.channel, p.seat) for p in play.posts("blind")] == [("scores", seat) for seat in NAMES]
    assert play.signals["weights"] == {"debater_1": 0.5, "debater_2": 0.5}
    assert play.brief("debater_1")["opponents"] == [
        [{"outcome": "dengue", "p": 0.1}, {"outcome": "chikungunya", "p": 0.9}]
    ]


def test_round_0_gives_the_majority_vote_at_no_extra_cost() -> None:
    play = begun({"round_limit": 1, "debaters": 3}, AGREED, AGREED, belief(0, 1), debaters=3)
    play.same(AGAINST, AGAINST, AGAINST)
    play.fail("analyst")
    assert play.result.outcome["vote"] == "dengue" and play.result.outcome["answer"] == "chikungunya"


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (belief(0.9, 0.3), "belief: got 1.2, allowed is a sum of 1 within 0.02"),
        (belief(0.5, 0.5, names=("dengue", "zika")), "belief.outcome: got 'zika', no such outcome"),
    ],
)
def test_a_belief_that_is_none_is_an_invalid_reply(given: Any, fault: str) -> None:
    play = Play()
    play.reply("debater_1", Blind(belief=given))
    assert fault in play.ask("debater_1").error and play.ask("debater_1").attempt == 2
    play = begun()
    play.reply("debater_1", Case(belief=given))
    assert fault in play.ask("debater_1").error and play.ask("debater_1").attempt == 2


def test_a_debater_without_a_blind_belief_is_left_out_for_good() -> None:
    play = begun({"debaters": 3, "round_limit": 1}, FOR, None, AGAINST, debaters=3)
    assert {t.ask.seat for t in play.session.turns.values()} == {"debater_1", "debater_3"}
    assert play.last("signals")["missing"] == ["debater_2"] and set(play.last("signals")["beliefs"]) == {
        "debater_1", "debater_3",
    }  # fmt: skip
    play.round(case(FOR, argument("x")), case(AGAINST))
    play.fail("analyst")
    assert play.result.outcome["left_out"] == ["debater_2"] == play.certificate["left_out"]


def test_with_fewer_than_two_there_is_no_debate() -> None:
    play = begun(None, FOR, None)
    assert play.result.stop.reason == "quorum" and "1 debaters have a blind belief" in play.certificate["what"]
    assert [p.seat for p in play.posts("blind")] == ["debater_1"], "what came is kept"


# ---------------------------------------------------------------- open outcomes


def opened(*beliefs: Any, **settings: Any) -> Play:
    play = Play({"outcomes": (), "round_limit": 1, **settings})
    play.blind(*beliefs)
    return play


def test_open_outcomes_are_merged_by_the_analyst() -> None:
    play = opened(
        belief(0.6, 0.4, names=("Dengue", "dengue fever")), belief(0.7, 0.3, names=("chikungunya", "dengue"))
    )  # fmt: skip
    assert play.phase == "merging" and play.ask("analyst").kind == "merge"
    assert play.brief("analyst") == {"proposed": ["Dengue", "dengue fever", "chikungunya"]}
    play.merge(("dengue", ("Dengue", "dengue fever")), ("chikungunya", ("chikungunya",)))
    assert play.posts("outcomes")[-1].seat == "analyst" and play.posts("outcomes")[-1].channel == "public"
    assert play.brief("debater_1")["outcomes"] == ["dengue", "chikungunya"]
    held = play.last("signals")["beliefs"]
    assert held["debater_1"] == [{"outcome": "dengue", "p": pytest.approx(1, abs=2e-6)}]
    assert {s["outcome"]: s["p"] for s in held["debater_2"]} == pytest.approx(
        {"dengue": 0.3, "chikungunya": 0.7}, abs=2e-6
    )


@pytest.mark.parametrize(
    ("groups", "fault"),
    [
        ([("a", ("a",))], "'b' is in no group"),
        ([("a", ("a", "b")), ("b", ("b",))], "'b' is in a group already"),
        ([("a", ("a", "c", "b"))], "'c' was not proposed"),
        ([("a", ("a",)), ("a.", ("b",))], "two groups are named 'a.'"),
        ([("a", ("a", "b")), ("c", ())], "group 'c' has none"),
    ],
)
def test_every_proposal_is_in_one_group(groups: Any, fault: str) -> None:
    play = opened(belief(1, names=("a",)), belief(1, names=("b",)))
    play.merge(*groups)
    assert fault in play.ask("analyst").error


def test_without_the_analyst_the_same_name_is_the_same_outcome_and_nothing_else() -> None:
    play = opened(belief(1, names=("Dengue",)), belief(0.5, 0.5, names=("dengue ", "dengue fever")))
    play.fail("analyst")
    assert play.brief("debater_1")["outcomes"] == ["Dengue", "dengue fever"]
    assert play.posts("outcomes")[-1].seat == "" and play.last("signals")["missing"] == ["analyst"]
    play.round(case(belief(1, names=("dengue",))), case(belief(1, names=("dengue",))))
    assert play.certificate["merged_by"] == "names"


def test_proposals_of_all_debaters_fit_together() -> None:
    play = Play({"outcomes": (), "debaters": 8}, debaters=8)
    names = [f"o{i}" for i in range(126)]
    play.reply("debater_1", Blind(belief=tuple(Share(outcome=name, p=1 / 126) for name in names)))
    assert play.ask("debater_1").error == "belief: got 126 outcomes, allowed are at most 125"


# ---------------------------------------------------------------- a round


def test_the_anchor_goes_out() -> None:
    """Curated record, CL, gates; claims with evidence and belief come back."""
    play = begun(GATED)
    brief = play.brief("debater_1")
    assert (brief["round"], brief["cl"], brief["tau_q"], brief["tau_crit"], brief["most"]) == (1, 0.8, 0.5, 0.3, 3)
    assert brief["tone"].startswith("Confront") and brief["own"] == []
    play.round(case(FOR, argument("mine")), case(AGAINST, argument("theirs")))
    posts = [p.n for p in play.posts("argument")]
    assert play.ask("debater_1").sees == (0, *posts) == play.ask("debater_2").sees
    assert play.brief("debater_1")["own"] == posts[:1] and play.brief("debater_2")["own"] == posts[1:]
    assert all(not ask.stream for kind in ("blind", "argue") for ask in play.asks(kind))


def test_both_gates_must_be_passed() -> None:
    """An argument enters the record iff `q_i >= tau_Q(t)` and `CRIT_i >= tau_CRIT(t)`."""
    play = begun(GATED)
    play.round(
        case(FOR, argument("good"), argument("weak evidence", 3, q=0.4), argument("badly argued")),
        case(AGAINST, argument("at the gates", q=0.5), Argument(claim="bare")),
        score=lambda claim: {"badly argued": 0.2, "at the gates": 0.3}.get(claim, 0.8),
    )
    said = {msgspec.json.decode(p.body)["claim"]: p for p in [*play.posts("argument"), *play.posts("refused")]}
    assert {claim: p.kind for claim, p in said.items()} == {
        "good": "argument", "weak evidence": "refused", "badly argued": "refused", "at the gates": "argument",
        "bare": "refused",
    }  # fmt: skip
    weak = msgspec.json.decode(said["weak evidence"].body)
    assert (weak["q"], weak["crit"], weak["tau_q"], weak["tau_crit"]) == (0.4, 0.8, 0.5, 0.3)
    assert msgspec.json.decode(said["bare"].body)["q"] == 0, "without spans there is no evidence"
    assert play.last("signals")["admitted"] == ["a1", "a4"] and play.last("signals")["refused"] == 3
    assert play.signals["q"] == pytest.approx((0.8 + 0.5) / 2), "of what was admitted"


def test_refused_arguments_and_scores_are_never_shown_to_a_debater() -> None:
    play = begun({**GATED, "round_limit": 4, "tau_stop": 4})
    for _ in range(3):
        play.round(
            case(FOR, argument("good")), case(AGAINST, argument("bad", q=0.2)),
            score=lambda claim: 0.8 if claim == "good" else 0.1,
        )  # fmt: skip
    assert play.posts("refused") and play.posts("crit") and play.posts("case")
    for post in play.session.posts:
        if post.kind in ("refused", "crit", "case", "blind"):
            assert not may_read(PANEL, post.channel)
            assert post.n not in shown_to_debaters(play)
    texts = [bytes(p.body) for p in play.session.posts if may_read(PANEL, p.channel)]
    assert not any(b"bad" in text for text in texts), "while it runs"
    admitted = [msgspec.json.decode(p.body) for p in play.posts("argument")]
    assert admitted and all(a["scores"] == [] for a in admitted)


@pytest.mark.parametrize(
    ("passage", "quote", "fault"),
    [
        ("p9", TEXTS[0], "spans.passage: there is no passage 'p9'; passages are p1 to p3"),
        ("p1", "Platelets rise.", "spans.quote: this does not stand in p1, quote it word for word"),
        ("p2", TEXTS[0], "spans.quote: this does not stand in p2"),
    ],
)
def test_a_cited_span_stands_in_its_passage(passage: str, quote: str, fault: str) -> None:
    said = msgspec.structs.replace(
        argument("x"), spans=(msgspec.structs.replace(argument("x").spans[0], passage=passage, quote=quote),)
    )
    play = begun()
    play.reply("debater_1", case(FOR, said))
    assert fault in play.ask("debater_1").error
    play = Play()
    play.reply("debater_1", Blind(belief=FOR, spans=said.spans))
    assert fault in play.ask("debater_1").error


# ---------------------------------------------------------------- judges


def test_judges_are_masked_and_each_has_its_own_order() -> None:
    play = begun({"judges": 3})
    said = [argument(f"claim {i}", reasons=(f"r{i}", "s")) for i in range(3)]
    play.argue(case(FOR, *said), case(AGAINST, *(argument(f"other {i}") for i in range(3))))
    orders = []
    for seat in ("judge_1", "judge_2", "judge_3"):
        brief = bytes(play.ask(seat).brief)
        assert play.ask(seat).sees == () and not any(name.encode() in brief for name in NAMES)
        items = play.brief(seat)["items"]
        assert [item["item"] for item in items] == [1, 2, 3, 4, 5, 6]
        assert set(items[0]) == {"item", "claim", "reasons", "quotes", "sources"}
        orders.append([item["claim"] for item in items])
    assert len({tuple(order) for order in orders}) == 3 and len({frozenset(order) for order in orders}) == 1
    again = begun({"judges": 3}, seed=8)
    again.argue(case(FOR, *said), case(AGAINST, *(argument(f"other {i}") for i in range(3))))
    assert [item["claim"] for item in again.brief("judge_1")["items"]] != orders[0], "by seed"


def test_crit_is_the_mean_over_judges_and_sub_scores() -> None:
    play = begun({"judges": 2})
    play.argue(case(FOR, argument("x"), argument("y")), case(AGAINST, argument("z")))
    play.measure()
    play.judge("judge_1", lambda claim: {"x": 0.9, "y": 0.6, "z": 0.3}[claim])
    play.judge("judge_2", lambda claim: {"x": 0.7, "y": 0.4, "z": 0.5}[claim])
    crit = {msgspec.json.decode(p.body)["claim"]: msgspec.json.decode(p.body)["crit"] for p in play.posts("argument")}
    assert crit == pytest.approx({"x": 0.8, "y": 0.5, "z": 0.4})
    assert play.signals["crit_by_agent"] == pytest.approx({"debater_1": 0.65, "debater_2": 0.4})
    assert play.signals["crit"] == pytest.approx(1.7 / 3), "over all arguments (E.2)"
    assert play.signals["crit_variance"] == pytest.approx((0.1 / 3) ** 2), "means 0.6 and 1.6 / 3"
    assert [p.seat for p in play.posts("crit")] == ["judge_1", "judge_2"]
    given = msgspec.json.decode(play.posts("crit")[0].body)["scores"]
    assert {s["item"]: s["evidence"] for s in given} == {1: 0.9, 2: 0.6, 3: 0.3}, "by the argument's number"
    assert play.signals["reliability"]["debater_1"] == pytest.approx(0.8 * 0.5 + 0.2 * 0.65)


# ---------------------------------------------------------------- rebuttals


def rebuttal(post: int | None, claim: str = "no") -> Argument:
    return msgspec.structs.replace(argument(claim, 2), rebuts=post)


def recorded(settings: dict[str, Any] | None = None, **more: Any) -> tuple[Play, dict[str, int]]:
    """After a round in which each debater brought one argument; the posts of these by seat."""
    play = begun({"gamma": 0.0, **(settings or {})}, FOR, AGAINST, **more)
    play.round(case(FOR, argument("x", reasons=("r",))), case(AGAINST, argument("y")))
    return play, {p.seat: p.n for p in play.posts("argument")}


def test_a_rebuttal_is_judged_with_what_it_rebuts_and_seen_so_by_the_others() -> None:
    """Arguments had to stand alone, so that "challenge head on" lost at the judges."""
    play, posts = recorded({"tau_stop": 9})
    assert play.brief("debater_1")["rebuttable"] == [posts["debater_2"]]
    assert play.brief("debater_2")["rebuttable"] == [posts["debater_1"]]
    play.argue(case(FOR), case(AGAINST, rebuttal(posts["debater_1"]), argument("alone")))
    items = {item["claim"]: item for item in play.brief("judge_1")["items"]}
    assert items["no"]["rebuts"] == {"claim": "x", "reasons": ["r"], "quotes": [TEXTS[0]]}
    assert "rebuts" not in items["alone"]
    assert not any(name.encode() in bytes(play.ask("judge_1").brief) for name in NAMES), "nobody is named"
    play.measure()
    play.judge("judge_1")
    bodies = [msgspec.json.decode(p.body) for p in play.posts("argument")]
    assert [(b["claim"], b["rebuts"], b["rebuts_id"]) for b in bodies[2:]] == [
        ("no", posts["debater_1"], "a1"), ("alone", None, ""),
    ]  # fmt: skip
    assert play.posts("argument")[2].n in play.ask("debater_1").sees


def test_a_refused_argument_cannot_be_rebutted() -> None:
    play = begun({"gamma": 0.0})
    play.round(case(FOR, argument("x")), case(AGAINST, argument("y")), score=lambda c: 0.1 if c == "y" else 0.8)
    (refused,) = play.posts("refused")
    assert play.brief("debater_1")["rebuttable"] == []
    play.reply("debater_1", case(FOR, rebuttal(refused.n)))
    assert "there is none of another debater yet" in play.ask("debater_1").error


# ---------------------------------------------------------------- scores


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda scores: scores[:-1], "scores: no score for item 2"),
        (lambda scores: (*scores, msgspec.structs.replace(scores[0], item=7)), "there is no item 7; items are 1 to 2"),
        (
            lambda scores: (scores[0], msgspec.structs.replace(scores[1], links=())),
            "scores.links: item 2 has 1 reasons, got 0 figures",
        ),
    ],
)
def test_every_argument_is_scored_once_with_each_link(change: Any, fault: str) -> None:
    play = begun()
    play.argue(case(FOR, argument("x")), case(AGAINST, argument("y")))
    play.measure()
    turn = play.turn("judge_1")
    copy = begun()
    copy.argue(case(FOR, argument("x")), case(AGAINST, argument("y")))
    copy.judge("judge_1")
    good = msgspec.json.decode(msgspec.json.encode(copy.entries[-1].event))["body"]
    scores = change(msgspec.convert(good, Crit).scores)
    play.event(log.Replied(turn=turn.id, body=raw(Crit(scores=scores))), turn.id)
    assert fault in play.ask("judge_1").error


# ---------------------------------------------------------------- seats that fail


def test_a_missing_judge_is_left_out_of_the_mean() -> None:
    play = begun({"judges": 2})
    play.argue(case(FOR, argument("x")), case(AGAINST, argument("y")))
    play.measure()
    play.judge("judge_1", lambda claim: 0.6)
    play.fail("judge_2")
    assert play.signals["crit"] == pytest.approx(0.6) and play.signals["crit_variance"] is None
    assert play.last("signals")["missing"] == ["judge_2"] and len(play.posts("argument")) == 2


def ruled(play: Play) -> list[Any]:
    """The arguments after the gates, wherever they were posted: no figure is made up for what nobody found out."""
    return [msgspec.json.decode(p.body) for p in (*play.posts("argument"), *play.posts("refused"))]


@pytest.mark.parametrize(("q_gate", "admitted"), [(True, 0), (False, 2)])
def test_unmeasured_nothing_is_admitted_and_the_certificate_says_so(q_gate: bool, admitted: int) -> None:
    play = begun({"round_limit": 1, "q_gate": q_gate, "tau_q": 0.0})
    play.argue(case(FOR, argument("x")), case(AGAINST, argument("y")))
    play.fail("helper")
    play.judge("judge_1")
    assert len(play.posts("argument")) == admitted and play.signals["q"] == 0
    assert [r["q"] for r in ruled(play)] == [None, None] and [r["crit"] for r in ruled(play)] == [0.8, 0.8]
    assert play.certificate["unmeasured_rounds"] == [1]


def test_of_long_beliefs_the_others_are_told_the_most_probable() -> None:
    """A round of the most debaters and outcomes fits one message, in which it is logged."""
    names = tuple(f"{i:04} " + "x" * 195 for i in range(1_000))
    flat = belief(*[0.0005] * 960, *[0.013] * 40, names=names)
    play = begun({"outcomes": names, "debaters": 8}, *[flat] * 8, debaters=8)
    brief = play.brief("debater_1")
    assert len(brief["belief"]) == 1_000 and [s["outcome"] for s in brief["opponents"][0]] == list(names[960:])
    even = belief(*[0.001] * 1_000, names=names)
    play = begun({"outcomes": names, "debaters": 8}, *[even] * 8, debaters=8)
    assert len(play.brief("debater_1")["opponents"][0]) == 40
    assert max(len(entry) for entry in play.log) < 8_000_000
