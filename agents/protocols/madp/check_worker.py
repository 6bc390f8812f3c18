"""The turn `check`: a command in the sandbox, in a fresh copy of the task's folder, by a worker that is no expert's. No
model is asked, and nothing of what the command changes is kept."""

import shlex
import time

from agents.artifacts import ArtifactAccess, ArtifactError
from agents.context import Shown
from agents.models.base import Completion, ModelRefused, ModelUnavailable
from agents.protocols.madp import check_output
from agents.tools import sandbox
from agents.tools.folder import FolderError, TaskFolder
from schemas.protocols.madp.work import MOST_OUTPUT, CheckBrief, Checked
from schemas.turn import Usage

_BEFORE_THE_END_S = 3.0
"""The run is ended so long before the turn's deadline: its result has to arrive."""


async def run_check(shown: Shown, artifacts: ArtifactAccess) -> Completion:
    """Run it. Raises ModelError: the folder cannot be had."""
    brief: CheckBrief = shown.brief
    try:
        data = await artifacts.get(brief.folder) if brief.folder else b""
        with TaskFolder(data) as folder:
            return Completion(body=await _ran(brief, folder, shown.deadline_ns), usage=Usage())
    except FolderError as error:
        raise ModelRefused(str(error)) from None
    except ArtifactError as error:
        raise ModelUnavailable(str(error)) from None


async def _ran(brief: CheckBrief, folder: TaskFolder, deadline_ns: int) -> Checked:
    try:
        argv = shlex.split(brief.command)
    except ValueError as error:
        return Checked(when=brief.when, command=brief.command, ended=f"the command cannot be read: {error}", ran=False)
    left_s = (deadline_ns - time.time_ns()) / 1e9 - _BEFORE_THE_END_S if deadline_ns else brief.seconds
    limits = sandbox.Limits(seconds=max(1.0, min(brief.seconds, left_s)))
    ran = await sandbox.run(argv, folder.root, limits=limits)
    parsed = check_output.parse(ran.output)
    return Checked(
        when=brief.when, command=brief.command, exit=None if ran.ended else ran.exit, ended=ran.ended[:1_000],
        passed=parsed.passed, failed=parsed.failed, output=sandbox.cut(ran.output, MOST_OUTPUT),
        seconds=round(ran.seconds, 3), ran=ran.stopped or not ran.ended,
    )  # fmt: skip
