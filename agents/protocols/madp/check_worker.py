"""The turn `check`: a command in the sandbox, in a fresh copy of the task's folder, by a worker that is no expert's. No
model is asked, and nothing of what the command changes is kept. Files that decide what it runs are the original ones
(parley.agents.protocols.madp.stand_ins)."""

import shlex
import time

import msgspec

from parley.agents.artifacts import ArtifactAccess, told_of_folder
from parley.agents.context import Shown
from parley.agents.model.base import Completion
from parley.agents.protocols.madp import check_output, stand_ins
from parley.agents.protocols.madp.made_for_tests import made_for_tests
from parley.agents.protocols.madp.weakened import weakened
from parley.agents.tools import sandbox
from parley.agents.tools.folder import TaskFolder, unpack_archive
from parley.schemas.folders.archive import Files
from parley.schemas.protocols.madp.work import MOST_OUTPUT, MOST_RESTORED, MOST_WEAKENED, CheckBrief, Checked
from parley.schemas.turn import Usage

_BEFORE_THE_END_S = 3.0
"""The run is ended so long before the turn's deadline: its result has to arrive."""


async def run_check(shown: Shown, artifacts: ArtifactAccess) -> Completion:
    """Run it. Raises ModelError: the folder cannot be had."""
    brief: CheckBrief = shown.brief
    with told_of_folder():
        data = await artifacts.get(brief.folder) if brief.folder else b""
        base = await artifacts.get(brief.base) if brief.base and brief.when == "after" else b""
        with TaskFolder(data) as folder:
            touched = _touched(unpack_archive(base), folder.began) if base else ()
            restored = _restored(brief, folder, base)
            checked = await _ran(brief, folder, shown.deadline_ns)
            body = msgspec.structs.replace(checked, restored=restored[:MOST_RESTORED], weakened=touched)
            return Completion(body=body, usage=Usage())


def _touched(base: Files, files: Files) -> tuple[str, ...]:
    """What the work did to tests, and what of its code is made for them."""
    return (*made_for_tests(base, files), *weakened(base, files))[:MOST_WEAKENED]


def _restored(brief: CheckBrief, folder: TaskFolder, base: bytes) -> tuple[str, ...]:
    """Put files that decide what the check runs back as they were before the work; their paths."""
    if brief.when == "before":
        return ()
    try:
        argv = shlex.split(brief.command)
    except ValueError:
        return ()
    files, names = stand_ins.as_checked(argv, unpack_archive(base) if base else {}, folder.began)
    if names:
        folder.put_back(files)
    return names


async def _ran(brief: CheckBrief, folder: TaskFolder, deadline_ns: int) -> Checked:
    try:
        argv = shlex.split(brief.command)
    except ValueError as error:
        return Checked(when=brief.when, command=brief.command, ended=f"the command cannot be read: {error}", ran=False)
    left_s = (deadline_ns - time.time_ns()) / 1e9 - _BEFORE_THE_END_S if deadline_ns else brief.seconds
    limits = sandbox.ProcessLimits(seconds=max(1.0, min(brief.seconds, left_s)))
    ran = await sandbox.run(argv, folder.root, limits=limits)
    parsed = check_output.parse(ran.output)
    return Checked(
        when=brief.when, command=brief.command, exit=None if ran.ended else ran.exit, ended=ran.ended[:1_000],
        passed=parsed.passed, failed=parsed.failed, output=sandbox.cut(ran.output, MOST_OUTPUT),
        tests=parsed.ran, seconds=round(ran.seconds, 3), ran=ran.stopped or not ran.ended,
    )  # fmt: skip
