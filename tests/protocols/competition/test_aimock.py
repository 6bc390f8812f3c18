"""`parley ask --protocol competition` on a foreign server, with a model for each team, and others for single seats."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from parley.schemas.protocols.competition.format import DIMENSIONS
from tests.llm.aimock import Aimock, aimock
from tests.parley.support import ROOT, Front
from tests.protocols.competition.play import shipped

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]
EXAMPLE = ROOT / "examples" / "competition"
TEAMS = {"pro": ("team-pro",), "con": ("team-con", "con-two")}
VARIABLES = {
    "PRO_LLM_MODEL": "team-pro", "CON_LLM_MODEL": "team-con", "CON_2_LLM_MODEL": "con-two",
    "JUDGE_LLM_MODEL": "the-judge", "AUDIENCE_LLM_MODEL": "the-audience", "AUDIENCE_2_LLM_MODEL": "audience-two",
}  # fmt: skip
MODELS = tuple(VARIABLES.values())
SEATS = {
    **{f"pro_{i}": "team-pro" for i in range(1, 5)}, **{f"con_{i}": "team-con" for i in (1, 3, 4)}, "con_2": "con-two",
}  # fmt: skip
PRIVATE = {"pro": "PROSECRET", "con": "CONSECRET", "judge": "JUDGESECRET"}
"""In what a team says on its channel, and in what the judge says where no debater reads."""
FREE = " ".join(["word"] * 140)


def reply(model: str, task: str, body: Any) -> dict[str, Any]:
    return {"match": {"model": model, "userMessage": task}, "response": {"content": json.dumps(body)}}


def of_team(model: str, team: str) -> list[dict[str, Any]]:
    """What a team's model says. Its captain names the last of those that it may choose."""
    secret, other = PRIVATE[team], {"pro": "con", "con": "pro"}[team]
    seats = [f"{team}_{i}" for i in range(1, 5)]
    questions = [f"HEARD-{team}: {q}?" for q in ("Who pays", "For how long", "What is lost")]
    return [
        reply(model, "You are alone with your team", {"text": f"{secret} note of {model}."}),
        reply(
            model, "What is wanted is a speech in the free debate", {"text": f"HEARD-{team} {FREE}", "citations": []}
        ),
        reply(model, "It is your turn to speak in public", {"text": f"HEARD-{team} speaks.", "citations": []}),
        reply(model, "It is the cross-examination, and you ask", {"answerer": f"{other}_2", "questions": questions}),
        reply(model, "and you answer", {"text": f"HEARD-{team} answers.", "citations": []}),
        *(
            reply(
                model,
                f"You may choose: {', '.join(seats[:n])}.",
                {"speaker": seats[n - 1], "direction": f"{secret} press."},
            )
            for n in range(1, 5)
        ),
    ]


def fixtures() -> list[dict[str, Any]]:
    judge, secret = VARIABLES["JUDGE_LLM_MODEL"], PRIVATE["judge"]
    teams = [f for team, models in TEAMS.items() for model in models for f in of_team(model, team)]
    captains = [
        f for f in teams if "You may choose" in f["match"]["userMessage"]
    ]  # the directions are in other prompts
    return [
        *captains,
        *(f for f in teams if f not in captains),
        *(
            reply(
                judge,
                f"You mark the last public post, by `{team}_",
                {**dict.fromkeys(DIMENSIONS, mark), "violations": [], "comment": f"{secret} comment"},
            )
            for team, mark in (("pro", 8), ("con", 6))
        ),
        reply(judge, "A stage is over", {"text": f"{secret} summary"}),
        reply(judge, "you review it in public", {"text": "A fine debate."}),
        reply("the-audience", "Vote for the side", {"choice": "con", "why": "taxes"}),
        reply("audience-two", "Vote for the side", {"choice": "pro", "why": "trams"}),
    ]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Aimock]:
    with aimock(tmp_path, fixtures()) as found:
        yield found


