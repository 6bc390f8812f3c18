"""The first day: init, doctor, an estimate, a panel file, a follow-up, exports, erasing. Real stacks, as processes."""

import asyncio
import json
import re
import shlex
from pathlib import Path

import pytest

from parley.cli.init_folder import texts
from parley.client.errors import BadInput
from parley.planned.plan import plan_of
from parley.settings import load
from tests.llm.server import fails, model_server, says
from tests.parley.support import QUESTION, ROOT, Front

pytestmark = [pytest.mark.slow]

FREE = ("LLM_PROVIDER", "LLM_MODEL", "LLM_API_KEY", "OPENAI_API_KEY")


@pytest.fixture
def fresh(tmp_path: Path) -> Front:
    return Front(tmp_path)


def priced(front: Front) -> Path:
    """A panel file whose panelists have the stub model at a price."""
    stub = "{model: 'tests.support.model:make', options: {metered: true, usd_in: 2.0, usd_out: 10.0, tokens: 100}}"
    panel = front.folder / "priced.yaml"
    panel.write_text(
        "protocol: consensus\nseats:\n"
        + "".join(f"  panelist_{i}: {stub}\n" for i in (1, 2, 3))
        + "  analyst: {model: 'tests.support.model:make'}\n"
    )
    return panel


# ---------------------------------------------------------------- init


def test_init_makes_a_folder_in_which_everything_runs_and_overwrites_nothing(fresh: Front) -> None:
    found = fresh.json("init", "new", "--json")
    assert sorted(found["written"]) == sorted(f"new/{name}" for name in texts())
    folder = fresh.folder / "new"
    assert (folder / ".env").stat().st_mode & 0o777 == 0o600
    fresh.folder = folder
    assert fresh.json("doctor", "--json")["ok"] is True
    told = fresh.run("doctor")[1]
    assert len(told.splitlines()) <= 16 and "The first question starts what does not run yet" in told, told
    question = (folder / "example/question.txt").read_text()
    asked = fresh.json("ask", question, "--evidence", "example/evidence", "--json")
    assert set(asked["usage"]["by_seat"]) == {"panelist_1", "panelist_2", "panelist_3", "analyst"}
    (folder / ".env").write_text("mine")
    code, out, err = fresh.run("init")
    assert (code, out) == (2, "")
    assert ".env, panel.yaml" in err and "nothing is overwritten" in err
    assert (folder / ".env").read_text() == "mine"
    (folder / "other").mkdir()
    (folder / "other" / "panel.yaml").write_text("x")
    assert fresh.run("init", "other")[0] == 2
    assert [p.name for p in (folder / "other").iterdir()] == ["panel.yaml"], "one file in the way, and none is written"
    fresh.assert_nothing_left()


# ---------------------------------------------------------------- the estimate


def test_a_budget_below_one_round_is_said_before_anything_starts(fresh: Front) -> None:
    arguments = ("ask", QUESTION, "--panel-file", str(priced(fresh)), "--budget-usd", "0.03", "--json")
    code, out, err = fresh.run(*arguments)
    assert code == 2
    refused = r"parley: --budget-usd: limit 0\.03, one round may take 0\.0[3-9]\d+; nothing was started\n"
    assert re.fullmatch(refused, err), err
    assert json.loads(out)["error"]["field"] == "--budget-usd"
    assert not fresh.state.exists()
    assert fresh.left() == []


# ---------------------------------------------------------------- panel files

BAD_PANELS = [
    ("seat: {}", "seat in p.yaml is not a known field; did you mean seats?"),
    ("protocol: consensu\nseats: {a: {}}", "protocol: 'consensu' is not a protocol; did you mean consensus?"),
    ("protocol: consensus\nseats: {panelist_1: {}, analyst: {}}", "seats: consensus needs 2 of role panelist, p.yaml "),
    ("protocol: consensus\nseats: {panelist_1: {}, panelist_2: {}, judge: {}, analyst: {}}",
     "seats.judge: consensus has no role judge; its roles are panelist, analyst"),
    ("seats: {storage: {}}", "seats.storage.role: the name gives no role; add one of"),
    ("seats: {panelist_1: {model: 'qwen3:8b'}}", "seats.panelist_1.provider: whose model is 'qwen3:8b'?"),
    ("seats: {panelist_1: {provider: ollama}}", "seats.panelist_1.model: no model of ollama is named"),
    ("seats: {panelist_1: {spec: nope.yaml}}", "seats.panelist_1.spec:"),
    ("seats: {panelist_1: {weight: 50}}", "seats.panelist_1.weight: got 50, allowed is at most 10; see "),
    ("members: {ada: {}, analyst: {}}", "members.analyst: analyst in "),
    ("members: {ada: {role: judge}, ben: {}}", "members.ada.role: got 'judge', members of a team are panelists"),
    ("members: {ada: {price: {input: 1, output: 2}}, ben: {}}", "members.ada.price: a price is of a provider's model"),
    ("members: {ada: {}, ben: {}}\nprotocol: maci", "protocol in p.yaml is not a known field; known: members"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), BAD_PANELS, ids=[w[:40] for _, w in BAD_PANELS])
