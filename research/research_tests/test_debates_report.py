"""`parley eval debates`: its report, what it keeps, what it repeats, and what it refuses."""

import json
import random
import shlex
from pathlib import Path
from typing import Any

import pytest

from parley.client.errors import BadInput
from parley_research.debates import recorded
from parley_research.debates.blocks import Block, Code, Heading, Items, Picture, Words, html, markdown, table
from parley_research.debates.manifest import Settings
from parley_research.debates.registry import loaded
from parley_research.first_look import signed
from tests.support.forks import run

METHODS = ("single", "best", "vote", "full", "unanimity", "maci_paper", "maci_fixed", "oracle_stop", "critic")


def mine(folder: Path, count: int = 80) -> Path:
    """Two members, right in 40 and 90 %; the first gives in to the second in the second round."""
    dice, lines = random.Random(3), []
    for number in range(count):
        gold = dice.choice("ab")
        said = [gold if dice.random() < skill else "ab".replace(gold, "") for skill in (0.4, 0.9)]
        rounds = [[{"member": m, "answer": a, "words": 10} for m, a in zip("xy", said, strict=True)]]
        rounds.append([{"member": "x", "answer": said[1], "words": 10}])
        row = {"id": f"q{number}", "options": ["a", "b"], "gold": gold, "members": ["x", "y"], "rounds": rounds}
        lines.append(json.dumps(row))
    file = folder / "<b>mine.jsonl"
    file.write_text("\n".join(lines))
    return file


def settings(file: Path, **given: Any) -> Settings:
    return Settings(files=(str(file),), methods=METHODS, **given)


