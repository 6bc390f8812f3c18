"""What a person sees of a MACI session: dials and signals as they move, arguments at the gates, and why it stopped."""

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from parley.client import records, what_if
from parley.client.errors import BadInput
from parley.client.protocols.maci import brief
from parley.client.protocols.maci import story as maci_story
from parley.client.protocols.maci.presenter import MaciPresenter
from parley.client.records import Record
from parley.client.rendering import explain, page, transcript
from parley.client.rendering.transcript import Teller
from parley.client.show.live_seats import Scene
from parley.client.turns import Nothing, Turns
from parley.schemas.post import Post
from parley.schemas.protocols.maci.messages import Case, Ruled
from parley.schemas.result import Stop
from parley.schemas.wire import encode, raw
from parley.show.view import PlainView
from tests.client.test_page import hostile
from tests.protocols.maci import record as maci_record
from tests.protocols.maci.play import GATED, PAPER, Play, argument, belief, case, check_up
from tests.protocols.maci.record import Words

SAID = Words()


def shown(record: Record) -> str:
    return "\n".join(transcript.show(record))


def explained(record: Record) -> str:
    return "\n".join(explain.words(record))


def of(play: Play) -> Record:
    return Record(sid="s1", entries=tuple(encode(e).decode() for e in play.entries))


def posted(kind: str, body: object, channel: str = "public", seat: str = "") -> Post:
    return Post(
        session="s", channel=channel, k=0, n=0, transition=1, at_ns=0, seat=seat, kind=kind, round=1, body=raw(body)
    )


def lines(kind: str, body: object, **more: str) -> list[str]:
    return [text for _, text in Teller(MaciPresenter()).lines(posted(kind, body, **more))]


# ---------------------------------------------------------------- round by round


def test_a_round_shows_its_signals_its_dials_and_those_to_come() -> None:
    told = lines("signals", maci_record.round_(SAID, 2))
    assert told[0] == "  round 2: D 0.20, O 0.40, Q 0.62, CRIT 0.80, H 0.70, IG 0.10; π_D up"
    assert told[1] == "      dials: CL 0.70, τ_Q 0.50, τ_CRIT 0.30 → CL 0.50, τ_Q 0.50, τ_CRIT 0.30"
    assert "      debater_1 (weight 0.50): dengue 0.70, chikungunya 0.15, zika 0.15" in told
    assert told[-1] == "      mixture: dengue 0.70, chikungunya 0.15, zika 0.15"


def test_dials_that_do_not_move_are_shown_once_and_the_blind_round_says_how_they_begin() -> None:
    still = msgspec.structs.replace(maci_record.round_(SAID, 1), next_cl=0.9)
    assert lines("signals", still)[1] == "      dials: CL 0.90, τ_Q 0.50, τ_CRIT 0.30"
    blind = lines("signals", maci_record.round_(SAID, 0))
    assert blind[0] == "  round 0: D 0.60, O 0.20, Q 0.62, H 0.90"
    assert blind[1] == "      dials to begin with: CL 0.90, τ_Q 0.50, τ_CRIT 0.30"


def test_a_round_that_the_monotone_gate_held_says_so_and_who_was_missing() -> None:
    held = msgspec.structs.replace(maci_record.round_(SAID, 1, held=True), missing=("debater_2",))
    post = posted("signals", held)
    told = [text for _, text in Teller(MaciPresenter()).lines(post)]
    assert told[0] == "  debater_2 is missing"
    turns = Turns()
    turns.nothing.append(Nothing(transition=1, seat="debater_2", kind="argue", round=1, why="its model is down"))
    again = [text for _, text in Teller(MaciPresenter(), turns).lines(post)]
    assert again == ["  debater_2 is missing (argue): its model is down", *told[1:]], "said, with the reason"
    assert any("the monotone gate kept the beliefs of the round before" in text for text in told)


