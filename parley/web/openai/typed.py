"""A verdict in the form that a program asks for: one last turn, a session of one seat, states what the debate came to.

A program asks by `response_format`, or by a tool that must be called. What the seat gives is checked here against the
program's own JSON schema. Who agreed stands in the field `parley` as always: a form never says it.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import jsonschema
import msgspec

from parley.client.client import Client
from parley.client.opened_session import leave
from parley.client.opening import Offer, opening_of
from parley.client.protocols import lone_setup
from parley.schemas.result import Result, ResultUsage
from parley.web import program_sessions, verdicts
from parley.web.openai.errors import ApiError

MOST_SCHEMA = 20_000
"""Characters of a form."""
_TRIES = 2
_FORM, _VERDICT = "form.json", "verdict.md"
_ASKED = (
    f"State what {_VERDICT} came to in the form {_FORM}, a JSON schema. Give as your answer one JSON value that "
    "satisfies it, on one line, and nothing else. Take everything from the verdict. Where it holds no answer, say so "
    "as far as the form allows."
)


class Form(NamedTuple):
    """The form of an answer."""

    schema: dict[str, Any]
    tool: str = ""
    """The tool whose arguments it is; empty: it is the content."""


class Stated(NamedTuple):
    """A verdict in a form."""

    text: str
    """JSON."""
    session: str
    usage: ResultUsage


def form_of(body: Mapping[str, Any]) -> Form | None:
    """The form that a request asks for; None: it asks for words. Raises ApiError."""
    wanted = body.get("response_format")
    if isinstance(wanted, dict) and wanted.get("type") == "json_schema":
        holds = wanted.get("json_schema")
        return Form(_checked(holds.get("schema") if isinstance(holds, dict) else None, "response_format"))
    choice, tools = body.get("tool_choice"), body.get("tools")
    if choice in (None, "none", "auto"):
        return None
    named = choice.get("function", choice).get("name") if isinstance(choice, dict) else ""
    functions = [tool.get("function", tool) for tool in tools or () if isinstance(tool, dict)]
    fitting = [f for f in functions if isinstance(f, dict) and (f.get("name") == named if named else True)]
    if (choice not in ("required", "any") and not named) or len(fitting) != 1:
        message = f"tool_choice: got {str(choice)[:80]!r} and {len(fitting)} tools; one tool may be named, as a form"
        raise ApiError(message, param="tool_choice", code="unsupported_parameter")
    return Form(_checked(fitting[0].get("parameters") or {"type": "object"}, "tools"), str(fitting[0].get("name")))


def _checked(schema: Any, param: str) -> dict[str, Any]:
    """A JSON schema that may be used. Raises ApiError."""
    if not isinstance(schema, dict):
        raise ApiError(f"{param}: wanted is a JSON schema, an object", param=param)
    size = len(msgspec.json.encode(schema))
    if size > MOST_SCHEMA:
        raise ApiError(f"{param}: its schema has {size:,} characters, allowed are at most {MOST_SCHEMA:,}", param=param)
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ApiError(f"{param}: {error.message[:200]}", param=param) from error
    return schema


async def stated(client: Client, result: Result, form: Form) -> Stated:
    """What a session came to, in a form. Whoever leaves meanwhile has it cancelled. Raises ApiError: what was given
    does not satisfy the form, or nothing was given."""
    protocol = lone_setup().name
    texts = {_VERDICT: verdicts.verdict(result), _FORM: msgspec.json.encode(form.schema).decode()}
    documents = [program_sessions.document(name, text) for name, text in texts.items()]
    fault, used = "nothing was given", _NOTHING
    sid = ""
    for _ in range(_TRIES):
        question = _ASKED if not sid else f"{_ASKED}\n\nThe value before was refused: {fault}"
        opening = opening_of(question, {}, documents, Offer(protocol=protocol), door="v1")
        sid = await program_sessions.opened(client, opening, "v1")
        try:
            ended = await client.result(sid)
        except asyncio.CancelledError:
            await leave(client, sid)
            raise
        used = _sum(used, ended.usage)
        text = str(ended.outcome.get("answer") or "").strip().removeprefix("```json").strip("`").strip()
        fault = _fault(text, form.schema)
        if not fault:
            return Stated(text, sid, used)
    message = f"the verdict of session {result.session} was not stated in the form asked for: {fault} (session {sid})"
    raise ApiError(message, param="response_format", code="form_not_met")


def _fault(text: str, schema: Mapping[str, Any]) -> str:
    """Why a text does not satisfy a schema; empty: it does."""
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        return f"it is no JSON: {error}" if text else "nothing was given"
    with contextlib.suppress(RecursionError):
        worst = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema).iter_errors(value))
        return "" if worst is None else f"{worst.json_path}: {worst.message[:300]}"
    return "its schema is nested too deeply"


_NOTHING = ResultUsage(
    turns=0, calls=0, input_tokens=0, output_tokens=0, estimated=False, cost_usd=0.0, unaccounted_turns=0,
    unaccounted_tokens=0, by_seat={},
)  # fmt: skip


def _sum(one: ResultUsage, other: ResultUsage) -> ResultUsage:
    return msgspec.structs.replace(
        one,
        turns=one.turns + other.turns,
        calls=one.calls + other.calls,
        estimated=one.estimated or other.estimated,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cost_usd=one.cost_usd + other.cost_usd,
        unpriced=bool(one.unpriced or other.unpriced) or msgspec.UNSET,
    )


def with_form(result: Result, form: Stated | None) -> Result:
    """The result, with what its form used."""
    return result if form is None else msgspec.structs.replace(result, usage=_sum(result.usage, form.usage))