def test_a_report_says_what_was_found_and_what_was_not_run(tmp_path: Path) -> None:
    report, files = recorded.evaluate(settings(mine(tmp_path)), None, tmp_path / "out", None)
    (one,) = report.sets
    rows = {row.method: row for row in one.rows}
    assert rows["best"].accuracy.value == rows["full"].accuracy.value > rows["vote"].accuracy.value + 0.1
    assert rows["best"].words == 10 and rows["full"].words == 30
    assert rows["maci_fixed"].same_as == "maci_paper"
    assert one.front == ("best",)
    assert [n.method for n in one.not_run] == ["critic"]
    words = {(c.method, c.against): c.word for c in one.comparisons}
    assert words["best", "vote"] == words["full", "vote"] == "better"
    assert words["best", "full"] == "not decided"  # no difference on 35 questions
    assert [f.name for f in files] == ["report.html", "report.md", "report.json", "worth.md", "manifest.json"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<b>mine" not in page and "&lt;b&gt;mine" in page and page.count("data:image/svg+xml") == 2
    text = (tmp_path / "out" / "report.md").read_text()
    assert "The same as `maci_paper` in every debate: `maci_fixed`." in text
    assert "`critic`: no recorded data set has objections" in text
    assert shlex.split(report.manifest.command)[:4] == ["parley", "eval", "debates", str(tmp_path / "<b>mine.jsonl")]
    assert report.manifest.command in text
    worth = (tmp_path / "out" / "worth.md").read_text()
    (pair,) = [c for c in one.comparisons if (c.method, c.against) == ("full", "vote")]
    assert f"{signed(pair.gain)} | better | {pair.better} / {pair.worse} |" in worth
    assert "against the vote of its first answers" in worth and f": better, {signed(pair.gain)} points" in worth
    assert "| 2 |" in worth and "| 50.0 |" in worth
    assert all(
        (tmp_path / "out" / "plots" / name).is_file() for name in ("<b>mine-cost.svg", "<b>mine-calibration.svg")
    )
    lines = list(recorded.summary(report, files))
    assert any("best" in line and "better" in line for line in lines)


def test_a_run_takes_what_was_finished_and_a_manifest_repeats_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, out = mine(tmp_path), tmp_path / "out"
    first, _ = recorded.evaluate(settings(file), None, out, None)
    (kept,) = (out / "sets").iterdir()
    again, _ = recorded.evaluate(settings(file), None, out, None)
    assert "finished before" in capfd.readouterr().err
    assert again.sets == first.sets
    kept.write_text("{")
    third, _ = recorded.evaluate(settings(file), None, out, None)
    assert "computed again" in capfd.readouterr().err
    assert third.sets[0].rows == first.sets[0].rows

    repeated, _ = recorded.evaluate(Settings(), None, tmp_path / "two", out / "manifest.json")
    assert repeated.sets[0].rows == first.sets[0].rows and repeated.sets[0].comparisons == first.sets[0].comparisons
    assert repeated.notes == ("Code, data, seeds and libraries are those of the run that this repeats.",)
    file.write_text(file.read_text().replace("q79", "q80"))
    other, _ = recorded.evaluate(Settings(), None, tmp_path / "three", out / "manifest.json")
    assert "mine.jsonl is not the same file" in capfd.readouterr().err
    assert other.notes == ("Not as in the run that this repeats: <b>mine.jsonl is not the same file.",)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (Settings(sets=("nothing",)), "--set: got 'nothing', known: ford"),
        (Settings(methods=("nothing",)), "--method: got 'nothing', known: single"),
        (Settings(files=("gone.jsonl",)), "FILE: gone.jsonl: no such file"),
        (
            Settings(sets=("ford",)),
            r"--data: not in .*: ford \(licence: none given.*from https://github.com/Waste-Wood/FORD\)",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_said(tmp_path: Path, given: Settings, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        recorded.evaluate(given, tmp_path, tmp_path / "out", None)


def test_a_controller_of_several_is_not_run_where_every_debate_has_one_member(tmp_path: Path) -> None:
    rounds = [[{"member": "x", "answer": "a", "words": 9, "confidence": 0.8}]] * 2
    row = {"options": ["a", "b"], "gold": "a", "members": ["x"], "rounds": rounds}
    file = tmp_path / "alone.jsonl"
    file.write_text("".join(json.dumps({"id": f"q{n}", **row}) + "\n" for n in range(40)))
    only = Settings(files=(str(file),), methods=("maci",))
    with pytest.raises(BadInput, match=r"--method: maci cannot be played .*alone: every debate has one member"):
        recorded.evaluate(only, None, tmp_path / "out", None)
    given = Settings(files=(str(file),), methods=("confidence", "maci"))
    report, files = recorded.evaluate(given, None, tmp_path / "out", None)
    assert "  not run: maci (every debate has one member)" in recorded.summary(report, files)
    (one,) = report.sets
    assert [(n.method, n.why) for n in one.not_run] == [("maci", "every debate has one member")]
    assert one.front == ("confidence",)


@pytest.mark.parametrize(
    ("methods", "why"),
    [
        (("judge",), 'the data has no judge\'s belief after each round. What would do: --set quality.*"verdict" after'),
        (
            ("judge", "critic"),
            "judge cannot be played .* critic cannot be played .*`--cell critic` of `parley eval live`",
        ),
        (("oracle_stop", "judge"), ""),
    ],
)
def test_methods_that_the_data_is_nothing_for_are_refused_with_the_data_that_would_do(
    tmp_path: Path, methods: tuple[str, ...], why: str
) -> None:
    given = Settings(files=(str(mine(tmp_path)),), methods=methods)
    if why:
        with pytest.raises(BadInput, match=why) as refused:
            recorded.evaluate(given, None, tmp_path / "out", None)
        assert refused.value.field == "--method" and not (tmp_path / "out").exists()
    else:
        report, _ = recorded.evaluate(given, None, tmp_path / "out", None)
        assert [one.method for one in report.sets[0].not_run] == ["judge"]


def test_two_files_of_one_name_and_a_file_without_a_test_half_are_refused(tmp_path: Path) -> None:
    first = mine(tmp_path, 1)
    (tmp_path / "sub").mkdir()
    second = mine(tmp_path / "sub")
    for files, why in (
        ((first, second), rf"FILE: {first} and {second} have one name, '<b>mine'"),
        ((first,), r"no debate lies in the test half.*: 1\. A hash of the file's name and the question's name"),
    ):
        with pytest.raises(BadInput, match=why):
            recorded.evaluate(Settings(files=tuple(map(str, files))), None, tmp_path / "out", None)
    assert not (tmp_path / "out").exists()


def test_a_manifest_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("{}")
    for name, why in (("m.json", "is no manifest"), ("gone.json", "cannot read")):
        with pytest.raises(BadInput, match=why):
            recorded.evaluate(Settings(), None, tmp_path, tmp_path / name)


def test_the_command_tells_of_progress_and_prints_one_document(tmp_path: Path) -> None:
    file = mine(tmp_path, 200)
    only = ("--method", "vote", "--method", "best", "--out", str(tmp_path / "out"))
    code, out, err = run("eval", "debates", str(file), *only, "--json")
    assert code == 0, err
    assert json.loads(out)["report"]["sets"][0]["baseline"] == "vote"
    assert "data set 1 of 1" in err and "shows four times in five" in err, err
    code, out, err = run("eval", "debates", "--list", "--data", str(tmp_path))
    assert code == 0 and "ford: not there" not in out and "not there" in out and "maci_paper" in out
    for given, why in (
        (("--repeat", "m.json", "--set", "ford"), "--repeat and --set contradict"),
        (("--repeat", "m.json", str(file)), "--repeat and FILE contradict"),
        ((str(file), "--margin", "nan"), "'--margin': got 'nan', allowed is 0.01 to 50"),
        ((str(file), "--out", str(file / "sub")), "expected a folder that can be written"),
    ):
        code, out, err = run("eval", "debates", *given)
        assert code == 2 and why in " ".join(err.split()) and "data set 1" not in err


def test_without_a_file_and_without_sets_it_says_how_to_have_them(tmp_path: Path) -> None:
    code, out, err = run("eval", "debates", "--data", str(tmp_path), "--out", str(tmp_path / "out"))
    assert (code, out) == (2, "") and not (tmp_path / "out").exists()
    lines = err.splitlines()
    assert lines[-1].endswith(f"FILE: there is none, and no public set is in {tmp_path}") and len(lines) <= 24
    for one in loaded().sets():
        assert one.origin is not None and one.origin.where.startswith("https://")
        assert f"  {one.name:<12} licence: {one.origin.licence}; from {one.origin.where}" in lines
    (example,) = (row for row in lines if row.startswith('  {"id"'))
    own = tmp_path / "example.jsonl"
    own.write_text("".join(example.replace("q1", f"q{n}") + "\n" for n in range(30)))
    code, out, err = run("eval", "debates", str(own), "--data", str(tmp_path / "none"), "--out", str(tmp_path / "out"))
    assert code == 0 and "example.jsonl" in out, err


def test_a_public_set_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    code, out, err = run("eval", "debates", "--set", "quality", "--data", str(tmp_path), "--json")
    assert code == 2 and json.loads(out)["error"]["field"] == "--data"
    assert [row for row in err.splitlines() if "licence: MIT; from https://github.com/julianmichael/debate" in row]


def test_blocks_are_one_page_in_two_forms() -> None:
    page: list[Block] = [
        Heading(1, "A <b> title"), Words("It is `a < b`."), Items(()), Items(("one", "two")), Code("x | y"),
        table("Figures", ("method", "a|b"), [["`m`", "1"]]), Picture("p", "A `plot`", "<svg></svg>"),
    ]  # fmt: skip
    assert markdown(page, "plots") == (
        "# A <b> title\n\nIt is `a < b`.\n\n- one\n- two\n\n```text\nx | y\n```\n\n"
        "Figures:\n\n| method | a\\|b |\n| --- | ---: |\n| `m` | 1 |\n\n![A plot](plots/p.svg)\n"
    )
    shown = html("T", page)
    assert "A &lt;b&gt; title" in shown and "<code>a &lt; b</code>" in shown and shown.count("<li>") == 2
    assert '<th scope="row"><code>m</code></th><td>1</td>' in shown and 'alt="A plot"' in shown
