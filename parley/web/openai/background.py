"""Jobs of chat front ends: titles, tags, follow-up questions, search queries. They ask the chat's model beside the
conversation, and would be a debate each.

They are known by the words of the templates that Open WebUI, LibreChat and opencode ship. A person who writes about
titles is not taken for one: the whole beginning must be there. A job is refused, or passed on to the model that the
operator names.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpx2
import msgspec
from starlette.responses import Response, StreamingResponse

from parley.web.openai.errors import ApiError

CODE = "background_task"
_OPEN_WEBUI = re.compile(
    r"\A\s*#{1,4} Task:?\s+(?:"
    r"Generate a concise\b[^.\n]{0,80}\btitle\b"
    r"|Generate 1-3 broad tags\b"
    r"|Suggest 3-5 relevant follow-?up\b"
    r"|Analyze the chat history to determine the necessity of generating search queries"
    r"|Generate a detailed prompt for (?:an|am) image generation"
    r"|You are an autocompletion system"
    r")",
    re.IGNORECASE,
)
_OTHERS = (
    re.compile(r"\A\s*(?:Please )?(?:Provide|generate) a concise, 5-word-or-less title\b", re.IGNORECASE),
    re.compile(r"\A\s*Please generate a concise title \(max \d+ characters\) for a conversation\b", re.IGNORECASE),
    re.compile(
        r"\A\s*Analyze this conversation and provide:\s*1\. The detected language of the conversation\s*"
        r"2\. A concise title\b",
        re.IGNORECASE,
    ),
    re.compile(r"\ADetect user language and write in the same language an extremely concise title\b", re.IGNORECASE),
    re.compile(r"\A\s*You are a title generator\. You output ONLY a thread title\b", re.IGNORECASE),
    re.compile(r"\A\s*Your task is to reflect the speaker's likely facial expression\b", re.IGNORECASE),
)


class TaskModel(msgspec.Struct, frozen=True, kw_only=True):
    """The model to which such jobs go."""

    model: str
    base_url: str
    key: str = ""
    timeout_s: float = 60.0


def is_job(texts: Sequence[str]) -> bool:
    """Whether one of these texts, the system's words or the last message, is a front end's template."""
    return any(_OPEN_WEBUI.match(text) or any(known.match(text) for known in _OTHERS) for text in texts)


def refusal() -> ApiError:
    """In place of a debate."""
    return ApiError(
        "this is a job of a chat front end (a title, tags, follow-up questions), and no debate is started for it; name "
        "another model for such tasks in the front end, or start the gateway with --task-model",
        param="messages",
        code=CODE,
    )


async def passed_on(task: TaskModel, path: str, body: Mapping[str, Any]) -> Response:
    """The answer of the operator's model to a job. What goes wrong there is told without its words: they may hold its
    key.

    Parameters
    ----------
    path
        Below the model's base URL, such as `chat/completions`.

    Raises
    ------
    ApiError
        It does not answer, or refuses.
    """
    headers = {"Authorization": f"Bearer {task.key}"} if task.key else {}
    sent = {name: value for name, value in body.items() if name != "parley"} | {"model": task.model}
    client = httpx2.AsyncClient(timeout=task.timeout_s)
    try:
        request = client.build_request("POST", f"{task.base_url.rstrip('/')}/{path}", json=sent, headers=headers)
        answer = await client.send(request, stream=True)
    except httpx2.HTTPError as error:
        await client.aclose()
        raise _unreachable(f"it does not answer ({type(error).__name__})") from error
    if answer.status_code != 200:
        await answer.aclose()
        await client.aclose()
        raise _unreachable(f"it answers with status {answer.status_code}")

    async def parts() -> AsyncIterator[bytes]:
        try:
            async for part in answer.aiter_bytes():
                yield part
        finally:
            await answer.aclose()
            await client.aclose()

    kind = answer.headers.get("content-type", "application/json")
    return StreamingResponse(parts(), media_type=kind, headers={"X-Parley-Task-Model": "1"})


def _unreachable(why: str) -> ApiError:
    return ApiError(f"the model for front ends' jobs (--task-model): {why}", code="task_model", status=502)
