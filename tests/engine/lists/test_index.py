"""Lists of sessions come from an index, written as sessions open and end, or anew by one command."""

import itertools

import msgspec
import pytest

from parley.bus import streams, subjects
from parley.bus.connection import Connection
from parley.bus.log import Log
from parley.bus.storage import direct
from parley.bus.storage.index import INDEX, OPEN, Index
from parley.client.client import Client
from parley.client.errors import BadInput
from parley.schemas.post import EraseSession, ListSessions, SessionRow, SessionRows
from parley.schemas.turn import SubmitAnswer
from parley.schemas.wire import decode
from tests.support.engine import Engine


def row(sid: str, status: str = "open", owner: str = "alice", at: int = 1) -> SessionRow:
    return SessionRow(session=sid, seq=0, owner=owner, protocol="p", question=status, status=status, opened_ns=at)


async def held(connection: Connection, sid: str | None = None) -> list[tuple[str, str]]:
    """(subject, status) of every row that the stream holds of a session."""
    found = await direct.batch(connection, INDEX, subjects.index.of(session=sid), 0, 1_000)
    return [(got.subject, decode(got.data, SessionRow).status) for got in found]


async def ready(bare: Engine) -> Connection:
    connection = await bare.connect("moderator")
    await streams.ensure_streams(connection)
    return connection


# -- as sessions go on


async def test_a_list_follows_a_session_from_its_opening_to_its_erasure(stack: Engine) -> None:
    client = Client(stack.owner, "owner")
    await stack.open("s1", question="Which?")
    opened = await client.row("s1")
    assert opened is not None and (opened.status, opened.owner, opened.question) == ("open", "owner", "Which?")
    await stack.closed("s1")
    moderator = await stack.connect("moderator")
    assert await held(moderator) == [(subjects.index("over", "owner", "s1"), "finished")]
    (closed,) = (await stack.sessions()).rows
    assert (closed.status, closed.reason, closed.question) == ("finished", "threshold", "Which?")
    assert closed.closed_ns and closed.closed_ns > closed.opened_ns == opened.opened_ns
    assert closed.seq > opened.seq
    await client.erase("s1")
    assert await held(moderator) == [(subjects.index("over", "owner", "s1"), "erased")]
    assert (await stack.sessions()).rows[0].question == ""


async def test_a_refused_opening_is_listed_until_the_id_is_opened(stack: Engine) -> None:
    moderator = await stack.connect("moderator")
    assert (await stack.open("s1", protocol="nonsense")).fate == "refused"
    assert await held(moderator) == [(subjects.index("refused", "owner", "s1"), "refused")]
    assert (await stack.open("s1")).fate == "taken"
    assert (await stack.open("s1")).fate == "refused"
    await stack.closed("s1")
    assert await held(moderator) == [(subjects.index("over", "owner", "s1"), "finished")]


async def test_a_row_that_was_not_written_comes_with_the_repeat(bare: Engine) -> None:
    """A moderator that dies between the append and its effects: whoever gets the submission again writes the row."""
    moderator = await bare.moderator()
    await bare.workers({"latency_s": 30.0})
    await bare.open("s1")
    connection = await bare.connect("moderator")
    await connection.api("STREAM.PURGE.INDEX", {})
    (cause,) = (await moderator.sessions.look("s1")).causes
    await moderator.sessions.reissue("s1", cause)
    assert await held(connection) == [(subjects.index(OPEN, "owner", "s1"), "open")]


# -- whoever writes last


async def test_a_later_row_never_loses_to_an_earlier_one(bare: Engine) -> None:
    connection = await ready(bare)
    writers = Index(connection), Index(connection)
    for n, order in enumerate(itertools.permutations(("refused", "open", "finished", "erased"))):
        for i, status in enumerate((*order, "open", "finished")):  # at last by one that was held up
            await writers[i % 2].put(row(f"s{n}", status))
        found = await held(connection, f"s{n}")
        assert found[-1] == (subjects.index("over", "alice", f"s{n}"), "erased"), order
        assert [s for _, s in found if s in ("open", "finished")] == [], order


# -- pages


async def fill(connection: Connection, count: int, owner: str = "alice", first: int = 0) -> list[str]:
    index, sids = Index(connection), [f"{owner}-{n}" for n in range(first, first + count)]
    for sid in sids:
        await index.put(row(sid, owner=owner))
    return sids


async def test_pages_have_every_session_once_however_owners_mix(bare: Engine) -> None:
    connection = await ready(bare)
    few = await fill(connection, 3, "bob")
    many = await fill(connection, 1_300)
    few += await fill(connection, 2, "bob", 3)
    index = Index(connection)
    for owner, limit, wanted in (
        ("bob", 2, few), ("alice", 1_000, many), (None, 1_000, [*few[:3], *many, *few[3:]]),
    ):  # fmt: skip
        found: list[str] = []
        page, before = None, None
        while page is None or page.more:
            page = await index.page(owner=owner, before=before, limit=limit)
            assert len(page.rows) <= limit
            found += [r.session for r in page.rows]
            before = page.rows[-1].seq
        assert found == wanted[::-1]