def test_a_rebuttal_is_shown_with_what_it_rebuts() -> None:
    ruled = msgspec.structs.replace(maci_record.ruled(SAID, 1, admitted=True, scores=False), rebuts=7, rebuts_id="a9")
    assert lines("argument", ruled, seat="debater_1")[0].startswith("  debater_1, a1 against a9, admitted (q 0.62")
    play = Play({"judges": 1, "gamma": 0.0, "round_limit": 2})
    play.blind(belief(0.9, 0.1), belief(0.1, 0.9))
    play.round(case(belief(0.9, 0.1), argument("x")), case(belief(0.1, 0.9)))
    (first,) = play.posts("argument")
    play.round(
        case(belief(0.9, 0.1)), case(belief(0.1, 0.9), msgspec.structs.replace(argument("no", 2), rebuts=first.n))
    )
    play.plan()
    assert "  a2 of debater_2, against a1: admitted" in explained(of(play))
    assert "a2, debater_2, against a1 " in "\n".join(page.html(of(play)))


def test_an_admitted_argument_is_shown_with_both_gates_its_reasons_and_its_evidence() -> None:
    told = lines("argument", maci_record.ruled(SAID, 1, admitted=True, scores=False), seat="debater_1")
    assert told == [
        f"  debater_1, a1, admitted (q 0.62 ≥ 0.50, CRIT 0.80 ≥ 0.30): {SAID.claim}",
        f"      since {SAID.reason}",
        f"      p1: “{SAID.quote}”",
    ]


@pytest.mark.parametrize(
    ("q", "crit", "why"),
    [
        (0.31, 0.8, "q 0.31 < 0.50, although CRIT 0.80 ≥ 0.30"),
        (0.62, 0.1, "CRIT 0.10 < 0.30, although q 0.62 ≥ 0.50"),
        (0.0, 0.0, "q 0.00 < 0.50 and CRIT 0.00 < 0.30"),
        (0.4999, 0.8, "q 0.4999 < 0.5000, although CRIT 0.80 ≥ 0.30"),
        (0.62, None, "not judged, although q 0.62 ≥ 0.50"),
        (0.31, None, "q 0.31 < 0.50 and not judged"),
        (None, 0.8, "evidence not measured, although CRIT 0.80 ≥ 0.30"),
        (None, None, "evidence not measured and not judged"),
    ],
)
def test_a_refused_argument_names_the_gate_the_value_and_the_threshold(
    q: float | None, crit: float | None, why: str
) -> None:
    ruled: Ruled = msgspec.structs.replace(maci_record.ruled(SAID, 2, admitted=False), q=q, crit=crit)
    told = lines("refused", ruled, seat="debater_2", channel="scores")
    assert told[0] == f"  debater_2, a2, refused ({why}): {SAID.claim}"
    assert told[-1].startswith("      judge 1 of it: 0.80 (evidence 0.70, logic 0.80, relevance 0.90, links 0.80)")


def test_what_nobody_found_out_is_no_figure_and_behind_a_gate_that_is_off_no_reason() -> None:
    refused: Ruled = msgspec.structs.replace(maci_record.ruled(SAID, 2, admitted=False), q=None, tau_q=0.0, crit=0.1)
    assert maci_story.why_refused(refused) == "CRIT 0.10 < 0.30"
    unmeasured: Ruled = msgspec.structs.replace(refused, crit=0.8)
    assert maci_story.why_refused(unmeasured).startswith("evidence not measured"), "a gate that is on at 0"
    admitted: Ruled = msgspec.structs.replace(unmeasured, admitted=True, crit=None, tau_crit=0.0)
    assert maci_story.passed(admitted) == "evidence not measured, not judged"


def test_what_the_judges_passed_and_q_alone_refused_is_told_with_what_would_admit_it() -> None:
    refused = {"id": "a2", "q": 0.356, "crit": 0.9, "tau_q": 0.5, "tau_crit": 0.3}
    rounds: tuple[dict[str, Any], ...] = (
        {"refused": []},
        {"refused": [refused, {**refused, "q": 0.2, "crit": 0.1}, {**refused, "q": None}]},
    )
    (told,) = maci_story.unlike_words(rounds)
    assert told.startswith("The judges passed 1 of the refused, and q alone refused them (0.36).")
    assert "not what they prove" in told and "maci.q_gate=false admits" in told
    assert not list(maci_story.unlike_words(({"refused": [{**refused, "crit": 0.1}]},)))


