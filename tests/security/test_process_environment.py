"""What each process of a real stack knows: its environment as the system has it, and its memory."""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from parley.stack.lease import Lease, Running, Stack, read_running
from parley.stack.rows import AgentRow, rows_of
from tests.parley.support import ROOT, Front, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read in /proc"),
]

AGENTS = {"panelist_1-1", "panelist_1-2", "panelist_2-1", "panelist_3-1", "analyst-1", "helper-1"}
NAMED = {
    "LLM_PROVIDER": "openai", "LLM_MODEL": "some", "LLM_BASE_URL": "http://127.0.0.1:9/v1",
    "PANELIST_2_LLM_PROVIDER": "zhipu", "PANELIST_2_LLM_MODEL": "glm", "ANALYST_LLM_PROVIDER": "extractive",
}  # fmt: skip
SECRETS = {
    "OPENAI_API_KEY": {"panelist_1-1", "panelist_1-2"},
    "ZAI_API_KEY": {"panelist_2-1"},
    "ANTHROPIC_API_KEY": set[str](),
    "ANALYST_LLM_API_KEY": set[str](),
    "MINE": {"panelist_3-1"},
    "PANELIST_3_TOKEN": {"panelist_3-1"},
    "SOMETHING_ELSE": set[str](),
    "PARLEY__NOTIFY__TOKEN": set[str](),
    "HTTPS_PROXY": {"panelist_1-1", "panelist_1-2", "panelist_2-1", "panelist_3-1"},
}
"""Variable -> the services that hold its value."""
HELPER = {"HELPER_ENCODER": "none"}


def value_of(name: str) -> str:
    return f"secret-{name.lower().replace('_', '-')}-0f1e2d3c"


def secrets_in(data: bytes) -> set[bytes]:
    return set(re.findall(rb"secret-[a-z0-9-]+-0f1e2d3c", data))


def variables() -> dict[str, str]:
    """What whoever starts the stack has set, without what sets the tests' own models."""
    kept = {k: v for k, v in os.environ.items() if "LLM_" not in k and not k.startswith("PARLEY")}
    return {**kept, **NAMED, **HELPER, **{name: value_of(name) for name in SECRETS}, "PYTHONPATH": str(ROOT)}


def rows(folder: Path) -> tuple[AgentRow, ...]:
    """Three panelists of different models, one of them in two copies, an analyst and a helper."""
    spec = folder / "own.yaml"
    spec.write_text(
        "queue: panelist_3\nroles: [panelist]\nmodel: tests.support.model:make\noptions: {key_variable: MINE}\n"
    )
    own = {
        "panelist_1": AgentRow(queue="panelist_1", copies=2),
        "panelist_3": AgentRow(queue="panelist_3", spec=str(spec)),
    }
    return (*(own.get(row.queue, row) for row in rows_of("consensus", 3)), AgentRow(queue="helper"))


@contextmanager
def leased(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Running]]:
    """A stack that another process of ours starts, as `parley ask` does."""
    for name in [n for n in os.environ if "LLM_" in n]:
        monkeypatch.delenv(name)
    for name, value in variables().items():
        monkeypatch.setenv(name, value)
    with Lease(Stack(agents=rows(folder)), folder / "state", wait_ready=True) as lease:
        yield lease.state, lease.running()


def memory(pid: int) -> bytes:
    """All that a process may write to, and has not swapped out."""
    found = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for line in maps:
            start, end, mode = re.match(r"(\w+)-(\w+) (\S+)", line).groups()  # type: ignore[union-attr]
            if mode.startswith("rw"):
                mem.seek(int(start, 16))
                try:
                    found.append(mem.read(int(end, 16) - int(start, 16)) or b"")
                except OSError:  # the system's own pages
                    continue
    return b"\n".join(found)


def processes(running: Running) -> Mapping[str, int]:
    """Every process of the stack by name, also those that no service is."""
    named = {running.supervisor: "supervisor", **{s.pid: name for name, s in running.services.items()}}
    children = psutil.Process(running.supervisor).children(recursive=True)
    return {"supervisor": running.supervisor, **{named.get(c.pid, f"{c.name()} {c.pid}"): c.pid for c in children}}


def again(state: Path, was: int) -> Any:
    """The service, once it is ready in another process."""
    running = read_running(state)
    service = running and running.services.get("panelist_2-1")
    return service if service and service.pid != was and service.ready else None


def test_nothing_that_a_stack_in_the_foreground_writes_holds_a_secret(tmp_path: Path) -> None:
    seats = {row.queue: {"spec": row.spec, "copies": row.copies} for row in rows(tmp_path)}
    (tmp_path / "panel.yaml").write_text(json.dumps({"seats": seats}))
    front = Front(tmp_path, env={name: v for name, v in variables().items() if not name.startswith("PARLEY__")})
    up = front.start("up", "--json", "--panel-file", "panel.yaml")
    try:
        until(lambda: (found := read_running(front.state)) and found.ready, "it is not up", 30)
    finally:
        up.terminate()
        said = "".join(up.communicate(timeout=30))
    files = {str(path): path.read_bytes() for path in front.state.rglob("*") if path.is_file()}
    assert said and any(name.endswith("panelist_1-1.jsonl") for name in files)
    assert not [name for name, data in {**files, "the terminal": said.encode()}.items() if secrets_in(data)]


@pytest.mark.serial
def test_a_secret_reaches_the_agents_that_use_it_and_no_other_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with leased(tmp_path, monkeypatch) as (state, running):
        found = processes(running)
        assert AGENTS | {"supervisor", "nats", "moderator-1"} < set(found), "a guardian stands beside them"
        environments = {n: Path(f"/proc/{pid}/environ").read_bytes() for n, pid in found.items()}
        lines = {n: Path(f"/proc/{pid}/cmdline").read_bytes() for n, pid in found.items()}
        held = {n: secrets_in(memory(pid)) for n, pid in found.items()}
        for name, users in SECRETS.items():
            assert {n for n, secrets in held.items() if value_of(name).encode() in secrets} == users, name
        assert not [n for n in found if secrets_in(environments[n] + lines[n])]
        assert all(b"PATH=" in text for text in environments.values())
        agent = psutil.Process(running.services["panelist_2-1"].pid)
        agent.kill()
        service = until(lambda: again(state, agent.pid), "it is not started again", 30)
        assert secrets_in(memory(service.pid)) == held["panelist_2-1"] != set(), "it has its key again"
        files = {str(path): path.read_bytes() for path in state.rglob("*") if path.is_file()}
    assert any(name.endswith("panelist_1-1.jsonl") for name in files)
    assert not [name for name, data in files.items() if b"0f1e2d3c" in data], "nothing of it is on disk"
