"""What programs may ask for by name, and what the page of agents says of models."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from parley.client.errors import BadInput
from parley.client.opening import Offer, opening_of
from parley.planned.plan import Plan
from parley.schemas.presence import Announcement, Workers
from parley.schemas.session import Document, OpenSession, Seat
from parley.serving.offered_models import offers_of
from parley.settings import Settings, load
from parley.web.health import Health, Lack, Looks, ModelHealth
from parley.web.offered_models import Offers
from parley.web.page.people import models, seen
from parley.web.program_sessions import document

TWO = "seats:\n  {0}_1: {{role: panelist}}\n  {0}_2: {{role: panelist}}\n  analyst: {{}}\n"


def _opened(offer: Offer, documents: Sequence[Document] = (), **given: object) -> OpenSession:
    return opening_of("Tea?", given, documents, offer, door="mcp")


def _plan(**given: object) -> Plan:
    settings: Settings = load(None, dict(given))
    return Plan(settings, None, every="protocol" not in given)


def _panels(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def test_a_saved_panel_is_seated_beside_the_gateways_own_agents(tmp_path: Path) -> None:
    plan, offers = offers_of(_plan(consensus={"threshold": 80}), _panels(tmp_path, deep=TWO.format("deep")))
    assert {"deep_1", "deep_2", "panelist_1", "analyst"} <= {row.queue for row in plan.rows}
    assert sum(row.queue == "analyst" for row in plan.rows) == 1
    deep, own = offers.of("deep"), offers.of("consensus")
    assert [seat.seat for seat in deep.seats] == ["deep_1", "deep_2", "analyst"] and deep.settings["panel"] == 2
    assert [seat.seat for seat in own.seats] == ["panelist_1", "panelist_2", "panelist_3", "analyst"], "and not deep_1"
    assert deep.settings["threshold"] == own.settings["threshold"] == 80
    assert offers.of("madp").seats == () and offers.of("").protocol == "consensus"
    two = _opened(own, settings={"panel": 2})
    assert two.seats == own.seats and two.settings["panel"] == 2, "the question says which two of them sit"
    with pytest.raises(BadInput, match=r"settings\.panel: got 4, consensus seats 3 of role panelist"):
        _opened(own, settings={"panel": 4})


def test_without_saved_panels_whoever_is_alive_is_seated(tmp_path: Path) -> None:
    plan, offers = offers_of(_plan(protocol="consensus"))
    assert plan.beside == () and offers.of("consensus").seats == ()


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ({"consensus": TWO.format("a")}, "consensus is a protocol"),
        ({"a b": TWO.format("a")}, "letters, digits"),
        (
            {"a": "protocol: madp\nseats:\n  helper: {}\n"},
            "a panel for it would join every",
        ),
        (
            {"a": "seats:\n  panelist_1: {model: extractive, room: 2}\n  panelist_2: {}\n  analyst: {}\n"},
            "both seat panelist_1, with different models",
        ),
        ({}, "holds no panel file"),
    ],
)
def test_a_folder_that_cannot_be_right_is_refused(tmp_path: Path, texts: dict[str, str], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        offers_of(_plan(), _panels(tmp_path, **texts))


def test_settings_that_name_a_file_are_the_operators_alone() -> None:
    own = Offers([Offer(name="competition", protocol="competition", settings={"format": "four_stage"})])
    for settings, field in (
        ({"format": "x.yaml"}, "settings.format"),
        ({"personalities": "x.yaml"}, "settings.personalities"),
    ):
        with pytest.raises(BadInput, match=r"expected (one of|the)") as refused:
            _opened(own.of("competition"), settings=settings)
        assert refused.value.field == field
        with pytest.raises(BadInput, match=r"expected (one of|the)"):
            given = {"deliberation": "competition", "deliberation_settings": settings}
            _opened(own.of("madp"), settings=given)
    assert _opened(own.of("competition")).settings["format"]["name"] == "four_stage"


def test_more_documents_than_a_session_takes_are_refused_with_the_limit() -> None:
    many = [document(f"{i}.md", "x" * 5_000_000) for i in range(3)]
    with pytest.raises(BadInput, match=r"15,000,000 characters.*12,000,000"):
        _opened(Offers().of("consensus"), many)


def test_what_is_asked_for_goes_over_the_operators_settings_and_limits() -> None:
    offer = Offer(
        name="consensus", protocol="consensus", settings={"threshold": 80, "round_limit": 2},
        seats=(Seat(seat="a", role="panelist", queue="a"),),
    )  # fmt: skip
    opening = _opened(offer, settings={"round_limit": 4}, budget={"calls": 9}, seed=7)
    assert (opening.settings["threshold"], opening.settings["round_limit"], opening.seed) == (80, 4, 7)
    assert opening.budget.calls == 9
    with pytest.raises(BadInput, match="did you mean consensus"):
        Offers().of("consenus")


def worker(queue: str, model: str = "m1", **more: object) -> Announcement:
    given = {"instance": f"i-{queue}", "queue": queue, "roles": ("panelist",), "model": model, "family": "f", **more}
    return Announcement(**{"metered": True, **given})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "health", "words"),
    [
        ({}, "ok", "announced by its worker, and not asked"),
        ({"a": ModelHealth(status="announced")}, "ok", "announced by its worker, and not asked"),
        ({"a": ModelHealth(status="configured")}, "unknown", "configured, and not asked"),
        ({"a": ModelHealth(status="answers", seconds=0.42)}, "ok", "answered a tiny question in 0.4 s"),
        ({"a": ModelHealth(status="answers", seconds=1), "b": ModelHealth(status="missing")}, "failed", "not answer"),
    ],
)
def test_a_models_health_is_what_was_found(found: dict[str, ModelHealth], health: str, words: str) -> None:
    (model,) = models([worker("a"), worker("b")], found)
    assert model.health == health and words in model.words and model.queues == ("a", "b")


def test_a_model_that_ends_and_one_without_tokens_say_so() -> None:
    (ending,) = models([worker("a", draining=True)], {})
    assert ending.health == "warning" and "its workers are ending" in ending.words
    (keyless,) = models([worker("a", metered=False)], {"a": ModelHealth(status="ok")})
    assert keyless.health == "ok" and keyless.words.startswith("no language model")


def test_queues_say_what_waits_where_that_is_known() -> None:
    there = Workers(workers=(worker("a"), worker("b")), experts=(), listening_s=60)
    health = Health(waiting={"a": 3}, missing=(Lack(what="no key", mend="set X"),))
    found = seen(there, health)
    assert found.waiting == {"a": 3} and found.missing == health.missing and found.looked
    bare = seen(there, None)
    assert bare.waiting is None and not bare.looked


async def test_one_look_serves_all_who_ask_and_a_fault_is_no_end() -> None:
    looked = 0

    async def look() -> Health:
        nonlocal looked
        looked += 1
        await asyncio.sleep(0)
        return Health(waiting={"a": looked})

    looks = Looks(look)
    both = await asyncio.gather(looks.last(), looks.last())
    assert looked == 1 and both[0] == both[1] == Health(waiting={"a": 1})
    assert await looks.last() == both[0] and looked == 1
    await looks.close()

    async def broken() -> Health:
        raise ValueError("no")

    assert await Looks(broken).last() is None
    assert await Looks(None).last() is None
