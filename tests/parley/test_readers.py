"""`parley bus config --reader`: an operator grants a client the sessions of others, and takes that back."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from parley.bus.accounts import load_credentials
from tests.parley.support import Front


@pytest.fixture
def front(tmp_path: Path) -> Front:
    return Front(tmp_path)


def config(front: Front, *words: str) -> dict[str, Any]:
    """The server's configuration as written for these arguments."""
    front.json("bus", "config", "--dir", str(front.folder / "keys"), "--json", *words)
    found: dict[str, Any] = json.loads((front.folder / "keys" / "nats-server.conf").read_text())
    return found


def imported(found: dict[str, Any], user: str) -> set[str]:
    """What the user's account takes of CORE."""
    rows = found["accounts"][f"CLIENTS:{user}"]["imports"]
    return {
        r["subject"] for row in rows for r in (row.get("stream"), row.get("service")) if r and r["account"] == "CORE"
    }


def test_an_operator_grants_a_client_a_viewer_and_a_probe_what_the_broker_holds_them_to(front: Front) -> None:
    """What each may then do is attacked in tests/security."""
    before = config(front, "--client", "alice", "--client", "bob", "--human", "pro_2")
    granted = ("--reader", "audit=alice", "--reader", "board=*", "--viewer", "wall", "--probe", "gateway")
    found = config(front, "--client", "alice", "--client", "bob", *granted)
    assert before["accounts"]["CLIENTS:alice"] == found["accounts"]["CLIENTS:alice"], "who was there reads what it read"
    read, posts = "parley.of.alice.read.public.*", "parley.of.alice.ch.*.public.*"
    for user in ("alice", "audit"):
        assert {read, posts} <= imported(found, user)
    assert not any(".of.alice." in subject for subject in imported(found, "bob"))
    for user in ("board", "wall"):
        assert {"parley.read.public.*", "parley.ch.*.public.*"} <= imported(found, user)
    assert not any(".in." in subject or ".put." in subject for subject in imported(found, "wall"))
    (probe,) = found["accounts"]["OBSERVERS:gateway"]["users"]
    assert probe["permissions"]["publish"]["allow"] == ["parley.own.workers.gateway.*"]
    seated = json.dumps(found["accounts"]["PRO:pro_2_human"])
    assert "team_pro" in seated and "team_con" not in seated and "judge_notes" not in seated
    keys = front.folder / "keys"
    assert load_credentials(keys / "audit.json").reads == ("alice",)
    assert load_credentials(keys / "wall.json").kind == "viewer"
    server = str(Path(sys.executable).parent / "nats-server")
    subprocess.run([server, "-t", "-c", str(keys / "nats-server.conf")], check=True, capture_output=True)


def test_a_grant_is_taken_back_and_the_key_stays(front: Front) -> None:
    keys = front.folder / "keys"
    config(front, "--client", "alice", "--reader", "audit=alice", "--port", "4333", "--host", "127.0.0.1")
    seed = load_credentials(keys / "audit.json").seed
    assert any(".of.alice." in subject for subject in imported(config(front), "audit")), "not said is not changed"
    found = config(front, "--reader", "audit=")
    left = load_credentials(keys / "audit.json")
    assert (left.seed, left.reads) == (seed, ())
    assert "CLIENTS:alice" in found["accounts"], "who has a key stays a user"
    assert (found["host"], found["port"]) == ("127.0.0.1", 4333)
    assert not any(".of.alice." in subject for subject in imported(found, "audit"))


def test_what_an_operator_wrote_into_the_configuration_stays(front: Front) -> None:
    path = front.folder / "keys" / "nats-server.conf"
    before = config(front, "--monitor", "")
    assert "http" not in before
    before["max_connections"], before["jetstream"]["max_file_store"] = 300, 1_000_000_000
    path.write_text(json.dumps(before))
    found = config(front, "--client", "carol", "--store-dir", "/data/elsewhere")
    assert (found["max_connections"], "http" in found) == (300, False)
    assert found["jetstream"] == {"max_file_store": 1_000_000_000, "store_dir": "/data/elsewhere"}
    assert "CLIENTS:carol" in found["accounts"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--viewer", "wall=nobody"), "viewer: wall: there is no other client 'nobody'"),
        (("--reader", "audit"), "reader: got 'audit', expected NAME=CLIENT, or NAME=* for all clients"),
        (("--reader", "audit=nobody"), "reader: audit: there is no other client 'nobody'; there are client, owner"),
    ],
)
def test_a_grant_that_names_nobody_is_refused(front: Front, words: tuple[str, ...], why: str) -> None:
    code, _, err = front.run("bus", "config", "--dir", str(front.folder / "keys"), *words)
    assert code == 2 and why in err
