"""Planted defects: the set is as it was, prompts are those of a review, and figures come out as by hand."""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from parley.agents.openai import probe
from parley.schemas.protocols.madp.work import Finding, Review
from parley_research.defects import asking, cases, scoring
from parley_research.defects.__main__ import main
from parley_research.defects.asking import Prompted, Reviewed
from parley_research.defects.cases import Case, Planted
from parley_research.loaders import BadData
from tests.llm.server import model_server, says

PLANTED = Planted(file="shop/admin/orders.py", line=17, what="w", must_mention="m")
WITH = Case(id="01", field="f", expert="sre", task="t", summary="s", diff="d", defect=PLANTED)
CLEAN = Case(id="02", field="f", expert="sre", task="t", summary="s", diff="d", defect=None)
HIT = {"severity": "critical", "description": "The sort column is not checked.", "location": "shop/admin/orders.py:18"}
REPLY = {"findings": [{**HIT, "suggested_fix": ""}], "verdict": "revision_needed"}


@pytest.fixture(autouse=True)
def nothing_learned() -> Iterator[None]:
    """Each test begins without lessons about any endpoint (ports come again)."""
    probe.forget()
    yield
    probe.forget()


def finding(location: str, severity: Any = "major") -> Finding:
    return Finding(severity=severity, description="d", location=location)


def reviewed(case: str, prompt: Prompted, *findings: Finding, judged: tuple[int, ...] | None = None) -> Reviewed:
    review = Review(verdict="revision_needed" if findings else "approved", findings=findings)
    return Reviewed(case=case, prompt=prompt, model="m", review=review, judged=judged)


def test_the_set_is_as_it_was_written() -> None:
    every = cases.read()
    assert len(every) == 40 and len({c.field for c in every}) == 8
    assert sum(c.defect is None for c in every) == 8


def test_a_set_that_was_changed_or_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = tmp_path / "cases.jsonl"
    changed.write_bytes(cases.FILE.read_bytes() + b"\n")
    with pytest.raises(BadData, match=r"cases\.jsonl: it is not the set that it was"):
        cases.read((), changed)
    with pytest.raises(BadData, match=r"gone\.jsonl: No such file"):
        cases.read((), tmp_path / "gone.jsonl")
    assert main(["prompts", "--cases", "77", "--out", str(tmp_path)]) == 2
    assert "no case 77: they are 01 to 40" in capsys.readouterr().err


def lines_after(diff: str, file: str) -> set[int]:
    """Numbers of the lines of a file that a diff shows as they are after it."""
    shown: set[int] = set()
    here, n = False, 0
    for line in diff.splitlines():
        if line.startswith("+++ "):
            here = line == f"+++ b/{file}"
        elif line.startswith("@@"):
            n = int(line.split("+")[1].split(",")[0].split(" ")[0])
        elif here and line[:1] in ("+", " ", ""):
            shown.add(n)
            n += 1
    return shown


def test_each_planted_line_is_in_its_diff() -> None:
    for case in cases.read():
        if case.defect is not None:
            assert case.defect.line in lines_after(case.diff, case.defect.file), case.id


async def test_the_prompts_differ_in_the_specification_alone() -> None:
    (case,) = cases.read(["01"])
    spec = asking.reviewer(case, "expert")
    expert, plain = [await asking.request(case, p, "m") for p in asking.PROMPTS]
    mine, theirs = (str(body["messages"][1]["content"]) for body in (expert, plain))
    assert spec.instructions in mine and all(item in mine for item in spec.checklist)
    assert "Reviewer. You own: reviews." in theirs and not any(item in theirs for item in (*spec.checklist, spec.name))
    assert expert["messages"][0] == plain["messages"][0] and expert["response_format"] == plain["response_format"]
    rest = [text.partition("\n\nThe task:\n\n")[2].replace(spec.id, asking.PLAIN.id) for text in (mine, theirs)]
    lines = [[line for line in text.split("\n") if "of your checklist" not in line] for text in rest]  # it has none
    assert lines[0] == lines[1] and len(lines[1]) == rest[1].count("\n") + 1 and case.diff.strip() in rest[0]


