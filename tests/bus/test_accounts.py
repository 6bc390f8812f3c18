"""The broker's isolation: attacks refused, and the ways that must work."""

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.bus import accounts, channels, rendered, subjects
from parley.bus.errors import BadKeyFile, BadTable, Denied, NoAnswer, NoModerator
from tests.conftest import Dial

SID = "s1"


# An answer enters the asker's account as if published there: nothing that a colleague may do must be reachable so.


# -- what must work


async def test_operator_asks_the_server_and_nothing_else(dial: Dial) -> None:
    operator = await dial("operator")
    said = json.loads((await operator.request("$SYS.REQ.SERVER.PING", b"", 5.0)).data)
    assert said["server"]["name"] == "parley"
    with pytest.raises(Denied):
        await operator.publish(subjects.log(SID, "step"), b"", confirm=True)


# -- the table and the files


def _rendered(users: tuple[accounts.User, ...]) -> str:
    return rendered.render(users, accounts.publics(accounts.mint(users)), store_dir="/var/lib/nats")


def test_only_core_has_jetstream_and_every_list_allows() -> None:
    users = accounts.table({"panel_1": "panelist", "analyst": "analyst"})
    found = json.loads(_rendered(users))["accounts"]
    assert [name for name, a in found.items() if "jetstream" in a] == [channels.CORE]
    assert set(found) == {"CORE", "SYS", "CLIENTS:client", "CLIENTS:owner", "PANEL:panel_1", "HELPERS:analyst"}
    for account in found.values():
        for user in account["users"]:
            assert set(user["permissions"]) == {"publish", "subscribe"}
            assert all(set(side) == {"allow"} and side["allow"] for side in user["permissions"].values())
    exported = [e.get("service") or e["stream"] for e in found[channels.CORE]["exports"]]
    assert len(exported) == len(set(exported))
    assert all(e["accounts"] for a in found.values() for e in a["exports"])


def test_configuration_holds_no_secret() -> None:
    users = accounts.table({"panel_1": "panelist"})
    keys = accounts.mint(users)
    text = rendered.render(users, accounts.publics(keys), store_dir="/x")
    assert all(c.public in text and c.seed not in text for c in keys.values())


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: accounts.table({"q": "jester"}), "jester"),
        (lambda: rendered.render(accounts.table({"client": "panelist"}), {}, store_dir="/x"), "no key"),
        (lambda: _rendered(accounts.table({"client": "panelist"})), "two users"),
        (lambda: accounts.User(name="", kind="client", account="CLIENTS"), "name"),
        (lambda: accounts.User(name="x", kind="king", account="CLIENTS"), "king"),
        (lambda: accounts.User(name="x", kind="client", account="CLIENTS", queue="q"), "queue"),
    ],
)
def test_bad_table(build: Callable[[], object], said: str) -> None:
    with pytest.raises(BadTable, match=said):
        build()


def test_credentials_file(tmp_path: Path) -> None:
    credentials = accounts.mint(accounts.table({}))["owner"]
    path = tmp_path / "owner.creds"
    credentials.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert accounts.load_credentials(path) == credentials
    assert credentials.seed not in repr(credentials) + str(credentials) + f"{credentials}"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [None, b"", b"{", b'{"user": "x"}', b"\xff\xfe"])
def test_bad_credentials_file(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.creds"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadKeyFile, match=r"x\.creds"):
        accounts.load_credentials(path)


def test_a_broken_seed_is_not_repeated(tmp_path: Path) -> None:
    credentials = accounts.mint(accounts.table({}))["owner"]
    path = tmp_path / "x.creds"
    found = {"user": "o", "kind": "owner", "account": "CLIENTS", "seed": credentials.seed[:-9], "inbox_prefix": "i"}
    path.write_text(json.dumps(found))
    with pytest.raises(BadKeyFile) as caught:
        accounts.load_credentials(path)
    assert credentials.seed[:10] not in str(caught.value)


async def test_nobody_answers_is_no_silence(dial: Dial) -> None:
    panelist = await dial("panel_1")
    with pytest.raises(NoModerator, match="is a moderator running"):
        await panelist.request(subjects.say("gone", "public", "panel_1", SID), b"", 5.0)
    assert not issubclass(NoModerator, NoAnswer)
