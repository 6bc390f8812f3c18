"""`parley eval live`: real sessions on a real server, killed and taken up; its questions, its file, its budget."""

import json
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.settings import Settings
from parley_research.debates.tone_words import said, tone
from parley_research.live.cells import Cell, Wanted, cells_of, opening, plans_of, powers, shortfall
from parley_research.live.page import LiveManifest, blocks, report
from parley_research.live.rows import FILE, Given, Kept, Question, Row, answered, option_of, questions
from parley_research.live.run import estimate_lines, exit_status, summary
from parley_research.loaders import BadData, NoData
from tests.llm.aimock import Aimock, aimock
from tests.llm.debate import fixtures, variables
from tests.parley.support import Front, until

PAPER = {"options": ["A4", "Legal"], "gold": "A4"}
ASK = ("eval", "live", "q.jsonl", "--cell", "panel", "--cell", "critic=1", "--out", "run")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Aimock]:
    with aimock(tmp_path, fixtures(chunk_ms=20)) as running:
        yield running


def written(folder: Path, *more: dict[str, Any]) -> None:
    lines = [{"id": f"q{n}", "question": f"Which paper should office {n} order?", **PAPER} for n in range(4)]
    (folder / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (*lines, *more)))


def holds(kept: Path, least: int) -> bool:
    return kept.is_file() and kept.read_bytes().count(b"\n") >= least


def ended(front: Front, server: Aimock, *more: str) -> tuple[int, str, str]:
    """The command, to its end: it starts two stacks, one after the other."""
    child = front.start(*ASK, *more, env=variables(server.url))
    out, err = child.communicate(timeout=120)
    return child.returncode, out, err


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_run_that_was_killed_goes_on_and_holds_nothing_twice(server: Aimock, tmp_path: Path) -> None:
    written(tmp_path)
    front, kept = Front(tmp_path), tmp_path / "run" / FILE
    for least in (1, 3):
        child = front.start(*ASK, env=variables(server.url))
        until(partial(holds, kept, least), "no session was kept", 50)
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
    before = kept.read_bytes()
    held = before.count(b"\n")
    kept.write_bytes(before + b'{"question":"q3","ce')

    code, out, err = ended(front, server, "--json")
    assert code == 0, err
    assert "cut short" in err and f"{held} of 5 sessions held before" in err
    after = kept.read_bytes()
    assert after.startswith(before)
    rows = [msgspec.json.decode(line, type=Row) for line in after.splitlines()]
    assert sorted(row.key for row in rows) == [("q0", "critic", 0), *((f"q{n}", "panel", 0) for n in range(4))]
    told = json.loads(out)["report"]
    by_name = {row["measures"]["method"]: row for row in told["rows"]}
    assert by_name["single"]["measures"]["accuracy"]["value"] == 1
    assert by_name["sc3"]["measures"]["debates"] == 4
    assert by_name["critic"]["tokens"] > by_name["single"]["tokens"] > 0
    assert (told["held"], told["failed"], told["ended"]) == (5, 0, "")
    assert {"consensus: not asked for", "maci: not asked for"} <= set(told["not_run"])
    assert (tmp_path / "run" / "report.html").is_file()

    again = ended(front, server)
    assert again[0] == 0 and kept.read_bytes() == after
    other = ended(front, server, "--panel", "4")
    assert other[0] == 2 and "holds a run that differs in its models, panel" in other[2]


def test_a_file_of_questions_is_checked(tmp_path: Path) -> None:
    with pytest.raises(NoData, match="no such file"):
        questions(tmp_path / "q.jsonl")
    for line, why in (
        ({"id": "x", "question": "?", "options": ["a", "b"], "gold": "c"}, "the gold 'c' is none of the options"),
        ({"id": "q0", "question": "?", **PAPER}, "stands in a line before"),
        ({"id": "x", "question": "?", **PAPER, "documents": ["no.md"]}, "there is no document no.md"),
        ({"id": "x", "question": "?", "options": ["a"], "gold": "a"}, "length >= 2"),
    ):
        written(tmp_path, line)
        with pytest.raises(BadData, match=f"line 5: .*{why}"):
            questions(tmp_path / "q.jsonl")


