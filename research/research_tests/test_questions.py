"""The questions over documents: what the frozen half is, and that both halves can be scored."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from parley.agents.models.extractive import Extractive
from parley_research.extractive import own, session, verdict

QUESTIONS = Path(__file__).parents[2] / "research" / "parley_research" / "questions"
FROZEN = "d871b77d2b32d1341acabb77df8228886d9458f89bf57da829559d3254109236"
"""Of its questions."""
WITH_DOCUMENTS = "a77b62acc3c10a2c6e0f3017aca4459e5a72cfe08daddad20ca60bbe5b91bbbc"


def test_the_frozen_half_is_as_it_was_written() -> None:
    lines = (QUESTIONS / "frozen.jsonl").read_bytes().splitlines(keepends=True)
    questions = b"".join(line for line in lines if "document" not in json.loads(line))
    assert sha256(questions).hexdigest() == FROZEN
    assert sha256(b"".join(lines)).hexdigest() == WITH_DOCUMENTS


@pytest.mark.parametrize(("half", "questions", "unanswerable"), [("dev", 60, 20), ("frozen", 100, 34)])
def test_a_half_has_its_questions_and_every_gold_stands_in_its_documents(
    half: str, questions: int, unanswerable: int
) -> None:
    asked = list(own(QUESTIONS / f"{half}.jsonl"))
    assert len(asked) == questions and sum(not a.gold for a in asked) == unanswerable
    for a in asked:
        if a.kind == "yesno" or not a.gold:
            continue
        text = " ".join(" ".join(t for _, t in a.documents).casefold().split())
        assert any(all(" ".join(part.casefold().split()) in text for part in g) for g in a.gold), a.id


def test_no_document_serves_both_halves() -> None:
    def names(half: str) -> set[str]:
        lines = (QUESTIONS / f"{half}.jsonl").read_bytes().splitlines()
        return {name for row in lines for name in json.loads(row).get("documents", ())}

    assert not names("dev") & names("frozen") and len(names("dev") | names("frozen")) >= 40


def test_of_the_questions_in_four_languages_half_are_answered_and_one_in_twenty_wrongly_at_most() -> None:
    questions = list(own(QUESTIONS / "languages.jsonl"))
    assert len(questions) == 40 and sum(bool(q.gold) for q in questions) == 32
    answer = session(Extractive())
    verdicts = [(q.id[:2], verdict(q, answer(q))) for q in questions]
    assert all(verdicts.count((language, "right")) >= 5 for language in ("de", "fr", "es", "zh")), verdicts
    assert sum(v == "wrong" for _, v in verdicts) <= 2, verdicts
