"""`parley bus token`: shown once, and kept as a digest."""

from pathlib import Path

import pytest

from parley.bus.accounts import User, mint
from parley.web.principals import Principals, digest
from tests.parley.support import Front

USERS = (
    User(name="alice", kind="client", account="CLIENTS"),
    User(name="moderator-1", kind="moderator", account="CORE"),
)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A folder with a client's keys, and a moderator's."""
    folder = tmp_path / "keys"
    folder.mkdir()
    for name, credentials in mint(USERS).items():
        credentials.save(folder / f"{name}.json")
    return folder


def test_a_token_is_shown_once_and_is_its_users(tmp_path: Path, keys: Path) -> None:
    front = Front(tmp_path)
    code, out, err = front.run("bus", "token", "alice", "--dir", str(keys))
    token = out.strip()
    assert code == 0 and len(token) >= 40 and token not in err
    kept = keys / "alice.token"
    assert kept.read_text().strip() == digest(token) and kept.stat().st_mode & 0o777 == 0o600
    found = Principals(bytes(32), folder=keys).of_token(token)
    assert found is not None and found.name == "alice"
    again = front.json("bus", "token", "alice", "--dir", str(keys), "--json")
    assert again["name"] == "alice" and again["token"] != token
    assert Principals(bytes(32), folder=keys).of_token(token) is None, "the former one is void"


def test_who_cannot_have_one_is_named(tmp_path: Path, keys: Path) -> None:
    front = Front(tmp_path)
    for name, why in (
        ("bob", "there are alice, moderator-1"),
        ("moderator-1", "of kind moderator"),
        ("../x", "holds no"),
    ):
        code, out, err = front.run("bus", "token", name, "--dir", str(keys))
        assert code == 2 and not out and why in err, err
    assert not list(keys.glob("*.token"))
