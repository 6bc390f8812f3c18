"""A list over many sessions of a later release: all of them stand in it, and it waits for one batch of them alone."""

import time

import msgspec

from parley.bus import subjects
from parley.bus.log import Log
from parley.bus.storage.index import Index
from parley.client.client import Client
from parley.client.listing import ListFilter, Listing
from tests.engine.versions.test_versions import lost
from tests.support.engine import Engine

MANY = 60
PATIENCE_S = 0.4


async def test_what_cannot_be_read_stands_in_the_list_and_the_rest_is_not_tried(bare: Engine) -> None:
    await lost(bare, "s1")
    connection = await bare.connect("moderator")
    entry, opened = (await bare.log("s1"))[0].encode(), (await bare.sessions()).rows[0]
    index, ended_log = Index(connection), Log(connection)
    sids = [f"x{n}" for n in range(MANY)]
    for sid in sids:
        ended = msgspec.structs.replace(opened, session=sid, status="finished", closed_ns=opened.opened_ns + 1)
        await ended_log.append(sid, subjects.OPENED, entry, 0, ended)
        await index.put(ended)
    client = Client(bare.owner, "owner", patience_s=PATIENCE_S)
    began = time.monotonic()
    for ended_as in ("", "agreed"):
        found = await Listing().find(client, ListFilter(ended=ended_as), limit=200)
        lines = {one.session: one for one in found.sessions if one.session in sids}
        assert list(lines) == sids[::-1], "in their order, whatever is asked for: whether they fit is not known"
        tried = [one for one in lines.values() if "not tried" not in one.unread]
        assert all(one.unread and not one.kind for one in lines.values()) and 0 < len(tried) <= 16
        assert tried == list(lines.values())[: len(tried)]
    assert time.monotonic() - began < 2 * PATIENCE_S + 8, "each list waited once"
