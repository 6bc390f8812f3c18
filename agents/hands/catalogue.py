"""The operator's list of hands: which coding agents may do an expert's work, and how each is started.

    hands:
      claude:
        command: [claude, -p, --output-format, json, --permission-mode, bypassPermissions]
        env: {ANTHROPIC_BASE_URL: "{url}", ANTHROPIC_API_KEY: "{token}", ANTHROPIC_MODEL: "{model}"}
        home: {.claude.json: '{"hasCompletedOnboarding": true}'}
        out: result
      own: builtin

It comes from a file that the operator names (the setting `hands`, PARLEY_HANDS), never from a specification or a
message: a specification says `hands: claude`, and nothing else.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from parley.agents import strict_yaml
from parley.agents.model.base import ModelMisconfigured
from parley.schemas.expert import HANDS, NO_HANDS

VARIABLE = "PARLEY_HANDS"
SLOTS = frozenset({"url", "token", "model", "prompt", "prompt_file"})


class HandsError(ModelMisconfigured):
    """A list that cannot be used. Names the file, the field and what is allowed."""

    def __init__(self, source: str, field: str, why: str) -> None:
        super().__init__(f"{source}: {field}: {why}" if field else f"{source}: {why}")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TurnLimits(_Strict):
    """Of one turn."""

    seconds: float = Field(default=3_600.0, ge=1, le=86_400, strict=False)
    """At most; the turn's own time counts too."""
    tokens: int = Field(default=10_000_000, ge=1_000, le=1_000_000_000)
    """At most; what the turn may take counts too."""
    output_tokens: int = Field(default=16_000, ge=256, le=1_000_000)
    """Of one model call."""
    memory_mb: int = Field(default=2_048, ge=64, le=1_000_000)


class Allowed(_Strict):
    """What an agent may do when it asks."""

    kind: Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]
    command: str = Field(default="*", min_length=1, max_length=1_000)
    """Of `execute`: a pattern (`*` for anything but what joins commands in a shell)."""


class Hand(_Strict):
    """One agent."""

    command: tuple[str, ...] = Field(default=(), strict=False)
    """A program that works in its folder, is given the task on its input, and ends."""
    acp: tuple[str, ...] = Field(default=(), strict=False)
    """A program that speaks the Agent Client Protocol, version 1, on its input and output."""
    version: tuple[str, ...] = Field(default=(), strict=False)
    """Shows that it can be started, without work; of a command the usual is its program with `--version`."""
    env: dict[str, str] = {}
    """Its environment, beside PATH, HOME, LANG and TMPDIR. Nothing is inherited."""
    home: dict[str, str] = {}
    """Files of its home, which is thrown away: path -> text."""
    reads: tuple[Annotated[Path, Field(strict=False)], ...] = Field(default=(), strict=False)
    """What it sees beside what its program needs, read-only."""
    out: str = Field(default="", max_length=200)
    """Where its words are in the last line of JSON that has them there, as `item.text`; empty: the end of what it
    prints."""
    mode: str = Field(default="", max_length=200)
    """Of ACP: the mode that its session is set to."""
    allow: tuple[Allowed, ...] = Field(default=(), strict=False)
    """Of ACP: what it may do when it asks; else it is refused."""
    model: str = Field(default="", max_length=200)
    """The model that it is held to; empty: the one of its variables (docs/hands.md)."""
    limits: TurnLimits = TurnLimits()

    @property
    def argv(self) -> tuple[str, ...]:
        """What is started."""
        return self.command or self.acp

    @model_validator(mode="after")
    def _one(self) -> "Hand":
        if bool(self.command) == bool(self.acp):
            raise ValueError("one of command and acp is wanted, and not both")
        for field in ("mode", "allow") if self.command else ("out", "version"):
            if getattr(self, field):
                raise ValueError(f"{field} is for {'acp' if self.command else 'command'} alone")
        return self

    @field_validator("command", "acp", "version")
    @classmethod
    def _words(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if words and not words[0].strip():
            raise ValueError("the program's name is empty")
        for word in words:
            strict_yaml.check_slots(word, SLOTS)
        return words

    @field_validator("env")
    @classmethod
    def _env(cls, env: dict[str, str]) -> dict[str, str]:
        strict_yaml.check_environment(env, ("HOME",), SLOTS)
        return env

    @field_validator("home")
    @classmethod
    def _home(cls, home: dict[str, str]) -> dict[str, str]:
        for path, text in home.items():
            if not path or path.startswith("/") or ".." in path.split("/") or "\x00" in path:
                raise ValueError(f"{path!r} is no path in the home")
            strict_yaml.check_slots(text, SLOTS)
        return home

    @field_validator("reads")
    @classmethod
    def _reads(cls, reads: tuple[Path, ...]) -> tuple[Path, ...]:
        for path in reads:
            if not path.is_absolute() or not path.exists():
                raise ValueError(f"{str(path)!r} is no path from the root that is there")
        return reads


class Catalogue(_Strict):
    """All hands, by name."""

    hands: dict[str, Hand | Literal["builtin"]] = {}

    @field_validator("hands", mode="before")
    @classmethod
    def _names(cls, hands: Any) -> Any:
        for name in hands if isinstance(hands, dict) else ():
            if not isinstance(name, str) or not HANDS.fullmatch(name):
                raise ValueError(f"{name!r} is no name; expected 1 to 40 of a-z, 0-9, - and _")
        return hands


def load(path: Path) -> Catalogue:
    """The list in a file. Raises HandsError: it cannot be read, is not YAML, has an unknown key, or a value out of
    range."""
    return strict_yaml.load_as(path, Catalogue, HandsError)


def named_file(environ: Mapping[str, str], path: Path | None = None) -> str:
    """The file that the operator names; empty: none."""
    return str(path) if path is not None else environ.get(VARIABLE, "").strip()


def find(environ: Mapping[str, str], path: Path | None = None) -> Catalogue:
    """The list of the file that is given, or else that PARLEY_HANDS names. Raises HandsError."""
    chosen = named_file(environ, path)
    return load(Path(chosen)) if chosen else Catalogue(hands={})


def hand_of(name: str, environ: Mapping[str, str], path: Path | None = None) -> Hand | None:
    """The hand that a specification names; None: the expert's own. Raises HandsError where the list has none."""
    if name in NO_HANDS:
        return None
    known = find(environ, path).hands
    if name not in known:
        source = named_file(environ, path) or VARIABLE
        why = f"the list has {', '.join(sorted(known))}" if known else "no list of hands is named"
        raise HandsError(source, f"hands {name!r}", f"an expert's specification names them, and {why}")
    found = known[name]
    return found if isinstance(found, Hand) else None
