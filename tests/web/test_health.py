"""What the page of agents says of models: as they were found, or as their workers announce them."""

import asyncio

import pytest

from parley.schemas.presence import Announcement, Workers
from parley.web.health import Health, Lack, Looks, ModelHealth
from parley.web.page.people import models, seen


def worker(queue: str, model: str = "m1", **more: object) -> Announcement:
    """A worker of a queue."""
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
    assert [w.waiting for w in found.workers] == [3, 0] and found.missing == health.missing and found.looked
    bare = seen(there, None)
    assert [w.waiting for w in bare.workers] == [None, None] and not bare.looked


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
