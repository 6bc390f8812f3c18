"""Registries of one's own, with and without what a language model replied."""

import shutil
from pathlib import Path

import msgspec
import pytest

from parley.agents.matching.ask_model import NOBODY
from parley.client.errors import BadInput
from parley_research.loaders import BadData
from parley_research.route import Question
from parley_research.routing_registries import FIT, LEARNT, TRAIN, registries, replies
from parley_research.routing_run import evaluate_registries, write_questions

FARM = TRAIN / "farm"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One registry."""
    shutil.copytree(FARM, tmp_path / "some" / "farm")
    return tmp_path / "some"


def questions(file: Path) -> list[Question]:
    return msgspec.json.Decoder(Question).decode_lines(file.read_bytes())


def reply(n: int, lead: str, registry: str = "farm") -> bytes:
    said = {"registry": registry, "n": n, "lead": lead, "support": [], "confidence": 0.9, "why": "it is theirs"}
    return msgspec.json.encode(said) + b"\n"


def test_replies_are_taken_where_the_matcher_would_have_asked(folder: Path, tmp_path: Path) -> None:
    file, answers = tmp_path / "questions.jsonl", tmp_path / "replies.jsonl"
    asked, of, below = write_questions(folder, file, None, 0.3)
    (farm,) = registries(folder)
    found = questions(file)
    assert (len(found), of) == (asked, len(farm.cases)) and 0 < asked <= 0.3 * of
    for one in found:
        assert farm.cases[one.n].prompt in one.user and "You choose who takes a task" in one.system
        assert NOBODY in str(one.reply) and not any(f"lead: {x}" in one.user for x in farm.cases[one.n].right)
    right = [next(iter(sorted(farm.cases[q.n].right)), NOBODY) for q in found]
    answers.write_bytes(b"".join(reply(q.n, lead) for q, lead in zip(found, right, strict=True)))
    reports = {(r.set, r.matcher): r for r in evaluate_registries(folder, answers, below)}
    alone, with_model = reports["farm", "better"], reports["farm", f"better, asked below {below:g}"]
    assert with_model.accuracy.hits > alone.accuracy.hits
    assert reports["all registries", with_model.matcher].accuracy == with_model.accuracy
    answers.write_bytes(b"".join(reply(q.n, lead) for q, lead in zip(found[1:], right[1:], strict=True)))
    with pytest.raises(BadInput, match=f"prompt {found[0].n} would be asked about"):
        evaluate_registries(folder, answers, below)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (reply(0, "nobody-knows"), "line 1: unknown experts nobody-knows"),
        (reply(0, NOBODY) * 2, "line 2: no prompt 0"),
        (reply(9_999, NOBODY), "line 1: no prompt 9999"),
        (reply(0, NOBODY, "barn"), "no prompt 0 of 'barn'"),
    ],
)
def test_a_reply_that_cannot_be_is_named(folder: Path, tmp_path: Path, lines: bytes, why: str) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_bytes(lines)
    with pytest.raises(BadData, match=why):
        replies(file, registries(folder))


def test_what_the_ranking_is_fitted_on_is_not_what_the_encoder_is_trained_on() -> None:
    learnt = {case.prompt for part in LEARNT for of in registries(part) for case in of.cases}
    fitted = [case.prompt for of in registries(FIT) for case in of.cases]
    assert len(fitted) > 800 and not learnt.intersection(fitted)
