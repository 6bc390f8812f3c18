"""One test a sentence of seeds/iterative-debate.md, "Key Improvements" to "MCP Integration", quoted."""

import pytest

from parley.coordinator.machine import Inadmissible
from parley.schemas.protocols.consensus import CompareBrief, ConcludeBrief, PanelBrief, Settings, SoFar
from parley.schemas.wire import decode
from tests.protocols.consensus.play import Play, says

ADOPTS = {"change": "adopted", "change_reason": "the argument convinced me"}
LONG = "It is Vilnius. The law of 1992 says so"
"""More than a sentence."""


def brief(play: Play, seat: str) -> PanelBrief:
    return decode(play.turn(seat).ask.brief, PanelBrief)


# ---------------------------------------------------------------- Key Improvements: New System


def test_round_1_is_independent() -> None:
    """Round 1: All models give independent answers. Iteration: from 1; there is no status before an evaluation."""
    play = Play({"styles": {"*": "none"}})
    assert {(t.kind, t.round, t.sees, t.own, t.stream) for t in play.turns().values()} == {
        ("answer", 1, (), None, False)
    }
    assert list(play.turns()) == ["panelist_1", "panelist_2", "panelist_3"]
    assert brief(play, "panelist_2") == PanelBrief(iteration=1, round_limit=5)


def test_no_answer_can_be_read_before_all_are_in() -> None:
    """Round 1: Independent Analysis."""
    play = Play()
    play.reply("panelist_1", says("Vilnius"))
    play.reply("panelist_3", says("Vilnius"))
    assert play.session.posts == ()
    entry = play.reply("panelist_2", says("Kaunas"))
    assert {p.seat for p in play.posts("position")} == {"panelist_1", "panelist_2", "panelist_3"}
    assert {p.transition for p in play.posts("position")} == {entry.n}


def test_evaluation_after_each_round() -> None:
    """Consensus evaluation after each round. Coordinator monitors consensus evolution."""
    play = Play()
    trend: list[float] = []
    for n in (1, 2, 3):
        play.answers(f"Vilnius, {n}", "Kaunas", "Riga")
        assert list(play.turns()) == ["analyst"]
        assert (play.turn("analyst").ask.kind, play.turn("analyst").ask.round) == ("compare", n)
        play.score(20.0 + 10 * n)
        trend.append(20 + 10 * n)
        assert (play.last("assessment")["score"], play.last("assessment")["trend"]) == (trend[-1], trend)


def test_early_exit() -> None:
    """Early exit if high consensus (e.g., "Vilnius is Lithuania's capital"): equal words need no analyst.
    Consensus: 98% - Result: Early exit, no iteration needed."""
    play = Play()
    play.answers("Vilnius", "Vilnius.", "vilnius")
    assert (play.result.stop.reason, play.result.stop.converged, len(play.result.rounds)) == ("threshold", True, 1)
    assert [s["stands"] for s in play.outcome["signatures"]] == ["said"] * 3
    assert play.last("assessment")["source"] == "same_words" and play.result.usage.turns == 3
    assert (play.outcome["answer"], play.outcome["minority"]) == ("Vilnius", [])


def test_round_2_shows_all_responses() -> None:
    """Round 2+: All models see ALL responses from others. Full Visibility: Each model sees all other models' current
    positions - that of a seat that missed is its last."""
    play = Play()
    play.round(45, "Vilnius", "Kaunas", "Riga")
    posts = {p.seat: p.n for p in play.posts("position")}
    for seat, ask in play.turns().items():
        assert ask.kind == "revise" and ask.stream
        assert set(ask.sees) == {n for other, n in posts.items() if other != seat}
        assert ask.own == posts[seat]
    play.round(50, "Vilnius", "Kaunas", None)
    latest = {p.seat: p.n for p in play.posts("position")}
    assert latest["panelist_3"] == posts["panelist_3"] < latest["panelist_1"]
    assert set(play.turn("panelist_1").ask.sees) == {latest["panelist_2"], latest["panelist_3"]}


def test_up_to_5_rounds() -> None:
    """Iterative refinement - up to 5 rounds. Configurable max iterations (default: 5)."""
    for settings, scores in (({}, (5, 10, 20, 30, 40)), ({"round_limit": 1}, (30,))):
        play = Play(settings)
        for score in scores:
            assert not play.posts("stop")
            play.round(score, "Vilnius", "Kaunas", "Riga")
        assert (play.stop["reason"], play.certificate["round"]) == ("round_limit", len(scores))
        assert play.certificate["round_limit"] == len(scores)


