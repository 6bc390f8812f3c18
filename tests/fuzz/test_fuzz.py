"""A short run of the fuzzers; `make fuzz` is the long one."""

from pathlib import Path

import pytest

from tests.fuzz.readers import READERS, Failed, Reader, fuzz, made

SHORT = {"messages": 3_000, "replies": 500, "yaml": 100, "archives": 3_000, "records": 1_000}


@pytest.mark.parametrize("kind", READERS)
def test_a_reader_raises_what_it_says_and_nothing_else(kind: str) -> None:
    assert 0 < fuzz(kind, SHORT[kind], seed=7) < SHORT[kind], "both of what is good and what is not something is left"


def test_the_first_input_that_fails_is_named_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(data: bytes) -> bool:
        return bool(data.decode("ascii"))

    monkeypatch.setitem(READERS, "yaml", Reader(READERS["yaml"].make, read, 5))
    with pytest.raises(Failed, match=r"yaml, input \d+: UnicodeDecodeError") as failed:
        fuzz("yaml", 200, seed=1)
    file = failed.value.save(tmp_path / "new")
    assert file.read_bytes() == made("yaml", 1, failed.value.number)
    assert "UnicodeDecodeError" in file.with_suffix(".txt").read_text()
