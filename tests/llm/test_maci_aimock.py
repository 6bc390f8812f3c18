"""`parley ask --protocol maci` with debaters and judges of two model families on a foreign server."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.llm.aimock import Aimock, aimock
from tests.parley.support import Front

pytestmark = [pytest.mark.slow]
QUESTION = "Which paper should the office order for its printers, A4 or Letter?"
NEAR = "A4 paper was measured on the three printers of the office, and none of them jammed."
FAR = "The canteen serves soup on Fridays."
LETTER = "Letter paper jammed twice in the printers of the office."
SEATS = {"debater_1": "gpt-one", "debater_2": "gpt-two", "judge": "claude-judge", "analyst": "gpt-analyst"}
JUDGES = 3
"""Queues of judges."""
HOLDS = {"gpt-one": 0.9, "gpt-two": 0.85}
JAMMED = "Letter is what the printers of others take."
CLAIMS = {"gpt-one": "A4 fits the printers.", "gpt-two": "Soup matters more."}


def belief(a4: float) -> list[dict[str, Any]]:
    return [{"outcome": "A4", "p": a4}, {"outcome": "Letter", "p": 1 - a4}]


def reply(model: str, task: str, body: Any) -> dict[str, Any]:
    return {"match": {"model": model, "userMessage": task}, "response": {"content": json.dumps(body)}}


def argued(model: str, quote: str, a4: float) -> dict[str, Any]:
    argument = {"claim": CLAIMS[model], "reasons": [quote], "spans": [{"passage": "p1", "quote": quote}]}
    return reply(model, "How you are to argue", {"arguments": [argument], "belief": belief(a4), "changed": "Nothing."})


def fixtures() -> list[dict[str, Any]]:
    """Two debaters begin apart and agree from round 1 on; what one of them cites is not near to the matter."""
    score = {"links": [0.9], "evidence": 0.9, "logic": 0.8, "relevance": 0.7, "justification": "JUDGED as it should."}
    attack = {"claim": JAMMED, "reasons": [LETTER], "spans": [{"passage": "p1", "quote": LETTER}]}
    met = {"argument": "a3", "why": "One office with another paper says little of these printers.", "fails": True}
    judged = {"scores": [{"item": 1, **score, "relevance": 0.9, "against": True}]}
    test = {"what": "A jam?", "kind": "test", "query": "printer jam", "positive": belief(0.9)}
    return [
        reply("gpt-one", "Answer the question alone", {"belief": belief(0.9), "reasoning": "", "spans": []}),
        reply("gpt-two", "Answer the question alone", {"belief": belief(0.2), "reasoning": "", "spans": []}),
        argued("gpt-one", NEAR, 0.9),
        argued("gpt-two", FAR, 0.85),
        *(
            reply(
                model,
                "you are the devil's advocate",
                {"arguments": [attack], "belief": belief(HOLDS[model]), "changed": ""},
            )
            for model in CLAIMS
        ),
        *(
            reply(model, "Answer each of these arguments", {"answers": [met], "belief": belief(HOLDS[model])})
            for model in CLAIMS
        ),
        reply("claude-judge", JAMMED, judged),
        reply("claude-judge", "Judge each by what stands in it", {"scores": [{"item": i, **score} for i in (1, 2)]}),
        reply("gpt-analyst", "What would tell them apart?", {"tests": [test]}),
    ]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Aimock]:
    with aimock(tmp_path, fixtures()) as found:
        yield found


def test_a_whole_session_of_two_families(server: Aimock, tmp_path: Path) -> None:
    front = Front(tmp_path)
    evidence = tmp_path / "paper"
    evidence.mkdir()
    (evidence / "paper.md").write_text(f"{NEAR} {LETTER} {FAR}")
    seats = {**SEATS, "judge_2": SEATS["judge"], "judge_3": SEATS["judge"]}
    models = {f"{seat.upper()}_LLM_MODEL": model for seat, model in seats.items()}
    code, out, err = front.run(
        "ask", QUESTION, "--protocol", "maci", "--evidence", str(evidence), "--outcomes", "A4, Letter", "--json",
        "--set", "maci.cross_family=demand", "--set", "maci.q_gate=true",
        env={"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "any", "LLM_BASE_URL": server.url, **models},
    )  # fmt: skip
    assert code == 0, err or out
    found = json.loads(out)
    assert (found["stop"]["reason"], found["stop"]["converged"]) == ("agreement", True)
    outcome, certificate = found["outcome"], found["stop"]["certificate"]
    assert outcome["answer"] == "A4" and outcome["plan"]["tests"][0]["query"] == "printer jam"
    assert outcome["cross_family"] is certificate["cross_family"] is True
    assert set(certificate["judge_families"].values()) == {"claude"}
    assert set(certificate["debater_families"].values()) == {"gpt"}
    assert certificate["judges"] == {"wanted": 3, "seated": JUDGES}
    assert certificate["missing"] == [] and certificate["unjudged_rounds"] == []
    assert {a["claim"] for a in outcome["record"]} == {CLAIMS["gpt-one"], JAMMED} and outcome["refused"]

    requests = {model: server.journal(model) for model in SEATS.values()}
    kinds = {
        m: Counter(r["body"].get("response_format", {}).get("json_schema", {}).get("name", "?") for r in rs)
        for m, rs in requests.items()
    }
    assert kinds["gpt-one"] + kinds["gpt-two"] == {"blind": 2, "argue": 2, "attack": 1, "answer": 1}
    assert kinds["claude-judge"] == {"crit": JUDGES * 2} and kinds["gpt-analyst"] == {"plan": 1}
    helped = found["usage"]["by_seat"]["helper"]["calls"]
    assert found["usage"]["calls"] - helped == sum(map(len, requests.values())), "the helper asks no model"

    heat = {m: {r["body"].get("temperature") for r in rs} for m, rs in requests.items()}
    assert heat == {"gpt-one": {0.7}, "gpt-two": {0.7}, "claude-judge": {0.3}, "gpt-analyst": {None}}
    assert not any(r["body"].get("stream") for m in ("gpt-one", "gpt-two") for r in requests[m])
    for r in requests["claude-judge"]:
        text = prompt(r)
        assert all(claim in text for claim in CLAIMS.values()) or JAMMED in text
        assert "debater" not in text.lower() and "gpt" not in text
    last = {m: prompt(requests[m][-1]) for m in CLAIMS}
    assert all(CLAIMS["gpt-one"] in text for text in last.values())
    assert CLAIMS["gpt-two"] in last["gpt-one"] and "judges passed it" in last["gpt-one"], "refused by q alone"
    assert all("JUDGED" not in text and "debater_" not in text for text in last.values())
    front.assert_nothing_left()


def prompt(request: dict[str, Any]) -> str:
    """All its messages."""
    return "\n".join(m["content"] for m in request["body"]["messages"])
