"""A short run of the fuzzers; `make fuzz` is the long one."""

import pytest

from tests.fuzz.readers import READERS, fuzz

SHORT = {"messages": 3_000, "replies": 500, "yaml": 100, "archives": 3_000, "records": 1_000}


@pytest.mark.parametrize("kind", READERS)
def test_a_reader_raises_what_it_says_and_nothing_else(kind: str) -> None:
    assert 0 < fuzz(kind, SHORT[kind], seed=7) < SHORT[kind], "both of what is good and what is not something is left"
