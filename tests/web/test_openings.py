"""One way in: the same text, options and documents come to equal openings through every door, and what is wrong is told
by the name that the door has for it. No bus is there."""

import base64
import re
import shutil
from collections.abc import Awaitable, Callable
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
from parley.client.setup.options import SESSION, taken
from parley.planned.plan import plan_of
from parley.question import read_request
from parley.run import Run
from parley.schemas.session import OpenSession
from parley.serving.offered_models import offers_of
from parley.settings import load
from parley.web.mcp.options import SESSION as MCP
from parley.web.mcp.tools import Tools
from parley.web.openai.history import read
from parley.web.openai.requests import parse_request
from parley.web.page import starting
from parley.web.page.form_fields import options as form

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
    ({"panel": 4}, ["--panel", "4"]),
    ({"protocol": "maci", "panel": 3, "settings": {"outcomes": ["a", "b"]}}, ["--panel", "3", "--outcomes", "a, b"]),
    ({"protocol": "critic", "settings": {"round_limit": 2}}, ["--round-limit", "2"]),
    ({"protocol": "competition"}, []),
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
    for name in (*KINDS, *BROKEN):
        shutil.copy(Path(__file__).parents[1] / "client" / "documents" / name, documents / "evidence")
    through = {name: await door({"protocol": "consensus"}, [], documents) for name, door in DOORS.items()}
    read = {name: [(d.id, d.name, d.text, d.places) for d in o.documents] for name, o in through.items()}
    assert {name.split("/")[0] for _, name, _, _ in read["ask"]} == {*KINDS, "a.md", "b.txt"}
    for name, opening in through.items():
        assert read[name] == read["ask"] and opening.left_out == through["ask"].left_out, name
    told = through["ask"].left_out
    assert told and all(any(line.startswith(f"{name} ") for line in told) for name in (*BROKEN, "p07_mixed.pdf"))


WRONG: list[tuple[dict[str, Any], list[str], str, str]] = [
    ({"settings": {"threshold": 700.0}}, ["--threshold", "700"], "--threshold", "settings.threshold"),
    ({"settings": {"round_limit": 999}}, ["--round-limit", "999"], "--round-limit", "settings.round_limit"),
    ({"settings": {"debaters": 3}}, ["--debaters", "3"], "--debaters", "settings.debaters"),
    ({"settings": {"panel": 3}, "panel": 2}, [], "", "panel"),
    ({"protocol": "critic", "panel": 3}, ["--panel", "3"], "--panel", "panel"),
    ({"budget": {"tokens": -1}}, ["--budget-tokens", "-1"], "--budget-tokens", "budget.tokens"),
    ({"budget": {"cost_usd": 0.0}}, ["--budget-usd", "0"], "--budget-usd", "budget.cost_usd"),
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


def test_settings_of_another_protocol_are_refused_also_from_set(tmp_path: Path) -> None:
    sets = {"critic": {"round_limit": 3}}
    _, document, _ = document_of([TEXT], {}, sets)
    run = Run(plan=plan_of(load(None, {**_where(tmp_path), "protocol": "consensus", **sets})))
    with pytest.raises(BadInput, match=r"^critic\.round_limit is not for consensus, but for critic$"):
        read_request(run, TEXT, document, {})


async def test_a_task_without_a_folder_gets_no_tools_that_are_for_one(documents: Path) -> None:
    for name in ("ask", "page", "mcp", "v1"):
        assert (await DOORS[name]({"protocol": "madp"}, [], documents)).settings == {"tool_calls": 0}, name


async def test_a_seat_that_a_person_takes_on_the_page_waits_for_it(documents: Path) -> None:
    opening = await _page({"protocol": "consensus", "humans": ["panelist_1"]}, [], documents)
    flags = ["--human", "panelist_1", "--wait-for-human", "300"]
    assert opening.waits == {"panelist_1": 300.0} == (await _ask({"protocol": "consensus"}, flags, documents)).waits
