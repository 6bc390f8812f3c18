"""Looks whether the program of a task's check exists, before anybody pays for work that it could not confirm."""

import shlex
import shutil
from posixpath import normpath

from parley.client.errors import BadInput
from parley.client.text import line
from parley.schemas.folders.archive import FolderError, unpacked

_NAMED = 5
"""Files of the folder that an error names."""


def refuse_missing(command: str, data: bytes) -> None:
    """Refuse a check that the sandbox could not start on this machine.

    Parameters
    ----------
    command
        As `--check` has it.
    data
        The folder's archive.

    Raises
    ------
    BadInput
        The command cannot be read, or its program is neither in the folder nor on PATH.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInput("--check", f"--check {line(command)!r} cannot be read as a command: {error}") from None
    if not words:
        raise BadInput("--check", f"--check {command!r} names no program; --check off runs none")
    program = words[0]
    if "/" not in program or program.startswith("/"):
        if shutil.which(program) is None:
            raise BadInput("--check", f"{_missing(command, program)} on PATH of this machine{_beside(program, data)}")
        return
    files = _files(data)
    if files is not None and normpath(program) not in files:
        folder = normpath(program).rpartition("/")[0]
        there = sorted(path for path in files if path.rpartition("/")[0] == folder)
        more = f" and {len(there) - _NAMED} more" if len(there) > _NAMED else ""
        names = ", ".join(map(line, there[:_NAMED])) + more if there else "no file"
        problem = f"{_missing(command, program)} in the folder; {line(folder) or 'its top'} has {names}"
        raise BadInput(
            "--check", f"{problem}; if the task makes the program, run it by another one, as in --check 'sh test.sh'"
        )


def _missing(command: str, program: str) -> str:
    return f"--check {line(command)!r}: no program {line(program)!r} is found"


def _beside(program: str, data: bytes) -> str:
    """A file of that name at the top of the folder, which is named by a path."""
    return f"; the folder has a file of that name: ./{line(program)}" if program in (_files(data) or ()) else ""


def _files(data: bytes) -> frozenset[str] | None:
    """Paths of the folder; None: the archive cannot be read, which is said elsewhere."""
    try:
        return frozenset(unpacked(data))
    except FolderError:
        return None