async def test_no_prompt_holds_an_answer() -> None:
    for case in cases.read():
        for prompt in asking.PROMPTS:
            text = asking.sheet(await asking.request(case, prompt, "m"))
            assert case.defect is None or not any(x in text for x in (case.defect.what, case.defect.must_mention))


async def test_a_model_is_asked_what_prompts_writes_and_its_reviews_are_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, given = tmp_path / "reviews.jsonl", ("--cases", "01")
    async with model_server(says(REPLY)) as server:
        told = ("--model-url", server.url, "--model", "m", "--out", str(out), "--at-once", "1", "--seconds", "20")
        assert await asyncio.to_thread(main, ["review", *given, *told]) == 0
    assert await asyncio.to_thread(main, ["prompts", *given, "--model", "m", "--out", str(tmp_path)]) == 0
    for request, prompt in zip(server.requests, asking.PROMPTS, strict=True):
        written = json.loads((tmp_path / f"01-{prompt}.json").read_text())
        assert written == {name: request.body[name] for name in written}
    capsys.readouterr()
    assert await asyncio.to_thread(main, ["score", "--json", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {p: (f["found"]["hits"], f["false_alarms"]) for p, f in found["prompts"].items()} == {
        "expert": (1, 0), "plain": (1, 0),
    }  # fmt: skip


async def test_a_review_that_cannot_be_had_is_named_and_the_others_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "reviews.jsonl"
    async with model_server(says("no"), says("no"), says(REPLY)) as server:
        told = ("--model-url", server.url, "--model", "m", "--out", str(out), "--at-once", "1", "--seconds", "20")
        assert await asyncio.to_thread(main, ["review", "--cases", "01", *told]) == 1
    assert "case 01, expert: m gave no usable reply" in capsys.readouterr().err
    assert [json.loads(line)["prompt"] for line in out.read_text().splitlines()] == ["plain"]


@pytest.mark.parametrize(
    ("location", "points"),
    [
        ("shop/admin/orders.py:17", True), ("shop/admin/orders.py:12", True), ("shop/admin/orders.py:22", True),
        ("shop/admin/orders.py:11", False), ("shop/admin/orders.py:23", False), ("a/shop/admin/orders.py:17", True),
        ("orders.py:17", True), ("other/orders.py:17", False), ("shop/admin/borders.py:17", False),
        ("shop/admin/orders.py:3, 18", True), ("shop/admin/orders.py:25-30", False),
        ("shop/admin/orders.py:23–25", False), ("shop/admin/orders.py:8-12", True),
        ("shop/admin/orders.py, line 17", True), ("shop/admin/orders.py (lines 15 and 40)", True),
        ("shop/admin/orders.py#L17", True), ("shop/admin/orders.py:1-400", False), ("shop/admin/orders.py", False),
        ("x.py:17; shop/admin/orders.py:40", False), ("x.py:40; shop/admin/orders.py:17", True), ("", False),
        ("line 17", False),
    ],
)  # fmt: skip
def test_a_finding_points_at_the_defect_by_file_and_line(location: str, points: bool) -> None:
    assert scoring.points_at(location, PLANTED) is points


def test_a_minor_finding_finds_nothing_and_alarms_nobody() -> None:
    found = scoring.score(WITH, reviewed("01", "expert", finding("orders.py:17", "minor")))
    assert (found.found, found.false_alarms) == (False, 0)


def test_what_a_reader_judged_holds_over_the_place() -> None:
    findings = (finding("orders.py:17"), finding("elsewhere.py:1", "critical"))
    by_place = scoring.score(WITH, reviewed("01", "expert", *findings))
    none = scoring.score(WITH, reviewed("01", "expert", *findings, judged=()))
    both = scoring.score(WITH, reviewed("01", "expert", *findings, judged=(1, 2)))
    assert [(s.found, s.false_alarms) for s in (by_place, none, both)] == [(True, 1), (False, 2), (True, 0)]
    with pytest.raises(BadData, match=r"judged \(3,\), it has 2 findings"):
        scoring.score(WITH, reviewed("01", "expert", *findings, judged=(3,)))


def test_the_figures_of_two_cases() -> None:
    lines = [
        reviewed("01", "expert", finding("orders.py:17")),
        reviewed("02", "expert"),
        reviewed("01", "plain", finding("orders.py:40"), finding("orders.py:41")),
        reviewed("02", "plain", finding("orders.py:17", "critical")),
    ]
    found = scoring.report((WITH, CLEAN), lines)
    hits = {
        p: [(s.hits, s.of) for s in (f.found, f.alarmed_clean, f.alarmed)] + [f.false_alarms_clean, f.false_alarms]
        for p, f in found.prompts.items()
    }
    assert hits == {"expert": [(1, 1), (0, 1), (0, 2), 0, 0], "plain": [(0, 1), (1, 1), (2, 2), 1, 3]}
    assert found.found == scoring.Paired(both=0, only_expert=1, only_plain=0, neither=0, p=1.0)
    assert found.alarmed == scoring.Paired(both=0, only_expert=0, only_plain=2, neither=0, p=0.5)
    assert "found                        1/1 = 100% (21% to 100%)" in scoring.text(found)


def test_the_sign_test_is_the_binomial_one() -> None:
    """9 of 10: 2 * (1 + 10) / 1024."""
    assert scoring.sign_test(9, 1) == scoring.sign_test(1, 9) == pytest.approx(22 / 1024)
    assert scoring.sign_test(5, 5) == scoring.sign_test(0, 0) == 1.0


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([reviewed("01", "expert"), reviewed("01", "expert")], "case 01, expert: it is reviewed twice"),
        ([reviewed("99", "plain")], "case 99: there is none"),
    ],
)
def test_reviews_that_cannot_be_scored_are_named(lines: Sequence[Reviewed], why: str) -> None:
    with pytest.raises(BadData, match=why):
        scoring.report((WITH, CLEAN), lines)


