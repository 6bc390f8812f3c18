"""A session is refused before it begins where the extractive model would play what only a language model plays: by
admission, and so by every door in the same words."""

import re
from dataclasses import replace
from hashlib import sha256
from typing import Any

import msgspec
import pytest

from parley.client import estimate
from parley.client.errors import BadInput
from parley.coordinator.admission import admit, check_language_models
from parley.coordinator.machine import Inadmissible
from parley.coordinator.protocols import PROTOCOLS
from parley.doctor import models, screen
from parley.doctor.checks import _Doctor
from parley.doctor.report import Component, Report
from parley.planned.plan import plan_of
from parley.schemas.presence import Announcement
from parley.schemas.session import Document, OpenSession
from parley.settings import load
from parley.stack.announce import expected_announcements
from parley.stack.rows import rows_of
from tests.protocols.competition.play import COMPETITION, small, speech

FORMAT = small(speech("pro_1"), seats=2)
SEATS = ("pro_1", "pro_2", "con_1", "con_2", "judge")
SAID = (
    "seats: competition needs a language model, and {}: set LLM_PROVIDER and LLM_MODEL "
    "(`parley doctor` says what is missing)"
)


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


def test_a_missing_model_is_said_before_missing_documents() -> None:
    with pytest.raises(BadInput, match=r"^seats: maci needs a language model, and analyst, debater_1"):
        estimate.of(OpenSession(question="Ban it?", protocol="maci"), expected_announcements(rows_of("maci")))


@pytest.mark.parametrize(("protocol", "ok"), [("competition", False), ("madp", False), ("consensus", True)])
def test_the_doctor_calls_nothing_ok_that_needs_a_model_and_has_none(protocol: str, ok: bool) -> None:
    plan = plan_of(load(None, {"protocol": protocol}))
    told = [] if ok else [f"a language model, which {protocol} needs"]
    idle, doctor = _Doctor(plan, probe=False), _Doctor(plan, probe=False)
    assert idle.found_roles() and [m.what for m in idle.missing] == told, "of what would be started"
    doctor.workers = replace(plan, every=True).announced
    roles, ready = doctor.found_roles(), Component(status="ok", what="")
    report = Report(
        ok=not doctor.missing, protocol=protocol, bus=ready, credentials=ready, moderators=ready, encoder=ready,
        roles=roles, models=tuple(map(models.as_announced, doctor.workers)), missing=tuple(doctor.missing),
    )  # fmt: skip
    assert [m.what for m in report.missing] == told
    needing = {name for name, p in PROTOCOLS.items() if p.needs_model}
    assert {r.protocol for r in roles if r.status == "no model"} == needing
    text = "\n".join(screen.report_lines(report))
    assert text.count("missing      a language model, which ") == 1
    assert re.findall(r"^(\w+) +no model +a language model is", text, re.M) == sorted(needing - {protocol})
    quoting = {m.seat for m in report.models if m.status != "no model"}
    assert {"panelist_1", "analyst", "answerer", "helper"} <= quoting and not quoting & {"judge", "critic", "pro_1"}


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