def test_a_debater_between_two_answers_agrees_with_nobody() -> None:
    play = Play({"round_limit": 1})
    play.blind(belief(0.5, 0.5), belief(0.9, 0.1))
    play.round(*(case(belief(p, 1 - p), argument(claim)) for p, claim in ((0.5, "x"), (0.9, "y"))))
    play.plan()
    record = of(play)
    told, result = maci_story.story(records.posts_of(record)), records.result_of(record)
    assert result is not None and brief.dissent(told, result) == "debater_1 holds several outcomes as equally likely"
    assert brief.in_short(told, result, "0.7").startswith("no agreement: dengue, 0.7; debater_1 holds several")


def test_an_unjudged_round_is_told_as_unjudged() -> None:
    play = Play({"round_limit": 1})
    play.blind(belief(0.6, 0.4), belief(0.4, 0.6))
    play.argue(*(case(belief(0.6, 0.4), argument(claim)) for claim in ("x", "y")))
    play.measure()
    play.fail("judge_1")
    play.plan()
    for text in (shown(of(play)), explained(of(play))):
        assert text.count("not judged") == 2 and "CRIT 0.00" not in text


def test_the_plan_is_ranked_and_has_its_queries() -> None:
    assert lines("plan", maci_record.plan(SAID)) == [
        "  plan, to tell dengue, chikungunya apart:",
        "    1. test, 0.42 bits expected: Is the NS1 antigen there?",
        "       query: NS1 antigen result day 3 to 5",
    ]


def test_what_this_version_cannot_read_is_shown_as_it_came() -> None:
    assert lines("signals", {"signals": 7}) == ['  [public] signals {"signals":7}']


def test_the_line_below_a_live_session_has_the_signals_and_the_coming_dials() -> None:
    scene, presenter = Scene(), MaciPresenter()
    assert "score" in scene.foot(presenter)
    presenter.take(posted("signals", maci_record.round_(SAID, 2)))
    presenter.take(posted("plan", maci_record.plan(SAID)))
    foot = scene.foot(presenter)
    assert "D 0.20, O 0.40, Q 0.62" in foot and "CL 0.50 τ_Q 0.50 τ_CRIT 0.30" in foot and "score" not in foot


def test_the_plain_view_prints_a_whole_session(capsys: pytest.CaptureFixture[str]) -> None:
    view, record = PlainView(verbose=True), maci_record.record()
    for post in records.posts_of(record):
        view.post(post)
    result = records.result_of(record)
    assert result is not None
    view.result(result)
    out = capsys.readouterr().out
    for wanted in ("admitted (q", "refused (q", "dials: CL", "plan, to tell", "stop: plateau", "most probable: dengue"):
        assert wanted in out
    assert "Vote of the blind round: chikungunya (another answer)" in out and "a vote will do" in out


def told_briefly(play: Play) -> list[str]:
    teller = Teller(MaciPresenter(), brief=True)
    return [text for post in play.session.posts for _, text in teller.lines(post)]


def test_one_screen_shows_the_attack_its_answers_and_who_changed_its_mind() -> None:
    """Words that were merged are no change of mind."""
    play = Play({"outcomes": ()})
    play.blind(belief(0.9, 0.1, names=("dengue", "zika")), belief(0.8, 0.2, names=("dengue fever", "zika")))
    play.merge(("dengue", ("dengue", "dengue fever")), ("zika", ("zika",)))
    held = case(belief(0.9, 0.1, names=("dengue", "zika")), argument("no rash"), changed="a rash is rare")
    play.round(held, held)
    play.round(held, held)
    told = told_briefly(play)
    who = play.certificate["advocates"][0]["seat"]
    (other,) = {"debater_1", "debater_2"} - {who}
    assert f"  a1 of {who}, for zika: no rash" in told and f"  {other}: a1 fails: a rash is rare" in told
    text = brief.in_short(maci_story.story(play.session.posts), play.result, "0.87")
    assert text == "both agreed from the start on dengue, 0.87; it stood a devil's advocate, whose arguments were met"