def test_synthesis_comes_last() -> None:
    """Final synthesis only after consensus or max iterations: it words what is put to be signed, and only where no
    seat's own words are a sentence."""
    play = Play({"round_limit": 2})
    play.round(45, LONG, LONG, "Riga")
    assert "conclude" not in {t.kind for t in play.turns().values()}
    play.round(45, LONG, LONG, "Riga")
    assert {t.kind for t in play.turns().values()} == {"conclude"}
    short = Play()
    short.round(95, "Vilnius", "Vilnius", "It is Vilnius")
    assert {t.kind for t in short.turns().values()} == {"sign"}


# ---------------------------------------------------------------- 1. IterativeDebateOrchestrator


def test_default_threshold() -> None:
    """Configurable consensus threshold (default: 90%): from there on an answer is put, and as many must sign it."""
    assert Settings().threshold == 90
    for threshold in (60, 0.6):
        play = Play({"threshold": threshold})
        play.round(60, "Vilnius", "Kaunas", "Vilnius")
        play.sign_all("neither")
        assert play.stop["reason"] == "threshold"
    below = Play()
    below.round(60, "Vilnius", "Kaunas", "Vilnius")
    assert below.phase == "revising"


def test_stuck() -> None:
    """Stuck detection (no progress after 3 rounds): progress made before them does not count."""
    for scores in ((20, 20.5, 21), (5, 35, 35, 35)):
        play = Play()
        for score in scores:
            assert not play.posts("stop")
            play.round(score, "Vilnius", "Kaunas", "Riga")
        assert (play.stop["reason"], play.stop["converged"]) == ("stuck", False)
        assert play.certificate["trend"] == list(scores)
    moving = Play()
    for score in (20, 21.5, 20):
        moving.round(score, "Vilnius", "Kaunas", "Riga")
    assert not moving.posts("stop")


# ---------------------------------------------------------------- 2. ConsensusAnalyzer


@pytest.mark.parametrize(
    ("score", "band"),
    [(100, "strong"), (90, "strong"), (89.9, "moderate"), (70, "moderate"),
     (69.9, "weak"), (50, "weak"), (49.9, "none"), (0, "none")],
)  # fmt: skip
def test_bands(score: float, band: str) -> None:
    """90-100%: Strong consensus; 70-89%: Moderate consensus; 50-69%: Weak consensus; 0-49%: No consensus."""
    play = Play({"threshold": 100})
    play.round(score, "Vilnius", "Kaunas", "Riga")
    assert play.last("assessment")["band"] == band


def test_the_analyst_sees_question_and_positions() -> None:
    """Dynamic evaluation based on question type: whoever scores is shown what was said, not a count."""
    play = Play()
    play.answers("Vilnius", "Kaunas", "Riga")
    ask = play.turn("analyst").ask
    shown = decode(ask.brief, CompareBrief)
    assert sorted(ask.sees) == [p.n for p in play.posts("position")]
    assert [w.post for w in shown.positions] == list(ask.sees)
    assert (shown.iteration, shown.round_limit) == (1, 5)


@pytest.mark.parametrize(
    ("scores", "direction"),
    [((50,), "stable"), ((50, 60), "improving"), ((50, 50.5), "stable"), ((50, 40), "diverging")],
)
def test_direction(scores: tuple[float, ...], direction: str) -> None:
    """Tracks convergence trend (improving/stable/diverging)."""
    play = Play()
    for score in scores:
        play.round(score, "Vilnius", "Kaunas", "Riga")
    assert play.last("assessment")["direction"] == direction


def test_fallback() -> None:
    """Fallback mechanism if LLM evaluation fails."""
    play = Play()
    play.answers("Vilnius", "Kaunas", "Vilnius")
    play.fail("analyst")
    told = play.last("assessment")
    assert told["source"] == "lexical_fallback"
    assert told["dimensions"] == {"facts": 33.33}  # one pair of three agrees
    assert (told["score"], told["band"]) == (33.33, "none")
    assert told["key_disagreements"] == ["“Vilnius” and “Kaunas” have other words; nobody compared them"]
    assert play.phase == "revising"


