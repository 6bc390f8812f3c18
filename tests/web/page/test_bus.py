"""The line of every page that says what the servers of the bus lack, on three of them."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.parley.support import Front
from tests.support.cluster import Cluster
from tests.web.page.site import needed, serve, visitor

pytestmark = needed


def test_a_lost_majority_is_said_on_the_page_while_it_lasts(chromium: Browser, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "cluster")
    with cluster.nats:
        owner = tmp_path / "owner.json"
        cluster.keys["owner"].save(owner)
        gateway = serve(Front(tmp_path), "--nats", cluster.url, "--creds", str(owner))
        try:
            with visitor(chromium, gateway) as one:
                one.expected = ("503", "502", "504")  # nobody lists sessions here
                line = one.open("/new").locator("#lost")
                expect(line).to_be_hidden()
                for server in cluster.nats.servers[1:]:
                    server.kill()
                expect(line).to_have_text(
                    "The bus has no majority: 1 of 3 servers is there, 2 are needed. Nothing is stored; sessions wait, "
                    "and go on by themselves once another server is back"
                )
                for server in cluster.nats.servers[1:]:
                    server.start()
                expect(line).to_be_hidden()
        finally:
            gateway.close()
