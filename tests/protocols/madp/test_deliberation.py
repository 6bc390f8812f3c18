"""A task whose blocked question goes to another protocol: its workers are in the stack beside the experts."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.client.opening import whole_settings
from parley.coordinator.admission import check_future_child
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.table import Inadmissible
from parley.planned.local_stack import local
from parley.planned.plan import plan_of
from parley.schemas.expert import QUEUE
from parley.schemas.session import Document, OpenSession
from parley.settings import load
from parley.stack.announce import expected_announcements
from parley.stack.lease import Stack
from parley.stack.rows import rows_of
from tests.parley.support import TEXTS

BLOCKED = "tests.protocols.madp.blocked_model:make"


def settings_of(protocol: str = "madp", **madp: Any) -> Any:
    return load(None, {"protocol": protocol, "madp": madp})


def test_the_stack_of_a_task_has_the_workers_of_what_deliberates() -> None:
    def queues(**madp: Any) -> set[str]:
        found = [row.queue for row in plan_of(settings_of(**madp)).rows]
        assert len(found) == len(set(found)), "nobody twice"
        return set(found)

    own = {row.queue for row in rows_of("madp")}
    assert queues() == queues(deliberation="") == own
    for protocol in ("consensus", "critic", "maci", "competition"):
        assert queues(deliberation=protocol) == own | {row.queue for row in rows_of(protocol)}
    five = queues(deliberation="consensus", deliberation_settings={"panel": 5})
    assert five == own | {row.queue for row in rows_of("consensus", 5)}
    other = {row.queue for row in plan_of(settings_of("critic", deliberation="consensus")).rows}
    assert other == {row.queue for row in rows_of("critic")}


def check(protocol: str, settings: dict[str, Any], workers: bool = True, texts: tuple[str, ...] = ()) -> None:
    given = {"deliberation": protocol, "deliberation_settings": settings}
    opening = OpenSession(question="rotate the leaked key", protocol="madp", settings=whole_settings("madp", given))
    documents = tuple(
        Document(id=sha256(text.encode()).hexdigest(), name=f"{i}.md", text=text, holders=("expert",))
        for i, text in enumerate(texts)
    )
    there = [*expected_announcements(rows_of("madp")), *(expected_announcements(rows_of(protocol)) if workers else ())]
    check_future_child(
        PROTOCOLS, PROTOCOLS["madp"], msgspec.structs.replace(opening, documents=documents), tuple(there)
    )


@pytest.mark.parametrize("workers", [True, False])
@pytest.mark.parametrize(
    ("protocol", "settings", "texts", "field", "why"),
    [
        ("maci", {}, (), "madp.deliberation", "got 'maci'.*evidence: got none that the helper holds.*give some"),
        ("maci", {}, (" ",), "madp.deliberation", "got 'maci'.*1 documents, all empty"),
        ("maci", {"outcome": ["a"]}, ("x",), "madp.deliberation_settings", "did you mean maci.outcomes"),
        (
            "critic",
            {"min_rounds": 4, "round_limit": 2},
            (),
            "madp.deliberation_settings",
            "got 4, and critic",
        ),
        ("consensus", {"panel": 1}, (), "madp.deliberation_settings", "consensus.panel"),
        ("competition", {"max_output_tokens": 0}, (), "madp.deliberation_settings", "competition.max_output_tokens"),
    ],
)
def test_what_would_be_refused_when_it_is_needed_is_refused_at_the_opening(
    protocol: str, settings: dict[str, Any], texts: tuple[str, ...], field: str, why: str, workers: bool
) -> None:
    with pytest.raises(Inadmissible, match=why) as refused:
        check(protocol, settings, workers, texts)
    assert refused.value.field == field and not refused.value.worker


@pytest.mark.slow
async def test_a_blocked_question_is_argued_by_them(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    stack: Stack = plan_of(settings_of(deliberation="consensus")).stack()
    rows = tuple(
        msgspec.structs.replace(row, model=BLOCKED) if row.queue.startswith(QUEUE) else row for row in stack.agents
    )
    async with local(stack=msgspec.structs.replace(stack, agents=rows)) as parley:
        result = await parley.ask(
            "rotate the leaked signing key of our API", protocol="madp", evidence=tmp_path,
            settings={"deliberation": "consensus", "item_s": 2},
        )  # fmt: skip
        listed = await parley.client.sessions(20)
        (child,) = [row for row in listed if row.protocol == "consensus"]
        argued = await parley.client.result(child.session)
    assert result.stop.reason == "reviewed", "the advice went to the lead, who was blocked without it"
    assert argued.usage.turns >= 3, "its panelists have answered"
    assert child.session.startswith(result.session)
