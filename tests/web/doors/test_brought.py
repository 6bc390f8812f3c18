"""A door that an installed package brings: behind the guard, opened by name alone, and told where it is broken."""

import json
import subprocess
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.extending.environment import BARE, installed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
PYPROJECT = """
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"
[project]
name = "parley-bell"
version = "1.0"
[project.entry-points."parley.doors"]
bell = "parley_bell:door"
cracked = "parley_bell:cracked"
lost = "parley_bell:nothing"
"""
BELL = """
from contextlib import asynccontextmanager
from starlette.responses import JSONResponse
from starlette.routing import Route
from parley.client.evidence import SentFile
from parley.web import program_sessions
from parley.web.app import Door, client_of
from parley.web.doors import own

def door(options, given):
    given = own("bell", given, {"protocol": "consensus"})
    rung = []

    async def ring(request):
        text = (await request.body()).decode()
        client = await client_of(request)
        files = [SentFile("a.md", text.encode())]
        sid = await program_sessions.open_text_session(client, options.offers, text, dict(given), files)
        async for _, fold in program_sessions.heard(client, sid):
            pass
        return JSONResponse({"session": sid, "status": fold.result.status, "rung": rung})

    @asynccontextmanager
    async def lifespan(app):
        rung.append(app.state.shared.principals.named("local").name)
        yield

    return Door(routes=(Route("/bell", ring, methods=["POST"]),), lifespan=lifespan)

def cracked(options, given):
    return "no door"
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bell")
    (folder / "parley_bell").mkdir()
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "parley_bell" / "__init__.py").write_text(BELL)
    return installed(folder, folder)


def serve(python: Path, folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    command = [str(python), "-m", "parley", "serve", "--json", "--state", str(folder / "state"), *arguments]
    env = {**BARE, "PARLEY_PACKAGES": "parley-bell"}
    return subprocess.Popen(command, env=env, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_packages_door_has_the_guard_and_opens_sessions(python: Path, tmp_path: Path) -> None:
    child = serve(python, tmp_path, "--door", "bell")
    assert child.stdout is not None
    try:
        where = json.loads(child.stdout.readline())
        with httpx.Client(base_url=where["url"], timeout=60) as http:
            assert http.post("/bell", content="Tea?").status_code == 401
            key = {"authorization": f"Bearer {where['token']}"}
            assert http.post("/bell", content="Tea?", headers={**key, "host": "evil.example"}).status_code == 421
            rung = http.post("/bell", content="Tea is the drink of the north.", headers=key)
        assert rung.status_code == 200 and rung.json()["status"] == "finished" and rung.json()["rung"] == ["local"]
    finally:
        child.terminate()
        child.communicate(timeout=30)


@pytest.mark.parametrize(("arguments", "says"), [
    (("--door", "gong"), "doors.gong: there is no such door; known are a2a, nats-agents, webhook, bell"),
    (("--door", "cracked"), "doors.cracked: it gave a str, expected a Door"),
    (("--door", "lost"), "doors.lost: lost of parley-bell 1.0 cannot be loaded"),
    (("--set", "doors.bell.tone=a"), "doors.bell.tone: there is no such option; known are protocol"),
    (("--set", "doors.bell.protocol=7"), "doors.bell.protocol: got 7, expected a value of type str"),
    (("--door", "a2a", "--set", "doors.a2a.tone=a"), "doors.a2a.tone: there is no such option; known are none"),
])  # fmt: skip
def test_a_door_that_cannot_be_opened_says_why(
    python: Path, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    out, err = serve(python, tmp_path, *arguments).communicate(timeout=60)
    assert says in out + err
