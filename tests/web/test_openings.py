"""One way in: the same text, options and documents come to equal openings through every door, and what is wrong is told
by the name that the door has for it. What may be asked for by name, and what the page of agents says of models. No bus
is there."""

import asyncio
import base64
import re
import zipfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx2 as httpx
import msgspec
import pytest
import typer
from starlette.applications import Starlette
from starlette.requests import Request

from parley.cli.app import app
from parley.cli.protocol_options import document_of, is_given
from parley.client.api import Parley
from parley.client.errors import BadInput
from parley.client.opening import Offer, opening_of
from parley.client.setup.options import SESSION, taken
from parley.planned.plan import Plan, plan_of
from parley.question import read_request
from parley.run import Run
from parley.schemas.presence import Announcement, Workers
from parley.schemas.session import Document, OpenSession, Seat
from parley.serving.offered_models import offers_of
from parley.settings import Settings, load
from parley.web.health import Health, Lack, Looks, ModelHealth
from parley.web.mcp.options import SESSION as MCP
from parley.web.mcp.tools import Tools
from parley.web.offered_models import Offers
from parley.web.openai.history import read
from parley.web.openai.requests import parse_request
from parley.web.page import starting
from parley.web.page.form_fields import options as form
from parley.web.page.people import models, seen
from parley.web.program_sessions import document

TEXT = "Tea or coffee?"


def _where(tmp_path: Path) -> dict[str, Any]:
    return {"state": str(tmp_path / "state")}


async def _ask(given: dict[str, Any], flags: list[str], tmp_path: Path) -> OpenSession:
    command = typer.main.get_command(app).commands["ask"]  # type: ignore[attr-defined]
    words = [TEXT, "--protocol", given["protocol"], *flags, "--evidence", str(tmp_path / "evidence")]
    typed = command.make_context("ask", words).params
    typed = {name: value for name, value in typed.items() if is_given(value)}
    text, document, _ = document_of([TEXT], typed, {})
    settings = load(None, {**_where(tmp_path), "protocol": given["protocol"]})
    return read_request(Run(plan=plan_of(settings)), text, document, typed)[0]


async def _page(given: dict[str, Any], flags: list[str], tmp_path: Path) -> OpenSession:
    body = msgspec.json.encode({"question": TEXT, **given}).decode()
    files = [("evidence", (path.name, path.read_bytes())) for path in sorted((tmp_path / "evidence").iterdir())]
    sent = httpx.Request("POST", "http://x/api/sessions", files=[("request", (None, body)), *files])
    served = Starlette()
    served.state.offers = offers_of(plan_of(load(None, _where(tmp_path))))[1]
    headers = [(name.lower().encode(), value.encode()) for name, value in sent.headers.items()]

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": sent.read(), "more_body": False}

    async def nobody(of: object) -> None:
        """Whoever asks; no bus is there."""

    served.state.shared = SimpleNamespace(pool=SimpleNamespace(client=nobody))
    scope = {
        "type": "http", "method": "POST", "headers": headers, "app": served, "path": "/", "query_string": b"",
        "state": {"principal": None},
    }  # fmt: skip
    return await starting._opening(Request(scope, receive))


async def _mcp(given: dict[str, Any], flags: list[str], tmp_path: Path) -> OpenSession:
    known = offers_of(plan_of(load(None, _where(tmp_path))))[1]
    tools = Tools(cast("Any", None), known, [tmp_path])
    asker = cast("Parley", SimpleNamespace(client=None))
    return await tools._asked(asker, {"question": TEXT, "projectPath": "evidence", **given})


async def _v1(given: dict[str, Any], flags: list[str], tmp_path: Path) -> OpenSession:
    known = offers_of(plan_of(load(None, _where(tmp_path))))[1]
    own = {name: value for name, value in given.items() if name != "protocol"}
    content: list[dict[str, Any]] = [{"type": "text", "text": TEXT}]
    for path in sorted((tmp_path / "evidence").iterdir()):
        data = f"data:application/octet-stream;base64,{base64.b64encode(path.read_bytes()).decode()}"
        content.append({"type": "file", "file": {"filename": path.name, "file_data": data}})
    body = {"model": given["protocol"], "messages": [{"role": "user", "content": content}], "parley": own}
    return parse_request(body, read(body), known).opening()


async def _python(given: dict[str, Any], flags: list[str], tmp_path: Path) -> OpenSession:
    parley = Parley(cast("Any", SimpleNamespace(recall=None)))
    return (await parley._asked(TEXT, cast("Any", {**given, "evidence": tmp_path / "evidence"})))[0]


