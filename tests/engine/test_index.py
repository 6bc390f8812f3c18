"""Lists of sessions come from an index, which is written as sessions open and end, and never from the log."""

from tests.support.engine import Engine


async def test_tmp(stack: Engine) -> None:
    await stack.open("s1")
    rows = (await stack.sessions()).rows
    assert [(r.session, r.status, r.owner) for r in rows] == [("s1", "open", "owner")]
    await stack.closed("s1")
    found = await stack.sessions()
    assert [(r.session, r.status, r.owner) for r in found.rows] == [("s1", "finished", "owner")]
    assert found.whole
    assert rows[0].seq < found.rows[0].seq
