"""Plays a demo: `parley ask` on the demo's files, with the model `recorded` on every seat, as a process of its own."""

import asyncio
import json
import os
import shlex
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from msgspec.structs import replace

from parley.agents.tools.sandbox import unavailable
from parley.client.show.printing import say, warn
from parley.demos.demo import Demo, read

CHECK = "--check"
"""What needs a sandbox."""
_OF_THE_USER = ("LLM_", "ENCODER", "PARLEY_")
"""Parts of the names of variables that set models or Parley: a demo has its own."""


@dataclass(frozen=True)
class Command:
    """A process that plays a demo."""

    words: list[str]
    folder: Path
    """Its working folder, with the files of the demo and none of the user's settings."""
    environment: dict[str, str]


def play(name: str, *, state: Path | None, pace_s: float, options: Sequence[str], quietly: bool) -> None:
    """Become the process that plays a demo. `quietly`: what is said beside it goes to standard error. Raises BadInput:
    there is no such demo."""
    demo, lacks = playable(read(name))
    tell = warn if quietly else say
    tell(
        f"Demo {name}: recorded replies. A language model wrote them, seat by seat, on {demo.written}."
        " No model is called, and nothing is paid."
    )
    if lacks:
        tell(f"It is played without its check: {lacks}")
    tell(f"$ parley {shlex.join(demo.command)}")
    command = start_demo(name, demo, own_state() if state is None else state.absolute(), pace_s, options)
    sys.stdout.flush()
    os.chdir(command.folder)
    os.execve(command.words[0], command.words, command.environment)


async def play_beside(name: str, state: Path) -> str:
    """Play a demo on the stack that runs in a state folder; what it came to, in words."""
    demo, _ = playable(read(name))
    command = start_demo(name, demo, state.absolute(), 0.0, ("--json",))
    child = await asyncio.create_subprocess_exec(
        *command.words, cwd=command.folder, env=command.environment, stdout=PIPE, stderr=PIPE, start_new_session=True
    )
    try:
        said, errors = await child.communicate()
    finally:
        if child.returncode is None:
            child.terminate()
            await child.wait()
    if not said:
        return errors.decode(errors="replace").strip()[-500:]
    result = json.loads(said)
    return f"session {result['session']}, {result['stop']['reason']}" if "session" in result else str(result["error"])


def playable(demo: Demo) -> tuple[Demo, str]:
    """(the demo as this machine can play it, what it lacks for the whole of it)."""
    why = unavailable() if CHECK in demo.ask else ""
    if not why:
        return demo, ""
    at = demo.ask.index(CHECK)
    return replace(demo, ask=demo.ask[:at] + demo.ask[at + 2 :]), why


def own_state() -> Path:
    """A new temporary folder. It stays until the system clears such folders."""
    return Path(tempfile.mkdtemp(prefix="parley-demo-"))


def start_demo(name: str, demo: Demo, state: Path, pace_s: float, options: Sequence[str]) -> Command:
    """The process that plays a demo, once its files are written. They are not in the state folder, where no task may
    work."""
    own = Path(tempfile.mkdtemp(prefix=f"parley-demo-{name}-"))
    folder, recording = own / "files", own / "replies.jsonl"
    folder.mkdir()
    demo.write_files(folder)
    recording.write_bytes(demo.recording(pace_s))
    words = [sys.executable, "-P", "-m", "parley", *demo.command, "--state", str(state), *options]
    return Command(words, folder, environment(os.environ, recording))


def environment(environ: Mapping[str, str], recording: Path) -> dict[str, str]:
    """An environment in which every seat plays the recording, whatever models the user has set."""
    kept = {k: v for k, v in environ.items() if not any(part in k.upper() for part in _OF_THE_USER)}
    named = (os.path.abspath(place) for place in environ.get("PYTHONPATH", "").split(os.pathsep) if place)
    places = os.pathsep.join([*named, str(Path(str(resources.files("parley"))).parent)])
    path = os.pathsep.join(filter(None, (str(Path(sys.executable).parent), environ.get("PATH"))))
    own = {"PATH": path, "PYTHONPATH": places, "LLM_PROVIDER": "recorded", "LLM_RECORD": str(recording)}
    return kept | own
