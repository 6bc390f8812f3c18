"""A seat of a panel that is a LangGraph graph: it drafts, checks its draft against the documents, and answers.

    parley agent langgraph_agent:answer --queue panelist_1 --nats URL --creds panelist_1.json

The model is the one that LLM_MODEL, LLM_BASE_URL and LLM_API_KEY name. Without them the graph quotes documents, so that
the example runs anywhere.
"""

import asyncio
import json
import os
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

import parley

QUESTION = "Which rollout should we use for the new payment service: canary, blue-green or big-bang?"


class Work(TypedDict, total=False):
    """What the graph hands from node to node."""

    prompt: list[dict[str, Any]]
    documents: list[str]
    draft: str
    reply: str


async def draft(work: Work) -> Work:
    """Ask the model, or take the first sentence that is there."""
    if os.environ.get("LLM_BASE_URL"):
        from openai import AsyncOpenAI

        async with AsyncOpenAI(
            base_url=os.environ["LLM_BASE_URL"], api_key=os.environ.get("LLM_API_KEY", "none")
        ) as api:
            done = await api.chat.completions.create(model=os.environ["LLM_MODEL"], messages=work["prompt"])  # type: ignore[arg-type]
        return {"draft": done.choices[0].message.content or ""}
    first = next((text.split(".")[0] for text in work["documents"] if text), "")
    return {"draft": json.dumps({"answer": first or "unknown", "reasoning": "It stands first.", "confidence": 0.6})}


async def check(work: Work) -> Work:
    """Lower the confidence of an answer that no document holds."""
    try:
        reply = json.loads(work["draft"])
    except ValueError:
        return {"reply": work["draft"]}  # Parley finds the JSON in it, or asks again
    if not any(str(reply.get("answer", "")) in text for text in work["documents"]):
        reply["confidence"] = min(float(reply.get("confidence", 0.5)), 0.5)
    return {"reply": json.dumps(reply)}


def graph() -> Any:
    """draft -> check."""
    made = StateGraph(Work)
    made.add_node("draft", draft)
    made.add_node("check", check)
    made.add_edge(START, "draft")
    made.add_edge("draft", "check")
    made.add_edge("check", END)
    return made.compile()


GRAPH = graph()


@parley.agent(role="panelist", name="langgraph")
async def answer(turn: parley.Turn) -> str:
    """What the graph comes to: JSON text, which Parley checks."""
    documents = [document.text for document in turn.documents]
    done = await GRAPH.ainvoke({"prompt": turn.prompt(), "documents": documents})
    return str(done["reply"])


async def main() -> None:
    """Argue in a stack of its own."""
    async with parley.local(protocol="consensus", agents=[answer]) as p:
        print(await p.ask(QUESTION, evidence="examples/rollout/evidence"))


if __name__ == "__main__":
    asyncio.run(main())
