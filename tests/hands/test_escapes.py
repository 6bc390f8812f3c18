"""Hands that run anything, and what they try at their model's port, their folder and their keys. What holds every
command in the sandbox is in tests/tools/test_sandbox.py."""

import os
from pathlib import Path

import pytest

from parley.agents.hands.catalogue import TurnLimits
from parley.agents.model.base import ModelRefused
from parley.agents.tools import sandbox
from tests.hands.stub import KEY, Server, model, texts
from tests.hands.support import Turn, tiny, turn

pytestmark = [
    pytest.mark.serial,
    pytest.mark.skipif(bool(sandbox.unavailable()), reason=f"{sandbox.unavailable()}; `make install` says how"),
]


async def tried(tmp_path: Path, code: str, limits: TurnLimits | None = None) -> tuple[Turn, str]:
    """(the turn of an agent that runs this code, what the code printed)."""
    with model(texts(code, "DONE Tried.")) as server:
        done = await turn(tiny(server, limits=limits), tmp_path, seconds=60.0)
        return done, _printed(server)


def _printed(server: Server) -> str:
    return str(server.asked[1]["body"]["messages"][-1]["content"])


async def test_through_that_port_it_reaches_nothing_but_the_model(tmp_path: Path) -> None:
    code = """
import os, urllib.request, urllib.error
base, token = os.environ['MODEL_URL'], os.environ['MODEL_TOKEN']
for path, method, body in (('/v1/files', 'POST', b'{}'), ('/v1/models', 'GET', None), ('http://a.b/', 'GET', None),
                           ('/v1/messages/batches', 'POST', b'{}'), ('/metrics', 'GET', None)):
    try:
        url = path if path.startswith('http') else base + path
        request = urllib.request.Request(base + '/' + url, body, {'x-api-key': token}, method=method)
        urllib.request.urlopen(request, timeout=5)
        print('reached', path)
    except urllib.error.HTTPError as error:
        print(error.code)
"""
    _, printed = await tried(tmp_path, code)
    assert printed.split() == ["404"] * 5


async def test_the_key_is_nowhere(tmp_path: Path) -> None:
    os.environ["SOME_API_KEY"] = KEY
    code = """
import os
seen = [repr(dict(os.environ))]
found = [f'/proc/{n}/{x}' for n in os.listdir('/proc') if n.isdigit() for x in ('environ', 'cmdline')]
for place in ('/run', '/task', '/tmp', '/etc', '/var'):
    found += [os.path.join(at, name) for at, _, files in os.walk(place) for name in files]
for path in found:
    try:
        seen.append(open(path, 'rb').read(200_000).decode('latin-1'))
    except OSError:
        pass
print('the-real' + '-key' in ''.join(seen), len(seen) > 5, 'SOME_API_KEY' in ''.join(seen))
"""
    try:
        done, printed = await tried(tmp_path, code)
    finally:
        del os.environ["SOME_API_KEY"]
    assert printed.strip() == "False True False"
    assert KEY not in repr(done.done)


async def test_the_folder_above_and_the_worker_are_not_seen(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the secret")
    code = f"""
import os
print(os.path.exists({str(tmp_path)!r}), os.path.exists({str(Path.home() / ".ssh")!r}), sorted(os.listdir('/task')))
print(os.listdir('/task/..') and os.path.exists('/task/../home'), sorted(os.listdir('/run')))
for path in ('/run/parley/run.json', '/usr/x', '/etc/x'):
    try:
        open(path, 'w')
        print('wrote', path)
    except OSError as error:
        print(error.strerror)
"""
    _, printed = await tried(tmp_path, code)
    lines = printed.split("\n")
    assert lines[0] == "False False ['app.py']" and lines[1] == "False ['parley']"
    assert lines[2:5] == ["Read-only file system"] * 3


@pytest.mark.parametrize(("code", "why"), [
    ("import socket, os\np = int(os.environ['MODEL_URL'].rpartition(':')[2])\nx = []\n"
     "while True: x.append(socket.create_connection(('127.0.0.1', p)))", "it held more than 256 connections"),
    ("import urllib.request, os\nwhile True:\n try: urllib.request.urlopen(os.environ['MODEL_URL'] + '/x')\n"
     " except OSError: pass", "more than 1,000 of its requests were refused"),
    ("x = []\nwhile True: x.append(bytearray(b'x' * (8 << 20)))", "it took more than 300 MB of memory"),
])  # fmt: skip
async def test_one_that_takes_too_much_is_ended_and_what_it_used_is_told(tmp_path: Path, code: str, why: str) -> None:
    limits = TurnLimits(memory_mb=300) if "300" in why else None
    with model(texts(code, "DONE")) as server:
        with pytest.raises(ModelRefused, match=f"hands tiny: {why}") as error:
            await turn(tiny(server, limits=limits), tmp_path, seconds=60.0)
    assert error.value.usage.calls == 1