# ---------------------------------------------------------------- 3. DebateMemory


def test_what_a_debate_is_remembered_by() -> None:
    """All responses from each iteration; consensus scores over time; model position changes; convergence metrics; key
    disagreements per round."""
    play = Play()
    play.answers("Vilnius", "Kaunas", "Vilnius")
    play.score(45, "the city")
    play.answers("Vilnius", says("Vilnius", **ADOPTS), "Vilnius")
    first, second = play.result.rounds
    assert [p["answer"] for p in first["positions"].values()] == ["Vilnius", "Kaunas", "Vilnius"]
    assert {seat: (p["answer"], p["change"]) for seat, p in second["positions"].items()} == {
        "panelist_1": ("Vilnius", "kept"), "panelist_2": ("Vilnius", "adopted"), "panelist_3": ("Vilnius", "kept"),
    }  # fmt: skip
    assert second["positions"]["panelist_2"]["change_reason"] == "the argument convinced me"
    assert [(r["score"], r["band"], r["direction"], r["source"], r["key_disagreements"]) for r in (first, second)] == [
        (45, "none", "stable", "analyst", ["the city"]), (100, "strong", "improving", "same_words", []),
    ]  # fmt: skip
    assert (play.result.stop.certificate["trend"], play.result.stop.certificate["flips"]) == ([45, 100], 1)


# ---------------------------------------------------------------- Process Flow


def test_force_synthesis() -> None:
    """5 iterations reached: Force Synthesis - of an answer that more than half hold; what nobody signs is no answer."""
    play = Play({"round_limit": 1, "least": {"approach": 0}})
    play.round(40, LONG, LONG, "Riga")
    told = decode(play.turn("analyst").ask.brief, ConcludeBrief)
    assert (told.answer, len(told.positions)) == (LONG, 3)
    apart = Play({"round_limit": 1})
    apart.round(10, "Vilnius", "Kaunas", "Riga")
    assert (apart.result.stop.reason, apart.outcome["answer"]) == ("round_limit", "")


def test_final_solution() -> None:
    """Synthesis leads to the Final Solution: once the seats have signed it."""
    play = Play()
    play.round(95, LONG, LONG, "Vilnius")
    play.synthesize("Vilnius, since 1323")
    assert not play.session.closed
    play.sign_all()
    assert play.session.closed
    assert play.result.outcome["answer"] == "Vilnius, since 1323"
    assert play.result.outcome["reasoning"] == "the panel says so"
    assert play.result.outcome["source"] == "synthesis"


# ---------------------------------------------------------------- Iteration Dynamics


@pytest.mark.parametrize(
    ("change", "answer"), [("kept", "Kaunas"), ("partly", "Kaunas until 1940, then Vilnius"), ("adopted", "Vilnius")]
)
def test_position_update(change: str, answer: str) -> None:
    """Models can update positions based on arguments. Maintain position with additional justification; partially agree
    and modify stance; fully adopt different position if convinced."""
    play = Play()
    play.round(45, "Vilnius", "Kaunas", "Vilnius")
    reason = "" if change == "kept" else "history"
    play.round(45, "Vilnius", says(answer, change=change, change_reason=reason), "Vilnius")
    assert play.last("assessment")["changes"] == {"panelist_1": "kept", "panelist_2": change, "panelist_3": "kept"}
    assert play.session.inner.held == {p.seat: p.n for p in play.posts("position") if p.round == 2}


def test_decision_point() -> None:
    """Decision Point: Continue iteration or proceed to synthesis - the moderator decides, whatever the analyst thinks.
    Identifies specific disagreements. Assessing convergence trend: it is told those of the round before."""
    play = Play()
    play.answers("Vilnius", "Kaunas", "Riga")
    play.score(45, "which city", "which country", comment="nothing more can be settled")
    assert play.phase == "revising"
    told = play.last("assessment")
    assert told["comment"] == "nothing more can be settled"
    assert told["key_disagreements"] == ["which city", "which country"]
    play.answers("Vilnius", "Kaunas", "Riga, of old")
    assert play.brief("analyst")["key_disagreements"] == ["which city", "which country"]


