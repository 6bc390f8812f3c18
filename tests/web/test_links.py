"""The link of `parley ask --open`, and of the gateway."""

import json
import os
import re
import subprocess
from pathlib import Path

import httpx2
import pytest

from tests.parley.support import Front

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
