"""A state directory stays what it was: a bus of one server, or of several."""

import re
import shutil
from pathlib import Path

import pytest

from parley.bus.errors import ServerFailed
from parley.cli.options import check_cluster
from parley.client.errors import BadInput
from parley.settings import load
from parley.stack.servers import SEVERAL, Servers, check_replicas, check_size, check_stores, cluster_of, empty_words


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


def _store(state: Path, *numbers: int) -> None:
    for number in numbers:
        (state / SEVERAL / f"server-{number}" / "jetstream" / "PARLEY" / "streams" / "LOG").mkdir(parents=True)


def test_a_server_whose_folder_is_missing_starts_empty_beside_enough_others(tmp_path: Path) -> None:
    ports = Servers(tmp_path, (), {}, {}, size=3).url
    assert empty_words(tmp_path) == "", "none has a store yet"
    _store(tmp_path, 1, 2, 3)
    assert empty_words(tmp_path) == ""
    shutil.rmtree(tmp_path / SEVERAL / "server-2")
    check_size(tmp_path, 3)
    check_stores(tmp_path, 3)
    assert re.search(r"server-2 holds no sessions\. The server will start with an empty disk", empty_words(tmp_path))
    assert Servers(tmp_path, (), {}, {}, size=3).url == ports
    shutil.rmtree(tmp_path / SEVERAL / "server-3")
    with pytest.raises(BadInput, match=r"^state: only server-1 of the 3 servers .* holds sessions, and 2 must"):
        check_stores(tmp_path, 3)
    with pytest.raises(ServerFailed, match="Servers with an empty disk would outvote it"):
        Servers(tmp_path, (), {}, {}, size=3)


def test_an_even_number_of_copies_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^bus\.replicas: expected 0, 1, 3 or 5\. More than half must be there"):
        load(None, {"bus": {"replicas": 2}})
    assert load(None, {"bus": {"replicas": 3}}).bus.replicas == 3


def test_the_option_is_named_where_no_such_cluster_can_be() -> None:
    with pytest.raises(BadInput, match=r"^cluster: got 2, expected 1, 3 or 5\. More than half must be there"):
        check_cluster(2)
    check_cluster(None)
    check_cluster(3)


def test_streams_lie_on_no_more_servers_than_there_are(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^bus\.replicas: 3, the bus has 1 server; at most 1$"):
        check_replicas(tmp_path, 1, 3)
    with pytest.raises(BadInput, match=r"^bus\.replicas: 5, the bus has 3 servers; at most 3$"):
        check_replicas(tmp_path, 3, 5)
    check_replicas(tmp_path, 1, 0)
    Servers(tmp_path, (), {}, {}, size=3)
    check_replicas(tmp_path, 1, 3)
