"""Tasks on the real bus that learn from those before them: who leads, and what is forgotten, erased or another's."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from parley.client.api import Parley
from parley.client.client import Client
from parley.client.learned import store, taught
from parley.client.learned.memory import project_of
from parley.client.learned.past import PastOutcomes
from parley.client.records import record_of
from parley.client.rendering import explain
from parley.schemas.session import OpenSession
from tests.protocols.madp.play import EXPERTS, IMPL, SRE, matched, spec
from tests.support.madp import Crew

SAME = (
    "the order list takes four seconds, make it faster", "listing the orders is slow, speed it up",
    "our order list loads too slowly", "the list of orders should open faster",
)  # fmt: skip


class Shop:
    """A bus whose helper finds the wrong expert, and a person with a folder."""

    def __init__(self, crew: Crew, home: Path) -> None:
        self.crew, self.home = crew, home
        self.file = home / "learned.json"
        self.client = Client(crew.owner, "owner")
        self.parley = Parley(self.client, learned=self.file)

    async def ask(self, prompt: str, folder: str = "shop", **settings: Any) -> dict[str, Any]:
        """A task, at its end; its outcome, with its id."""
        (self.home / folder).mkdir(exist_ok=True)
        request = OpenSession(question=prompt, protocol="madp", settings=settings, turn_timeout_s=30.0)
        named = project_of(self.home / folder)
        sid = await self.client.open(PastOutcomes(file=self.file).of_folder(request, self.home / folder, named))
        outcome: dict[str, Any] = (await self.client.result(sid)).outcome
        return {**outcome, "sid": sid}

    async def leads(self, prompt: str, folder: str = "shop", **settings: Any) -> str:
        return str((await self.ask(prompt, folder, **settings))["lead"])


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with Crew(tmp_path, [spec(x) for x in EXPERTS]) as crew:
        moderator = await crew.moderator()
        await crew.helper(matched({SRE: 0.95}))
        await crew.experts()
        await crew.know(moderator)
        yield Shop(crew, tmp_path)


async def test_three_overrides_move_the_fourth_lead_in_their_folder_alone(shop: Shop) -> None:
    sids = [(await shop.ask(prompt, expert=IMPL))["sid"] for prompt in SAME[:3]]
    fourth = await shop.ask(SAME[3])
    assert fourth["lead"] == IMPL and fourth["consensus"]["how"] == "preference"
    told = "\n".join(explain.explanation_lines(record_of(fourth["sid"], await shop.client.log(fourth["sid"]))))
    assert f"Three times in this folder you chose {IMPL} for such a task." in told
    assert await shop.leads(SAME[3], folder="other") == SRE
    assert await shop.leads("write a guide for new contributors") == SRE, "another kind of task"
    shop.parley.recalls(PastOutcomes())
    assert await shop.leads(SAME[3]) == SRE, "it is switched off"
    shop.parley.recalls(PastOutcomes(file=shop.file))
    # Forgotten, and not read again.
    assert set(taught.forget(shop.file, lambda one: one.session in sids)) == set(sids)
    assert SAME[0] not in shop.file.read_text()
    assert await shop.leads(SAME[3]) == SRE


async def test_what_is_erased_teaches_nothing_and_neither_does_another_bus(shop: Shop) -> None:
    sid = (await shop.ask(SAME[0], expert=IMPL))["sid"]
    assert await shop.leads(SAME[1]) == IMPL, "once is enough, as long as nothing speaks against it"
    assert SAME[0] in shop.file.read_text()
    await shop.client.erase(sid)
    found = await taught.look(shop.client, shop.file)
    assert sid not in [one.session for one in found.lessons] and SAME[0] not in shop.file.read_text()
    mine = await shop.ask(SAME[0], expert=IMPL)
    (kept,) = [one for one in (await taught.look(shop.client, shop.file)).lessons if one.session == mine["sid"]]
    taught.forget_erased(shop.file, [mine["sid"]])
    assert mine["sid"] not in shop.file.read_text()
    elsewhere = kept.__class__(
        session="of-another-bus", at_ns=kept.at_ns, folder=kept.folder, task=SAME[0], chosen=IMPL
    )
    store.write(shop.file, store.Store(lessons=(elsewhere,)))
    assert "of-another-bus" not in [one.session for one in (await taught.look(shop.client, shop.file)).lessons]
