"""The operator's allow list: which tool servers there are, how each is started, and which of its tools may be called.

    servers:
      files:
        command: ["{python}", -P, -m, parley.agents.tools.files_server, "{folder}"]
        env: {PYTHONPATH: "{code}"}
        timeout_s: 20
        tools:
          read_file: {paths: [path]}
          write_file: {paths: [path], text: [content]}

It comes from a file that the operator names (`--tools`, PARLEY_TOOLS), never from a specification or a message; `off`
in its place is no tools. Where nothing is named it is the one that ships, for tasks that begin with a folder. A tool
that is not in the list is not called, whatever its server offers.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from parley.agents import strict_yaml
from parley.agents.model.base import ModelMisconfigured

VARIABLE = "PARLEY_TOOLS"
READS = "PARLEY_SANDBOX_READS"
"""Further paths that commands in the sandbox see, read-only; separated as PATH is."""
OFF = "off"
"""In place of a file's name: no tools."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_TOOL = re.compile(r"[\w./-]{1,128}", re.A)
_SLOTS = frozenset({"python", "code", "folder", "check", "reads"})
CODE = Path(str(resources.files("parley"))).parent
"""The folder that holds the package `parley`."""
SHIPPED = Path(__file__).with_name("shipped.yaml")
"""What examples/tools/tools.yaml explains."""
LOOKING = Path(__file__).parents[1] / "looking" / "looking.yaml"
"""For seats that look something up before they answer."""


class ToolsError(ModelMisconfigured):
    """An allow list that cannot be used. Names the file, the field and what is allowed."""

    def __init__(self, source: str, field: str, why: str) -> None:
        self.source = source
        self.field = field
        super().__init__(f"{source}: {field}: {why}" if field else f"{source}: {why}")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Tool(_Strict):
    """One tool that may be called."""

    paths: tuple[str, ...] = Field(default=(), strict=False)
    """Arguments that are paths, or lists of them: held inside the task's folder."""
    text: tuple[str, ...] = Field(default=(), strict=False)
    """Arguments that are text, never a path. Of those in neither list, what looks like a path is held too."""

    reads: bool = False
    """It changes nothing in the folder: whoever may only look may call it."""

    @model_validator(mode="after")
    def _apart(self) -> "Tool":
        overlap = sorted(set(self.paths) & set(self.text))
        if overlap:
            raise ValueError(f"{overlap[0]} is named as a path and as text")
        return self


class ToolServer(_Strict):
    """One server."""

    command: tuple[str, ...] = Field(min_length=1, strict=False)
    """`{python}`: this interpreter; `{folder}`: the task's folder; `{code}`: where this software's packages are;
    `{check}`: the command by which the task is checked, empty where there is none; `{reads}`: what the worker's
    PARLEY_SANDBOX_READS says."""
    env: dict[str, str] = {}
    """Its environment, beside PATH, LANG, and a HOME in a folder made for it. Nothing is inherited."""
    tools: dict[str, Tool] = Field(min_length=1)
    timeout_s: float = Field(default=30.0, gt=0, le=3_600, strict=False)
    """Of one call, and of its start."""
    read_only: bool = False
    """What a call changes in the folder is undone, and the call counts as failed."""
    sandbox: bool = False
    """Its tools run commands in the sandbox (parley.agents.tools.sandbox): where there is none, they are not
    offered."""
    output_chars: int = Field(default=16_000, ge=100, le=200_000)
    """What of a call's result is shown."""

    @property
    def shipped(self) -> bool:
        """Whether it is one of this software's own."""
        return any(part.startswith("parley.agents.tools.") for part in self.command)

    @property
    def of_folder(self) -> bool:
        """Whether it is of no use without files."""
        return any("{folder}" in part for part in self.command)

    @field_validator("command")
    @classmethod
    def _slots(cls, command: tuple[str, ...]) -> tuple[str, ...]:
        for part in command:
            strict_yaml.check_slots(part, _SLOTS)
        if not command[0].strip():
            raise ValueError("the program's name is empty")
        program = command[0].replace("{python}", sys.executable).replace("{code}", str(CODE))
        if "{" not in program and shutil.which(program) is None:
            raise ValueError(f"no program {program!r} is found")
        return command

    @field_validator("env")
    @classmethod
    def _env(cls, env: dict[str, str]) -> dict[str, str]:
        strict_yaml.check_environment(env, ("HOME", "PATH", "LANG"), _SLOTS)
        return env

    @field_validator("tools")
    @classmethod
    def _tools(cls, tools: dict[str, Tool]) -> dict[str, Tool]:
        for name in tools:
            if not _TOOL.fullmatch(name):
                raise ValueError(f"{name!r} is no tool's name")
        return tools


