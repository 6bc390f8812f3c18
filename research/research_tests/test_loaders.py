"""What is read from recorded debates, in files of the same shape."""

import json
from pathlib import Path
from typing import Any

import pytest

from parley_research import loaders
from parley_research.loaders import BadData, Debate, NoData, Round

TURNS = [
    [0, "llama", "A", 50, "because"], [0, "vicuna", "B", 40], [1, "llama", None, 30], [2, "vicuna", "G", 20],
    [3, "llama", "B", 10],
]  # fmt: skip


def ford(folder: Path, *rows: dict[str, Any], by: str = "round") -> list[Debate]:
    (folder / loaders.FORD).mkdir()
    for group in loaders.FORD_GROUPS:
        lines = [json.dumps(row) + "\n" for row in rows if row["id"].startswith(group)]
        (folder / loaders.FORD / f"{group}.jsonl").write_text("".join(lines))
    return loaders.ford(folder, by=by)


def row(id: str = "llama_vicuna/copa/7#2", gold: str = "A", turns: list[Any] = TURNS) -> dict[str, Any]:
    return {"id": id, "gold": gold, "agreed": True, "turns": turns}


def test_a_round_is_over_when_both_have_spoken_and_the_last_when_the_debate_is(tmp_path: Path) -> None:
    (found,) = ford(tmp_path, row())
    assert (found.group, found.task, found.agents) == ("llama_vicuna", "copa", ("llama", "vicuna"))
    assert (found.outcomes, found.gold, found.question) == (("A", "B"), 0, "copa/7")
    assert found.rounds == (Round((0, 1), (50, 40)), Round((0, 1), (30, 20)), Round((1, 1), (10, 0)))
    assert (found.unread, found.blank) == (2, 0)


def test_speech_by_speech_every_speech_is_a_round(tmp_path: Path) -> None:
    (found,) = ford(tmp_path, row(), by="speech")
    assert [r.answers for r in found.rounds] == [(0, 1), (0, 1), (0, 1), (1, 1)]
    assert [r.words for r in found.rounds] == [(50, 40), (30, 0), (0, 20), (10, 0)]


def test_who_has_not_answered_yet_has_no_answer(tmp_path: Path) -> None:
    turns = [[0, "llama", None, 5], [0, "vicuna", "B", 5], [1, "llama", "B", 5]]
    (found,) = ford(tmp_path, row(turns=turns))
    assert [r.answers for r in found.rounds] == [(None, 1), (1, 1)]
    assert found.blank == 1


def test_a_row_without_a_debate_is_left_out(tmp_path: Path) -> None:
    assert ford(tmp_path, row(turns=TURNS[:2])) == []


@pytest.mark.parametrize(
    "bad",
    [
        row(gold="C"),
        row(id="llama_vicuna/unheard-of/7"),
        row(turns=[*TURNS[:2], [2, "vicuna", "A", 1]]),
        row(turns=[*TURNS[:1], *TURNS[2:]]),
    ],
    ids=["gold", "task", "order", "one agent"],
)
def test_a_row_that_is_not_as_stated_is_named(tmp_path: Path, bad: dict[str, Any]) -> None:
    with pytest.raises(BadData, match=bad["id"]):
        ford(tmp_path, bad)


def test_data_that_is_not_there_names_the_folder(tmp_path: Path) -> None:
    with pytest.raises(
        NoData, match=f"ford_debates is not in {tmp_path}.*licence: none given.*github.com/Waste-Wood/FORD"
    ):
        loaders.ford(tmp_path)
    with pytest.raises(NoData, match="hkust_gd_gsm8k is not in"):
        loaders.gsm8k(tmp_path)


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    ford(tmp_path)
    (tmp_path / loaders.FORD / "chatgpt_davinci.jsonl").write_text("\n{broken")
    with pytest.raises(BadData, match=r"chatgpt_davinci\.jsonl, row 1"):
        loaders.ford(tmp_path)


def gsm8k(folder: Path, gold: str, **agents: list[str | None]) -> Debate:
    (folder / loaders.GSM8K).mkdir()
    said = {
        name: [{"round": t, "answer": a, "words": 10 + t, "text": "..."} for t, a in enumerate(answers)]
        for name, answers in agents.items()
    }
    line = json.dumps({"id": "gsm8k_test/3", "gold": gold, "agents": said}) + "\n"
    (folder / loaders.GSM8K / "debates.jsonl").write_text(line)
    (found,) = loaders.gsm8k(folder)
    return found


def test_open_outcomes_are_what_anyone_answered_at_any_time(tmp_path: Path) -> None:
    found = gsm8k(tmp_path, "7.5", B=["8", "7.5"], A=["9", None, "8"])
    assert (found.agents, found.outcomes, found.gold) == (("A", "B"), ("9", "8", "7.5"), 2)
    assert found.rounds == (Round((0, 1), (10, 10)), Round((0, 2), (11, 11)), Round((1, 2), (12, 0)))


def test_a_single_outcome_gets_a_second_and_gold_may_be_among_none(tmp_path: Path) -> None:
    found = gsm8k(tmp_path, "4", A=["3"], B=["3"])
    assert (found.outcomes, found.gold) == (("3", "none of these"), -1)
