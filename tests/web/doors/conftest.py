"""One gateway with the doors that ship, which is asked by clients that are not ours."""

from collections.abc import Iterator

import pytest

from tests.support.expert_model import expert_model
from tests.support.gateway import Served, panel, serving

TASK = "rotate the leaked signing key of our API"
ASKS = {"security_confidence": 1, "item_s": 60}
"""Settings under which that task asks a person who leads it."""


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A panel that agrees, one that never does, and experts."""
    folder = tmp_path_factory.mktemp("doors")
    panels = folder / "panels"
    panels.mkdir()
    panel(panels / "steady.yaml", agree_from=1)
    panel(panels / "slow.yaml", latency_s=0.5, agree_from=99)
    with expert_model() as env, serving(folder, "--door", "a2a", "--panels", str(panels), env=env) as found:
        yield found
