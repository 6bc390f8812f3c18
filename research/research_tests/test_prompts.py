"""The figures of `benchmarks prompts`: how much of each seat's prompts a provider may keep."""

import subprocess
import sys
from pathlib import Path

import msgspec

from parley_research.benchmarks import prompts


def test_what_lasts_begins_the_next_prompt_in_a_whole_session_of_each_protocol(tmp_path: Path) -> None:
    """Also at a competition's full length, into whose prompts everything fits."""
    told = tmp_path / "figures.json"
    bench = [sys.executable, "-m", "parley_research.benchmarks", "prompts", "--json", str(told)]
    done = subprocess.run(bench, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0 and "MISSED" not in done.stdout, done.stderr
    figures = msgspec.convert(msgspec.json.decode(told.read_bytes())["prompts"], list[prompts.Figure])
    found = {f.protocol: f for f in figures}
    assert list(found) == [*prompts.PROTOCOLS]
    for f in found.values():
        # A claim shows an expert's field alone: only that returns in prompts of work, which show the body behind it.
        assert f.least >= (0.7 if f.protocol == "madp" else 1.0) and f.calls > 3, f
    whole = found["competition"]
    assert whole.calls > 100 and whole.cut == whole.cut_documents == 0
    assert whole.uncached <= prompts.UNCACHED < whole.tokens


def test_a_prompt_is_cached_as_far_as_one_before_it_begins_alike() -> None:
    def kept(text: str, lasting: int) -> prompts.Kept:
        return prompts.Kept("critic", "critic", "critique", text, lasting, False, False)

    seats = {"a": [kept("abcdefghi---", 9), kept("abcdef---", 6), kept("abcdefghi...", 9)], "b": [kept("abc", 3)]}
    f = prompts.figure("critic", seats)
    assert (f.calls, f.tokens, f.uncached) == (4, 4 + 3 + 4 + 1, 4 + 1 + 1 + 1)
    assert f.share == (6 + 6) / (9 + 6) and f.least == 6 / 9 and f.largest == 4