def rules(folder: Path) -> str:
    """The four stages, with an audience of two that votes before and after."""
    found = shipped("four_stage")
    found["audience"] = 2
    found["stages"][0]["agenda"].insert(0, {"t": "vote", "name": "before"})
    found["stages"][-1]["agenda"].append({"t": "vote", "name": "after"})
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump(found))
    return str(path)


def test_each_seat_asks_its_own_model_and_no_request_has_what_its_seat_may_not_read(
    server: Aimock, tmp_path: Path
) -> None:
    front = Front(tmp_path)
    motion = (EXAMPLE / "question.txt").read_text().strip()
    code, out, err = front.run(
        "ask", motion, "--protocol", "competition", "--evidence", str(EXAMPLE / "evidence"), "--format",
        rules(tmp_path), "--json",
        env={"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "any", "LLM_BASE_URL": server.url, **VARIABLES},
    )  # fmt: skip
    assert code == 0, err or out
    found = json.loads(out)
    outcome = found["outcome"]
    assert found["stop"]["reason"] == "played" and outcome["complete"] and outcome["winner"] == "pro"
    assert outcome["silent"] == outcome["unscored"] == [] and len(found["rounds"]) == 4
    assert [v["ballots"] for v in outcome["votes"]] == [{"audience_1": "con", "audience_2": "pro"}] * 2

    requests = {model: server.journal(model) for model in MODELS}
    assert found["usage"]["calls"] == found["usage"]["turns"] == sum(map(len, requests.values())), "none twice"
    assert server.journal("any") == []
    asked: dict[str, Counter[str]] = defaultdict(Counter)
    for model, sent in requests.items():
        for r in sent:
            asked[seat_of(prompt(r))][model] += 1
    assert {seat: set(models) for seat, models in asked.items()} == {
        **{seat: {model} for seat, model in SEATS.items()},
        "judge": {"the-judge"}, "audience": {"the-audience", "audience-two"},
    }  # fmt: skip
    assert {s: sum(asked[s].values()) for s in SEATS} == {s: found["usage"]["by_seat"][s]["calls"] for s in SEATS}
    assert len(requests["the-audience"]) == len(requests["audience-two"]) == 2

    texts = {model: [prompt(r) for r in sent] for model, sent in requests.items()}
    for team, models in TEAMS.items():
        own = [text for model in models for text in texts[model]]
        foreign = [text for model in MODELS if model not in models for text in texts[model]]
        assert not [text for text in foreign if PRIVATE[team] in text], f"{team}'s channel"
        assert sum(PRIVATE[team] in text for text in own) >= len(own) - 1, "all but the very first are shown it"
        for held in (EXAMPLE / "evidence" / team).iterdir():
            sentence = held.read_text().split(". ")[1]
            assert any(sentence in text for text in own) and not any(sentence in text for text in foreign), held
    debaters = [text for models in TEAMS.values() for model in models for text in texts[model]]
    assert not [text for text in (*debaters, *texts["the-audience"]) if PRIVATE["judge"] in text]
    assert any(PRIVATE["judge"] in text for text in texts["the-judge"]), "its own notes"
    before, after = texts["the-audience"]
    assert "HEARD-" not in before and "HEARD-pro" in after and "HEARD-con" in after
    streamed = {kind_of(r) for sent in requests.values() for r in sent if r["body"].get("stream")}
    assert streamed == {"confer", "speak", "question", "answer", "review"}
    front.assert_nothing_left()


def seat_of(text: str) -> str:
    """The seat that a prompt is for."""
    named = re.match(r"You are `(\w+)`", text)
    return named[1] if named else "audience" if text.startswith("You sit in the audience") else "judge"


def kind_of(request: dict[str, Any]) -> str:
    return str(request["body"]["response_format"]["json_schema"]["name"])


def prompt(request: dict[str, Any]) -> str:
    """All its messages."""
    return "\n".join(m["content"] for m in request["body"]["messages"])