def test_the_shipped_questions_with_options_can_be_asked() -> None:
    folder = Path(__file__).parents[2] / "research" / "parley_research" / "questions"
    asked = questions(folder / "dev.jsonl")
    assert len(asked) == 9 and {"yes", "no"} < {option for q in asked for option in q.options}
    assert all(q.texts[name].strip() for q in asked for name in q.documents) and any(q.documents for q in asked)
    (one, *_) = (q for q in asked if len(q.documents) > 1)
    wanted = Wanted(cells=("panel",), most={})
    plan = plans_of(Settings(), wanted)["consensus"]
    opened = opening(Cell(question=one, cell="panel", wording=0), plan, wanted, folder)
    assert {d.name for d in opened.documents} == set(one.texts)
    assert all(d.text == one.texts[d.name] for d in opened.documents if not d.name.endswith(".csv"))


def test_a_document_in_the_file_stands_before_its_questions_and_is_no_path(tmp_path: Path) -> None:
    file, asks = tmp_path / "q.jsonl", {"id": "x", "question": "?", **PAPER, "documents": ["a.md"]}
    known = {"document": "a.md", "text": "Paper is A4."}
    file.write_text(json.dumps(known) + "\n" + json.dumps(asks) + "\n")
    assert questions(file)[0].texts == {"a.md": "Paper is A4."}
    for lines, why in (
        ([asks, known], "line 1: there is no document a.md"),
        ([{**known, "document": "../a.md"}, asks], r"line 1: .*`\$.document`"),
    ):
        file.write_text("".join(json.dumps(one) + "\n" for one in lines))
        with pytest.raises(BadData, match=why):
            questions(file)


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("Yes.", 0),
        ("no", 1),
        ("The answer is no", 1),
        ("yes or no", None),
        ("Yes, no", None),
        ("Yes, since no shop is open", 0),
        ("it may be yes or no", None),
        ("nobody", None),
        ("q1: yes", 0),
        ("q1: yes, q2: no", None),
    ],
)
def test_an_answer_names_one_option_or_none(said: str, place: int | None) -> None:
    assert option_of(said, ("yes", "no")) == place


def test_the_budget_holds_the_next_session_or_the_run_ends() -> None:
    rows = [Row(question="q", cell="panel", tokens=900, cost_usd=0.5)]
    few = Wanted(cells=("panel",), most={}, tokens=1_000, usd=1.0)
    assert shortfall(rows, 100, 0.5, few) == ""
    assert "1,000 tokens does not hold" in shortfall(rows, 101, 0.1, few)
    assert "1 USD does not hold" in shortfall(rows, 100, 0.6, few)


def test_what_the_questions_can_show_is_said_before_the_run(tmp_path: Path) -> None:
    written(tmp_path, *({"id": f"r{n}", "question": f"Paper {n}?", **PAPER} for n in range(36)))
    asked = questions(tmp_path / "q.jsonl")
    wanted = Wanted(cells=("panel", "critic", "dial"), most={}, wordings=2)
    cells = cells_of(asked, wanted)
    few = [cell for cell in cells if cell.cell != "critic" or cell.question.id in ("q0", "q1")]
    many, two = powers(few)
    assert (many["questions"], many["cells"], two["questions"], two["cells"]) == (40, ["panel"], 2, ["critic"])
    assert two["detectable_gain"] is None and 0.15 < many["detectable_gain"] < 0.25
    none = {"sessions": 2, "open_ended": 0, "likely_tokens": 0, "most_tokens": 0, "likely_usd": 0, "most_usd": 0}
    lines = list(estimate_lines({**none, "power": [many, two]}))
    assert "Power with 40 questions (panel): where two methods differ" in lines[1]
    assert lines[2].endswith("no gain would show reliably")


