"""What a reply used is complete before it is in the log, whoever the worker is; tokens never cost nothing unmarked."""

import re
from typing import Any

import msgspec
import pytest

from parley.client.rendering.told import to_api
from parley.client.show.session_list import SessionLine
from parley.client.show.words import cost_words
from parley.coordinator.machine import counted
from parley.coordinator.outcomes.session import Call, _of_call
from parley.coordinator.sessions import rows
from parley.schemas import log
from parley.schemas.result import Result
from parley.schemas.turn import Usage
from parley.schemas.wire import raw
from parley.web import verdicts
from parley.web.mcp.results import verdict_of
from tests.protocols.consensus.play import Play, document, says, workers

PRICED: dict[str, Any] = {"metered": True, "usd_per_million_input": 2.0, "usd_per_million_output": 10.0}
METERED: dict[str, Any] = {"metered": True}
FREE: dict[str, Any] = {}
TOKENS = Usage(input_tokens=1_000, output_tokens=100, calls=1)
COST = (1_000 * 2.0 + 100 * 10.0) / 1e6
DOCUMENT = document("a.md", "Vilnius is the capital of Lithuania. " * 100)
SILENT = Usage()
"""Of a worker that tells nothing."""


def played(there: dict[str, Any], usage: Usage, error: str = "") -> tuple[Play, log.Replied]:
    """The reply of one panelist, as it is appended."""
    play = Play(there=workers(3, **there), documents=[DOCUMENT])
    told = log.Replied(turn=play.turn("panelist_1").id, body=raw(says("Vilnius")), usage=usage, error=error)
    event = counted(play.protocol, play.session, told)
    assert isinstance(event, log.Replied)
    play.event(event, event.turn)
    return play, event


@pytest.mark.parametrize(
    ("there", "told", "tokens", "cost", "marked"),
    [
        pytest.param(PRICED, TOKENS, 1_100, COST, "", id="announced prices are multiplied"),
        pytest.param(PRICED, msgspec.structs.replace(TOKENS, cost_usd=0.002), 1_100, 0.002, "", id="told cost stays"),
        pytest.param(PRICED, SILENT, ..., ..., "estimated", id="silent, with prices"),
        pytest.param(METERED, TOKENS, 1_100, 0.0, "unpriced", id="no price is known"),
        pytest.param(METERED, SILENT, ..., 0.0, "estimated unpriced", id="silent, without prices"),
        pytest.param(METERED, msgspec.structs.replace(TOKENS, cost_usd=3.0), 1_100, 0.0, "unpriced overstated",
                     id="money that nobody announced"),
        pytest.param(METERED, msgspec.structs.replace(TOKENS, unpriced=False), 1_100, 0.0, "", id="known to be free"),
        pytest.param(METERED, Usage(calls=1, unpriced=False), 0, 0.0, "", id="computed without a call"),
        pytest.param(FREE, SILENT, 0, 0.0, "", id="no language model"),
        pytest.param(FREE, TOKENS, 0, 0.0, "unpriced overstated", id="not metered, and tells tokens"),
    ],
)  # fmt: skip
def test_what_a_worker_does_not_tell_is_counted(
    there: dict[str, Any], told: Usage, tokens: object, cost: object, marked: str
) -> None:
    play, event = played(there, told)
    usage = play.session.ledger.report().by_seat["panelist_1"]
    booked = usage.input_tokens + usage.output_tokens
    assert booked > 1_000 if tokens is ... else booked == tokens
    assert usage.cost_usd > 0.002 if cost is ... else usage.cost_usd == pytest.approx(cost)
    assert {*event.flags} == {*marked.split()} - {"overstated"}
    assert usage.calls == (max(1, told.calls) if booked else told.calls)
    ended = result_of(play)
    assert ended.usage.estimated is ("estimated" in marked) and bool(ended.usage.unpriced) is ("unpriced" in marked)
    assert_shown(play, ended, unpriced="unpriced" in marked, estimated="estimated" in marked)


def test_a_turn_that_failed_is_not_estimated_and_what_it_used_is_priced() -> None:
    assert played(PRICED, SILENT, "down")[1].usage == SILENT
    assert played(PRICED, TOKENS, "down")[1].usage.cost_usd == pytest.approx(COST)


def result_of(play: Play) -> Result:
    """As the session is cancelled."""
    play.cancel()
    return play.result


def assert_shown(play: Play, ended: Result, *, unpriced: bool, estimated: bool) -> None:
    """Every place that tells the cost marks it: words, notebook, explanation, MCP, /v1, lists, metrics."""
    shown = to_api(ended)
    line = SessionLine(**msgspec.structs.asdict(rows._with_result(rows.of(play.session), raw(ended))))
    html = shown._repr_html_()
    (row,) = re.findall(r"<tr.*Panelist 1.*", html[html.rindex("What was used") :])
    for text in (str(shown), row, verdicts.verdict(ended), cost_words(ended.usage), line.cost):
        assert ("price unknown" in text or "not known" in text) is unpriced, text
        assert ("0.0000 USD" in text) is (not unpriced and not ended.usage.cost_usd), text
    assert ("about " in str(shown)) is estimated
    told = verdict_of(ended).usage
    assert (told.unpriced, told.estimated) == (unpriced, estimated)
    assert bool(verdicts.figures(ended)["usage"].get("unpriced")) is unpriced
    event = next(e.event for e in play.entries if isinstance(e.event, log.Replied))
    if event.usage.input_tokens:
        series = {s.series: s.value for s in _of_call(Call(0, "m", event.usage))}
        assert (series["unpriced_tokens_total"] > 0) is bool(event.usage.unpriced)
