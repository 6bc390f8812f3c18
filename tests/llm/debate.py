"""What aimock says to every seat of both protocols, and what is read out of its journal afterwards.

Each seat has a model name of its own (`<SEAT>_LLM_MODEL`), so that a request tells whose it is; what it asks for
stands in its messages: whose turn it is in the system's, of what kind in the user's.
"""

import json
from collections.abc import Mapping
from typing import Any

from tests.llm.aimock import Aimock

QUESTION = "Which paper should the office order?"
REWORDED = "Which size of paper should this office order?"
PANEL = ("panelist_1", "panelist_2", "panelist_3", "analyst")
TRIO = ("answerer", "critic", "judge")
OBJECTION = "The price of a sheet was never compared."
_MEASURED = "It was measured on three printers, and none of them jammed. " * 6
_COMPARED = {"agreements": [], "key_disagreements": ["the size"], "comment": "", "argued": []}
_POSITION = {
    "confidence": 0.75, "citations": [], "change_reason": "", "moved_by": [], "abstains": False, "argument": None
}  # fmt: skip
_ANSWER = {"reasoning": _MEASURED, "confidence": 0.8, "citations": []}


def _reply(model: str, system: str, body: Any, user: str = "", /, **more: int) -> dict[str, Any]:
    found = {"model": model, "systemMessage": system, "userMessage": user}
    match = {name: text for name, text in found.items() if text}
    return {"match": match, "response": {"content": json.dumps(body)}, **more}


def fixtures(chunk_ms: int = 0) -> list[dict[str, Any]]:
    """Replies to every kind of turn; a streamed one takes about `chunk_ms` for every 20 characters.

    The panel agrees in the second round; the critic objects once, and has nothing new after that.
    """
    slow = {"latency": chunk_ms}
    a4 = {"answer": "A4", "reasoning": _MEASURED, "change": "kept", **_POSITION}
    legal, letter = {**a4, "answer": "Legal"}, {**a4, "answer": "Letter"}
    moved = {**a4, "change": "partly", "change_reason": "The measurements."}
    panelist, analyst, judge = (
        "You are a member of a panel",
        "You are the analyst of a panel",
        "You are the impartial judge",
    )
    answerer, critic = "A critic looks for what is wrong", "You are a sceptic"
    apart = [{"label": f"size {n}", "posts": [n]} for n in range(3)]  # whose post is which follows from the seed
    answer = {**_ANSWER, "answer": "A4"}
    same_price = "A sheet of either size costs the same."
    met = {**answer, "reasoning": f"{_MEASURED} {same_price}"}
    met_by = [{"objection": 1, "quote": same_price}]
    nothing = {"objection": "NO_NEW_OBJECTION", "citations": []}
    return [
        _reply("", analyst, {"groups": apart, "approach": 50, "priority": 50, **_COMPARED}, "Compare the positions"),
        _reply("panelist_2", panelist, legal, "you answer alone"),
        _reply("panelist_3", panelist, letter, "you answer alone"),
        _reply("", panelist, a4, "you answer alone"),
        _reply("panelist_2", panelist, moved, "This is round 2", **slow),
        _reply("panelist_3", panelist, moved, "This is round 2", **slow),
        _reply("", panelist, a4, "Your last position", **slow),
        _reply("", judge, {"question": REWORDED, "note": ""}, "The debate has not begun"),
        _reply("", answerer, met, OBJECTION, **slow),
        _reply("", answerer, answer, **slow),
        _reply("", critic, {"reason": "", "open": [], "fatal": ""}, "It is your last look"),
        _reply("", critic, nothing, OBJECTION, **slow),
        _reply("", critic, {"objection": OBJECTION, "citations": []}, **slow),
        _reply("", judge, {"reasoning": _MEASURED, "ruling": "upholds", "answer": ""}, "You write the verdict", **slow),
        _reply("", judge, {"score": 90, "met": met_by, "comment": "Met."}, same_price),
        _reply("", judge, {"score": 60, "repeats": 0, "met": [], "comment": "New."}, "Rule on what is said"),
    ]


def variables(url: str, **more: str) -> dict[str, str]:
    """The environment that puts every seat on that server."""
    seats = {f"{seat.upper()}_LLM_MODEL": seat for seat in (*PANEL, *TRIO)}
    prices = {"LLM_USD_PER_MILLION_INPUT": "1", "LLM_USD_PER_MILLION_OUTPUT": "3"}
    return {"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "any", "LLM_BASE_URL": url, **seats, **prices, **more}


def requests_of(server: Aimock) -> list[dict[str, Any]]:
    """Requests of all seats, the first one first."""
    found = [r for seat in (*PANEL, *TRIO) for r in server.journal(seat)]
    return sorted(found, key=lambda r: int(r["timestamp"]))


def tokens(request: Mapping[str, Any], reply: str = "") -> int:
    """What this server counts for a request whose reply came whole: four characters a token."""
    prompt = "".join(m["content"] for m in request["body"]["messages"])
    said = reply or str(request["response"]["fixture"]["response"]["content"])
    return max(1, -(-len(prompt) // 4)) + max(1, -(-len(said) // 4))
