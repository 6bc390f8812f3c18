"""Registries of one's own, with and without what a language model replied."""

from pathlib import Path

import msgspec
import pytest

from parley.agents.expert_matching.ask_model import NOBODY
from parley_research.loaders import BadData, NoData
from parley_research.route import Question
from parley_research.routing_registries import DEV, TEST, TEST_2, registries, replies
from parley_research.routing_run import evaluate_registries, write_questions

FARM = "snowpeak-resort"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """One registry."""
    (line,) = (line for line in DEV.read_text().splitlines() if f'"registry": "{FARM}"' in line)
    path = tmp_path / "some.jsonl"
    path.write_text(line + "\n")
    return path


def questions(file: Path) -> list[Question]:
    return msgspec.json.Decoder(Question).decode_lines(file.read_bytes())


def reply(n: int, lead: str, registry: str = FARM) -> bytes:
    said = {"registry": registry, "n": n, "lead": lead, "support": [], "confidence": 0.9, "why": "it is theirs"}
    return msgspec.json.encode(said) + b"\n"


def test_replies_are_taken_where_the_matcher_would_have_asked(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asks, answers = tmp_path / "questions.jsonl", tmp_path / "replies.jsonl"
    asked, of, below = write_questions(file, asks, None, 0.3)
    (farm,) = registries(file)
    found = questions(asks)
    assert (len(found), of) == (asked, len(farm.cases)) and 0 < asked <= 0.3 * of
    for one in found:
        assert farm.cases[one.n].prompt in one.user and "You choose who takes a task" in one.system
        assert NOBODY in one.user and not any(f"lead: {x}" in one.user for x in farm.cases[one.n].right)
    right = [next(iter(sorted(farm.cases[q.n].right)), NOBODY) for q in found]
    answers.write_bytes(b"".join(reply(q.n, lead) for q, lead in zip(found, right, strict=True)))
    reports = {(r.set, r.matcher): r for r in evaluate_registries(file, answers, below)}
    alone, with_model = reports[FARM, "no model"], reports[FARM, f"a model asked below {below:g}"]
    assert with_model.accuracy.hits > alone.accuracy.hits
    assert reports["all registries", with_model.matcher].accuracy == with_model.accuracy
    answers.write_bytes(b"".join(reply(q.n, lead) for q, lead in zip(found[1:], right[1:], strict=True)))
    evaluate_registries(file, answers, below)
    said = capsys.readouterr().err
    assert f"asked about {asked} of {of} prompts, and {asked} of" in said
    assert f"asked about {asked} of {of} prompts, and {asked - 1} of" in said


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (reply(0, "nobody-knows"), "line 1: unknown experts nobody-knows"),
        (reply(0, NOBODY) * 2, "line 2: no prompt 0"),
        (reply(9_999, NOBODY), "line 1: no prompt 9999"),
        (reply(0, NOBODY, "barn"), "no prompt 0 of 'barn'"),
    ],
)
def test_a_reply_that_cannot_be_is_named(file: Path, tmp_path: Path, lines: bytes, why: str) -> None:
    answers = tmp_path / "replies.jsonl"
    answers.write_bytes(lines)
    with pytest.raises(BadData, match=why):
        replies(answers, registries(file))


def test_the_shipped_sets_are_whole_and_share_no_prompt() -> None:
    sets = {path: registries(path) for path in (DEV, TEST, TEST_2)}
    assert [(len(s), sum(len(of.cases) for of in s)) for s in sets.values()] == [(14, 840), (6, 360), (6, 360)]
    prompts = [{case.prompt for of in s for case in of.cases} for s in sets.values()]
    assert not prompts[0] & prompts[1] and not prompts[0] & prompts[2] and not prompts[1] & prompts[2]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("{", "line 1: "),
        ('{"registry": "r", "experts": [], "prompts": [{"prompt": "p", "lead": ["x"]}]}', "line 1: unknown experts x"),
        ('{"registry": "r", "experts": [{"agent": {"id": "x"}}], "prompts": []}', "line 1: name: "),
        ('{"registry": "r", "experts": [], "prompts": []}\n' * 2, "line 2: registry 'r' stands twice"),
        ('{"registry": "r", "experts": [{"a":' + "[" * 100_000, "nested too deep"),
    ],
)
def test_a_registry_that_cannot_be_is_named(tmp_path: Path, lines: str, why: str) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(lines)
    with pytest.raises(BadData, match=why):
        registries(path)


def test_a_file_without_registries_is_named(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("\n")
    for name in ("none.jsonl", "nowhere.jsonl"):
        with pytest.raises(NoData, match=name):
            registries(tmp_path / name)
