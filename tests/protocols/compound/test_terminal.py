"""Who sits at a terminal takes or changes the parts that are proposed; nobody else is asked."""

from pathlib import Path

import pytest

from tests.client.terminal import screen_of
from tests.parley.support import Front
from tests.web.page.site import EXAMPLES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
YEAR = "In which year did the Suez Canal open to shipping?"
ASK = (f"{YEAR} Who built it?", "--protocol", "compound", "--evidence", str(EXAMPLES / "factual" / "evidence"))
WANTED = "Enter takes it"


def test_a_person_at_a_terminal_is_asked_until_the_parts_are_good(tmp_path: Path) -> None:
    front = Front(tmp_path, "")
    typed = [(WANTED, "Same?\nSame?\n\n"), ("two of them are the same", f"{YEAR}\nHow long is it?\n\n")]
    told = "\n".join(screen_of(front, "ask", *ASK, columns=140, rows=60, types=typed))
    assert "2 parts begin, as owner has them" in told
    assert "How long is it?" in told and "1869" in told
    front.assert_nothing_left()


@pytest.mark.parametrize("where", ["yes", "pipe"])
def test_nobody_else_is_asked_and_that_is_said(where: str, tmp_path: Path) -> None:
    front = Front(tmp_path, "")
    if where == "yes":
        told = "\n".join(screen_of(front, "ask", *ASK, "--yes", columns=140, rows=60))
    else:
        told = front.run("ask", *ASK)[1]
    assert WANTED not in told
    assert "2 parts begin, as the analyst proposes them; nobody was asked" in told and "1869" in told
    front.assert_nothing_left()
