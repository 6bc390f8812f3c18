"""A panelist looks things up before it answers: what tools returned is quoted, checked, shown, and replayed."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.agents.context import Shown
from parley.agents.looking.calculator_server import compute
from parley.agents.model.base import Completion
from parley.agents.tools.allow import LOOKING, AllowList, load, parse
from parley.agents.worker_model import WorkerModel
from parley.coordinator import briefing
from parley.coordinator.table import Inadmissible
from parley.schemas import log
from parley.schemas.protocols.consensus import PanelBrief
from parley.schemas.session import Document
from parley.schemas.text import Citation
from parley.schemas.tools import MOST_FOUND, LookUpResult
from parley.schemas.turn import Caps, Work
from parley.schemas.wire import InvalidValue
from tests.llm.support import asked
from tests.played.endpoint import serving
from tests.protocols.consensus.play import Play, document, says
from tests.support import npm
from tests.tools.support import Scripted, use

SEARCH = ("mcp-searxng", "2.4.0")
FOUND = LookUpResult(server="web", tool="search", arguments='{"query": "bridge"}', text="The bridge opened in 1869.")
QUOTE = Citation(document=FOUND.name, quote="opened in 1869")
NOTE = document("notes/bridge.md", "The bridge was built in ten years.\nIt opened in May.")


def answers(play: Play, seat: str, *found: LookUpResult, cites: tuple[Citation, ...] = ()) -> log.Entry:
    return play.reply(seat, says("1869", citations=cites), found=found or msgspec.UNSET)


def held(play: Play, seat: str) -> list[str]:
    """Names of the documents that an open turn of a seat is shown."""
    sent: list[Work] = []
    for entry in play.entries:
        pieces = briefing.build(play.session, entry.n, entry.commands, key=b"k", lane="l", decided_ns=0)
        sent += [s.work for s in pieces]
    return [d.name for work in sent for t in work.turns if t.seat == seat for d in t.documents]


# ---------------------------------------------------------------- the session


def test_what_is_found_is_quoted_at_once_and_shown_to_others_from_the_next_round_on() -> None:
    play = Play({"look_ups": 2})
    answers(play, "panelist_1", FOUND, cites=(QUOTE,))
    assert play.posts("position") == [] and "panelist_1" in play.session.inner.pending, "it was taken"
    assert held(play, "panelist_2") == [], "the round is blind"
    for seat in ("panelist_2", "panelist_3"):
        play.reply(seat, says("1870"))
    play.score(20)
    assert play.phase == "revising" and held(play, "panelist_2") == held(play, "panelist_1") == [FOUND.name]
    (found,) = play.session.opened.documents
    assert found.id == FOUND.id and found.looked
    assert found.looked.seat == "panelist_1" and found.looked.round == 1
    assert found.looked.source == 'web.search {"query": "bridge"}' and found.looked.at_ns > 0
    assert held(play, "analyst") == []


@pytest.mark.parametrize(
    ("look_ups", "found", "cited", "told"),
    [
        (2, (FOUND,), Citation(document=FOUND.name, quote="opened in 1870"), "this does not stand in web.search"),
        (2, (), QUOTE, "there is no document"),
        (0, (FOUND,), QUOTE, "there is no document"),
        (1, (msgspec.structs.replace(FOUND, text="Other."), FOUND), QUOTE, "there is no document"),
    ],
)
def test_a_quotation_is_checked_like_any_other_and_no_more_is_taken_than_was_allowed(
    look_ups: int, found: tuple[LookUpResult, ...], cited: Citation, told: str
) -> None:
    play = Play({"look_ups": look_ups})
    answers(play, "panelist_1", *found, cites=(cited,))
    turn = play.turn("panelist_1")
    assert turn.ask.attempt == 2 and told in turn.ask.error
    kept = [d.name for d in play.session.opened.documents]
    assert len(kept) <= look_ups, "and a try that is refused does not lose what it found"


def test_look_ups_are_paid_for_and_bounded() -> None:
    none, some = (Play({"look_ups": n}).turn("panelist_1").ask.caps for n in (0, 3))
    assert (none.calls, some.calls) == (2, 6), "three calls, one to end them, and the answer"
    with pytest.raises(Inadmissible, match="look_ups: got 9"):
        Play({"look_ups": 9})
    with pytest.raises(InvalidValue, match=r"found\.text"):
        msgspec.structs.replace(FOUND, text="x" * (MOST_FOUND + 1)).__post_init__()


# ---------------------------------------------------------------- the worker


def turn(look_ups: int = 2, documents: tuple[Document, ...] = (NOTE,), **more: Any) -> Shown:
    brief = PanelBrief(iteration=1, round_limit=5, look_ups=look_ups)
    caps = Caps(calls=2 + look_ups + 1)
    return msgspec.structs.replace(asked(list(documents), caps=caps, seconds=50.0), brief=brief, **more)


def position(cites: str = "", quote: str = "") -> Any:
    def said(shown: Shown) -> dict[str, Any]:
        names = [d.name for d in shown.documents if d.name.startswith(cites)] if cites else []
        cited = [{"document": names[-1], "quote": quote}] if names else []
        return {"answer": "1869", "reasoning": "so", "confidence": 0.9, "citations": cited}

    return said


async def look(model: Scripted, shown: Shown, tools: AllowList | None = None) -> Completion:
    return await WorkerModel(model, tools=tools or load(LOOKING)).reply(shown, lambda text: None)


@pytest.mark.parametrize(
    ("server", "tool", "arguments", "quote"),
    [
        ("calculator", "calculate", {"expression": "1859 + 10"}, "1859 + 10 = 1869"),
        ("files", "search", {"pattern": "May"}, "It opened in May."),
    ],
)
async def test_a_tool_that_ships_gives_a_document_that_the_answer_quotes(
    server: str, tool: str, arguments: dict[str, Any], quote: str
) -> None:
    model = Scripted(use((tool, arguments), server=server), {"outcome": "done"}, position(server, quote))
    done = await look(model, turn())
    (found,) = done.found
    assert (found.server, found.tool, json.loads(found.arguments)) == (server, tool, arguments)
    assert quote in found.text and done.body.citations == (Citation(document=found.name, quote=quote),)
    assert done.usage.calls == 3 and [s.kind for s in model.shown] == ["look_up", "look_up", "answer"]


@pytest.mark.parametrize(
    ("shown", "tools"),
    [
        (turn(0), None),
        (turn(2, attempt=2), None),
        (turn(2, caps=Caps(calls=3)), None),
        (turn(2), AllowList()),
        (turn(2), load(LOOKING).model_copy(update={"folder_only": True})),
    ],
)
async def test_nothing_is_looked_up_where_it_may_not_or_cannot_be(shown: Shown, tools: AllowList | None) -> None:
    model = Scripted(position())
    done = await look(model, shown, tools)
    assert done.found == () and [s.kind for s in model.shown] == ["answer"]


async def test_calls_beyond_the_limit_are_not_made_and_failed_ones_are_no_evidence() -> None:
    sums = [("calculate", {"expression": text}) for text in ("1/0", "1+1", "2+2")]
    model = Scripted(use(*sums, server="calculator"), position())
    done = await look(model, turn(2, documents=()))
    assert [f.text for f in done.found] == ["1+1 = 2"]
    tools = model.shown[0].tools
    assert tools is not None and {o.server for o in tools.offered} == {"calculator"}, "there are no files to read"


# ---------------------------------------------------------------- the calculator


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1/3 + 1/6", "1/2 = 0.5"), ("0.1 + 0.2", "3/10 = 0.3"), ("2 ** 10", "1024"), ("7 // 2 - -1", "4"),
        ("round(3.14159, 2)", "157/50 = 3.14"), ("max(1, 2.5, sum(1, 1))", "5/2 = 2.5"), ("sqrt(2)", "1.4142135623731"),
        ("9" * 240 + " - " + "9" * 240, "0"), ("cos(pi)", "-1"),
    ],
)  # fmt: skip
def test_arithmetic_is_exact_where_it_can_be(expression: str, value: str) -> None:
    assert compute(expression) == value


@pytest.mark.parametrize(
    "expression",
    ["", "1 +", "__import__('os').getcwd()", "(1).real", "[1]", "True", "1/0", "0 ** -1", "max()", "'a' * 9", "x",
     "9 ** 9 ** 9", "10 ** 400 / 3", "1e400", "(-1) ** 0.5", "log(0)", "abs(1, 2)", "lambda: 1", "(" * 200, "1" * 600],
)  # fmt: skip
def test_what_is_no_arithmetic_or_has_no_value_is_refused_in_words(expression: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        compute(expression)


@pytest.mark.slow
async def test_a_search_server_of_others_finds_what_is_quoted() -> None:
    package = npm.package(*SEARCH)
    scripts = json.loads((package / "node_modules" / SEARCH[0] / "package.json").read_text())["bin"]
    script = package / "node_modules" / SEARCH[0] / Path(next(iter(scripts.values())))
    tool = "searxng_web_search"
    reads = {tool: {"text": ["query"], "reads": True}}
    server: dict[str, Any] = {"command": [str(npm.node()), str(script)], "timeout_s": 30, "tools": reads}
    model = Scripted(use((tool, {"query": "bridge"}), server="web"), {"outcome": "done"}, position("web", QUOTE.quote))
    page = {"title": "Bridge", "url": "https://example.org/bridge", "content": FOUND.text, "score": 1.0}
    with serving(dict, {"query": "bridge", "results": [page], "number_of_results": 1}) as url:
        server["env"] = {"SEARXNG_URL": url.removesuffix("/v1")}
        done = await look(model, turn(2), parse({"servers": {"web": server}}, "test"))
    (found,) = done.found
    assert FOUND.text in found.text and done.body.citations == (Citation(document=found.name, quote=QUOTE.quote),)
