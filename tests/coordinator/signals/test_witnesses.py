"""Whether those behind an answer are one witness."""

from collections.abc import Sequence
from hashlib import sha256

import pytest

from parley.coordinator.signals.witnesses import one_source
from parley.schemas.session import Document, Seat
from parley.schemas.text import Citation

TEXTS = {"a.md": "It is nine. It is late.", "b.md": "Nine, they say.", "copy of a.md": "It is nine. It is late.",
         "near a.md": "It is nine. It is early."}  # fmt: skip
DOCUMENTS = tuple(Document(id=sha256(t.encode()).hexdigest(), name=n, text=t, holders=()) for n, t in TEXTS.items())
READER, MODEL = "extractive", "qwen"


@pytest.mark.parametrize(
    ("quoted", "families", "one"),
    [
        ([("a.md", "It is nine."), ("a.md", "It is nine.")], [READER] * 2, True),
        ([("a.md", "It is nine."), ("a.md", "It is late.")], [READER] * 2, True),
        ([("a.md", "It is nine."), ("copy of a.md", "It is late.")], [READER] * 2, True),
        ([("a.md", "It is nine."), ("near a.md", "It is  nine.")], [READER] * 2, True),
        (
            [("a.md", "The last tram leaves at nine."), ("near a.md", "Today the last tram leaves at nine.")],
            [READER] * 2,
            True,
        ),
        ([("a.md", "It is nine."), ("b.md", "Nine, they say.")], [READER] * 2, False),
        ([("a.md", "It is nine."), ("a.md", "It is nine."), ("b.md", "Nine, they say.")], [READER] * 3, False),
        ([("a.md", "It is nine."), ("a.md", "It is nine.")], [READER, MODEL], False),
        ([("a.md", "It is nine."), ("a.md", "It is nine.")], [MODEL] * 2, False),
        ([("a.md", "It is nine."), None], [READER] * 2, True),
        ([None, None], [READER] * 2, False),
    ],
)
def test_readers_without_a_model_are_two_witnesses_by_two_sentences_of_two_documents(
    quoted: Sequence[tuple[str, str] | None], families: Sequence[str], one: bool
) -> None:
    seats = [Seat(seat=f"s{i}", role="panelist", queue=f"s{i}", family=f) for i, f in enumerate(families)]
    held = {f"s{i}": (Citation(document=q[0], quote=q[1]),) if q else () for i, q in enumerate(quoted)}
    assert (one_source(seats, held, DOCUMENTS) is not None) == one


def test_a_seat_that_is_not_behind_the_answer_is_no_witness_of_it() -> None:
    seats = [Seat(seat="s0", role="panelist", queue="s0", family=READER), Seat(seat="s1", role="panelist", queue="s1")]
    held = {"s0": (Citation(document="a.md", quote="It is nine."),)}
    assert one_source(seats, held, DOCUMENTS) == held["s0"][0]
