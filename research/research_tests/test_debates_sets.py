"""What the adapters make of files of the same shape as the public sets, and of one's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from parley_research.debates.harness import play, reads_gold
from parley_research.debates.method import UNLIMITED, Budget, Method
from parley_research.debates.record import NONE, RecordedDebate
from parley_research.debates.registry import loaded
from parley_research.debates.sets.own import own_set, read_own
from parley_research.loaders import BadData, NoData

METHODS: dict[str, Method] = {m.name: m for m in loaded().methods()}


def wrote(file: Path, *rows: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def of_set(name: str, data: Path) -> list[RecordedDebate]:
    return list(next(s for s in loaded().sets() if s.name == name).load(data))


def test_samples_come_in_an_order_of_their_own_and_all_right_answers_are_right(tmp_path: Path) -> None:
    taken = [
        {"answer": a, "confidence": c, "correct": ok} for a, c, ok in
        [("paris", 90.0, 1), ("the paris", 80.0, 1), ("rome", None, 0), ("", 10.0, 0), ("rome", 40.0, 0)]
    ]  # fmt: skip
    wrote(tmp_path / "verbal_conf" / "triviaqa_llama3b_30samples.jsonl", {"question": "Capital?", "samples": taken})
    wrote(
        tmp_path / "verbal_conf" / "triviaqa_llama3b_6temps.jsonl", {"question": "Capital?", "samples": {"1": taken[0]}}
    )
    many, one = of_set("triviaqa", tmp_path)
    assert many.options == ("paris", "the paris", "rome")
    assert many.right == {0, 1}
    given = [s.answer for s in many.rounds[0].statements]
    assert sorted(a for a in given if a is not None) == [0, 1, 2, 2] and given.count(None) == 1
    assert (many.question, many.group, one.group) == (one.question, "30 samples", "6 samples")
    (best,) = play(METHODS["best_of_10"], None, [many])
    (voted,) = play(METHODS["sc5"], None, [many])
    (sure,) = play(METHODS["confidence"], None, [many])
    assert (best.credit, voted.credit, sure.credit) == (1, 0, 1)
    assert voted.outcome.probabilities == (0.25, 0.25, 0.5)


def test_two_orders_of_one_judge_are_two_members(tmp_path: Path) -> None:
    row = {"pair_id": "p", "source": "s", "response_model": "m", "judge": "j/one", "label": "A>B"}
    file = tmp_path / "judgebench_order" / "judgments.jsonl"
    wrote(file, {**row, "decisions": ["A>B", "B>A"]}, {**row, "pair_id": "q", "decisions": ["A>B", "A=B"]})
    firm, tied = of_set("judgebench", tmp_path)
    assert [s.answer for s in firm.rounds[0].statements] == [0, 0]
    assert [s.answer for s in tied.rounds[0].statements] == [0, None]


def test_a_judges_belief_closes_a_round_and_debaters_are_no_members(tmp_path: Path) -> None:
    def spoke(side: int, *quotes: list[int]) -> dict[str, Any]:
        return {"type": "simultaneous", "answer_index": side, "words": 50, "quotes": list(quotes)}

    def judged(*dist: float) -> dict[str, Any]:
        return {"type": "judge", "dist": list(dist), "text": "two words"}

    events = [
        judged(0.5, 0.5), spoke(0, [3, 5]), spoke(1), judged(0.4, 0.6), spoke(0), spoke(1), judged(0.1, 0.9), spoke(0),
    ]  # fmt: skip
    row = {"id": "d", "article_id": "1", "question": "Which?\n", "correct": 1, "events": events}
    wrote(tmp_path / "nyu_quality_debates" / "ai_debate.jsonl", row)
    wrote(tmp_path / "nyu_quality_debates" / "ai_consultancy.jsonl")
    (debate,) = of_set("quality", tmp_path)
    assert (debate.before, len(debate.rounds), debate.words(0)) == ((0.5, 0.5), 2, 102)
    assert debate.rounds[0].statements[0].evidence == ("3", "4")
    told = {name: play(METHODS[name], None, [debate])[0].outcome for name in ("judge", "judge_first", "judge_sure")}
    assert told["judge"].probabilities == (0.1, 0.9)
    assert (told["judge_first"].leading, told["judge_first"].rounds) == ((1,), 0)
    assert told["judge_sure"].stop == "sure"


def test_a_set_that_is_not_there_is_named(tmp_path: Path) -> None:
    for one in loaded().sets():
        with pytest.raises(NoData, match="is not in"):
            list(one.load(tmp_path))


OWN = {
    "id": "q1",
    "options": ["yes", "no"],
    "gold": "yes",
    "members": ["a", "b"],
    "rounds": [
        [{"member": "a", "answer": "no", "confidence": 0.8, "words": 40}, {"member": "b", "answer": "perhaps"}],
        {"statements": [{"member": "a", "answer": "yes", "evidence": ["p3"]}], "verdict": {"yes": 0.7, "no": 0.3}},
    ],
}


def test_debates_of_ones_own(tmp_path: Path) -> None:
    wrote(tmp_path / "mine.jsonl", OWN, {**OWN, "id": "q2", "gold": ["no", "yes"]}, {**OWN, "id": "q3", "gold": []})
    first, second, third = read_own(tmp_path / "mine.jsonl")
    assert list(first.standing()) == [(1, None), (0, None)]
    assert first.rounds[1].verdict == (0.7, 0.3)
    assert (set(second.right), third.gold) == ({0, 1}, NONE)
    told = own_set(tmp_path / "mine.jsonl")
    assert told.name == "mine"
    assert told.records == {"rounds", "verdicts", "words", "confidence", "evidence"}
    (full,) = play(METHODS["full"], None, [first])
    assert (full.credit, full.outcome.flips, full.outcome.unexplained) == (1, 1, 0)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"options": ["yes"]}, "length >= 2"),
        ({"options": ["yes", "yes"]}, "must each be different"),
        ({"gold": "YES"}, "gold: got 'YES', which is none of the options yes, no"),
        ({"gold": ["yes", "x"]}, "gold: got 'x'"),
        ({"rounds": []}, "length >= 1"),
        ({"rounds": [[]]}, "the blind round has no statement"),
        ({"rounds": [[{"member": "c"}]]}, "'c' is none of the members a, b"),
        ({"rounds": [[{"member": "a", "belief": {"yes": 0.2}}]]}, "sums to 0.2"),
        ({"rounds": [[{"member": "a", "confidence": 7}]]}, "<= 1"),
        ({"rounds": [[{"member": "a", "words": 10**30}]]}, r"rounds\[0\]\[0\].words: got 10{30}, .* <= 10{12}$"),
        ({"colour": "red"}, "unknown field"),
    ],
)
def test_what_is_wrong_with_ones_own_is_said(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    wrote(tmp_path / "mine.jsonl", OWN, {**OWN, "id": "q2", **change})
    with pytest.raises(BadData, match=f"mine.jsonl, line 2: .*{why}"):
        read_own(tmp_path / "mine.jsonl")


def test_an_id_stands_once_and_a_file_is_not_empty(tmp_path: Path) -> None:
    wrote(tmp_path / "mine.jsonl", OWN, OWN)
    with pytest.raises(BadData, match="line 2: the id 'q1' stands in a line before"):
        read_own(tmp_path / "mine.jsonl")
    wrote(tmp_path / "none.jsonl")
    with pytest.raises(BadData, match="no debate in it"):
        own_set(tmp_path / "none.jsonl")
    with pytest.raises(NoData, match="no such file"):
        own_set(tmp_path / "gone.jsonl")


def test_the_controller_is_the_projects_own() -> None:
    """Two that disagree and do not move plateau at round 2 in the paper's reading (eq. 10), with an even mixture."""
    from research_tests.test_debates_harness import debate

    stuck = debate((0, 1), (0, 1), (0, 1), (0, 1))
    paper = METHODS["maci_paper"].run(stuck.hidden(), UNLIMITED)
    assert (paper.stop, paper.rounds, paper.early, paper.leading) == ("plateau", 2, True, (0, 1))
    short = METHODS["maci_paper"].run(stuck.hidden(), Budget(calls=4))
    assert (short.stop, short.rounds, short.calls) == ("budget", 1, 4)
    patient = METHODS["maci_patient"].run(stuck.hidden(), UNLIMITED)
    assert patient.rounds == 3
    assert not reads_gold(METHODS["maci_ucb"], [stuck])


def test_stops_on_answers_stop_where_they_say() -> None:
    from research_tests.test_debates_harness import debate

    argued = debate((0, 1), (0, 1), (1, 1), (1, 1), gold=1)
    rounds = {
        name: METHODS[name].run(argued.hidden(), UNLIMITED).rounds
        for name in ("unanimity", "unchanged", "one_round", "consensus")
    }
    assert rounds == {"unanimity": 2, "unchanged": 1, "one_round": 1, "consensus": 2}
    (bound,) = play(METHODS["oracle_stop"], None, [argued])
    assert (bound.credit, bound.outcome.rounds) == (1, 2)
    (member,) = play(METHODS["oracle_member"], None, [argued])
    assert (member.credit, member.outcome.calls) == (1, 1)