Through = Callable[[dict[str, Any], list[str], Path], Awaitable[OpenSession]]
DOORS: dict[str, Through] = {"ask": _ask, "page": _page, "mcp": _mcp, "v1": _v1, "python": _python}
OPTIONS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"settings": {"threshold": 80.0, "round_limit": 3}}, ["--threshold", "80", "--round-limit", "3"]),
    ({"protocol": "maci", "panel": 3, "settings": {"outcomes": ["a", "b"]}}, ["--panel", "3", "--outcomes", "a, b"]),
    ({"protocol": "critic", "settings": {"round_limit": 2}}, ["--round-limit", "2"]),
    ({"protocol": "madp", "settings": {"tool_calls": 0, "expert": "sre"}}, ["--expert", "sre"]),
    ({"protocol": "single", "seed": 7}, ["--seed", "7"]),
    ({"budget": {"tokens": 9_000, "cost_usd": 0.5}}, ["--budget-tokens", "9000", "--budget-usd", "0.5"]),
    ({"budget": {"calls": 40, "seconds": 60.0}}, ["--budget-calls", "40", "--budget-seconds", "60"]),
    ({"turn_timeout_s": 30.0, "kind": "drinks"}, ["--turn-timeout", "30", "--kind", "drinks"]),
]


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "evidence"
    folder.mkdir()
    (folder / "a.md").write_text("Tea is warm.\n")
    (folder / "b.txt").write_text("So is coffee.\n")
    return tmp_path


@pytest.mark.parametrize(("given", "flags"), OPTIONS)
async def test_every_door_opens_the_same_session(given: dict[str, Any], flags: list[str], documents: Path) -> None:
    given = {"protocol": "consensus", **given}
    through = {name: await door(given, flags, documents) for name, door in DOORS.items()}
    names = {name: [(d.name, d.text) for d in o.documents] for name, o in through.items()}
    assert all(found == names["ask"] for found in names.values()) and len(names["ask"]) == 2
    plain = {name: msgspec.structs.replace(opening, documents=()) for name, opening in through.items()}
    for name, opening in plain.items():
        assert opening == plain["ask"], name
    assert plain["ask"] != OpenSession(question=TEXT, protocol="consensus") or not flags


KINDS = (
    "p01_headings.pdf", "p02_table.pdf", "p05_form.pdf", "p07_mixed.pdf", "p12_sidebar.pdf", "d01_minutes.docx",
    "d02_tracked_footnote.docx", "s01_slides.pptx", "x01_formulas_uncached.xlsx", "h01_page.html", "c03_latin1.csv",
    "c02_semicolon_bom.csv", "e01_book.epub", "n01_notebook.ipynb", "m01_mail.eml", "o02_text.odt",
    "p04_twocol.pdf", "t04_sjis.txt", "t05_cp1251.txt", "z01_mixed.zip",
)  # fmt: skip
"""20 files of 14 formats."""
BROKEN = ("p06_scan.pdf", "p08_locked.pdf", "q02_truncated.docx", "q07_old_ole.doc")


async def test_every_door_reads_the_same_text_and_tells_what_is_left_out(documents: Path) -> None:
    with zipfile.ZipFile(Path(__file__).parents[1] / "client" / "documents.zip") as archive:
        archive.extractall(documents / "evidence", (*KINDS, *BROKEN))
    through = {name: await door({"protocol": "consensus"}, [], documents) for name, door in DOORS.items()}
    read = {name: [(d.id, d.name, d.text, d.places) for d in o.documents] for name, o in through.items()}
    assert {name.split("/")[0] for _, name, _, _ in read["ask"]} == {*KINDS, "a.md", "b.txt"}
    for name, opening in through.items():
        assert read[name] == read["ask"] and opening.left_out == through["ask"].left_out, name
    told = through["ask"].left_out
    assert told and all(any(line.startswith(f"{name} ") for line in told) for name in (*BROKEN, "p07_mixed.pdf"))


