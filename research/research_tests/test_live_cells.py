"""`parley eval live`: a competition that judges an answer, a task with its answer, and the dial, on a real server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from parley.schemas.protocols.competition.format import DIMENSIONS
from parley_research.live.cells import Cell, sides_of, text_of
from parley_research.live.page import LiveManifest, report
from parley_research.live.rows import FILE, Question, Row, sides
from tests.llm.aimock import Aimock, aimock
from tests.parley.support import Front

NEAR = "A4 paper was measured on the three printers of the office, and none of them jammed."
LINE = {
    "id": "q0", "question": "Which paper should the office order?", "options": ["A4", "Letter"], "gold": "A4",
    "documents": ["paper.md"],
}  # fmt: skip
DUEL = {
    "name": "duel", "title": "Duel", "about": "One speech a side.",
    "teams": {"pro": {"name": "For", "seats": 1, "captain": 1}, "con": {"name": "Against", "seats": 1, "captain": 1}},
    "positions": ["Speak for your side."], "pace": {"words_per_minute": 160, "characters_per_word": 1.5},
    "weights": {"logic": 0.25, "persuasion": 0.25, "expression": 0.2, "teamwork": 0.15, "rule_compliance": 0.15},
    "penalties": {},
    "stages": [{"name": "only", "title": "Speeches", "confer": 0, "summary": False, "agenda": [
        {"t": "speech", "seat": f"{team}_1", "words": 60, "task": "Speak for your side."} for team in ("pro", "con")
    ]}],
}  # fmt: skip
CELLS = ("--cell", "competition=1", "--cell", "madp=1", "--cell", "dial=1")
SETS = (
    "--set", "competition.format=duel.yaml", "--set", "madp.expert=implementation-engineer", "--set",
    "madp.wording=never",
)  # fmt: skip
SEATS = {"DEBATER_1_LLM_MODEL": "first", "DEBATER_2_LLM_MODEL": "second"}
CONFRONT, TOGETHER = "That is wrong, and no error may be denied.", "We agree that both share the same support."


def reply(task: str, body: Any, **more: str) -> dict[str, Any]:
    return {"match": {"userMessage": task, **more}, "response": {"content": json.dumps(body)}}


def belief(a4: float) -> list[dict[str, Any]]:
    return [{"outcome": "A4", "p": a4}, {"outcome": "Letter", "p": 1 - a4}]


def fixtures() -> list[dict[str, Any]]:
    """The team for A4 speaks better, the expert answers A4, and debaters speak as the dial tells them."""
    better = ("pro", "con")[sides(msgspec.convert(LINE, Question)).index(0)]
    marks = {team: 9 if team == better else 4 for team in ("pro", "con")}
    score = {"links": [0.9], "evidence": 0.9, "logic": 0.8, "relevance": 0.7, "justification": "As it should."}
    quoted = {"reasons": [NEAR], "spans": [{"passage": "p1", "quote": NEAR}]}
    done = {
        "outcome": "done", "summary": "A4, since no printer jammed.", "output": "A4, since no printer jammed.",
        "support": None, "handoff": None, "blocked": "",
    }  # fmt: skip
    return [
        *(
            reply(
                f"You mark the last public post, by `{team}_",
                {**dict.fromkeys(DIMENSIONS, mark), "violations": [], "comment": "Heard."},
            )
            for team, mark in marks.items()
        ),
        reply("you review it in public", {"text": "A short debate."}),
        *(
            reply("It is your turn to speak in public", {"text": said, "citations": []}, systemMessage=f"`{team}_1`")
            for team, said in (("pro", NEAR), ("con", "The printers of the office were measured for one day alone."))
        ),
        reply("Review what another expert did", {"verdict": "approved", "findings": []}),
        reply("You lead the task", done),
        reply("Answer the question alone", {"belief": belief(0.9), "reasoning": "", "spans": []}, model="first"),
        reply("Answer the question alone", {"belief": belief(0.2), "reasoning": "", "spans": []}, model="second"),
        *(
            reply(tone, {"arguments": [{"claim": said, **quoted}], "belief": belief(0.9), "changed": "Nothing."})
            for tone, said in (("Challenge every claim", CONFRONT), ("Work together towards one answer", TOGETHER))
        ),
        reply("Judge each argument by itself", {"scores": [{"item": n, **score} for n in (1, 2)]}),
        reply("Plan what to find out next", {"tests": []}),
    ]


def asked(folder: Path, *more: dict[str, Any]) -> None:
    (folder / "paper.md").write_text(f"{NEAR} Letter paper jammed twice in the printers of the office.")
    (folder / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (LINE, *more)))
    (folder / "duel.yaml").write_text(yaml.safe_dump(DUEL))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Aimock]:
    with aimock(tmp_path, fixtures()) as running:
        yield running


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_competition_a_task_and_the_dial_are_held_scored_and_taken_up(server: Aimock, tmp_path: Path) -> None:
    asked(tmp_path)
    env = {"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "any", "LLM_BASE_URL": server.url, **SEATS}
    front, kept = Front(tmp_path), tmp_path / "run" / FILE
    command = ("eval", "live", "q.jsonl", *CELLS, *SETS, "--out", "run", "--json")
    code, out, err = front.run(*command, env=env)
    assert code == 0, err
    told = json.loads(out)["report"]
    assert (told["held"], told["failed"], told["wanted"]) == (4, 0, 4), told["failures"]
    by_name = {row["measures"]["method"]: row for row in told["rows"]}
    assert set(by_name) == {"competition", "madp"}
    for row in by_name.values():
        measures = row["measures"]
        assert (measures["accuracy"]["value"], measures["reciprocal_rank"], measures["abstained"]) == (1, 1, 0)
        assert measures["calibration"] is None and row["tokens"] > 0

    rows = {row.key: row for row in (msgspec.json.decode(line, type=Row) for line in kept.read_bytes().splitlines())}
    high, low = (rows["q0", "dial", place].tone for place in (0, 1))
    assert high is not None and low is not None and high > 0 > low
    assert f"are {high:.1f} at 0.9 and {low:.1f} at 0.1; more at 0.9 in 100 %" in told["dial"]
    prompts = json.dumps([request["body"] for request in server.journal("first")])
    assert "Challenge every claim" in prompts and "Work together towards one answer" in prompts

    lines = [line for line in kept.read_bytes().splitlines(keepends=True) if b'"cell":"madp"' not in line]
    kept.write_bytes(b"".join(lines))
    code, out, err = front.run(*command, env=env)
    assert code == 0 and "3 of 4 sessions held before, 1 to be held" in err, err
    again = [msgspec.json.decode(line, type=Row) for line in kept.read_bytes().splitlines()]
    assert [row.key for row in again[:3]] == [msgspec.json.decode(line, type=Row).key for line in lines]
    assert (again[3].key, again[3].answer) == (("q0", "madp", 0), 0)
    front.assert_nothing_left()


def test_a_dry_run_starts_nothing_and_says_which_questions_are_passed_over(tmp_path: Path) -> None:
    asked(tmp_path, {**LINE, "id": "q1", "options": ["A4", "Letter", "Legal"]})
    cells = ("--cell", "competition", "--cell", "madp")
    env = {"LLM_BASE_URL": "http://127.0.0.1:9/v1", "LLM_MODEL": "m"}
    code, out, err = Front(tmp_path).run("eval", "live", "q.jsonl", *SETS, *cells, "--dry-run", env=env)
    assert code == 0, err
    assert (
        "competition: questions passed over, because they cannot be asked: 1." in err
        and "between two options; q1 has 3" in err
    )
    assert out.startswith("3 sessions: likely ") and "Tasks among them: 2." in out
    assert not (tmp_path / "live-report").exists()


def test_a_side_holds_no_place_of_an_option_more_often() -> None:
    many = [Question(id=f"q{n}", question="?", options=("yes", "no"), gold="yes") for n in range(200)]
    assert 70 < sum(sides(one)[0] for one in many) < 130
    cell = Cell(question=many[0], cell="competition", wording=0)
    pro, con = sides_of(cell)["pro"], sides_of(cell)["con"]
    assert {pro, con} == {"yes", "no"}
    assert f"is: {pro}. The other side holds that it is: {con}." in text_of(cell)


def test_a_debate_without_a_winner_names_no_option() -> None:
    question = Question(id="q", question="?", options=("yes", "no"), gold="yes")
    rows = [Row(question="q", cell="competition", status="finished", calls=9, words="draw")]
    (row,) = report(LiveManifest(questions="", models=("m",), panel=3), [question], [rows[0].key], rows).rows
    assert (row.measures.abstained, row.measures.accuracy.value, row.measures.reciprocal_rank) == (1, 0, 0)
