"""/mcp behind the guard: whose session of the transport it is; no bus is asked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from parley.bus.accounts import User, mint
from parley.client.errors import BadInput
from parley.coordinator.admission import build_settings
from parley.coordinator.protocols import PROTOCOLS
from parley.web.app import Config, build
from parley.web.mcp import projects
from parley.web.mcp.door import mcp_door
from parley.web.mcp.tools import settings_of
from parley.web.offered_models import Offers
from parley.web.principals import Principals, new_token

HOST = "parley.test"
_ACCEPT = {"Accept": "application/json, text/event-stream"}
_BEGIN = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}  # fmt: skip


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, str]:
    users = [User(name=name, kind="client", account="CLIENTS") for name in ("alice", "bob")]
    found = {}
    for name, credentials in mint(users).items():
        credentials.save(tmp_path / f"{name}.json")
        found[name] = new_token(tmp_path / f"{name}.json")
    return found


@pytest.fixture
def http(tmp_path: Path, tokens: dict[str, str]) -> Iterator[TestClient]:
    """The door behind the guard."""
    principals = Principals(bytes(32), folder=tmp_path)
    app = build(Config(url="nats://127.0.0.1:1", hosts=(HOST,)), principals, (mcp_door(Offers(), secret=bytes(32)),))
    with TestClient(app, base_url=f"http://{HOST}") as found:
        yield found


def _post(http: TestClient, token: str, body: Any, **headers: str) -> Any:
    return http.post("/mcp", json=body, headers={**_ACCEPT, "Authorization": f"Bearer {token}", **headers})


def test_a_session_of_the_transport_answers_to_who_began_it_alone(http: TestClient, tokens: dict[str, str]) -> None:
    assert _post(http, "x", _BEGIN).status_code == 401
    assert _post(http, tokens["alice"], _BEGIN, Origin="http://evil.test").status_code == 403
    begun = _post(http, tokens["alice"], _BEGIN)
    assert begun.status_code == 200
    mine = {"Mcp-Session-Id": begun.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert "iterative_debate" in _post(http, tokens["alice"], asked, **mine).text
    assert _post(http, tokens["bob"], asked, **mine).status_code == 404
    gone = http.delete("/mcp", headers={"Authorization": f"Bearer {tokens['bob']}", **mine})
    assert gone.status_code == 404
    assert _post(http, tokens["alice"], asked, **mine).status_code == 200, "and nobody else ends it"


def test_the_sources_parameters_are_the_protocols_settings() -> None:
    assert settings_of(None, None) == {}
    assert settings_of(7, 85) == {"round_limit": 7, "threshold": 85}
    protocol = PROTOCOLS["consensus"]
    for points in (0.5, 1, 1.5, 2, 70, 100):  # in points, where the protocol reads up to 1 as a share
        assert build_settings(protocol, settings_of(None, points)).threshold == pytest.approx(points)
    for given, why in (
        ((0, None), "maxIterations: got 0, "),
        ((51, None), "1 to 50"),
        ((None, 100.5), "got 100.5, "),
        ((None, 0), "got 0, "),
    ):
        with pytest.raises(BadInput, match=why):
            settings_of(*given)


def test_a_project_lies_under_a_root_and_links_lead_nowhere_else(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "root-2"
    for folder in (root / "a", other):
        folder.mkdir(parents=True)
    (root / "link").symlink_to(other)
    assert projects.under([root], "a") == projects.under([root], str(root / "a")) == root / "a"
    for path in ("..", "link", str(other), "a/../../root-2", "/", "a\0b"):
        with pytest.raises(BadInput, match="allowed are folders under"):
            projects.under([root], path)
    with pytest.raises(BadInput, match="which is not a folder"):
        projects.under([root], "nothing")
    with pytest.raises(BadInput, match="--root DIR"):
        projects.under([], str(root))
    with pytest.raises(BadInput, match="can be read: there is no file"):
        projects.load_project(root / "a")
    (root / "a" / "page.html").write_text("<script>var x = 99</script><p>Five years.")
    (root / "a" / "bad.md").write_bytes(b"a\0b")
    found = projects.load_project(root / "a")
    assert [(d.name, d.text) for d in found.documents] == [("page.html", "Five years.\n")]
    assert found.left_out == ("bad.md is no text: it is a binary file of a kind that is not read",)
