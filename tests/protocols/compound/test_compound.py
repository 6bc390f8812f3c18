"""A question of several parts: one test for each sentence of docs/compound.md."""

import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.client import estimate
from parley.client.errors import BadInput
from parley.client.opening import opening_of
from parley.client.protocols.compound.setup import parts_of
from parley.client.view.fold import of_result
from parley.coordinator.forks.carry import carry
from parley.coordinator.machine import Illegal, Inadmissible
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.protocols.compound import Joined, Signature, Split
from parley.schemas.session import Budget, Document
from parley.schemas.stops import STOPS
from tests.client import shown
from tests.client.terminal import screen_of
from tests.engine.afterwards.test_carry import NOW, forked, wanted
from tests.parley.support import Front
from tests.protocols.compound.worlds import COMPOUND, PANEL, PARTS, Play, workers
from tests.web.page.site import EXAMPLES

ONE, TWO = "s1-c0", "s1-c0-1"
SIGNED = {seat: Signature(signs=True) for seat in PANEL}
CLOUD = "Cloud costs 5 USD."


def documents() -> tuple[Document, ...]:
    return tuple(
        Document(id=sha256(text.encode()).hexdigest(), name=name, text=text)
        for name, text in (("a.md", "Postgres is known."), ("b.md", CLOUD))
    )


def put_together(play: Play, **signatures: Signature) -> Play:
    play.reply("analyst", Joined(answer="Postgres, in a cloud", reasoning="They fit."))
    for seat, signature in signatures.items():
        play.reply(seat, signature)
    return play


def test_parts_that_are_given_begin_at_once_and_no_model_is_asked() -> None:
    play = Play(parts=PARTS)
    assert (play.phase, play.asked()) == ("running", [])
    assert [(c.session, c.opening.question, c.opening.protocol) for c in play.started] == [
        (ONE, PARTS[0], "consensus"),
        (TWO, PARTS[1], "consensus"),
    ]
    assert play.last("begun") == {"parts": list(PARTS), "sessions": [ONE, TWO], "how": "given", "by": ""}


def test_parts_that_the_analyst_proposes_are_taken_where_nobody_is_there_and_that_is_said() -> None:
    play = Play()
    assert play.asked() == [("analyst", "split")]
    play.reply("analyst", Split(parts=PARTS))
    assert [c.opening.question for c in play.started] == list(PARTS)
    assert play.last("begun")["how"] == "unasked"
    assert "nobody was asked" in shown.posts(play.posts("begun"), protocol="compound")[0]


@pytest.mark.parametrize(
    ("choice", "how", "parts"),
    [
        ("ok", "confirmed", PARTS),
        ("Which one?\n\n Where? ", "changed", ("Which one?", "Where?")),
        ("", "unanswered", PARTS),
    ],
)
def test_a_person_confirms_or_changes_what_is_proposed_or_lets_the_time_pass(
    choice: str, how: str, parts: tuple[str, ...]
) -> None:
    play = Play(confirm_s=30.0)
    play.reply("analyst", Split(parts=PARTS))
    assert play.started == [] and play.last("proposed")["parts"] == list(PARTS)
    if choice:
        play.event(log.Decided(item="1", choice=choice, author="owner"))
    else:
        play.at(play.now_ns + 30_000_000_000)
    begun = play.last("begun")
    assert (begun["how"], begun["by"], begun["parts"]) == (how, "owner" if choice else "", list(parts))


@pytest.mark.parametrize(
    ("item", "choice", "why"),
    [
        ("2", "ok", "there is no item 2"),
        ("1", "\n".join(f"Part {n}?" for n in range(9)), "got 9"),
        ("1", "Same?\nSame?", "two of them are the same"),
        ("1", " \n", "got 0"),
    ],
)
def test_what_cannot_be_split_so_is_refused(item: str, choice: str, why: str) -> None:
    play = Play(confirm_s=30.0)
    play.reply("analyst", Split(parts=PARTS))
    with pytest.raises(Illegal, match=why):
        play.event(log.Decided(item=item, choice=choice, author="owner"))
    assert play.phase == "editing"