def test_two_players_get_each_drawn_case_with_either_prompt_and_their_replies_are_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bundle", "--out", str(tmp_path)]) == 0
    key = json.loads((tmp_path / "key.json").read_text())
    sets = {player: {tuple(pair) for pair in sheets.values()} for player, sheets in key.items()}
    drawn = {case for case, _ in sets["A"]}
    assert [len(drawn), len(key["A"]), len(key["B"])] == [16, 16, 16] and not sets["A"] & sets["B"]
    assert sets["A"] | sets["B"] == {(case, prompt) for case in drawn for prompt in asking.PROMPTS}
    fields = [c.field for c in cases.read(drawn)]
    assert {fields.count(field) for field in fields} == {2} and len(set(fields)) == 8
    assert sum(prompt == "plain" for _, prompt in sets["A"]) == 8

    for player, sheets in key.items():
        for number in sheets:
            assert (tmp_path / player / f"{number}.txt").read_text().startswith("----- system\n")
            (tmp_path / player / f"{number}.json").write_text(f"```json\n{json.dumps(REPLY)}\n```")
    (tmp_path / "B" / "03.json").write_text('{"verdict": "maybe", "findings": []}')
    (tmp_path / "B" / "04.json").unlink()
    out, take = tmp_path / "reviews.jsonl", ["take", "--key", str(tmp_path / "key.json")]
    assert main([*take, "--replies", str(tmp_path), "--out", str(out)]) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 2 and "B/03.json: " in told and "B/04.json: there is none" in told
    taken = [json.loads(line) for line in out.read_text().splitlines()]
    assert {(t["case"], t["prompt"]) for t in taken} == sets["A"] | sets["B"] - {
        tuple(key["B"][n]) for n in ("03", "04")
    }
    assert main(["score", str(out)]) == 0
    assert "expert: " in capsys.readouterr().out


def test_the_played_reviews_say_what_the_readme_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(cases.SET / "played" / "reviews.jsonl")]) == 0
    told = re.findall(
        r"(\w+): 16 reviews\n +found +(\S+) .*\n +cases with a false alarm +(\S+) ", capsys.readouterr().out
    )
    readme = re.findall(r"\| `(\w+)` \| (\d+) of (\d+) .*? \| (\d+) of (\d+) ", (cases.SET / "README.md").read_text())
    assert told == [(p, f"{a}/{b}", f"{c}/{d}") for p, a, b, c, d in readme] and len(told) == 2
