"""Files of a cluster that are missing or damaged are named, with what is wrong and the next step."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parley.bus.cluster import certificates
from parley.bus.errors import BadKeyFile
from parley.bus_admin import cluster as of_cluster
from parley.bus_admin.config import bus_config
from parley.client.errors import BadInput

NEXT = "Bring it back from a backup"


def _config(folder: Path, **more: Any) -> None:
    seats = {"panel": 2, "debaters": 2, "team": 1, "audience": 0}
    bus_config(folder, seats=seats, moderators=1, clients=("alice",), **more)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written") / "keys"
    _config(folder, cluster=3)
    return folder


@pytest.fixture
def keys(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "keys"))


def _strange(folder: Path) -> bytes:
    certificates.authority(folder)
    return (folder / certificates.AUTHORITY_KEY).read_bytes()


@pytest.mark.parametrize("name", [certificates.AUTHORITY, certificates.AUTHORITY_KEY])
@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda path: path.write_bytes(b"garbage"), "it is no "),
        (lambda path: path.write_bytes(b""), "it is no "),
        (lambda path: path.unlink(), "there is no such file"),
        (lambda path: (path.unlink(), path.mkdir()), "it cannot be read"),
    ],
)
def test_a_file_of_the_authority_is_named(name: str, spoil: Callable[[Path], object], what: str, keys: Path) -> None:
    spoil(keys / name)
    before = {path: path.read_bytes() for path in keys.glob("servers/*/*")}
    for command in (lambda: of_cluster.renew(keys), lambda: _config(keys, cluster=3, servers=("a", "b", "c"))):
        with pytest.raises(BadInput) as refused:
            command()
        text = str(refused.value)
        assert f"{keys / name}: {what}" in text and NEXT in text and "parley bus certificates" in text
        assert "cryptography.io" not in text and "Errno" not in text
    for path in before:
        if path.suffix in (".pem", ".key"):
            assert path.read_bytes() == before[path], "no server was given a certificate of a new authority"


def test_a_key_of_another_authority_is_refused(keys: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (keys / certificates.AUTHORITY_KEY).write_bytes(_strange(tmp_path / "other"))
    with pytest.raises(BadKeyFile, match=r"routes-ca\.key: it does not belong to routes-ca\.pem"):
        certificates.authority(keys)


def test_without_any_authority_a_new_one_is_made_for_all(keys: Path) -> None:
    for name in (certificates.AUTHORITY, certificates.AUTHORITY_KEY):
        (keys / name).unlink()
    assert len(of_cluster.renew(keys)) == 3
    new = (keys / certificates.AUTHORITY).read_bytes()
    assert {(path / certificates.AUTHORITY).read_bytes() for path in of_cluster.folders(keys)} == {new}


def test_a_servers_configuration_is_named(keys: Path) -> None:
    conf = keys / "servers" / "parley-2" / of_cluster.CONFIGURATION
    for text in ("{", "[]", json.dumps({"port": 4222})):
        conf.write_text(text)
        for command in (lambda: of_cluster.renew(keys), lambda: _config(keys)):
            with pytest.raises(BadInput, match=r"parley-2/nats-server\.conf is no.*Bring it back from a backup, or"):
                command()
    conf.unlink()
    with pytest.raises(BadInput, match=r"servers/parley-2 has no nats-server\.conf"):
        of_cluster.renew(keys)
    _config(keys, cluster=3, servers=("a", "b", "c"))
    assert [row["server"] for row in of_cluster.renew(keys)] == ["parley-1", "parley-2", "parley-3"]
