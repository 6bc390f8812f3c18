"""A seat of a panel that is a PydanticAI agent with a typed output.

    parley agent pydantic_ai_agent:answer --queue panelist_1 --nats URL --creds panelist_1.json

The model is the one that PYDANTIC_AI_MODEL names, such as `openai:gpt-5-mini`. Without it the framework's own test
model answers, so that the example runs anywhere.
"""

import asyncio
import os

from pydantic import BaseModel, Field
from pydantic_ai import Agent

import parley

QUESTION = "Which rollout should we use for the new payment service: canary, blue-green or big-bang?"


class Opinion(BaseModel):
    """What the agent is asked for."""

    answer: str = Field(description="The answer in one line.")
    reasoning: str
    confidence: float = Field(ge=0, le=1)


AGENT = Agent(os.environ.get("PYDANTIC_AI_MODEL", "test"), output_type=Opinion, instructions="You sit on a panel.")


@parley.agent(role="panelist", name="pydantic-ai")
async def answer(turn: parley.Turn) -> parley.Reply:
    """The agent's typed output, field by field."""
    asked = "\n\n".join(str(message["content"]) for message in turn.prompt())
    opinion = (await AGENT.run(asked)).output
    return parley.Reply(answer=opinion.answer, reasoning=opinion.reasoning, confidence=opinion.confidence)


async def main() -> None:
    """Argue in a stack of its own."""
    async with parley.local(protocol="consensus", agents=[answer]) as p:
        print(await p.ask(QUESTION, evidence="examples/rollout/evidence"))


if __name__ == "__main__":
    asyncio.run(main())
