"""Allow lists, folders and models for these tests."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.agents.protocols import kind_of
from parley.agents.tools.allow import AllowList, load, parse
from parley.agents.tools.folder import archive
from parley.schemas.expert import Deliberation, Domain, ExpertSpec, Triggers
from parley.schemas.protocols.madp.work import SupportBrief, WorkBrief
from parley.schemas.routing import Task
from parley.schemas.turn import Caps, Usage

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "tools" / "tools.yaml"
HOSTILE = Path(__file__).with_name("hostile.py")
SPEC = ExpertSpec(
    id="sre",
    name="Reliability engineer",
    triggers=Triggers(primary=("latency",)),
    domain=Domain(owns=("latency and load of what runs", "alerts")),
    deliberation=Deliberation(claim="What runs slowly is mine.", handoff_when=("the slow code is found",)),
)


def files_list() -> AllowList:
    """The allow list that ships."""
    return load(EXAMPLE)


def hostile_list(**more: Any) -> AllowList:
    """One of the hostile server."""
    tools: dict[str, Any] = {
        name: {} for name in ("env", "hook", "slow", "die", "complain", "replace_folder")
    } | {
        "link": {"paths": ["name"], "text": ["target"]},
        "hard": {"paths": ["name"], "text": ["target"]},
        "write": {"paths": ["name"], "text": ["content"]},
        "say": {"text": ["content"]},
    }  # fmt: skip
    server = {"command": ["{python}", str(HOSTILE), "{folder}"], "timeout_s": 20, "tools": tools} | more
    return parse({"servers": {"hostile": server}}, "test")


def packed(**files: str) -> bytes:
    """An archive; `__` in a name is a `/`, and `_dot_` a dot."""
    named = {k.replace("__", "/").replace("_dot_", "."): (v.encode(), False) for k, v in files.items()}
    return archive(named)


def asked(kind: str, brief: Any, *, seconds: float = 40.0, calls: int = 12, tokens: Any = UNSET, **more: Any) -> Shown:
    """A turn of MADP."""
    given: dict[str, Any] = {"deadline_ns": time.time_ns() + int(seconds * 1e9)} | more
    return Shown(
        session="s", protocol="madp", question=brief.task.prompt, seat="sre", role="expert", kind=kind, round=1,
        brief=brief, reply=kind_of("madp", kind).reply,
        caps=Caps(input_tokens=24_000, calls=calls, tokens=tokens), **given,
    )  # fmt: skip


def work(**more: Any) -> WorkBrief:
    """A brief of work with tools."""
    given = {"task": Task(prompt="Fix the greeting in app.py", files_mentioned=("app.py",)), "expert": "sre",
             "responsibility": "the greeting", "tool_calls": 10, "model_calls": 8}  # fmt: skip
    return WorkBrief(**{**given, "base": more.get("folder", ""), **more})


def support(**more: Any) -> SupportBrief:
    """A brief of support with tools."""
    given = {"task": Task(prompt="Fix the greeting in app.py"), "expert": "sre", "lead": "qa-engineer",
             "sub_task": "Look for other greetings", "tool_calls": 10, "model_calls": 8}  # fmt: skip
    return SupportBrief(**{**given, **more})


class Scripted:
    """A model that says one thing after another, as a language model's replies come: checked by the type asked for."""

    name = "scripted"
    family = "scripted"
    metered = True
    steps = True
    usd_per_million_input = 0.0
    usd_per_million_output = 0.0

    def __init__(self, *said: Mapping[str, Any] | Callable[[Shown], Mapping[str, Any]], tokens: int = 15) -> None:
        """`tokens`: what each reply takes."""
        self._said = list(said)
        self._usage = Usage(input_tokens=tokens - 5, output_tokens=5, calls=1)
        self.shown: list[Shown] = []

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The next one; the last one again and again."""
        self.shown.append(shown)
        said = self._said[min(len(self.shown), len(self._said)) - 1]
        body = said(shown) if callable(said) else said
        emit("...")
        return Completion(body=msgspec.convert(body, shown.reply), usage=self._usage)


def use(*calls: tuple[str, Mapping[str, Any]], server: str = "files") -> dict[str, Any]:
    """A step that calls tools."""
    made: Sequence[dict[str, Any]] = [
        {"server": server, "tool": tool, "arguments": msgspec.json.encode(arguments).decode()}
        for tool, arguments in calls
    ]
    return {"outcome": "use_tools", "calls": made, "summary": "looking"}


DONE = {"outcome": "done", "summary": "The greeting is fixed.", "output": "It says hello now."}
