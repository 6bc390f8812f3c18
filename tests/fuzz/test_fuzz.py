"""A short run of the fuzzers; `make fuzz` is the long one."""

from pathlib import Path

import pytest

from tests.fuzz import run
from tests.fuzz.readers import READERS, Reader
from tests.fuzz.run import Failed, fuzz, made

SHORT = {"messages": 2_000, "replies": 400, "yaml": 60, "archives": 800, "records": 600}


@pytest.mark.parametrize("kind", READERS)
def test_a_reader_raises_what_it_says_and_nothing_else(kind: str) -> None:
    report = fuzz(kind, SHORT[kind], seed=7)
    assert report.inputs == SHORT[kind] and f"{kind}: " in report.words()


@pytest.mark.parametrize("kind", READERS)
def test_inputs_are_the_seeds_and_some_are_taken(kind: str) -> None:
    """Two seeds, two runs; one seed, the same inputs. No input alone is all that there is."""
    first, again, other = ([made(kind, seed, n) for n in range(30)] for seed in (1, 1, 2))
    assert first == again and first != other and len(set(first)) > 20


def test_the_first_input_that_fails_is_named_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(data: bytes) -> None:
        data.decode("ascii")

    monkeypatch.setitem(run.READERS, "yaml", Reader(READERS["yaml"].make, read, 5))
    with pytest.raises(Failed, match=r"yaml, input \d+: UnicodeDecodeError") as failed:
        fuzz("yaml", 200, seed=1)
    file = failed.value.save(tmp_path / "new")
    assert file.read_bytes() == made("yaml", 1, failed.value.number)
    assert "UnicodeDecodeError" in file.with_suffix(".txt").read_text()