class AllowList(_Strict):
    """All servers, by name."""

    servers: dict[str, ToolServer] = {}
    folder_only: bool = False
    """Only for tasks that begin with a folder."""

    def where(
        self,
        server: Callable[[ToolServer], bool] = lambda server: True,
        tool: Callable[[str, str, Tool], bool] = lambda server, name, tool: True,
        **more: Any,
    ) -> "AllowList":
        """What both hold of, alone; a server without a tool is left out.

        Parameters
        ----------
        tool
            Is given the server's name, the tool's and the tool.
        more
            Fields that each server has then.
        """
        servers = {
            name: s.model_copy(update={"tools": tools, **more})
            for name, s in self.servers.items()
            if server(s) and (tools := {n: t for n, t in s.tools.items() if tool(name, n, t)})
        }
        return self.model_copy(update={"servers": servers})

    def reading(self) -> "AllowList":
        """The tools that read, and those that run commands in the sandbox, alone; what a call of them changes all the
        same is undone."""
        return self.where(tool=lambda server, name, tool: tool.reads or self.servers[server].sandbox, read_only=True)

    def only(self, names: Collection[str]) -> "AllowList":
        """The tools that are named, as `tool` or `server.tool`, alone. A name that is not in it allows nothing."""
        return self.where(tool=lambda server, name, tool: name in names or f"{server}.{name}" in names)

    @field_validator("servers")
    @classmethod
    def _names(cls, servers: dict[str, ToolServer]) -> dict[str, ToolServer]:
        for name in servers:
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no name; expected 1 to 40 of a-z, 0-9, - and _")
        return servers


def filled(text: str, folder: Path, check: str = "") -> str:
    """A part of a command, or a variable's value, with its slots filled."""
    values = {"python": sys.executable, "code": str(CODE), "folder": str(folder), "check": check}
    values["reads"] = os.environ.get(READS, "")
    return strict_yaml.filled(text, values)


def load(path: Path) -> AllowList:
    """The allow list in a file. Raises ToolsError: it cannot be read, is not YAML, has an unknown key, a value out of
    range, or a program that is not there."""
    return strict_yaml.load_as(path, AllowList, ToolsError)


def parse(value: object, source: str) -> AllowList:
    """The allow list in plain values. Raises ToolsError."""
    return strict_yaml.parse_as(value, source, AllowList, ToolsError)


def shipped() -> AllowList:
    """The one for an expert of which nobody names any: files of the task's folder, where there is one."""
    return load(SHIPPED)


def named_file(environ: Mapping[str, str], path: Path | None = None) -> str:
    """What the operator names: a file, `off`, or nothing."""
    return str(path) if path is not None else environ.get(VARIABLE, "").strip()


def find(environ: Mapping[str, str], path: Path | None = None, otherwise: Path = SHIPPED) -> AllowList | None:
    """The allow list of the file that is given, or else that PARLEY_TOOLS names, or else the shipped one; None: tools
    are off. `otherwise`: the shipped one, of an expert or of a seat that looks something up. Raises ToolsError: the
    file cannot be used."""
    chosen = named_file(environ, path)
    if chosen == OFF:
        return None
    return load(Path(chosen) if chosen else otherwise)
