"""What these tests share."""

from collections.abc import Iterator

import pytest

from parley.agents.openai import probe


@pytest.fixture(autouse=True)
def nothing_learned() -> Iterator[None]:
    """Each test begins without lessons about any endpoint (ports come again)."""
    probe.forget()
    yield
    probe.forget()
