"""docs/compatibility.md names a test for each client and framework that it tells of."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text()
ROWS = re.findall(r"^\| ([^|]+?) \| ([^|]+?) \| ([^|]+?) \| `([^`|]+)` \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("client", "works", "refused", "test"), ROWS, ids=[row[0] for row in ROWS])
def test_a_client_has_its_test_and_what_is_refused_has_a_reason(
    client: str, works: str, refused: str, test: str
) -> None:
    path, _, name = test.partition("::")
    text = (ROOT / path).read_text()
    assert f"def {name}(" in text
    assert works and refused
    for version in re.findall(r"\d+\.\d+", client):
        assert version in text or f"{version.partition('.')[0]}." in (ROOT / "requirements.lock").read_text()


def test_every_framework_of_the_trial_is_there() -> None:
    named = " ".join(client for client, *_ in ROWS)
    for client in (
        "openai",
        "llm",
        "Agents SDK",
        "PydanticAI",
        "LangChain",
        "opencode",
        "MCP: TypeScript",
        "inspector",
    ):
        assert client in named
