"""What a person says of a closed session's result: kept with it, by whom the broker says, and nothing else is taken."""

import json

import pytest

from parley.bus.log import Log
from parley.bus.storage.index import Index
from parley.client import listing
from parley.client.client import Client
from parley.client.errors import BadInput, Refusal
from parley.client.records import record_of
from parley.client.rendering import documents, explain, html, terminal
from parley.client.show import session_list
from parley.client.what_if import compare, verify
from parley.coordinator.sessions import rows
from parley.schemas import log
from tests.engine.lists.test_index import held
from tests.support.engine import Engine

NOTE = "the-note-of-this-person"


def owner(engine: Engine) -> Client:
    return Client(engine.owner, "owner")


async def test_it_is_kept_and_told_everywhere_and_the_last_word_counts(stack: Engine) -> None:
    await stack.play("s1")
    before = await stack.log("s1")
    client = owner(stack)
    await client.feedback("s1", right=True)
    await client.feedback("s1", right=False, answer="Kaunas", note=NOTE)
    await client.feedback("s1", right=False, answer="Kaunas", note=NOTE)
    entries = await stack.entries("s1")
    assert [type(e.event) for e in entries[len(before) :]] == [log.FeedbackGiven] * 3
    assert (await stack.log("s1"))[: len(before)] == before
    said = [p for p in await client.history("s1", "control") if p.kind == "feedback"]
    assert [json.loads(bytes(p.body))["right"] for p in said] == [True, False], "the same words are posted once"
    record = record_of("s1", await stack.log("s1"))
    found = documents.document(record)
    assert [f["right"] for f in found["feedback"]] == [True, False] and found["feedback"][-1]["author"] == "owner"
    for text in (
        "\n".join(explain.explanation_lines(record)),
        "\n".join(terminal.show(record)),
        "\n".join(terminal.markdown(record)),
        "\n".join(html.html(record)),
    ):
        assert "feedback by owner: the result is wrong" in text
        assert "Kaunas" in text and NOTE in text
    assert found["feedback"][-1]["answer"] == "Kaunas"
    assert verify(record)["result"] is not None
    assert compare(record, {"consensus": {"threshold": 0.1}}) == {
        **compare(record_of("s1", before), {"consensus": {"threshold": 0.1}})
    }, "a replay under other settings passes it over"


async def test_lists_say_it_and_a_rebuilt_index_too(stack: Engine) -> None:
    client = owner(stack)
    for sid in ("s1", "s2"):
        await stack.play(sid)
    closed = await client.row("s1")
    await client.feedback("s1", right=True)
    await client.feedback("s1", right=False)
    row = await client.row("s1")
    assert row is not None and closed is not None and (row.feedback, row.status) == ("wrong", "finished")
    assert row.closed_ns == closed.closed_ns and row.seq > closed.seq
    connection = await stack.connect("moderator")
    again = await rows.of_log(Log(connection), "s1")
    assert again is not None and again.feedback_ns == row.feedback_ns and again.feedback == "wrong"
    await Index(connection).put(closed)
    assert (await client.row("s1") or closed).feedback == "wrong", "a row from before it does not win"
    found = await listing.Listing().find(client, listing.ListFilter(), limit=10)
    (told,) = (row for row in session_list.sessions_table(found.sessions) if row.startswith("s1"))
    assert told.endswith("feedback wrong")
    assert len(await held(connection, "s1")) == 1


async def test_what_is_open_unknown_or_erased_takes_none(stack: Engine) -> None:
    client = owner(stack)
    await stack.open("s1", question="Which?", settings={"threshold": 1.0, "round_limit": 2})
    with pytest.raises(Refusal, match="there is no session s9"):
        await client.feedback("s9", right=True)
    await stack.closed("s1")
    with pytest.raises(Refusal, match="the session is closed"):
        await client.cancel("s1")
    await client.feedback("s1", right=True, note=NOTE)
    with pytest.raises(BadInput, match="4,001 characters', allowed are at most 4,000"):
        await client.feedback("s1", right=True, note="x" * 4_001)
    await client.erase("s1")
    assert await stack.log("s1") == ()
    row = await client.row("s1")
    assert row is not None and row.feedback == "" and row.status == "erased"
    with pytest.raises(Refusal, match="it was erased"):
        await client.feedback("s1", right=True)
