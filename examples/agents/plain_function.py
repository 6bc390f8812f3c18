"""A seat of a panel that is a plain function: it counts words, and asks no language model.

    parley agent plain_function:answer --queue panelist_1 --nats URL --creds panelist_1.json

Run as a program, it argues in a stack of its own: `python examples/agents/plain_function.py`.
"""

import asyncio
import re
import sys

import parley

QUESTION = "Which rollout should we use for the new payment service: canary, blue-green or big-bang?"


@parley.agent(role="panelist")
async def answer(turn: parley.Turn) -> parley.Reply:
    """The option of the question that its documents name most often."""
    options = [word.strip(" ?.,") for word in re.split(r",|\bor\b|:", turn.question) if word.strip(" ?.,")][-3:]
    text = " ".join(document.text for document in turn.documents).lower()
    counts = {option: text.count(option.lower()) for option in options}
    best = max(counts, key=lambda option: counts[option])
    if not counts[best]:
        return parley.Reply(answer="", reasoning="My documents name no option.", confidence=0.0, abstains=True)
    said = ", ".join(f"{option} {n} times" for option, n in counts.items())
    return parley.Reply(
        answer=best, reasoning=f"My documents name {said}.", confidence=counts[best] / sum(counts.values())
    )


async def main(question: str, evidence: str) -> None:
    """Ask, and print what came of it."""
    async with parley.local(protocol="consensus", agents=[answer]) as p:
        print(await p.ask(question, evidence=evidence))


if __name__ == "__main__":
    asyncio.run(main(*(sys.argv[1:] or [QUESTION, "examples/rollout/evidence"])))