def test_what_sessions_say_becomes_methods_and_a_page() -> None:
    """A panel is a single model and self-consistency; a session counts by its own answer; what is missing is named."""
    asked = [Question(id=f"q{n}", question="?", options=("yes", "no"), gold="yes") for n in range(3)]
    blind = (
        Given(seat="panelist_1", answer=1, confidence=0.6, tokens=10),
        Given(seat="panelist_2", answer=0, confidence=0.9, tokens=10),
        Given(seat="panelist_3", answer=0, confidence=0.9, tokens=10),
    )
    rows = [
        Row(question="q0", cell="panel", status="finished", blind=blind),
        Row(question="q0", cell="panel", wording=1, status="finished", blind=blind[1:]),
        Row(question="q1", cell="panel", status="finished", blind=blind[2:], panel=3),
        Row(question="q0", cell="maci", status="finished", answer=0, mixture=(0.5, 0.5)),
        Row(question="q2", cell="maci", status="finished", mixture=(0.5, 0.5)),
        Row(question="q1", cell="maci", error="no worker"),
        Row(question="gone", cell="panel", status="finished", blind=blind),
    ]
    by_key = {(a.method, a.question, a.wording): a.outcome for a in answered(rows, {q.id: q for q in asked})}
    assert by_key["single", "q0", 0].probabilities == pytest.approx((0.4, 0.6))
    assert by_key["sc3", "q0", 0].leading == (0,) and by_key["sc3", "q0", 0].tokens == 30
    assert (by_key["single", "q1", 0].leading, by_key["sc3", "q1", 0].leading) == ((), (0,))
    assert by_key["maci", "q0", 0].leading == (0,), "the answer that it gave, though it is no likelier"
    assert by_key["maci", "q2", 0].leading == (), "it named none, so it earns nothing"
    assert by_key["maci", "q1", 0].leading == ()
    wanted = [(q.id, cell, 0) for cell in ("panel", "maci") for q in asked] + [("q0", "panel", 1)]
    told = report(LiveManifest(questions="", models=("m",), panel=3), asked, wanted, rows)
    assert (told.held, told.wanted, told.failed) == (6, 7, 1)
    maci = next(row.measures for row in told.rows if row.measures.method == "maci")
    assert (maci.debates, maci.abstained, maci.accuracy.value) == (2, 1, 0.5)
    assert maci.reciprocal_rank == pytest.approx((1 / 1.5 + 0) / 2), "nothing where no option was named"
    assert "panel: 1 of 4 sessions were not held" in told.not_run
    assert "same answer to 0 of 1 questions in both wordings" in told.wordings[0]
    assert any("not run" in str(block) for block in blocks(told))


def test_the_tone_at_both_ends_of_the_dial_is_a_check_and_no_method() -> None:
    bodies = [{"arguments": [{"claim": "That is wrong", "spans": [{"quote": "never"}]}], "belief": {"no": 1}}] * 2
    assert said(bodies) == ("That is wrong",) and tone(said(bodies)) == pytest.approx(100 / 3)
    asked = [Question(id=f"q{n}", question="?", options=("yes", "no"), gold="yes") for n in range(2)]
    tones = {("q0", 0): 5.0, ("q0", 1): -1.0, ("q1", 0): 2.0}
    rows = [
        Row(question=q, cell="dial", wording=w, status="finished", calls=1, tone=value)
        for (q, w), value in tones.items()
    ]
    told = report(LiveManifest(questions="", models=("m",), panel=3), asked, [row.key for row in rows], rows)
    assert told.rows == () and "are 5.0 at 0.9 and -1.0 at 0.1; more at 0.9 in 100 %" in told.dial
    assert told.dial in str(list(blocks(told)))
    assert "not run" in report(told.manifest, asked, [], []).dial