def test_a_bad_panel_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.yaml").write_text(text + "\n")
    with pytest.raises(BadInput) as refusal:
        plan_of(load(given={"panel_file": "p.yaml"}))
    assert str(refusal.value).startswith(why)


def test_who_sits_where_is_as_the_panel_file_says(fresh: Front) -> None:
    """Names that say no role, weights, expertise, copies; `up` and `ask` share the file."""
    panel = fresh.folder / "panel.yaml"
    panel.write_text(
        "seats:\n"
        "  storage: {role: panelist, expertise: [capital], copies: 2}\n"
        "  network: {role: panelist, weight: 3}\n"
        "  analyst: {}\n"
    )
    with fresh.up("--panel-file", "panel.yaml", "--log-max-age", "7") as running:
        assert {"storage-1", "storage-2", "network-1", "analyst-1"} <= set(running["services"])
        found = fresh.json("ask", QUESTION, "--panel-file", "panel.yaml", "--evidence", str(fresh.evidence), "--json")
        shown = fresh.json("sessions", "show", found["session"], "--json")
        seats = {s["seat"]: (s["role"], s["weight"]) for s in shown["opened"]["seats"]}
        assert seats == {"storage": ("panelist", 2.0), "network": ("panelist", 3.0), "analyst": ("analyst", 1.0)}
        report = fresh.json("doctor", "--panel-file", "panel.yaml", "--json")
        panelists = next(r for r in report["roles"] if r["role"] == "panelist")
        assert panelists["queues"] == {"storage": 2, "network": 1}


# ---------------------------------------------------------------- the README


def readme_lines() -> list[str]:
    text = (ROOT / "README.md").read_text().partition("## Your models, your documents")[2].partition("\n## ")[0]
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.S) for line in block.strip().splitlines()]


@pytest.mark.parametrize("line", readme_lines())
def test_the_readmes_one_liners_are_taken(fresh: Front, line: str) -> None:
    """As they stand, with the models' servers left alone: a dry run makes the same models and asks none."""
    words = shlex.split(line)
    at = words.index("parley")
    env = {**dict.fromkeys(FREE, ""), **dict(word.split("=", 1) for word in words[:at])}
    arguments = [str(ROOT / word) if word.startswith("examples/") else word for word in words[at + 1 :]]
    code, out, err = fresh.run(*arguments, "--dry-run", "--json", env=env)
    assert code == 0, err
    models = {s["model"] for s in json.loads(out)["seats"]}
    assert models == {env["LLM_MODEL"] or "extractive"}


# ---------------------------------------------------------------- doctor


def test_doctor_names_what_is_missing_and_what_mends_it(fresh: Front) -> None:
    env = {**dict.fromkeys(FREE, ""), "PANELIST_2_LLM_PROVIDER": "openai", "PANELIST_2_LLM_MODEL": "gpt-5-mini"}
    code, out, err = fresh.run("doctor", "--json", env=env)
    assert (code, err) == (1, "")
    found = json.loads(out)
    assert found["ok"] is False
    (one,) = found["missing"]
    assert one["what"] == "agent panelist_2: provider openai needs a key"
    assert one["mend"].startswith("set OPENAI_API_KEY or PANELIST_2_LLM_API_KEY")
    code, out, err = fresh.run("doctor", "--json", env={**env, "OPENAI_API_KEY": "sk-secret-0815"})
    assert code == 0
    assert "sk-secret-0815" not in out + err
    (model,) = [m for m in json.loads(out)["models"] if m["seat"] == "panelist_2"]
    assert (model["status"], model["provider"], model["structured"]) == ("configured", "openai", "json_schema")
    assert (model["usd_per_million_input"], model["usd_per_million_output"]) == (0.25, 2.0)


