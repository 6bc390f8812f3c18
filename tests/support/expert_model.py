"""The language model of the experts, for tests that give a task to a whole stack: a server that says of each task that
it is done, and approves what others did. It calls no tool and changes no file, so each task ends as a plan."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

from tests.llm.server import ModelServer, Request, fails, model_server, says

SUMMARY = "Nothing had to be changed."
DONE: dict[str, Any] = {
    "outcome": "done", "summary": SUMMARY, "output": "All is as it should be.", "calls": [], "support": None,
    "handoff": None, "blocked": "",
}  # fmt: skip
SAID: dict[str, dict[str, Any]] = {
    "Review what another expert did": {"verdict": "approved", "findings": []},
    "You word what experts say": {"claims": [], "challenges": []},
}
"""By words of the prompt; what has none of them is done."""
REFUSES = "refuses"
"""Name of a model on this server that answers nobody."""


@contextmanager
def expert_model() -> Iterator[dict[str, str]]:
    """Variables under which experts ask this server, and no other seat does."""
    urls: SimpleQueue[str] = SimpleQueue()
    over = threading.Event()

    async def serve() -> None:
        async with model_server(_answer, look=fails(404)) as server:
            urls.put(server.url)
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    try:
        yield {
            "EXPERT_LLM_PROVIDER": "openai_compatible", "EXPERT_LLM_MODEL": "work", "EXPERT_LLM_BASE_URL": urls.get(),
            "EXPERT_LLM_API_KEY": "none",
        }  # fmt: skip
    finally:
        over.set()
        thread.join()


async def _answer(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
    if request.body["model"] == REFUSES:
        await fails(400, "it answers nobody")(server, request, writer)
        return
    said = next((body for words, body in SAID.items() if words in request.prompt), DONE)
    await says(said)(server, request, writer)
