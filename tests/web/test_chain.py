"""One debate through every door, and the link of `parley ask --open`."""

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import httpx2 as httpx
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from openai import OpenAI

from parley.web.openai.running import SESSION
from tests.parley.support import Front
from tests.support.gateway import Served, panel, serving

QUESTION = "In which year did the Suez Canal open?"
KNOWS = b"The Suez Canal opened in 1869 for ships."
CURL = shutil.which("curl")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A gateway with a panel that is slow."""
    panels = tmp_path / "panels"
    panels.mkdir()
    panel(panels / "slow.yaml", latency_s=60)
    with serving(tmp_path, "--set", "protocol=consensus", "--panels", str(panels)) as found:
        yield found


class Watcher:
    """`curl` on the stream of a session."""

    def __init__(self, served: Served, sid: str) -> None:
        address = f"{served.url}/api/sessions/{sid}/events"
        arguments = ["curl", "-sN", "--max-time", "60", "-H", f"Authorization: Bearer {served.token}", address]
        self._child = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)

    def events(self) -> Iterator[tuple[str, Any]]:
        """Name and document of each, as they come."""
        assert self._child.stdout is not None
        name = ""
        for line in self._child.stdout:
            field, _, value = line.rstrip("\n").partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                yield name, json.loads(value)

    def rest(self) -> list[tuple[str, Any]]:
        """All to the end of the stream; curl ends by itself."""
        found = list(self.events())
        assert self._child.wait(30) == 0 and self._child.stdout is not None
        self._child.stdout.close()
        return found


async def _stopped(served: Served, sid: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {served.token}"}
    async with create_mcp_http_client(headers) as http:
        async with Client(streamable_http_client(f"{served.url}/mcp", http_client=http)) as client:
            found = await client.call_tool("stop_debate", {"session": sid, "reason": "seen enough"})
    assert not found.is_error and isinstance(found.structured_content, dict), found.content
    return found.structured_content


@pytest.mark.skipif(CURL is None, reason="NOT CHECKED: no `curl` on PATH")
@pytest.mark.timeout(180)
def test_one_debate_goes_through_every_door(served: Served) -> None:
    request = json.dumps({"question": QUESTION, "protocol": "consensus"})
    with httpx.Client(base_url=served.url, headers={"Authorization": f"Bearer {served.token}"}, timeout=60) as page:
        begun = page.post("/api/sessions", data={"request": request}, files=[("evidence", ("suez.md", KNOWS))])
        assert begun.status_code == 201, begun.text
        first = begun.json()["session"]
        seen = Watcher(served, first).rest()
        assert seen[-1][0] == "end" and [d["result"]["text"] for n, d in seen if d.get("result")] == ["1869"]

        client = OpenAI(base_url=f"{served.url}/v1", api_key=served.token, max_retries=0, timeout=90)
        chat = client.chat.completions.with_raw_response.create(
            model="parley/slow", messages=[{"role": "user", "content": "And for whom?"}], stream=True,
            extra_body={"parley": {"continues": first}},
        )  # fmt: skip
        second = chat.headers[SESSION]
        watcher = Watcher(served, second)
        seats = next(data["seats"] for name, data in watcher.events() if data.get("seats"))
        assert {"slow_1", "slow_2"} <= {seat["seat"] for seat in seats}

        stopped = asyncio.run(_stopped(served, second))
        assert stopped["status"] == "cancelled"
        parts = list(chat.parse())
        own = next(part.model_extra["parley"] for part in parts if part.model_extra and "parley" in part.model_extra)
        assert own["status"] == "cancelled" and own["continues"] == first
        after = watcher.rest()
        assert [d["status"] for n, d in after if d.get("result")] == ["cancelled"] and after[-1][0] == "end"
        shown = page.get(f"/api/sessions/{second}").json()
        assert shown["status"] == "cancelled" and shown["question"] == "And for whom?"
    assert served.front.json("explain", second, "--json")["result"]["stop"] == own["stop"], (
        "the command line says the same"
    )
    code, out, err = served.front.run("explain", second)
    assert code == 0 and "seen enough" in out, out + err
    assert served.front.json("explain", first, "--json")["result"]["stop"]["reason"] == "one_source"


STUB = "tests.support.model:make"
SLOW = f"""
protocol: consensus
seats:
  one: {{model: "{STUB}", role: panelist, options: {{latency_s: 2.0, agree_from: 9}}}}
  two: {{model: "{STUB}", role: panelist, options: {{latency_s: 2.0, agree_from: 9}}}}
  analyst: {{}}
"""


def link_of(child: "subprocess.Popen[str]") -> str:
    """The link that a command says on standard error."""
    assert child.stderr is not None
    said = ""
    for text in child.stderr:
        said += text
        if found := re.search(r"http://127\.0\.0\.1:\d+/login\?code=\S+", text):
            return found[0]
    raise AssertionError(f"no link: {said}")


def browser_in(folder: Path) -> tuple[Path, dict[str, str]]:
    """A browser that tells the address it is to open: (the pipe that it tells, what the environment says of it)."""
    told, script = folder / "told", folder / "browser"
    os.mkfifo(told)
    script.write_text(f'#!/bin/sh\nprintf %s "$1" > {told}\n')
    script.chmod(0o700)
    return told, {"BROWSER": f"{script} %s"}


def test_the_printed_link_opens_the_page_of_the_session_while_it_runs(tmp_path: Path) -> None:
    front = Front(tmp_path, protocol="")
    (tmp_path / "panel.yaml").write_text(SLOW)
    opened, browser = browser_in(tmp_path)
    child = front.start("ask", "What is it?", "--open", "--json", "--panel-file", "panel.yaml", env=browser)
    try:
        link = link_of(child)
        assert child.stderr is not None and "the page ends with this command" in child.stderr.readline()
        assert opened.read_text() == link
        with httpx2.Client(follow_redirects=True, timeout=20) as http:
            page = http.get(link)
            assert page.status_code == 200 and re.search(r"/s/[0-9a-f]{20}$", str(page.url))
            sid = page.url.path.rsplit("/", 1)[1]
            found = http.get(str(page.url.join(f"/api/sessions/{sid}"))).json()
            assert found["question"] == "What is it?" and "cancel" in found["may"]
            assert http.get(link.partition("&")[0]).status_code == 401, "the link is good once"
            assert http.post(str(page.url.join(f"/api/sessions/{sid}/cancel")), json={}).status_code == 200
        out, err = child.communicate(timeout=40)
    finally:
        child.kill()
    assert json.loads(out)["status"] == "cancelled" and child.returncode == 130, err
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(link)
    front.assert_nothing_left()


def test_a_page_is_not_opened_of_what_is_not_asked(tmp_path: Path) -> None:
    front = Front(tmp_path, protocol="consensus")
    code, _, err = front.run("ask", "x?", "--open", "--dry-run")
    assert code == 2 and "--open" in err and "contradict" in err


def test_the_gateway_opens_its_link_in_the_browser_where_it_is_told_to(tmp_path: Path) -> None:
    front = Front(tmp_path, protocol="consensus")
    opened, browser = browser_in(tmp_path)
    child = front.start("serve", "--open", env=browser)
    try:
        link = opened.read_text()
        assert child.stdout is not None and link in child.stdout.readline() + child.stdout.readline()
        assert httpx2.get(link).status_code == 303
    finally:
        child.terminate()
        child.communicate(timeout=30)
    front.assert_nothing_left()
