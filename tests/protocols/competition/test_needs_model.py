"""A session is refused before it begins where the extractive model would play what only a language model plays: by
admission, and so by every door in the same words."""

from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.agents.models import make_model
from parley.coordinator.admission import admit, check_language_models
from parley.coordinator.machine import Inadmissible
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas.presence import Announcement
from parley.schemas.session import Document, OpenSession
from parley.stack.announce import expected_announcements
from parley.stack.rows import rows_of
from tests.protocols.competition.play import COMPETITION, small, speech
from tests.support.engine import Engine, engine
from tests.web.support import Web, folder_of

FORMAT = small(speech("pro_1"), seats=2)
DUEL = small(speech("pro_1"), seats=1)
SEATS = ("pro_1", "pro_2", "con_1", "con_2", "judge")
SAID = (
    "seats: competition needs a language model, and {}: set LLM_PROVIDER and LLM_MODEL "
    "(`parley doctor` says what is missing)"
)
NOBODY = SAID.format("pro_1, con_1, judge have none")


def there(*keyless: str, queues: tuple[str, ...] = SEATS, **more: Any) -> list[Announcement]:
    """A worker for each queue; of these names with the extractive model."""
    return [
        Announcement(
            instance=f"{queue}-{more}", queue=queue, roles=(queue.partition("_")[0],), model="m",
            family="extractive" if queue in keyless else "qwen", **more,
        )
        for queue in queues
    ]  # fmt: skip


def opened(workers: list[Announcement], **more: Any) -> Any:
    request = OpenSession(question="Ban it?", protocol="competition", settings={"format": FORMAT}, **more)
    return admit(COMPETITION, request, tuple(workers), 1, "")


@pytest.mark.parametrize(
    ("keyless", "said"),
    [
        (("judge",), "judge has none"),
        (("pro_1", "con_1", "judge"), "pro_1, con_1, judge have none"),
        (SEATS, "pro_1, pro_2, con_1 and 2 more have none"),
    ],
)
def test_who_has_none_is_named(keyless: tuple[str, ...], said: str) -> None:
    with pytest.raises(Inadmissible) as refused:
        opened(there(*keyless))
    assert str(refused.value) == SAID.format(said) and refused.value.field == "seats"
    assert refused.value.worker, "a worker that is not heard yet may have one"


def test_a_task_that_chooses_its_experts_needs_one_that_has_a_model() -> None:
    tasks = replace(PROTOCOLS["madp"], needs_model=("expert",))
    experts = ("expert_sre", "expert_dba", "helper")
    for keyless in (("expert_sre", "helper"), ("helper",)):
        check_language_models(tasks, there(*keyless, queues=experts), ())
    with pytest.raises(Inadmissible, match="madp needs a language model, and expert_dba, expert_sre have none"):
        check_language_models(tasks, there(*experts, queues=experts), ())


@pytest.mark.parametrize("protocol", ["consensus", "single"])
def test_whoever_quotes_needs_a_document_a_model_or_a_person(protocol: str) -> None:
    workers = tuple(expected_announcements(rows_of(protocol)))
    request, read = OpenSession(question="Ban it?", protocol=protocol), sha256(b"Yes.").hexdigest()
    document = Document(id=read, name="a.md", text="Yes.")
    earlier = msgspec.structs.replace(document, background=True)
    replace_in = msgspec.structs.replace
    for asked in (request, replace_in(request, documents=(earlier,))):
        with pytest.raises(Inadmissible, match="nothing to answer it from: give documents, or set LLM_PROVIDER") as why:
            admit(PROTOCOLS[protocol], asked, workers, 1, "")
        assert (why.value.field, why.value.worker) == ("evidence", True)
    for asked in (replace_in(request, documents=(document,)), replace_in(request, waits={workers[0].queue: 60.0})):
        assert admit(PROTOCOLS[protocol], asked, workers, 1, "").seats
    with_model = (msgspec.structs.replace(workers[0], family="qwen"), *workers[1:])
    assert admit(PROTOCOLS[protocol], request, with_model, 1, "").seats


# ---------------------------------------------------------------- at the doors


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[Engine]:
    async with engine(tmp_path / "bus", queues={"pro_1": "pro", "con_1": "con", "judge": "judge"}) as started:
        await started.moderator()
        for queue in started.queues:
            await started.worker(queue, model=make_model("extractive"))
        yield started


async def test_the_page_and_programs_are_told_alike(bus: Engine, tmp_path: Path) -> None:
    """A client that is no owner cannot see who is there: the moderator tells it."""
    tokens = folder_of(bus, tmp_path / "keys")
    chat = {
        "model": "parley/competition", "messages": [{"role": "user", "content": "Ban it?"}],
        "parley": {"settings": {"format": DUEL}},
    }  # fmt: skip
    async with Web(bus.server.url, tmp_path / "keys") as web, web.client(tokens["alice"]) as browser:
        asked = {"question": "Ban it?", "protocol": "competition", "settings": {"format": DUEL}}
        page = await browser.post("/api/sessions", asked, 409)
        assert (page["error"]["field"], page["error"]["message"]) == ("seats", NOBODY)
        program = await browser.post("/v1/chat/completions", chat, 400)
        assert (program["error"]["param"], program["error"]["message"]) == ("seats", NOBODY)
        rows = (await browser.get("/api/sessions"))["sessions"]
        assert {row["status"] for row in rows} <= {"refused"}