def test_a_part_has_the_documents_the_panel_and_the_limits_that_it_names() -> None:
    own = {"question": PARTS[1], "evidence": ["b.md"], "panel": ["panelist_3", "panelist_1"], "budget": {"calls": 7}}
    play = Play(documents=documents(), panel=3, budget=Budget(seconds=100), parts=[PARTS[0], own])
    one, two = (c.opening for c in play.started)
    assert (one.inherits, one.only, one.settings["panel"]) == (True, msgspec.UNSET, 3)
    assert [s.seat for s in one.seats] == ["panelist_1", "panelist_2", "panelist_3", "analyst"]
    assert (two.only, two.settings["panel"], two.budget.calls) == (("b.md",), 2, 7)
    assert [s.seat for s in two.seats] == ["panelist_1", "panelist_3", "analyst"]
    assert one.budget.seconds == two.budget.seconds == 80.0


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        (["One?"], "got 1, allowed is 2 to 8"),
        (["One?", {"question": "Two?", "evidence": ["c.md"]}], "'c.md' is not there"),
        (["One?", {"question": "Two?", "panel": ["x", "y"]}], "'x' is not there"),
    ],
)
def test_parts_that_could_not_run_are_refused_before_anything_is_paid(parts: list[Any], why: str) -> None:
    with pytest.raises(Inadmissible, match=why) as refused:
        Play(documents=documents(), parts=parts)
    assert refused.value.field == "compound.parts"
    with pytest.raises(BadInput, match="threshold"):
        opening_of("?", {"protocol": "compound", "settings": {"part_settings": {"threshold": 200}}}, (), door="python")


def test_the_budget_is_one_for_all_parts_with_what_the_synthesis_may_take_kept_back() -> None:
    play = Play(budget=Budget(calls=100), parts=PARTS)
    shares = [c.opening.budget.calls or 0 for c in play.started]
    assert len(set(shares)) == 1 and 100 - sum(shares) >= 2 + 1  # the join, and a signature of each
    play.ends(ONE)
    play.ends(TWO)
    assert play.asked() == [("analyst", "join")]


def test_the_synthesis_names_each_part_with_its_answer_confidence_and_dissent_and_those_who_decided_sign_it() -> None:
    play = Play(parts=PARTS)
    play.ends(TWO, "on our own", answer="A cloud")
    assert play.asked() == []
    play.ends(ONE, answer="Postgres")
    told = [
        (p["part"], p["session"], p["answer"], p["confidence"], p["dissent"]) for p in play.brief("analyst")["parts"]
    ]
    assert told == [(PARTS[0], ONE, "Postgres", 0.8, []), (PARTS[1], TWO, "A cloud", 0.8, ["on our own"])]
    put_together(play)
    assert play.asked() == [(seat, "sign") for seat in PANEL]
    assert play.brief("panelist_1")["synthesis"] == "Postgres, in a cloud"
    for seat, signature in SIGNED.items():
        play.reply(seat, signature)
    assert (play.result.stop.reason, play.result.stop.converged) == ("joined", True)
    assert play.outcome["synthesis"] == "Postgres, in a cloud" and play.outcome["source"] == "synthesis"
    assert [p["dissent"] for p in play.outcome["parts"]] == [[], ["on our own"]]
    assert play.certificate["signed"] == list(PANEL) == play.outcome["signed"]
    assert play.certificate["agreed"] == 2
    explained = shown.screen(play)
    for word in (*PARTS, ONE, TWO, "confidence 0.80", "against it: on our own", "Signed by Panelist 1, Panelist 2"):
        assert word in explained


NO = Signature(signs=False, differs="it leaves the cloud out")


@pytest.mark.parametrize(
    ("parts", "signs", "reason", "converged", "exit_code", "source"),
    [
        (("threshold", "threshold"), (True, True), "joined", True, 0, "synthesis"),
        (("threshold", "threshold"), (True, False), "in_parts", False, 0, "parts"),
        (("threshold", "threshold"), (False, False), "in_parts", False, 0, "parts"),
        (("threshold", "decided"), (True, True), "in_parts", False, 0, "synthesis"),
        (("threshold", "stuck"), (True, True), "partly", False, 3, "synthesis"),
        (("stuck", "round_limit"), (True, True), "partly", False, 3, "synthesis"),
        (("threshold", "failed"), (), "partly", False, 3, "parts"),
        (("cancelled", "failed"), (), "no_part", False, 3, "none"),
    ],
)
def test_every_ending_is_true(
    parts: tuple[str, ...], signs: tuple[bool, ...], reason: str, converged: bool, exit_code: int, source: str
) -> None:
    play = Play(parts=PARTS)
    for sid, ended in zip((ONE, TWO), parts, strict=True):
        no = ended in ("failed", "cancelled")
        play.ends(sid, status=ended, why="it broke") if no else play.ends(sid, reason=ended, answer="yes")
    if signs:
        put_together(play, **{seat: SIGNED[seat] if s else NO for seat, s in zip(PANEL, signs, strict=True)})
    result = play.result
    assert (result.stop.reason, result.stop.converged, result.outcome["source"]) == (reason, converged, source)
    assert STOPS[reason].exit_status(converged) == exit_code
    assert play.certificate["agreed"] == parts.count("threshold")
    card = of_result(result)
    assert card.converged == converged and ("agreed" in card.kind) == converged
    for part, ended in zip(PARTS, parts, strict=True):
        if ended in ("failed", "cancelled"):
            assert part in play.certificate["failed"] and part in card.open
            assert source == "none" or f"{part} No answer: it broke" in play.outcome["answer"]


