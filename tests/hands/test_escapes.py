"""Hands that run anything, and what they try: to reach what is not theirs, to stay, and to take more than they may."""

import os
import socket
import threading
from pathlib import Path

import psutil
import pytest

from parley.agents.hands.catalogue import TurnLimits
from parley.agents.model.base import ModelRefused
from parley.agents.tools import sandbox
from parley.agents.tools.folder import unpack_archive
from tests.hands.stub import KEY, Server, model, texts
from tests.hands.support import Turn, tiny, turn

pytestmark = [
    pytest.mark.serial,
    pytest.mark.skipif(bool(sandbox.unavailable()), reason=f"{sandbox.unavailable()}; `make install` says how"),
]
LONG = f"986.{os.getpid()}"
"""Seconds that nobody else sleeps."""


async def tried(tmp_path: Path, code: str, limits: TurnLimits | None = None) -> tuple[Turn, str]:
    """(the turn of an agent that runs this code, what the code printed)."""
    with model(texts(code, "DONE Tried.")) as server:
        done = await turn(tiny(server, limits=limits), tmp_path, seconds=60.0)
        return done, _printed(server)


def _printed(server: Server) -> str:
    return str(server.asked[1]["body"]["messages"][-1]["content"])


async def test_it_has_no_network_but_the_port_of_its_model(tmp_path: Path) -> None:
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as outside:
        port = outside.getsockname()[1]
        outside.settimeout(20)

        def hear() -> None:
            try:
                heard.append(outside.accept()[0].recv(10))
            except (TimeoutError, OSError):
                return

        thread = threading.Thread(target=hear, daemon=True)
        thread.start()
        code = f"""
import socket, urllib.request, os
for where in (('127.0.0.1', {port}), ('1.1.1.1', 53), ('example.com', 80)):
    try:
        socket.create_connection(where, 2)
        print('reached', where)
    except OSError as error:
        print('no', type(error).__name__)
for line in open('/proc/net/dev'):
    print(line.split(':')[0].strip())
"""
        _, printed = await tried(tmp_path, code)
    assert printed.count("no ") == 3 and "reached" not in printed and heard == []
    assert {"lo"} == {x for x in printed.split() if x in ("lo", "eth0", "docker0", "wlan0")}


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


async def test_a_repository_that_it_makes_is_not_handed_in(tmp_path: Path) -> None:
    code = """
import os
os.makedirs('.git/hooks')
open('.git/hooks/post-checkout', 'w').write('#!/bin/sh')
open('.git/config', 'w').write('[core] fsmonitor = touch x')
open('app.py', 'w').write('new')
"""
    done, _ = await tried(tmp_path, code)
    assert done.work.folder is not None
    assert list(unpack_archive(await done.artifacts.get(done.work.folder.id))) == ["app.py"]


async def test_it_gains_no_rights(tmp_path: Path) -> None:
    code = """
import ctypes, os, shutil, subprocess
for name in ('setuid', 'setgid'):
    try:
        getattr(os, name)(0)
        print('became', os.getuid())
    except OSError:
        print('no')
libc = ctypes.CDLL(None, use_errno=True)
print(libc.unshare(0x10000000), libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))
shutil.copy('/bin/sh', 'sh')
try:
    os.chmod('sh', 0o4755)
except OSError:
    pass
print(subprocess.run(['./sh', '-p', '-c', 'id -u'], capture_output=True, text=True).stdout.strip())
print([x.split()[1] for x in open('/proc/self/status') if x.startswith(('CapEff', 'NoNewPrivs'))])
"""
    done, printed = await tried(tmp_path, code)
    lines = printed.split("\n")
    assert lines[:4] == ["no", "no", "-1 -1", "65534"] and lines[4] == "['0000000000000000', '1']"
    assert done.work.folder is not None
    modes = unpack_archive(await done.artifacts.get(done.work.folder.id))
    assert set(modes) == {"app.py", "sh"}


