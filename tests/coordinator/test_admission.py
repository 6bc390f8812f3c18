"""Admission: from a request to a complete first event, or the reason why not."""

from typing import Any

import pytest

from parley.coordinator.admission import admit, build_settings
from parley.coordinator.machine import Inadmissible
from parley.schemas.log import Opened
from parley.schemas.session import Document, OpenSession, Seat
from tests.protocols.consensus.play import CONSENSUS, document, worker, workers


def opened(there: Any = None, **more: Any) -> Opened:
    request = OpenSession(**{"question": "Which?", "protocol": "consensus", **more})
    return admit(CONSENSUS, request, workers(3) if there is None else there, 7, "client")


def test_complete() -> None:
    got = opened(settings={"threshold": 0.8})
    assert (got.protocol, got.version, got.seed, got.author) == ("consensus", 1, 7, "client")
    assert got.settings["threshold"] == 80
    assert got.settings["round_limit"] == 5


def test_models_and_prices_are_those_announced() -> None:
    there = (
        worker("panelist_1", metered=True, usd_per_million_input=1.0, usd_per_million_output=9.0),
        worker("panelist_1", metered=False, usd_per_million_input=3.0),
        worker("panelist_2"), worker("analyst", "analyst"),
    )  # fmt: skip
    lies = Seat(seat="x", role="panelist", queue="panelist_1", model="gratis", metered=False)
    honest = Seat(seat="y", role="panelist", queue="panelist_2", model="gold", metered=True, usd_per_million_input=7)
    seats = opened(there, seats=(lies, honest)).seats
    x, y = seats[:2]
    told = [(s.model, s.family, s.metered, s.usd_per_million_input, s.usd_per_million_output) for s in (x, y)]
    assert told == [("stub", "stub", True, 3, 9), ("stub", "stub", False, 0, 0)]


def test_too_few_named_seats() -> None:
    with pytest.raises(Inadmissible) as refused:
        opened(seats=(Seat(seat="a", role="panelist", queue="panelist_1"),))
    assert refused.value.field == "consensus.quorum"


def test_documents_are_dealt_in_turn() -> None:
    documents = tuple(document(f"{i}.md", f"text {i}") for i in range(4))
    dealt = opened(documents=(*documents, document("own.md", "mine", "panelist_3"))).documents
    assert [d.holders for d in dealt] == [
        ("panelist_1",), ("panelist_2",), ("panelist_3",), ("panelist_1",), ("panelist_3",),
    ]  # fmt: skip


def test_a_holder_that_names_a_role_stands_for_all_its_seats() -> None:
    of_role, of_seat = document("a.md", "a", "panelist"), document("b.md", "b", "analyst")
    both = document("c.md", "c", "panelist_2", "panelist")
    dealt = opened(documents=(of_role, of_seat, both)).documents
    assert [d.holders for d in dealt] == [
        ("panelist_1", "panelist_2", "panelist_3"), ("analyst",), ("panelist_2", "panelist_1", "panelist_3"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("documents", "text"),
    [
        ((document("a.md", "a", "nobody"),), "a.md: there is no seat nobody; seat more, or name its folder after"),
        ((document("a.md", "a"), document("a.md", "b")), "evidence a.md: two documents have this name"),
        (
            tuple(document(f"{i}.md", f"{i}" + "€" * 1_500_000) for i in range(3)),
            "bytes, allowed are at most 13,000,000",
        ),
        ((Document(id="0" * 64, name="a.md", text="a"),), "evidence a.md: its id is not the SHA-256 of its text"),
    ],
)
def test_documents_refused(documents: tuple[Document, ...], text: str) -> None:
    with pytest.raises(Inadmissible) as refused:
        opened(documents=documents)
    assert text in str(refused.value)
    assert refused.value.field == "evidence"


@pytest.mark.parametrize(
    ("given", "field", "text"),
    [
        ({"panel": 1}, "consensus.panel", "consensus.panel: got 1, allowed is 2 to 16"),
        ({"zzz": 1}, "consensus.zzz", "known are absent"),
        ({"quorun": 1}, "consensus.quorun", "did you mean consensus.quorum?"),
        ({"round_limit": 2.5}, "consensus.round_limit", "got 2.5, allowed is a whole number"),
        ({"least": {"facts": 1}}, "consensus.least", "got 'facts', allowed are approach, priority"),
        ({"absent": "stays"}, "consensus.absent", "got 'stays', allowed are leaves, counts"),
    ],
)
def test_settings_refused(given: dict[str, Any], field: str, text: str) -> None:
    with pytest.raises(Inadmissible) as refused:
        build_settings(CONSENSUS, given)
    assert refused.value.field == field
    assert text in str(refused.value)