def test_words_that_are_parted_are_told_with_who_parted_them() -> None:
    play = Play({"outcomes": ()})
    play.blind(belief(1.0, names=("positive",)), belief(1.0, names=("negative",)))
    play.merge(("positive", ("positive", "negative")))
    while not any(play.brief(seat)["counts_as"] for seat, _ in play.asked()):
        play.round(*[case(belief(1.0, names=("positive",)))] * 2)
    for seat, _ in play.asked():
        apart = tuple(one["proposed"] for one in play.brief(seat)["counts_as"])
        rival = "none of these" if play.brief(seat)["against"] else ""
        names = apart or ("positive",)
        play.reply(seat, Case(belief=belief(1.0, names=names), apart=apart, speaks_for=rival))
    assert "negative is another answer than it was taken for, says debater_2" in shown(of(play))
    assert "3 outcomes: positive, none of these, negative" in shown(of(play))


def test_a_refused_argument_is_not_counted_as_a_new_one() -> None:
    play = Play({**GATED, "round_limit": 1})
    play.blind(belief(0.9, 0.1), belief(0.1, 0.9))
    play.round(case(belief(0.9, 0.1), argument("x", q=0.1)), case(belief(0.1, 0.9)))
    play.plan()
    brief, teller = [], Teller(MaciPresenter(), brief=True)
    for post in records.posts_of(of(play)):
        brief += [text for _, text in teller.lines(post)]
    assert any("; no new argument, 1 refused" in text for text in brief), brief


def test_the_certificate_and_the_usage_name_what_each_of_them_counts() -> None:
    text = explained(of(agreement()))
    assert re.search(r"spent when it stopped, before the final plan: [\d,]+ tokens, \d+ calls of seats \(", text)


@pytest.mark.parametrize("told", [shown, lambda r: "\n".join(page.html(r))])
def test_a_tied_vote_of_the_blind_round_is_told_as_a_tie(told: Callable[[Record], str]) -> None:
    play = Play({"round_limit": 1})
    play.blind(belief(0.9, 0.1), belief(0.4, 0.6))
    play.round(case(belief(0.9, 0.1)), case(belief(0.4, 0.6)))
    play.plan()
    assert play.result.outcome["vote"] == "dengue"
    assert "a tie (dengue 1, chikungunya 1)" in told(of(play))
    assert "a tie" not in told(of(agreement()))


# ---------------------------------------------------------------- stops


def deadlock() -> Play:
    play = Play()
    play.blind(belief(0.95, 0.05), belief(0.05, 0.95))
    while play.phase == "arguing":
        play.same(belief(0.95, 0.05), belief(0.05, 0.95))
    play.plan()
    return play


def agreement(settings: dict[str, Any] | None = None) -> Play:
    play = Play(settings)
    play.blind(belief(0.9, 0.1), belief(0.88, 0.12))
    while play.phase == "arguing":
        play.same(belief(0.9, 0.1), belief(0.88, 0.12))
    play.plan()
    return play


@pytest.mark.parametrize("told", [shown, explained])
def test_a_deadlock_that_plateaus_is_never_called_convergence(told: Callable[[Record], str]) -> None:
    play = deadlock()
    assert (play.stop["reason"], play.stop["converged"]) == ("plateau", False)
    text = told(of(play))
    assert (
        "debaters do not agree: a deadlock, not convergence" in text and "; convergence needs at most 0.1: no" in text
    )
    assert "debaters agree" not in text and "consensus" not in text.replace("no consensus", "").replace(
        "near_consensus", ""
    )


@pytest.mark.parametrize("told", [shown, explained])
def test_a_plateau_in_agreement_is_convergence(told: Callable[[Record], str]) -> None:
    play = agreement(PAPER)
    assert (play.stop["reason"], play.stop["converged"]) == ("plateau", True)
    text = told(of(play))
    assert "the debate no longer changes; the debaters agree" in text and "deadlock" not in text