class Disturbed(Client):
    """Between two pages one session more ends."""

    def __init__(self, connection: Connection, index: Index, sids: list[str]) -> None:
        super().__init__(connection, "owner")
        self._index = index
        self._ending = iter(sids)

    async def _list(self, subject: str, asked: ListSessions) -> SessionRows:
        page = await super()._list(subject, asked)
        await self._index.put(row(next(self._ending), "finished"))
        return page


async def test_a_session_that_changes_while_pages_are_read_is_not_missed(stack: Engine) -> None:
    connection = await stack.connect("moderator")
    sids = await fill(connection, 450)
    found = await Disturbed(stack.owner, Index(connection), sids).sessions()
    assert sorted(r.session for r in found) == sorted(sids)
    assert found[0].status == "finished", "with the row that it has now"


# -- and not from the log


QUESTIONS = {
    "the newest": ListSessions(limit=10),
    "those that are open": ListSessions(limit=10, open=True),
    "one that is there": ListSessions(session="s1"),
    "one that there is not": ListSessions(session="NOSUCH"),
}


async def test_no_question_for_sessions_reads_the_log(bare: Engine) -> None:
    """Counted are the messages that the moderator is sent for one question: they are as many for 600 stored sessions as
    for 100."""
    moderator = await bare.moderator()
    await bare.workers()
    await bare.open("s1")
    await bare.closed("s1")
    connection = await bare.connect("moderator")
    sent: dict[str, list[int]] = {what: [] for what in QUESTIONS}
    stats = moderator.sessions._connection.nc.stats
    entry, opened = (await bare.log("s1"))[0].encode(), (await bare.sessions()).rows[0]
    log, index = Log(connection), Index(connection)
    for start, end in ((0, 100), (100, 600)):
        for n in range(start, end):
            mine = msgspec.structs.replace(opened, session=f"x{n}", status="open")
            await log.append(mine.session, subjects.OPENED, entry, 0, mine)
            await index.put(mine)
        for what, question in QUESTIONS.items():
            before = stats["in_msgs"]
            await bare.ask(subjects.own("sessions", "owner", ""), question, SessionRows)
            sent[what].append(stats["in_msgs"] - before)
    for what, (few, many) in sent.items():
        assert many <= few + 5 < 60, what  # workers announce themselves meanwhile


# -- whose


async def test_a_client_lists_its_own_sessions_and_those_that_it_was_granted(bare: Engine) -> None:
    connection = await ready(bare)
    await bare.moderator()
    for owner in ("alice", "bob"):
        await fill(connection, 2, owner)

    async def listed(user: str) -> list[str]:
        client = Client(await bare.connect(user), user, patience_s=3.0)
        assert await client.row("nobody-1") is None
        found = [r.session for r in await client.sessions()]
        assert None not in [await client.row(sid) for sid in found]
        return sorted(found)

    both = ["alice-0", "alice-1", "bob-0", "bob-1"]
    assert await listed("alice") == await listed("audit") == both[:2]
    assert await listed("bob") == both[2:]
    assert await listed("auditor") == await listed("owner") == both
    bob = Client(await bare.connect("bob"), "bob", patience_s=3.0)
    assert await bob.row("alice-1") is None
    with pytest.raises(BadInput, match="rebuilt for owners"):
        await anext(bob.rebuild_index())


# -- rebuilt


async def test_a_rebuilt_index_is_the_one_that_was_there(stack: Engine) -> None:
    await stack.open("gone", protocol="nonsense")
    await stack.open("s1")
    await stack.closed("s1")
    await stack.open("s2")
    await stack.closed("s2")
    assert (await stack.ask(subjects.own("erase", "owner", "s2"), EraseSession(), SubmitAnswer)).verdict == "accepted"
    client = Client(stack.owner, "owner")

    def plain(found: list[SessionRow]) -> dict[str, SessionRow]:
        return {r.session: msgspec.structs.replace(r, seq=0) for r in found}

    before = plain(await client.sessions())
    assert {sid: r.status for sid, r in before.items()} == {"gone": "refused", "s1": "finished", "s2": "erased"}
    connection = await stack.connect("moderator")
    await connection.api("STREAM.DELETE.INDEX")
    await streams.ensure_streams(connection, ack_wait_s=stack.ack_wait_s)
    assert await client.listed() == ([], False), "it says that it is not whole"
    for _ in range(2):  # repeating it is fine
        pieces = [piece async for piece in client.rebuild_index()]
        assert pieces[-1].done and sum(p.sessions for p in pieces) == 3
        after = await client.listed()
        assert (plain(after.rows), after.whole) == (before, True)
    for _ in range(2):  # a moderator that starts leaves it so
        await streams.ensure_streams(connection, ack_wait_s=stack.ack_wait_s)
        assert (await client.listed()).whole