WRONG: list[tuple[dict[str, Any], list[str], str, str]] = [
    ({"settings": {"threshold": 700.0}}, ["--threshold", "700"], "--threshold", "settings.threshold"),
    ({"settings": {"debaters": 3}}, ["--debaters", "3"], "--debaters", "settings.debaters"),
    ({"settings": {"panel": 3}, "panel": 2}, [], "", "panel"),
    ({"protocol": "critic", "panel": 3}, ["--panel", "3"], "--panel", "panel"),
    ({"budget": {"tokens": -1}}, ["--budget-tokens", "-1"], "--budget-tokens", "budget.tokens"),
    ({"turn_timeout_s": 0.1}, ["--turn-timeout", "0.1"], "--turn-timeout", "turn_timeout_s"),
    ({"seed": "x"}, [], "", "seed"),
    ({"kind": "x" * 99}, ["--kind", "x" * 99], "--kind", "kind"),
    ({"treshold": 3}, [], "", "treshold"),
    ({"settings": {"critic.round_limit": 3}}, [], "", "settings.critic.round_limit"),
]


@pytest.mark.parametrize(("given", "flags", "flag", "place"), WRONG)
async def test_what_is_wrong_is_told_by_the_doors_own_name(
    given: dict[str, Any], flags: list[str], flag: str, place: str, documents: Path
) -> None:
    given = {"protocol": "consensus", **given}
    spelled = {"ask": flag, "v1": f"parley.{place}"}
    for name, door in DOORS.items():
        if name == "ask" and not flag:
            continue
        with pytest.raises(BadInput) as refused:
            await door(given, flags, documents)
        assert refused.value.field == spelled.get(name, place), name
        assert re.match(rf"{re.escape(refused.value.field)}\b", str(refused.value)), name


def test_each_door_offers_what_the_table_has_for_it() -> None:
    command = typer.main.get_command(app).commands["ask"]  # type: ignore[attr-defined]
    flags = {flag for parameter in command.get_params(typer.Context(command)) for flag in parameter.opts}
    assert {option.flag for option in taken("ask")} <= flags
    places = {option.setting.partition(".")[0] for option in taken("mcp")}
    assert places == set(MCP.model_fields) - {"question", "projectPath", "context"}
    assert {s.name for s in form()} <= {option.setting for option in SESSION}


async def test_a_task_without_a_folder_gets_no_tools_and_a_person_on_the_page_is_waited_for(
    documents: Path,
) -> None:
    for name in ("ask", "page", "mcp", "v1"):
        assert (await DOORS[name]({"protocol": "madp"}, [], documents)).settings == {"tool_calls": 0}, name
    opening = await _page({"protocol": "consensus", "humans": ["panelist_1"]}, [], documents)
    flags = ["--human", "panelist_1", "--wait-for-human", "300"]
    assert opening.waits == {"panelist_1": 300.0} == (await _ask({"protocol": "consensus"}, flags, documents)).waits


TWO = "seats:\n  {0}_1: {{role: panelist}}\n  {0}_2: {{role: panelist}}\n  analyst: {{}}\n"


def _opened(offer: Offer, documents: Sequence[Document] = (), **given: object) -> OpenSession:
    return opening_of("Tea?", given, documents, offer, door="mcp")


def _plan(**given: object) -> Plan:
    settings: Settings = load(None, dict(given))
    return Plan(settings, None, every="protocol" not in given)


