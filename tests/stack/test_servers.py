"""A state directory stays what it was: a bus of one server, or of several."""

from pathlib import Path

import pytest

from bus.errors import ServerFailed
from parley.stack.servers import SEVERAL, Servers, cluster_of


def test_the_sessions_of_one_server_are_not_left_behind(tmp_path: Path) -> None:
    (tmp_path / "bus" / "jetstream").mkdir(parents=True)
    with pytest.raises(ServerFailed, match="holds the sessions of one server"):
        Servers(tmp_path, (), {}, {}, size=3)
    assert not (tmp_path / SEVERAL).exists()
    assert Servers(tmp_path, (), {}, {}).servers == []


def test_a_cluster_stays_one_and_keeps_its_ports(tmp_path: Path) -> None:
    urls = Servers(tmp_path, (), {}, {}, size=3).url
    assert urls.count("nats://127.0.0.1:") == 3 and cluster_of(tmp_path) == 3
    assert Servers(tmp_path, (), {}, {}).url == urls, "also where nobody asks for a cluster"
