"""`parley eval routing`: how often the lead is right, and what is said of bad sets and cases."""

import json
from pathlib import Path
from typing import Any

import pytest

from parley.agents.experts import builtin
from parley.client.errors import BadInput
from parley.schemas.wire import decode
from parley_research import routing_run as routing_eval
from parley_research.loaders import DATA
from parley_research.route import MATCHERS
from parley_research.routing import Report
from parley_research.routing_data import golden as shipped
from tests.support.forks import run as command


def golden(folder: Path, *cases: dict[str, Any]) -> Path:
    file = folder / "golden.jsonl"
    file.write_text("".join(json.dumps(c) + "\n" for c in cases))
    return file


def test_eval_says_how_often_the_lead_is_right_of_each_matcher(tmp_path: Path) -> None:
    file = golden(
        tmp_path,
        {"prompt": "tune the slow SQL query", "lead": "database-engineer", "depth": ["instant"], "kind": "plain"},
        {"prompt": "What is the capital of France?", "lead": None, "leads": [], "kind": "out_of_scope"},
        {"prompt": "the React component renders twice", "lead": "sre", "kind": "plain"},  # wrong on purpose
    )
    code, out, err = command("eval", "routing", "--golden", str(file), "--json")
    assert code == 0, err
    reports = json.loads(out)["reports"]
    assert [r["matcher"] for r in reports] == [*MATCHERS, "no model, after claims"]
    last = reports[-1]
    assert last["accuracy"]["of"] == 3 and last["accuracy"]["hits"] == 2
    assert last["confusion"] == {"sre": {"frontend-engineer": 1}}
    assert last["abstention_recall"]["hits"] == 1 and last["by_kind"]["out_of_scope"]["hits"] == 1
    assert last["depth_agreement"]["of"] == 1 and reports[0]["depth_agreement"]["of"] == 0
    shown = routing_eval.tables([decode(json.dumps(r).encode(), Report) for r in reports])
    assert "golden.jsonl: no model, after claims" in shown and "sre -> frontend-engineer: 1" in shown


def test_eval_measures_a_public_set_that_is_there() -> None:
    if not (DATA / "marge_experts").is_dir():
        pytest.skip(f"NOT CHECKED: no folder {DATA / 'marge_experts'}")
    code, out, err = command("eval", "routing", "--set", "marge_experts", "--json")
    assert code == 0, err
    reports = json.loads(out)["reports"]
    assert reports[0]["matcher"] == "the source's score" and {r["accuracy"]["of"] for r in reports} == {15}


def test_prompts_of_ones_own_are_cleaned_and_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = golden(tmp_path, {"prompt": "tune the \x1b[1mslow\x1b[0m SQL query\r\n", "lead": "database-engineer"})
    reports = routing_eval.evaluate(file, "test", None, None, [])
    assert reports[0].accuracy.hits == 1
    said = capsys.readouterr().err
    assert "parley: golden.jsonl, line 1: prompt: 2 terminal sequences removed" in said and "\x1b" not in said


def test_eval_names_what_is_not_as_it_should_be(tmp_path: Path) -> None:
    for case, what in (
        ({"prompt": "x", "lead": "nobody-at-all"}, "golden.jsonl, line 1: "),
        ({"lead": "sre"}, "golden.jsonl, line 1: Object missing required field `prompt`"),
    ):
        with pytest.raises(BadInput) as error:
            routing_eval.evaluate(golden(tmp_path, case), "test", None, None, [])
        assert what in str(error.value)
    for given, what in (
        ({"golden": tmp_path / "none"}, "none: No such file"),
        ({"half": "both"}, "--half: got 'both', expected test or dev"),
        ({"sets": ["mnist"]}, "--set: got 'mnist', known: golden"),
    ):
        whole: dict[str, Any] = {"golden": None, "half": "test", "experts": None, "data": None, "sets": [], **given}
        with pytest.raises(BadInput) as error:
            routing_eval.evaluate(**whole)
        assert what in str(error.value)


def test_a_public_set_that_is_not_there_is_left_out_loudly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadInput, match="there is no set to measure"):
        routing_eval.evaluate(None, "test", None, tmp_path, ["clinc150", "marge_experts"])
    said = capsys.readouterr().err
    assert "LEFT OUT: clinc150 is not in" in said and "LEFT OUT: marge_experts is not in" in said
    assert "licence: CC BY 3.0; from https://github.com/clinc/oos-eval" in said and "licence: MIT; from" in said


def test_the_shipped_set_names_the_shipped_experts_only() -> None:
    assert len(shipped("test", builtin()).cases) + len(shipped("dev", builtin()).cases) >= 300
