"""Commands that strangers type first end where they meant, and each line says where to go on."""

import json
import shlex
import shutil
from typing import Any

import pytest

from parley.agents import strict_yaml
from tests.parley.support import ROOT, Front

ROWS: list[dict[str, Any]] = strict_yaml.load((ROOT / "tests/client/first_commands.yaml").read_text())
MODEL = {
    "LLM_PROVIDER": "openai_compatible", "LLM_BASE_URL": "http://127.0.0.1:9/v1", "LLM_MODEL": "m", "LLM_API_KEY": "k",
}  # fmt: skip
"""A language model, which a dry run does not ask."""
PROTOCOLS = {"panel": "consensus", "task": "madp"}


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Front:
    """A stranger's folder."""
    folder = tmp_path_factory.mktemp("first")
    shutil.copytree(ROOT / "examples/factual/evidence", folder / "canal")
    (folder / "cost.md").write_text("The canal cost 416 million francs.\n")
    (folder / "question.txt").write_text("In which year did the Suez Canal open?\n")
    (folder / "shop").mkdir()
    (folder / "shop/api.py").write_text("def login(user: str) -> bool:\n    return bool(user)\n")
    (folder / "shop/test_api.py").write_text("from api import login\n\n\ndef test_login():\n    assert login('')\n")
    return Front(folder, protocol="")


@pytest.fixture(scope="module")
def last(front: Front) -> dict[str, Any]:
    """A finished session on the documents of that folder."""
    question = "In which year did the Suez Canal open?"
    found: dict[str, Any] = front.json("ask", question, "--evidence", "canal", "--threshold", "80", "--json")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in ROWS if row["ends"] == "same"], ids=lambda row: row["typed"])
def test_a_follow_up_keeps_protocol_settings_and_documents(
    row: dict[str, Any], front: Front, last: dict[str, Any]
) -> None:
    words = [last["session"] if word == "LAST" else word for word in shlex.split(row["typed"])]
    status, out, err = front.run(*words, "--json")
    assert status in (0, 3), err
    opened = front.json("sessions", "show", json.loads(out)["session"], "--json")["opened"]
    assert (opened["protocol"], opened["settings"]["threshold"]) == ("consensus", 80)
    names = [d["name"].rpartition("/")[2] for d in opened["documents"] if not d.get("background")]
    assert "history.md" in names and ("cost.md" in names) == ("cost.md" in row["typed"])


@pytest.mark.parametrize("row", [row for row in ROWS if row["ends"] != "same"], ids=lambda row: row["typed"])
def test_it_ends_where_the_stranger_meant(row: dict[str, Any], front: Front) -> None:
    words = shlex.split(row["typed"])
    more = [] if row["ends"] == "told" else ["--dry-run", "--json"]
    status, out, err = front.run(*words, *more, env=MODEL if row.get("model") else {})
    if row["ends"] == "told":
        assert status == 2, out + err
        assert all(word in err for word in row["says"]), err
        assert not (front.state / "stack.json").exists(), "nothing was started"
        return
    assert status == 0, err
    told = json.loads(out)
    assert (told["protocol"], told["chosen"]["protocol"]) == (PROTOCOLS[row["ends"]],) * 2