def _panels(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def test_a_saved_panel_is_seated_beside_the_gateways_own_agents(tmp_path: Path) -> None:
    plan, offers = offers_of(_plan(consensus={"threshold": 80}), _panels(tmp_path, deep=TWO.format("deep")))
    assert {"deep_1", "deep_2", "panelist_1", "analyst"} <= {row.queue for row in plan.rows}
    assert sum(row.queue == "analyst" for row in plan.rows) == 1
    deep, own = offers.of("deep"), offers.of("consensus")
    assert [seat.seat for seat in deep.seats] == ["deep_1", "deep_2", "analyst"] and deep.settings["panel"] == 2
    assert [seat.seat for seat in own.seats] == ["panelist_1", "panelist_2", "panelist_3", "analyst"], "and not deep_1"
    assert deep.settings["threshold"] == own.settings["threshold"] == 80
    assert offers_of(_plan(protocol="consensus"))[1].of("consensus").seats == (), "without panels whoever is alive sits"
    assert offers.of("madp").seats == () and offers.of("").protocol == "consensus"
    two = _opened(own, settings={"panel": 2})
    assert two.seats == own.seats and two.settings["panel"] == 2, "the question says which two of them sit"
    with pytest.raises(BadInput, match=r"settings\.panel: got 4, consensus seats 3 of role panelist"):
        _opened(own, settings={"panel": 4})


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ({"consensus": TWO.format("a")}, "consensus is a protocol"),
        ({"a b": TWO.format("a")}, "letters, digits"),
        ({"a": "protocol: madp\nseats:\n  helper: {}\n"}, "a panel for it would join every"),
        (
            {"a": "seats:\n  panelist_1: {model: extractive, room: 2}\n  panelist_2: {}\n  analyst: {}\n"},
            "both seat panelist_1, with different models",
        ),
        ({}, "holds no panel file"),
    ],
)
def test_a_folder_that_cannot_be_right_is_refused(tmp_path: Path, texts: dict[str, str], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        offers_of(_plan(), _panels(tmp_path, **texts))


def test_settings_that_name_a_file_are_the_operators_alone() -> None:
    own = Offers([Offer(name="competition", protocol="competition", settings={"format": "four_stage"})])
    for name in ("format", "personalities"):
        inner = {"deliberation": "competition", "deliberation_settings": {name: "x.yaml"}}
        with pytest.raises(BadInput, match=r"expected (one of|the)") as refused:
            _opened(own.of("competition"), settings={name: "x.yaml"})
        assert refused.value.field == f"settings.{name}"
        with pytest.raises(BadInput, match=r"expected (one of|the)"):
            _opened(own.of("madp"), settings=inner)
    assert _opened(own.of("competition")).settings["format"]["name"] == "four_stage"


def test_what_is_asked_for_goes_over_the_operators_settings_and_limits() -> None:
    offer = Offer(
        name="consensus", protocol="consensus", settings={"threshold": 80, "round_limit": 2},
        seats=(Seat(seat="a", role="panelist", queue="a"),),
    )  # fmt: skip
    opening = _opened(offer, settings={"round_limit": 4}, budget={"calls": 9}, seed=7)
    assert (opening.settings["threshold"], opening.settings["round_limit"], opening.seed) == (80, 4, 7)
    assert opening.budget.calls == 9
    with pytest.raises(BadInput, match="did you mean consensus"):
        Offers().of("consenus")
    many = [document(f"{i}.md", "x" * 5_000_000) for i in range(3)]
    with pytest.raises(BadInput, match=r"15,000,000 characters.*12,000,000"):
        _opened(Offers().of("consensus"), many)


def worker(queue: str, model: str = "m1", **more: object) -> Announcement:
    given = {"instance": f"i-{queue}", "queue": queue, "roles": ("panelist",), "model": model, "family": "f", **more}
    return Announcement(**{"metered": True, **given})  # type: ignore[arg-type]


NOT_ASKED = "announced by its worker, and not asked"


@pytest.mark.parametrize(
    ("how", "found", "health", "words"),
    [
        ({}, {}, "ok", NOT_ASKED),
        ({}, {"a": ModelHealth(status="announced")}, "ok", NOT_ASKED),
        ({}, {"a": ModelHealth(status="configured")}, "unknown", "configured, and not asked"),
        ({}, {"a": ModelHealth(status="answers", seconds=0.42)}, "ok", "answered a tiny question in 0.4 s"),
        (
            {},
            {"a": ModelHealth(status="answers", seconds=1), "b": ModelHealth(status="missing")},
            "failed",
            "not answer",
        ),
        ({"draining": True}, {}, "warning", "its workers are ending"),
        ({"metered": False}, {"a": ModelHealth(status="ok")}, "ok", "no language model"),
    ],
)
def test_a_models_health_is_what_was_found(
    how: dict[str, Any], found: dict[str, ModelHealth], health: str, words: str
) -> None:
    workers = (worker("a", **how), worker("b", **how))
    (model,) = models(workers, found)
    assert model.health == health and words in model.words and model.queues == ("a", "b")
    looked = Health(waiting={"a": 3}, missing=(Lack(what="no key", mend="set X"),))
    there = Workers(workers=workers, experts=(), listening_s=60)
    assert (seen(there, looked).waiting, seen(there, looked).missing) == ({"a": 3}, looked.missing)
    assert seen(there, None).waiting is None and not seen(there, None).looked


async def test_one_look_serves_all_who_ask_and_a_fault_is_no_end() -> None:
    looked = 0

    async def look() -> Health:
        nonlocal looked
        looked += 1
        await asyncio.sleep(0)
        return Health(waiting={"a": looked})

    looks = Looks(look)
    both = await asyncio.gather(looks.last(), looks.last())
    assert looked == 1 and both[0] == both[1] == Health(waiting={"a": 1})
    assert await looks.last() == both[0] and looked == 1
    await looks.close()

    async def broken() -> Health:
        raise ValueError("no")

    assert await Looks(broken).last() is None
    assert await Looks(None).last() is None
