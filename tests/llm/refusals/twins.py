"""Scripted twins of providers' servers: each refuses what the real one is known to refuse, and answers all else.

A row is a rule (tests/llm/refusals/refusing.py), a status and the words of the refusal. All of them reply alike.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from parley.agents.openai.providers import PRESETS
from tests.llm.debate import fixtures
from tests.llm.refusals.refusing import refusing
from tests.llm.server import ModelServer, Request, Step, fails, says, served
from tests.support.expert_model import DONE, said_of

Row = tuple[Mapping[str, Any], int, Any]
_NEVER = "Unsupported value: '{0}' does not support this with this model. Only the default is supported."


def _error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **more}}


TWINS: dict[str, tuple[Row, ...]] = {
    "openai": (
        ({"field": "max_tokens"}, 400, _error("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.")),
        ({"field": "temperature"}, 400, _error(_NEVER.format("temperature"), param="temperature")),
        ({"stream": True}, 400, _error("Your organization must be verified to stream this model.", param="stream")),
    ),
    "anthropic": (
        ({"field": "temperature"}, 400, _error("`temperature` is deprecated for this model.")),
        ({"output": 4096}, 400, _error("max_tokens: 9500 > 4096, the maximum allowed number of output tokens")),
    ),
    "gemini": (
        ({"system": True}, 400, [_error("Developer instruction is not enabled for models/gemma-3-27b-it")]),
        ({"format": ["json_schema"]}, 400, [_error("The schema makes a constraint with too many states for serving.")]),
    ),
    "deepseek": (
        ({"output": 8192}, 400, _error("max_tokens has no valid value, its range is [1, 8192]")),
        ({"format": ["json_schema"]}, 400, _error("This response_format type is unavailable now")),
    ),
    "zhipu": (
        ({"field": "stream_options"}, 400, {"error": {"code": "1210", "message": "API 调用参数有误"}}),
        ({"output": 8000}, 400, {"error": {"code": "1210", "message": "max_tokens 参数非法: limit is 8000"}}),
    ),
    "openrouter": (
        ({"format": ["json_schema"]}, 404, _error("No endpoints found that can handle the requested parameters.")),
        ({"output": 5000}, 402, _error("You requested up to 9500 tokens, but can only afford 5000.", code=402)),
    ),
    "mistral": (
        (
            {"field": "stream_options"},
            422,
            {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra input"}]},
        ),
        (
            {"total": 11000},
            400,
            {"message": "12112 tokens are too large for a model with 11000 maximum context"},
        ),
    ),
    "groq": (
        ({"format": ["json_schema"]}, 400, _error("This model does not support response format `json_schema`.")),
        ({"total": 8000}, 413, _error("Request too large on tokens per minute (TPM): Limit 8000, Requested 12112.")),
    ),
    "ollama": (
        ({"times": 1}, 500, _error("llm server loading model")),
        ({"bounds": True}, 500, _error("invalid JSON schema in format")),
    ),
    "vllm": (
        ({"system": True}, 400, {"object": "error", "message": "System role not supported", "code": 400}),
        (
            {"total": 8192},
            400,
            _error("'max_tokens' is too large: 9500. This model's maximum context length is 8192 tokens."),
        ),
    ),
    "llama.cpp": (
        ({"times": 2}, 503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
        ({"bounds": True}, 400, _error("Failed to parse grammar: number of repetitions exceeds sane defaults")),
    ),
    "lmstudio": (
        ({"format": ["json_object"]}, 400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}),
        ({"total": 9000}, 200, {"error": "The model is loaded with a context length of only 9000 tokens."}),
    ),
}


def _reply_of(prompt: str) -> Any:
    if body := said_of(prompt):
        return body
    for fixture in fixtures():
        match = fixture["match"]
        said = (match.get("systemMessage", ""), match.get("userMessage", ""))
        if "model" not in match and all(words in prompt for words in said):
            return fixture["response"]["content"]
    return DONE


async def _answer(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
    await says(_reply_of(request.prompt))(server, request, writer)


def step_of(name: str) -> Step:
    """What the twin of a provider does with a request."""
    cases = [{"when": rule, "status": status, "body": body} for rule, status, body in TWINS[name]]
    return refusing(*cases, answer=_answer)


@contextmanager
def twin(name: str) -> Iterator[tuple[dict[str, str], ModelServer]]:
    """(a key and a model, as a user sets them, and where this twin is; the server)."""
    keys = {variable: "a-key-that-is-long-enough" for variable in PRESETS[name].keys[:1]}
    with served(step_of(name), fails(404)) as server:
        yield {"LLM_PROVIDER": name, "LLM_MODEL": "any", "LLM_BASE_URL": server.url, **keys}, server
