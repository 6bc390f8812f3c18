"""One gateway with the doors that ship, which is asked by clients that are not ours."""

from collections.abc import Iterator

import pytest

from tests.support.expert_model import expert_model
from tests.support.gateway import Served, panel, serving
from tests.web.doors.support import NATS, somebodys_nats


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A panel that agrees, one that never does, and experts."""
    folder = tmp_path_factory.mktemp("doors")
    panels = folder / "panels"
    panels.mkdir()
    panel(panels / "steady.yaml", agree_from=1)
    panel(panels / "slow.yaml", latency_s=0.5, agree_from=99)
    with expert_model() as env, somebodys_nats() as nats:
        named = ("--door", "a2a", "--door", "nats-agents", "--set", f"doors.nats-agents.url={nats}")
        with serving(folder, *named, "--set", "seed=7", "--panels", str(panels), env={**env, NATS: nats}) as found:
            yield found
