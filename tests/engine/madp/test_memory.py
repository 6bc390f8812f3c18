"""What tasks on the real bus leave to later ones in their folder: notes, changed by people and gone with their session,
and who leads."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from parley.agents.tools.folder import archive
from parley.bus.log import Log
from parley.client.api import Parley
from parley.client.client import Client
from parley.client.errors import BadInput, Refusal
from parley.client.learned import memory, store, taught
from parley.client.learned.memory import project_of
from parley.client.learned.past import PastOutcomes
from parley.client.records import record_of
from parley.client.rendering import explain
from parley.client.task_folder import SentFolder
from parley.coordinator.sessions import rows
from parley.schemas.session import OpenSession
from tests.protocols.madp.play import APPROVED, AUDITOR, EXPERTS, IMPL, REVISE, SRE, matched, spec
from tests.support.madp import Actor, Crew

TASK = "Explain what leaks"
PROJECT = "git:1"
"""Of the folder."""
TEXTS = ["It leaks.", "It is done."]


@pytest.fixture
async def crew(tmp_path: Path) -> AsyncIterator[Crew]:
    """A task of which a review found something is over."""
    async with Crew(tmp_path, (spec(x) for x in EXPERTS)) as crew:
        moderator = await crew.moderator()
        await crew.experts(AUDITOR)
        await crew.expert(AUDITOR, Actor(review=[REVISE, APPROVED]))
        await crew.helper(matched({SRE: 0.95}, reviewers=[AUDITOR]))
        await crew.know(moderator)
        await crew.task("s1", TASK, project=PROJECT)
        assert (await crew.result("s1"))["stop"]["reason"] == "reviewed"
        yield crew


async def texts(client: Client, project: str = PROJECT) -> list[str]:
    return [note.text for note in await memory.all_notes(client, project)]


async def opened(client: Client, task: str = TASK, project: str = PROJECT) -> list[str]:
    """The notes that a task in a folder would be opened with."""
    sent = SentFolder(folder=Path(), data=archive({"a.py": (b"", False)}), left_out=())
    opening = OpenSession(question=task, protocol="madp", settings={"project": project})
    learned = (await memory.recalled(client, opening, sent)).learned
    return [note.text for note in learned.notes or ()] if learned else []


async def test_later_tasks_see_it_in_the_same_folder_alone_and_it_goes_with_its_session(crew: Crew) -> None:
    owner = Client(crew.owner, "owner")
    assert await texts(owner) == TEXTS and await opened(owner) == ["It leaks."]
    assert await texts(owner, "git:2") == [] == await opened(owner, project="git:2")
    assert await opened(owner, "Paint the door") == [] == await opened(owner, project="")
    await owner.feedback("s1", right=False)
    assert await texts(owner) == [], "a person says that the work is wrong"
    await owner.feedback("s1", right=True)
    assert await texts(owner) == TEXTS
    await owner.erase("s1")
    row = await owner.row("s1")
    assert await texts(owner) == [] and row is not None and not row.memory


async def test_a_client_sees_notes_of_sessions_that_it_may_read_and_changes_its_own(crew: Crew) -> None:
    other = Client(await crew.connect("client"), "client")
    assert await texts(other) == [] == await opened(other)
    with pytest.raises(BadInput, match=r"'s1\.1'; parley experts memory list shows"):
        await memory.change(other, "s1.1", None)
    with pytest.raises(Refusal, match="was opened by somebody else"):
        await other.keep_notes("s1", ())
    assert await texts(Client(crew.owner, "owner")) == TEXTS


async def test_a_person_edits_and_forgets_and_a_rebuilt_index_says_so_too(crew: Crew) -> None:
    owner = Client(crew.owner, "owner")
    with pytest.raises(BadInput, match="what may be a secret"):
        await memory.change(owner, "s1.1", "The password is hunter2hunter2")
    with pytest.raises(BadInput, match="got 301 characters, allowed are 1 to 300"):
        await memory.change(owner, "s1.1", "x" * 301)
    assert (await memory.change(owner, "s1.1", "Close  what\nyou open.")).text == "It leaks."
    await memory.change(owner, "s1.2", None)
    with pytest.raises(BadInput, match=r"'s1\.2'"):
        await memory.change(owner, "s1.2", None)
    (note,) = await memory.all_notes(owner, PROJECT)
    assert (note.id, note.text, note.by) == ("s1.1", "Close what you open.", "owner")
    await owner.feedback("s1", right=True)
    row = await owner.row("s1")
    assert row is not None and row.feedback == "right" and row.memory
    connection = await crew.connect("moderator")
    again = await rows.of_log(Log(connection), "s1")
    assert again is not None and (again.memory, again.feedback_ns) == (row.memory, row.feedback_ns)
    told = "\n".join(explain.explanation_lines(record_of("s1", await owner.log("s1")), "memory"))
    assert "Close what you open." in told and "It leaks." not in told and "It is done." not in told
    with pytest.raises(Refusal, match="there is no note 7; its notes are 1, 2"):
        await owner.keep_notes("s1", (note.__class__(n=7, kind="pitfall", text="Mine."),))


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