def test_a_synthesis_that_says_that_all_agree_is_asked_again_and_never_taken_of_parts_that_do_not() -> None:
    agree = Joined(answer="All panelists agree on Postgres.")
    for reason, kind in (("threshold", "sign"), ("stuck", "")):
        play = Play(parts=PARTS)
        play.ends(ONE)
        play.ends(TWO, reason=reason)
        play.reply("analyst", agree)
        assert "all agree" in play.ask("analyst").error
        play.reply("analyst", agree)
        assert {k for _, k in play.asked()} == ({kind} if kind else set())


@pytest.mark.parametrize(("limit", "fits"), [({"calls": 12}, False), ({"calls": 60}, True), ({"tokens": 9_000}, False)])
def test_a_budget_that_does_not_hold_one_round_of_each_part_is_refused(limit: dict[str, int], fits: bool) -> None:
    asked = {"protocol": "compound", "settings": {"parts": PARTS}, "budget": limit}
    expected = estimate.of(opening_of("Where to?", asked, door="python"), workers(3, metered=True))
    assert expected.likely.turns > 2 * 5, "the turns of the parts count"
    if fits:
        estimate.refuse(expected)
        return
    with pytest.raises(
        BadInput, match=f"limit {next(iter(limit.values()))}, .* may take .*; nothing was started"
    ) as why:
        estimate.refuse(expected)
    told = int(re.findall(r"may take ([\d]+)", str(why.value))[0])
    for figure, short in ((told, False), (told - len(PARTS), True)):
        asked["budget"] = dict.fromkeys(limit, figure)
        again = estimate.of(opening_of("Where to?", asked, door="python"), workers(3, metered=True))
        assert bool(again.shortfall) == short, "what is told is enough, and no more than that"


def test_a_record_replays_to_the_same_states_and_a_fork_carries_all_of_it() -> None:
    play = Play(confirm_s=30.0)
    play.reply("analyst", Split(parts=PARTS))
    play.event(log.Decided(item="1", choice="ok", author="owner"))
    for place in ("s1-c2", "s1-c2-1"):
        play.ends(place)
    put_together(play, **SIGNED)
    found = replay({"compound": COMPOUND}.get, "s1", play.log)
    assert found.session == play.session
    fork = forked(carry(wanted(found), NOW, "in:2"))
    assert (fork.parted, fork.carried) == (None, len(play.entries) - 2), "all but what ended it"


def test_parts_are_texts_lines_of_a_file_or_a_list_in_yaml(tmp_path: Path) -> None:
    lines, listed = tmp_path / "parts.txt", tmp_path / "parts.yaml"
    lines.write_text("Which database?\n\n  Which cloud? \n")
    listed.write_text("parts:\n- When?\n- {question: 'How much?', evidence: [b.md]}\n")
    assert parts_of([str(lines), "Who?", str(listed)]) == [
        "Which database?",
        "Which cloud?",
        "Who?",
        "When?",
        {"question": "How much?", "evidence": ["b.md"]},
    ]
    listed.write_text("Which database?: 1\n")
    with pytest.raises(BadInput, match="no list"):
        parts_of([str(listed)])


# ---------------------------------------------------------------- at a terminal

YEAR = "In which year did the Suez Canal open to shipping?"
ASK = (f"{YEAR} Who built it?", "--protocol", "compound", "--evidence", str(EXAMPLES / "factual" / "evidence"))
WANTED = "Enter takes it"


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_person_at_a_terminal_is_asked_until_the_parts_are_good(tmp_path: Path) -> None:
    front = Front(tmp_path, "")
    typed = [(WANTED, "Same?\nSame?\n\n"), ("two of them are the same", f"{YEAR}\nHow long is it?\n\n")]
    told = "\n".join(screen_of(front, "ask", *ASK, columns=140, rows=60, types=typed))
    assert "2 parts begin, as owner has them" in told
    assert "How long is it?" in told and "1869" in told
    front.assert_nothing_left()


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("where", ["yes", "pipe"])
def test_nobody_else_is_asked_and_that_is_said(where: str, tmp_path: Path) -> None:
    front = Front(tmp_path, "")
    if where == "yes":
        told = "\n".join(screen_of(front, "ask", *ASK, "--yes", columns=140, rows=60))
    else:
        told = front.run("ask", *ASK)[1]
    assert WANTED not in told
    assert "2 parts begin, as the analyst proposes them; nobody was asked" in told and "1869" in told
    front.assert_nothing_left()
