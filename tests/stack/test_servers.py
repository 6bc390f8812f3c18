"""A state directory stays what it was: a bus of one server, or of several."""

from pathlib import Path

import pytest

from bus.errors import ServerFailed
from client.errors import BadInput
from parley.stack.servers import SEVERAL, Servers, check_replicas, check_size, cluster_of


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


def test_a_cluster_keeps_its_size(tmp_path: Path) -> None:
    Servers(tmp_path, (), {}, {}, size=3)
    with pytest.raises(ServerFailed, match=r"holds a cluster of 3 servers, and its sessions; say --cluster 3, or"):
        Servers(tmp_path, (), {}, {}, size=5)
    for size in (1, 5):
        with pytest.raises(BadInput, match=f"^cluster: got {size}; .* holds a cluster of 3 servers"):
            check_size(tmp_path, size)
    check_size(tmp_path, 3)
    assert cluster_of(tmp_path) == 3


def test_streams_lie_on_no_more_servers_than_there_are(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^bus\.replicas: 3, the bus has 1 server; at most 1$"):
        check_replicas(tmp_path, 1, 3)
    with pytest.raises(BadInput, match=r"^bus\.replicas: 5, the bus has 3 servers; at most 3$"):
        check_replicas(tmp_path, 3, 5)
    check_replicas(tmp_path, 1, 0)
    Servers(tmp_path, (), {}, {}, size=3)
    check_replicas(tmp_path, 1, 3)