@pytest.mark.parametrize("told", [shown, explained])
def test_an_agreement_names_the_devils_advocate_and_says_that_nobody_gave_way(told: Callable[[Record], str]) -> None:
    play = agreement()
    (advocate,) = play.certificate["advocates"]
    text = told(of(play))
    assert "all hold the same answer, also after they replied to arguments against it" in text
    assert f"all hold dengue; {advocate['seat']} is to argue against it as devil's advocate" in text
    did = "argued as" if told is explained else "was"
    assert f"{advocate['seat']} {did} devil's advocate against what all held; nobody took anything from it" in text
    assert "against it, which all others were shown and answered: 1, wanted at least 1" in text


@pytest.mark.parametrize("told", [shown, explained])
def test_an_advocate_without_an_argument_is_not_said_to_have_argued(told: Callable[[Record], str]) -> None:
    play = Play()
    play.blind(belief(0.9, 0.1), belief(0.9, 0.1))
    for _ in range(2):
        play.round(case(belief(0.9, 0.1)), case(belief(0.9, 0.1)))
    play.plan(check_up())
    advocate, _ = play.certificate["advocates"]
    assert play.stop["reason"] == "plateau" and advocate["arguments"] == 0
    text = told(of(play))
    assert f"{advocate['seat']} was devil's advocate, and brought no argument against what all held" in text
    assert "so the agreement was not put to the test" in text
    assert "argued as devil's advocate" not in text and "advocate argued against it" not in text
    assert "stood a devil's advocate" not in text


def test_a_stop_that_is_no_convergence_says_which_tests_failed() -> None:
    text = shown(of(deadlock()))
    assert (
        "no agreement: debaters that hold the most widely held answer: 1, wanted at least 2; disagreement: 0.7" in text
    )


@pytest.mark.parametrize("told", [shown, explained])
def test_the_stop_line_says_which_test_failed(told: Callable[[Record], str]) -> None:
    play = Play({"round_limit": 1})
    play.blind(belief(0.9, 0.1), belief(0.1, 0.9))
    play.round(case(belief(0.9, 0.1), argument("x", 1)), case(belief(0.3, 0.7), argument("y", 2, q=0.1)))
    play.plan()
    failed = (
        r"D 0\.30 is above near_consensus 0\.10; they hold different answers; information still moved; "
        r"disagreement still moved; O 0\.00 is below tau_o 0\.30"
    )
    text = told(of(play))
    assert re.search(rf"the last round allowed was played; it did not converge.*: {failed}", text), text
    assert "near_consensus" not in "".join(
        row for row in told(of(agreement())).splitlines() if row.startswith(("stop:", "It ended"))
    )


def test_a_stop_shows_the_tests_that_decided() -> None:
    text = shown(of(deadlock()))
    assert re.search(
        r"stop: plateau: .*\n      rounds with a plateau of information: 2, wanted at least 2\n"
        r"      rounds with a plateau of disagreement: 2, wanted at least 2\n"
        r"      overlap: 1, wanted at least 0.3\n"
        r"      farthest moves of a belief in these rounds, together: 0, wanted less than 0.05\n"
        r"      admitted arguments of a devil's advocate that the others have not answered: 0, wanted less than 1\n"
        r"      disagreement 0.7\d*; convergence needs at most 0.1: no\n",
        text,
    )


def test_explain_goes_through_every_predicate_in_the_order_in_which_they_are_asked() -> None:
    text = explained(of(deadlock()))
    places = [text.index(f"  {name}: ") for name in ("plateau", "stalemate", "budget", "round_limit")]
    assert places == sorted(places)
    assert "  plateau: holds\n    yes rounds with a plateau of information: 2, wanted at least 2" in text
    assert "  stalemate: does not hold\n    no  rounds with mean CRIT below its gate, without a break: 0" in text
    assert "  budget: does not hold\n    no  the next round: fits the budget" in text
    assert "Converged: no." in text