async def test_doctor_says_which_models_answer(fresh: Front) -> None:
    """A server on this machine is asked a few tokens' worth; one that refuses says why; the key is shown nowhere."""
    async with model_server(says("ok")) as server:
        env = {**dict.fromkeys(FREE, ""), "LLM_BASE_URL": server.url, "LLM_MODEL": "m", "LLM_API_KEY": "sk-secret-0815"}
        code, out, err = await asyncio.to_thread(fresh.run, "doctor", "--json", env=env)
        assert (code, err) == (0, "")
        models = json.loads(out)["models"]
        assert {m["status"] for m in models} == {"answers"}
        assert all(m["seconds"] > 0 and m["usd_per_million_input"] is None for m in models)
        assert max(r.body["max_tokens"] for r in server.requests) <= 8_200  # a model that thinks needs the room
    async with model_server(fails(401, "bad key sk-secret-0815")) as server:
        env["LLM_BASE_URL"] = server.url
        code, out, err = await asyncio.to_thread(fresh.run, "doctor", env=env)
        assert code == 1
        assert "model m does not answer: HTTP 401" in out and "put a key that it takes into LLM_API_KEY" in out
        assert "sk-secret-0815" not in out + err


def test_doctor_sees_living_workers_and_missing_roles(fresh: Front) -> None:
    with fresh.up("--panel", "2", "--copies", "2") as running:
        given = ("--nats", running["url"], "--creds", running["credentials"]["owner"], "--json")
        code, out, _ = fresh.run("doctor", *given)
        found = json.loads(out)
        assert code == 1
        roles = {(r["protocol"], r["role"]): r for r in found["roles"]}
        assert roles["consensus", "panelist"]["queues"] == {"panelist_1": 2, "panelist_2": 2}
        assert roles["consensus", "panelist"]["status"] == "missing"
        assert roles["consensus", "analyst"]["status"] == "ok"
        assert roles["critic", "judge"]["status"] == "missing"
        (one,) = found["missing"]
        assert one["what"] == "consensus: role panelist, 3 needed, 2 alive"
        assert one["mend"].startswith("parley agent panelist_3 ")
        assert {m["status"] for m in found["models"]} == {"announced"}
        code, out, _ = fresh.run("doctor", "--protocol", "madp", "--json")
        missing = [one["what"] for one in json.loads(out)["missing"]]
        assert code == 1 and "madp: no expert is there, so nobody takes on a task" in missing
        client = ("--nats", running["url"], "--creds", running["credentials"]["client"], "--json")
        found = json.loads(fresh.run("doctor", *client)[1])
        assert (found["moderators"]["status"], found["credentials"]["status"]) == ("unknown", "ok")
        asked = ("ask", QUESTION, "--evidence", str(fresh.evidence), "--panel", "2", "--dry-run")
        assert json.loads(fresh.run(*asked, *given)[1])["fits_one_round"] is True
        code, _, err = fresh.run(*asked, *client)
        assert code == 2 and "only an owner's credentials may ask that" in err


# ---------------------------------------------------------------- follow-ups, exports, erasing


def test_erasing_asks_first_and_says_what_remains(fresh: Front) -> None:
    found = fresh.json("ask", QUESTION, "--evidence", str(fresh.evidence), "--json")
    sid = found["session"]
    code, out, err = fresh.run("sessions", "erase", sid)
    assert (code, out) == (2, "") and "onfirm with --yes" in err
    told = fresh.json("sessions", "erase", sid, "--yes", "--json")
    assert told["erased"] is True and any("sessions list" in text for text in told["remains"])
    (row,) = fresh.json("sessions", "list", "--json")["sessions"]
    assert (row["session"], row["status"], row["question"], row["erased_by"]) == (sid, "erased", "", "owner")
    for command in (("sessions", "show"), ("sessions", "export"), ("explain",), ("replay",)):
        code, out, err = fresh.run(*command, sid)
        assert (code, out) == (2, ""), command
        assert f"session {sid} was erased by owner at 20" in err
    fresh.assert_nothing_left()