def test_a_failed_session_is_held_again_and_its_last_attempt_counts(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    for row in (
        Row(question="q0", cell="panel", error="connection refused", tokens=7),
        Row(question="q1", cell="panel", status="finished", calls=1),
    ):
        kept.add(row)
    assert kept.keys == {("q1", "panel", 0)} and kept.attempts(("q0", "panel", 0)) == 1
    kept.add(Row(question="q0", cell="panel", status="finished", calls=1, attempt=2))
    kept = Kept(tmp_path)
    assert len(kept.lines) == 3 and len(kept.rows) == 2 and len(kept.keys) == 2
    asked = [Question(id=f"q{n}", question="?", options=("yes", "no"), gold="yes") for n in range(2)]
    told = report(LiveManifest(questions="", models=("m",), panel=3), asked, [row.key for row in kept.rows], kept.rows)
    assert (told.held, told.failed, told.again) == (2, 0, 1)


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_an_endpoint_that_is_down_is_named_and_its_session_held_again(server: Aimock, tmp_path: Path) -> None:
    written(tmp_path)
    front = Front(tmp_path)
    ask = ("eval", "live", "q.jsonl", "--cell", "panel=1", "--out", "run")
    down = {**variables(server.url), "LLM_BASE_URL": "http://127.0.0.1:9/v1"}
    for env, more, code, told in (
        (down, ("--session-seconds", "3"), 1, "('127.0.0.1', 9)"),
        (variables(server.url), (), 0, "1 to be held, 1 of them again, because they failed"),
    ):
        child = front.start(*ask, *more, env=env)
        out, err = child.communicate(timeout=90)
        assert child.returncode == code and told in out + err, err
    lines = (tmp_path / "run" / FILE).read_bytes().splitlines()
    first, again = (msgspec.json.decode(line, type=Row) for line in lines)
    assert "Connect call failed" in first.failure and (again.failure, again.attempt) == ("", 2)


def test_a_session_that_failed_is_no_wrong_answer() -> None:
    """Neither one that ended without a quorum, nor one whose time was over before any model answered."""
    asked = [Question(id=f"q{n}", question="?", options=("yes", "no"), gold="yes") for n in range(3)]
    blind = (Given(seat="panelist_1", answer=0, confidence=0.6, tokens=10),)
    rows = [
        Row(question="q0", cell="panel", status="failed", reason="quorum", panel=3),
        Row(question="q1", cell="panel", status="finished", reason="budget", panel=3),
        Row(question="q2", cell="panel", status="finished", reason="round_limit", blind=blind, panel=3),
        Row(question="q0", cell="critic", status="finished", reason="confidence", answer=0, calls=3),
    ]
    made, wanted = LiveManifest(questions="", models=("m",), panel=3), [row.key for row in rows]
    told = report(made, asked, wanted, rows)
    by_name = {row.measures.method: row.measures for row in told.rows}
    assert (by_name["single"].debates, by_name["single"].accuracy.value) == (1, 1)
    assert (told.held, told.failed, told.comparisons[0].method, len(told.comparisons)) == (4, 2, "sc3", 1)
    assert told.failures[0] == "panel: 1 of 3 failed: quorum (too few seats gave a position to go on)"
    assert told.failures[1].startswith("panel: 1 of 3 failed: no model answered; it ended by budget")
    assert set(told.failures) <= {line.strip() for line in summary(told, [Path("report.html")])}
    assert "no figure contains them" in str(list(blocks(told)))
    nothing = report(made, asked, wanted, rows[:2])
    assert (exit_status(told), exit_status(nothing), nothing.rows) == (0, 1, ())


def test_the_file_of_sessions_refuses_what_is_no_session(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.add(Row(question="q", cell="panel"))
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes() + b"{}\n")
    with pytest.raises(BadData, match="line 2"):
        Kept(tmp_path)