def test_explain_has_the_history_of_the_dials() -> None:
    rows = [
        " ".join(text.split())
        for text in explained(maci_record.record()).splitlines()
        if re.match(r"\s+\d+ +\d\.\d\d ", text)
    ]
    assert rows == [
        "0 0.60 0.20 0.62 – 0.90 – – – – – – – –",
        "1 0.40 0.30 0.62 0.80 0.80 0.10 0.12 0.40 down down 0.90 0.50 0.30",
        "2 0.20 0.40 0.62 0.80 0.70 0.10 0.12 0.40 down up 0.70 0.50 0.30",
        "3 0.00 0.50 0.62 0.80 0.60 0.10 0.12 0.40 down up 0.50 0.50 0.30",
    ]


def test_explain_names_the_fate_of_each_argument() -> None:
    text = explained(maci_record.record())
    assert f"  a1 of debater_1: admitted, q 0.62 ≥ 0.50, CRIT 0.80 ≥ 0.30: {SAID.claim}" in text
    assert f"  a2 of debater_2: refused, q 0.31 < 0.50, although CRIT 0.80 ≥ 0.30: {SAID.claim}" in text


def test_the_cap_is_told_as_the_cap() -> None:
    text = explained(maci_record.record(stop=maci_record.stopped(SAID, 3, pi_i=False)))
    assert "(round_limit)" in text and "  round_limit: holds\n    yes rounds played: 3, wanted at least 3" in text
    assert "debaters agree" not in text and "deadlock" not in text


def test_a_stalemate_is_told_as_a_stalemate() -> None:
    play = Play(settings={"tau_stop": 9})
    play.blind(belief(0.6, 0.4), belief(0.4, 0.6))
    while play.phase == "arguing":
        play.same(belief(0.6, 0.4), belief(0.4, 0.6), score=0.1)
    play.plan()
    text = explained(of(play))
    assert "the mean quality of the arguments stayed below the gate; no consensus (stalemate)" in text
    assert "    yes rounds with mean CRIT below its gate, without a break: 3, wanted at least 3" in text
    assert text.count("refused, CRIT 0.10 < 0.") == 6


def test_a_budget_stop_says_what_did_not_fit() -> None:
    what = "budget.tokens: limit 100, used or reserved 60, the next turns may take 50"
    tests = [{"test": "the next round fits the budget", "value": what, "limit": "", "holds": True}]
    stop = Stop(
        reason="budget",
        converged=False,
        certificate={"stops": {"budget": {"holds": True, "tests": tests}}, "what": what},
    )
    assert f"    yes the next round: {what}" in explained(maci_record.record(stop=stop))


def test_one_that_is_open_or_was_cancelled_is_explained_too() -> None:
    assert "It is still open after 2 transitions." in explained(maci_record.record(ended=False))
    assert "dials in force" in explained(maci_record.record(ended=False))
    cancelled = Stop(reason="cancelled", converged=False, certificate={"by": "client", "why": "enough"})
    assert "Why it was ended: enough" in explained(maci_record.record(rounds=0, stop=cancelled))


# ---------------------------------------------------------------- hostile texts


@pytest.mark.parametrize("told", [shown, explained, lambda r: "\n".join(transcript.markdown(r))])
def test_nothing_that_agents_say_reaches_the_terminal_as_control(told: Callable[[Record], str]) -> None:
    text = told(maci_record.record(hostile()))
    assert "\\x1b[31mred" in text and "<script>" in text, "it is there, written out"
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)


# ---------------------------------------------------------------- replayed


def test_a_finished_session_is_replayed_with_another_stop_rule_until_its_record_ends() -> None:
    record = of(deadlock())
    assert what_if.verify(record)["recomputed"]
    text = "\n".join(what_if.comparison_words(what_if.compare(record, {"maci": {"tau_stop": 3}})))
    assert "the runs part at transition" in text and "stop: plateau" not in text
    with pytest.raises(BadInput, match=r"maci\.judges: it acts only before the first event"):
        what_if.compare(record, {"maci": {"judges": 5}})


def test_of_equally_probable_outcomes_the_answer_stands_first() -> None:
    mixture = {"a": 0.2, "b": 0.4, "c": 0.4}
    assert [s.outcome for s in maci_story.top(mixture, 2)] == ["b", "c"]
    assert [s.outcome for s in maci_story.top(mixture, 2, "c")] == ["c", "b"]
