"""The three seats of a critic session, for tests: what they say follows from their turns alone.

The answerer quotes its first document and takes up every objection. The critic brings two objections, and in the third
round the first one in other words, which the judge finds.
"""

from typing import Any

from parley.agents.context import Shown
from parley.schemas.protocols import critic
from parley.schemas.text import Citation

ANSWER = "Tape"
NEW = 2
"""Objections that are new."""
AGAIN = "Once more: "


def said(shown: Shown) -> Any:
    """The reply's body."""
    brief: Any = shown.brief
    match shown.kind:
        case "rewrite":
            return critic.Rewritten(question=f"{shown.question.rstrip('?')}, going by the evidence?")
        case "answer":
            taken = (f"On objection {o.number}, weighed: it changes nothing." for o in brief.profile)
            reasoning = " ".join([f"Round {brief.round}.", *taken])
            return critic.Answer(answer=ANSWER, reasoning=reasoning, confidence=0.9, citations=_quoted(shown, 0))
        case "critique":
            if len(brief.profile) < NEW:
                return critic.Critique(
                    objection=f"Nobody shows point {brief.round}.", citations=_quoted(shown, brief.round)
                )
            return critic.Critique(objection=f"{AGAIN}{brief.profile[0].text}")
        case "judge":
            raised = next((o.body for o in shown.others if isinstance(o.body, critic.Raised)), None)
            answer = next((o.body for o in shown.others if isinstance(o.body, critic.Answer)), None)
            met = tuple(
                critic.Met(objection=o.number, quote=f"On objection {o.number}, weighed: it changes nothing.")
                for o in brief.profile
                if answer is not None and f"On objection {o.number}," in answer.reasoning
            )
            return critic.Judgement(
                score=100.0 if raised is None else 70.0,
                repeats=1 if raised is not None and raised.objection.startswith(AGAIN) else 0,
                met=met,
                comment="It holds.",
            )
        case "verdict":
            return critic.Verdict(reasoning="The objections are met.", ruling=critic.UPHOLDS)
        case "sign":
            return critic.Signature(states="yes")
        case _:
            return critic.Countersignature(reason="None is left.")


def _quoted(shown: Shown, n: int) -> tuple[Citation, ...]:
    """The line of a document that has this number among those with words."""
    lines = [
        (d.name, line.strip())
        for d in sorted(shown.documents, key=lambda d: d.name)
        for line in d.text.splitlines()
        if len(line.split()) > 3
    ]
    if not lines:
        return ()
    name, quote = lines[n % len(lines)]
    return (Citation(document=name, quote=quote[:400]),)
