"""`parley ask` with every seat on a foreign server: both protocols, in processes of their own, streamed."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from parley.client.api import open_client
from parley.client.view.shapes import PostCard
from parley.client.view.taking import Notice
from parley.follow import follow
from parley.planned.local_stack import LocalParley
from parley.schemas import log
from parley.schemas.post import Live
from parley.schemas.session import OpenSession
from parley.schemas.wire import decode
from parley.show.view import TerminalView
from parley.stack.lease import OWNER, Lease, Stack
from parley.stack.rows import rows_of
from tests.llm.aimock import Aimock, aimock
from tests.llm.debate import PANEL, QUESTION, TRIO, begun, fixtures, log_of, requests_of, tokens, variables
from tests.parley.support import Front

pytestmark = [pytest.mark.slow]
ASK = ("ask", QUESTION, "--json")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Aimock]:
    """One a test: its journal is that session's."""
    with aimock(tmp_path, fixtures(chunk_ms=2)) as found:
        yield found


def streamed(requests: list[dict[str, Any]]) -> Counter[tuple[str, bool]]:
    return Counter(
        (r["body"]["response_format"]["json_schema"]["name"], bool(r["body"].get("stream"))) for r in requests
    )


@pytest.mark.parametrize(
    "protocol, seats, reason, kinds",
    [
        (
            "consensus", PANEL, "threshold",
            {("answer", False): 3, ("compare", False): 1, ("revise", True): 3},
        ),
        (
            "critic", TRIO, "objections_exhausted",
            {("rewrite", False): 1, ("answer", True): 2, ("critique", True): 2, ("judge", False): 2,
             ("verdict", True): 1, ("countersign", False): 1},
        ),
    ],
    ids=["consensus", "critic"],
)  # fmt: skip
def test_a_session_of_each_protocol(
    server: Aimock, tmp_path: Path, protocol: str, seats: tuple[str, ...], reason: str, kinds: dict[Any, int]
) -> None:
    front = Front(tmp_path)
    code, out, err = front.run(*ASK, "--protocol", protocol, env=variables(server.url))
    assert code == 0, err
    found = json.loads(out)
    assert found["stop"]["reason"] == reason and found["outcome"]["answer"] == "A4"
    requests = requests_of(server)
    assert streamed(requests) == kinds
    assert Counter(r["body"]["model"] for r in requests).keys() == set(seats)
    usage = found["usage"]
    assert usage["calls"] - usage["by_seat"].get("helper", {}).get("calls", 0) == len(requests) == sum(kinds.values())
    assert usage["input_tokens"] + usage["output_tokens"] == sum(map(tokens, requests)) and not usage["estimated"]
    assert usage["cost_usd"] == pytest.approx((usage["input_tokens"] + 3 * usage["output_tokens"]) / 1e6)
    counted = begun(server, log_of(front, found["session"]))
    print(f"{protocol}: {counted}")
    assert counted.late == 0
    front.assert_nothing_left()


class Heard(TerminalView):
    """Keeps live text and posts in the order in which they came."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[Live | PostCard] = []

    def cards(self, cards: Sequence[PostCard], notices: Iterable[Notice]) -> None:
        self.order += cards

    def live(self, live: Live) -> None:
        self.order.append(live)


@pytest.mark.serial
async def test_text_is_live_before_its_reply_is_taken_and_never_in_the_blind_round(tmp_path: Path) -> None:
    heard = Heard()
    with aimock(tmp_path, fixtures(chunk_ms=20)) as server:
        stack = Stack(agents=rows_of("consensus"), env=variables(server.url))
        async with Lease(stack) as lease, open_client(lease.url, lease.credentials(OWNER), 30.0) as client:
            sid = await client.open(OpenSession(question=QUESTION, protocol="consensus"))
            await follow(LocalParley(client, lease), sid, heard, can_leave=False)
            entries = [decode(e.encode(), log.Entry) for e in await client.log(sid)]
    asked = {f"{e.n}-{i}": c for e in entries for i, c in enumerate(e.commands) if isinstance(c, log.Ask)}
    texts = [x for x in heard.order if isinstance(x, Live) and x.state == "text"]
    blind = [t for t, a in asked.items() if a.kind == "answer"]
    assert len(blind) == 3 and not [x for x in texts if x.turn in blind], "nothing of a blind answer is shown"
    # Those of the first turns may be over before anybody listens.
    later = {t for t, a in asked.items() if a.kind == "revise"}
    assert {x.turn for x in heard.order if isinstance(x, Live) and x.state == "thinking"} >= later and later
    for turn in later:
        mine = [i for i, x in enumerate(heard.order) if isinstance(x, Live) and x.turn == turn and x.state == "text"]
        said = "".join(x.text for x in texts if x.turn == turn)
        taken = next(i for i, x in enumerate(heard.order) if isinstance(x, PostCard) and x.round == 2)
        assert len(mine) > 5 and mine[5] < taken, "it comes while the model still writes"
        assert said.startswith("A4\nIt was measured on three printers"), said[:80]
