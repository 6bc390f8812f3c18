"""A check whose program is not there is refused before a task is opened."""

import sys
from pathlib import Path

import pytest

from parley.agents.tools.folder import archive
from parley.client.errors import BadInput
from parley.client.protocols import SETUPS, setup_of
from tests.parley.support import Front

FILES = archive({"test.sh": (b"true\n", True), "tools/run": (b"true\n", True)})


def refuse(command: str) -> None:
    setup_of("madp").check_here(FILES, {"check": command})


@pytest.mark.parametrize("command", ["sh test.sh", f"{sys.executable} -m x", "./test.sh -q", "tools/run", ""])
def test_a_program_in_the_folder_or_on_path_is_taken(command: str) -> None:
    refuse(command)
    setup_of("madp").check_here(FILES, {})
    assert all(setup_of(name).check_here(FILES, {}) is None for name in SETUPS)  # type: ignore[func-returns-value]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("nosuchprogram --x", "--check 'nosuchprogram --x': no program 'nosuchprogram' is found on PATH"),
        ("/no/such/program", "no program '/no/such/program' is found on PATH"),
        ("test.sh", "the folder has a file of that name: ./test.sh"),
        (
            "./tset.sh",
            "no program './tset.sh' is found in the folder; its top has test.sh; if the task makes the program, run",
        ),
        ("tools/ran", "in the folder; tools has tools/run"),
        ("../test.sh", "no program '../test.sh' is found in the folder"),
        ("sh 'test.sh", "cannot be read as a command: No closing quotation"),
        ("  ", "names no program; --check off runs none"),
    ],
)
def test_one_that_is_nowhere_is_refused_with_what_there_is(command: str, told: str) -> None:
    with pytest.raises(BadInput, match="check") as refused:
        refuse(command)
    assert told in str(refused.value)


@pytest.mark.slow
def test_a_task_with_such_a_check_is_not_opened(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("A = 1\n")
    front = Front(tmp_path)
    command = ("ask", "rename A", "--protocol", "madp", "--folder", str(project), "--plain")
    code, out, err = front.run(*command, "--check", "nosuchprogram --x")
    assert (code, out) == (2, "") and "no program 'nosuchprogram' is found on PATH" in err
    front.assert_nothing_left()