def test_complex_question() -> None:
    """Consensus 45%, 72%, 91% - Result: Consensus reached after 3 iterations. Two answers come to 60 at most, so the
    second score is lower here."""
    play = Play(question="Best microservices architecture for a startup?")
    for score in (45, 58, 91):
        assert not play.posts("put")
        play.round(score, "monolith first", "a monolith at first", "hybrid")
    play.sign_all()
    assert (play.stop["reason"], play.stop["certificate"]["round"]) == ("threshold", 3)


def test_philosophical_question() -> None:
    """35% → 42% → 48% → 51% → 53% - Result: Max iterations, coordinator synthesizes best arguments. Three answers come
    to 40 at most, so the scores are lower here; and of answers that nobody shares, each stands with its own
    argument."""
    play = Play(question="Is AGI consciousness possible?")
    for score in (15, 22, 28, 31, 33):
        play.round(score, "yes", "no", "unknowable")
    assert play.stop["reason"] == "round_limit"
    assert not play.stop["converged"]
    assert play.result.outcome["source"] == "none"
    assert {(m["answer"], m["reasoning"]) for m in play.result.outcome["minority"]} == {
        (f"{answer}, 5", f"because {answer}, 5") for answer in ("yes", "no", "unknowable")
    }


# ---------------------------------------------------------------- Model Communication Protocol


def test_what_each_model_receives() -> None:
    """your_previous_response, other_models_positions, consensus_status (key_disagreements), iteration.

    The seed's current_score and trend are left out: they tell a seat to give in, not why."""
    play = Play()
    play.round(25, "Vilnius", "Kaunas", "Riga")
    play.round(32, "Vilnius", "Kaunas", "Riga")
    for seat, answer in zip(play.panel, ("Vilnius", "Kaunas", "Riga"), strict=True):
        play.reply(seat, says(answer))
    play.score(38, "the city")
    told = brief(play, "panelist_1")
    assert told.iteration == 4
    assert told.so_far == SoFar(agreements=(), key_disagreements=("the city",))
    assert b"38" not in bytes(play.turn("panelist_1").ask.brief)
    own = play.turn("panelist_1").ask.own
    assert own is not None
    assert play.session.posts[own].seat == "panelist_1"
    assert play.session.posts[own].round == 3
    assert {play.session.posts[n].seat for n in play.turn("panelist_1").ask.sees} == {"panelist_2", "panelist_3"}


# ---------------------------------------------------------------- Consensus Evaluation Prompt


def test_evaluation() -> None:
    """Identifying core agreement points; listing significant disagreements; calculating consensus score.

    The score is computed from the groups; whether to go on and the trend are the moderator's to say."""
    play = Play()
    play.round(20, "Vilnius", "Kaunas", "Riga")
    play.answers("Vilnius", "Kaunas", "Riga, of old")
    asked = decode(play.turn("analyst").ask.brief, CompareBrief)
    assert (asked.iteration, {(x.label, x.answer) for x in asked.labels}) == (
        2, {(city, city) for city in ("Vilnius", "Kaunas", "Riga")},
    )  # fmt: skip
    play.score(28, "the city", agreements=("it is Baltic",), approach=70, priority=80)
    told = play.last("assessment")
    assert told["agreements"] == ["it is Baltic"]
    assert told["dimensions"] == {"facts": 0, "approach": 70, "priority": 80}
    assert told["score"] == pytest.approx(0.25 * 70 + 0.15 * 80)
    assert told["direction"] == "improving"


# ---------------------------------------------------------------- MCP Integration: parameters of a call


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"threshold": 101}, "consensus.threshold: got 101"),
        ({"round_limit": 0}, "consensus.round_limit: got 0, allowed is 1 to 50"),
        ({"round_limits": 3}, "consensus.round_limits: no such setting; did you mean consensus.round_limit?"),
    ],
)
def test_overrides_are_checked(given: dict[str, object], text: str) -> None:
    """maxIterations (optional): Override max iterations; consensusThreshold (optional): the threshold."""
    with pytest.raises(Inadmissible) as refused:
        Play(given)
    assert text in str(refused.value)
    assert refused.value.field.startswith("consensus.")


def test_a_setting_may_have_the_name_that_the_command_line_takes() -> None:
    assert Play({"consensus.threshold": 70}).entries[0].event.settings["threshold"] == 70  # type: ignore[union-attr]
