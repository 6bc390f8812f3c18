"""The language model of the experts, for tests that give a task to a whole stack: a server that says of each task that
it is done, and approves what others did. It calls no tool and changes no file, so each task ends as a plan."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.llm.server import ModelServer, Request, Step, fails, says, served

SUMMARY = "Nothing had to be changed."
DONE: dict[str, Any] = {
    "outcome": "done", "summary": SUMMARY, "output": "All is as it should be.", "calls": [], "support": None,
    "handoff": None, "blocked": "",
}  # fmt: skip
FINDING = {"severity": "major", "description": "It says nothing of refresh tokens.", "location": "the second part",
           "suggested_fix": "Say how they end."}  # fmt: skip
SAID: dict[tuple[str, ...], dict[str, Any]] = {
    ("Another expert leads the task",): {"summary": "It runs 40 times a minute.", "output": "40 times a minute."},
    ("ask the SRE how often", "What sre gave back"): DONE,
    ("ask the SRE how often", "You lead"): DONE
    | {"outcome": "request_support", "support": {"agent_id": "sre", "sub_task": "How often does the query run?"}},
    ("hand over to the technical writer", "You lead", '"you": "database-engineer"'): DONE
    | {
        "outcome": "handoff",
        "handoff": {"to_agent": "technical-writer", "reason": "What remains is a text.", "completed": ["profiling"],
                    "remaining": ["the page"]},
    },
    ("which law holds is open", "Go on with what you know"): DONE,
    ("which law holds is open", "You lead"): DONE | {"outcome": "blocked", "blocked": "Which law holds?"},
    ("and refresh tokens end", "Review what another", "Both kinds end."): {"verdict": "approved", "findings": []},
    ("and refresh tokens end", "Review what another"): {"verdict": "revision_needed", "findings": [FINDING]},
    ("and refresh tokens end", "findings of the last review"): DONE | {"output": "Both kinds end."},
    ("nobody can object", "Review what another"): {"verdict": "revision_needed", "findings": [FINDING]},
    ("Answer in prose", "You lead"): {"it": "is no reply"},
    ("Review what another expert did",): {"verdict": "approved", "findings": []},
    ("You word what experts say",): {"claims": [], "challenges": []},
}  # fmt: skip
"""By words that all stand in the prompt, the first row that fits; what has none of them is done."""
REFUSES = "refuses"
"""Name of a model on this server that answers nobody."""


def said_of(prompt: str) -> dict[str, Any] | None:
    """What is said to a prompt that has the words of a row."""
    return next((body for words, body in SAID.items() if all(w in prompt for w in words)), None)


@contextmanager
def served_model(answer: Step) -> Iterator[str]:
    """The base URL of a server that answers each request so, from a thread of its own."""
    with served(answer, fails(404)) as server:
        yield server.url


def variables(role: str, url: str) -> dict[str, str]:
    """Under which agents of a role, and no others, ask a model there."""
    return {
        f"{role}_LLM_PROVIDER": "openai_compatible", f"{role}_LLM_MODEL": "work", f"{role}_LLM_BASE_URL": url,
        f"{role}_LLM_API_KEY": "none",
    }  # fmt: skip


@contextmanager
def expert_model() -> Iterator[dict[str, str]]:
    """Variables under which experts ask this server, and no other seat does."""
    with served_model(_answer) as url:
        yield variables("EXPERT", url)


async def _answer(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
    if request.body["model"] == REFUSES:
        await fails(400, "it answers nobody")(server, request, writer)
        return
    await says(said_of(request.prompt) or DONE)(server, request, writer)