async def test_other_processes_are_not_seen(tmp_path: Path) -> None:
    code = """
import os
print(sorted(n for n in os.listdir('/proc') if n.isdigit()), os.getppid())
for pid in range(1, 400_000, 997):
    try:
        os.kill(pid, 0)
        print('sees', pid)
    except OSError:
        pass
"""
    _, printed = await tried(tmp_path, code)
    first, *rest = printed.strip().split("\n")
    assert len(first.split(",")) <= 6 and rest in ([], ["sees 1"])


async def test_what_it_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    """A process in a session of its own, one that ignores signals, and a socket that is kept open at the proxy."""
    code = f"""
import os, socket, subprocess
subprocess.Popen(['setsid', 'sleep', '{LONG}'], start_new_session=True)
subprocess.Popen(['sh', '-c', 'trap "" TERM HUP INT; sleep {LONG}; sleep {LONG}'], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    s = socket.create_connection(('127.0.0.1', int(os.environ['MODEL_URL'].rpartition(':')[2])))
    s.sendall(b'POST /v1/messages HTTP/1.1\\r\\ncontent-length: 100\\r\\n')
    os.execvp('sleep', ['sleep', '{LONG}'])
print('left')
"""
    done, printed = await tried(tmp_path, code)
    assert "left" in printed and done.work.output == "Tried."
    assert not [p for p in psutil.process_iter(["cmdline"]) if LONG in (p.info["cmdline"] or ())]


async def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the secret")
    code = f"""
import os
os.symlink({str(tmp_path / "secret.txt")!r}, 'a')
os.symlink('/etc/passwd', 'b')
os.symlink('/run/parley', 'c')
os.mkfifo('d')
open('app.py', 'w').write('new')
"""
    done, _ = await tried(tmp_path, code)
    assert done.work.folder is not None
    assert list(unpack_archive(await done.artifacts.get(done.work.folder.id))) == ["app.py"]
    assert "secret" not in done.work.diff and "root:" not in done.work.diff
    told = done.work.calls[-1]
    assert (told.tool, told.ok) == ("(folder)", False) and "'a' is removed: a symbolic link" in told.result


@pytest.mark.parametrize(("code", "why"), [
    ("import os\nwhile True: os.write(1, b'x' * 65536)", "it printed more than 64 MB"),
    ("n = 0\nwhile True: n += 1; open(f'{n}', 'wb').write(b'x' * (8 << 20))", "it left more than 512 MB in the folder"),
    ("import socket, os\np = int(os.environ['MODEL_URL'].rpartition(':')[2])\nx = []\n"
     "while True: x.append(socket.create_connection(('127.0.0.1', p)))", "it held more than 256 connections"),
    ("import urllib.request, os\nwhile True:\n try: urllib.request.urlopen(os.environ['MODEL_URL'] + '/x')\n"
     " except OSError: pass", "more than 1,000 of its requests were refused"),
    ("import os\nwhile True: os.fork()", "it (ran more than 512 processes and threads|took more than 2,048 MB)"),
    ("x = []\nwhile True: x.append(bytearray(b'x' * (8 << 20)))", "it took more than 300 MB of memory"),
])  # fmt: skip
async def test_one_that_takes_too_much_is_ended_and_what_it_used_is_told(tmp_path: Path, code: str, why: str) -> None:
    limits = TurnLimits(memory_mb=300) if "300" in why else None
    with model(texts(code, "DONE")) as server:
        with pytest.raises(ModelRefused, match=f"hands tiny: {why}") as error:
            await turn(tiny(server, limits=limits), tmp_path, seconds=60.0)
    assert error.value.usage.calls == 1


async def test_its_own_memory_file_systems_are_bounded(tmp_path: Path) -> None:
    code = """
for place in ('/tmp/big', '/tmp/home/big', '/dev/shm/big'):
    size = 0
    try:
        with open(place, 'wb') as f:
            while size < 2 << 30:
                size += f.write(bytes(1 << 20))
    except OSError as error:
        print(error.strerror, size < 300 << 20)
    import os
    os.path.exists(place) and os.unlink(place)
"""
    _, printed = await tried(tmp_path, code)
    assert printed.split("\n")[:3] == ["No space left on device True"] * 3
