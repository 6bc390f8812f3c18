"""A server of a model that thinks before it answers, and counts its thoughts among the completion's tokens."""

import asyncio
from typing import Any

from tests.llm.server import ModelServer, Request, Step, says


def thinks(tokens: int, content: Any, *, answer_tokens: int = 120, told: bool = True) -> Step:
    """It needs so many tokens before the first word of its answer, and stops where the request's limit is.

    Parameters
    ----------
    told
        Its usage says how many tokens were thoughts.
    """

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        limit = request.body.get("max_completion_tokens") or request.body["max_tokens"]
        cut = limit < tokens + answer_tokens
        used = min(limit, tokens + answer_tokens)
        details = {"completion_tokens_details": {"reasoning_tokens": min(limit, tokens)}} if told else {}
        answer = says(
            "" if cut else content, usage=(900, used), finish="length" if cut else "stop", details=details,
            reasoning_content="Let me see ..." if told else "",
        )  # fmt: skip
        await answer(server, request, writer)

    return step
