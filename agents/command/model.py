"""Model `command`: a program of the operator's that takes a prompt on its standard input and prints an answer.

For programs that come with a subscription and without a key (docs/models.md). The prompt holds words of strangers: it
is never part of an argument. What the program prints is read like a completion in prose: the reply is taken out of it,
and asked for once more with the error if it does not fit.
"""

import asyncio
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from parley.agents.command.program import Failed, Printed, extract_text, run
from parley.agents.context import RawReply, Shown
from parley.agents.endpoint.prices import Price
from parley.agents.model.base import (
    Completion,
    Emit,
    ModelMisconfigured,
    ModelRefused,
    ModelUnavailable,
    tell_retrying,
)
from parley.agents.openai import reply_schema
from parley.agents.openai.held_schema import schema_of
from parley.agents.openai.options import given_price, number, text
from parley.agents.prompts import prompting
from parley.agents.secrets import scrub
from parley.agents.still_open import before_request
from parley.agents.text.tokens import estimate
from parley.schemas.turn import Usage

OPTIONS = (
    "command",
    "out",
    "variables",
    "family",
    "concurrency",
    "reply_s",
    "reply_bytes",
    "record",
    "usd_per_million_input",
    "usd_per_million_output",
)
_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
"""What every program gets of the environment, as far as it is set."""
_AT_ONCE = 4
_SECONDS = 600.0
_BYTES = 4_000_000


class CommandModel:
    """Model `command`. Each call is a process of its own."""

    metered = True
    steps = True

    def __init__(self, options: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        for name in options:
            if name not in OPTIONS:
                raise ModelMisconfigured(f"options.{name}: no such option; a command takes {', '.join(OPTIONS)}")
        self._argv = _argv(options.get("command"), environ)
        self._out = text(options, "out")
        names = _texts(options.get("variables", []), "variables")
        self._environment = {n: environ[n] for n in (*_VARIABLES, *names) if n in environ} | {"TERM": "dumb"}
        self.name = Path(self._argv[0]).name
        self.family = text(options, "family") or self.name
        self.record = Path(record) if (record := text(options, "record")) else None
        self._seconds = number(options, "reply_s", 0.05, 86_400) or _SECONDS
        self._most_bytes = int(number(options, "reply_bytes", 10_000, 1_000_000_000) or _BYTES)
        self._places = asyncio.Semaphore(int(number(options, "concurrency", 1, 10_000) or _AT_ONCE))
        self._price = given_price(options)
        price = self._price or Price()
        self.usd_per_million_input, self.usd_per_million_output = price.input, price.output

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Answer one turn within its calls and its deadline.

        Raises
        ------
        ModelUnavailable
            The program took too long.
        ModelRefused
            What it printed holds no usable reply, also after a repair.
        ModelMisconfigured
            It cannot be started, or the prompt cannot be cut to its cap.
        """
        usage, repair = Usage(), None
        for_good = f"{self.name} gave no usable reply, also after a repair"
        if shown.attempt > 1 and shown.error.startswith(for_good):
            raise ModelRefused(shown.error)
        while True:
            prompt = _prompt(shown, repair)
            words = "\n\n".join(str(message["content"]) for message in prompt.messages)
            try:
                printed = await self._run(shown, words)
            except Failed as error:
                if not error.started:
                    raise ModelMisconfigured(f"{self.name}: {error.why}", usage) from None
                raise ModelUnavailable(f"{self.name}: {error.why}", usage + self._used(prompt, error.printed)) from None
            answer, notes = extract_text(printed.text, self._out), set[str]()
            usage += self._used(prompt, answer)
            try:
                body, how = reply_schema.parse(answer, shown.reply, notes)
            except reply_schema.Unusable as error:
                said = "" if not printed.errors.strip() else f"; its last words: {printed.errors.strip()[-200:]}"
                if repair is not None or usage.calls >= shown.caps.calls:
                    what = for_good if repair is not None else f"{self.name} gave no usable reply"
                    raise ModelRefused(f"{what}: {scrub(error.why + said)}", usage) from None
                repair = prompting.Repair(reply=answer, error=error.why)
                tell_retrying(emit, "the reply could not be used")
                continue
            emit(answer)
            flags = (*reply_schema.flags_of(how, usage, repair is not None, notes), *prompt.flags)
            return Completion(body=body, usage=usage, flags=flags, raw=RawReply(text=answer))

    async def _run(self, shown: Shown, words: str) -> Printed:
        async with self._places:
            await before_request()
            left_s = self._seconds
            if shown.deadline_ns:
                until_s = (shown.deadline_ns - time.time_ns()) / 1e9
                left_s = max(0.0, min(left_s, until_s - min(1.0, until_s * 0.05)))
            return await run(
                self._argv, words, environment=self._environment, seconds=left_s, most_bytes=self._most_bytes
            )

    def _used(self, prompt: prompting.Prompt, printed: str) -> Usage:
        tokens = prompt.input_tokens, estimate(printed)
        return Usage(
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            calls=1,
            cost_usd=(self._price or Price()).of(*tokens, 0),
            estimated=True,
            unpriced=self._price is None,
        )


def _prompt(shown: Shown, repair: prompting.Repair | None) -> prompting.Prompt:
    schema, steps = schema_of(shown, bounds=False), shown.steps
    if steps is None:
        return prompting.build(shown, schema, repair)
    early = schema_of(msgspec.structs.replace(shown, reply=steps.step), bounds=False)
    return prompting.build(shown, early, repair, late=None if schema is early else schema)


def _argv(command: Any, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The program's own path and its arguments."""
    argv = _texts(command or [], "command")
    if not argv or not argv[0].strip():
        raise ModelMisconfigured('options.command: which program? Name it and its arguments: ["claude", "-p"]')
    found = shutil.which(argv[0], path=environ.get("PATH", os.defpath))
    if found is None:
        raise ModelMisconfigured(f"options.command: there is no program {argv[0]!r} that can be run")
    return (os.path.abspath(found), *argv[1:])


def _texts(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) and "\0" not in item for item in value):
        raise ModelMisconfigured(f"options.{name}: expected a list of texts")
    return tuple(value)


def make(options: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> CommandModel:
    """The model; options as in docs/models.md. Raises ModelMisconfigured: an option that is unknown or out of range, or
    a program that is not there."""
    return CommandModel(options, os.environ if environ is None else environ)
