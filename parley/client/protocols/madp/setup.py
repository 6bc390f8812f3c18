"""How a session of the madp protocol is set up."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.client.setup.options import Option
from parley.client.setup.setup import Beneath, Setup

if TYPE_CHECKING:
    from parley.client.setup.expert_choice import Routing
    from parley.schemas.presence import Announcement


CHECK = "check"
"""The queue, and the role, of who runs the check."""
_EXPERTS = Path(str(resources.files("parley.agents"))) / "experts"


def shipped_experts() -> list[str]:
    """Queues of the experts that come with Parley, each file of which has its expert's name: none is read."""
    from parley.schemas.expert import queue_of

    return sorted(queue_of(path.stem) for path in _EXPERTS.glob("*.yaml"))


class MadpSetup(Setup):
    """The shipped experts, a helper, and who runs the check; a blocked task may open a session of another protocol."""

    def queues(self, settings: Mapping[str, Any], size: int | None = None) -> tuple[str, ...]:
        """The experts that come with Parley, the helper, and who runs the check."""
        return (*shipped_experts(), "helper", CHECK)

    def process(self, queue: str) -> str:
        """The experts together; the helper with who runs the check: neither has an interest of its own."""
        from parley.schemas.expert import expert_of

        return "helper" if queue in ("helper", CHECK) else "experts" if expert_of(queue) else ""

    def beneath(self, settings: Mapping[str, Any]) -> Beneath | None:
        """The deliberation to which a blocked question goes."""
        protocol, inner = settings.get("deliberation"), settings.get("deliberation_settings", {})
        if not protocol or not isinstance(inner, Mapping):
            return None
        return Beneath(protocol=str(protocol), settings=inner, inner="deliberation_settings")

    def result_folder(self, outcome: Mapping[str, Any]) -> str:
        """The folder of the work that was handed in, or of the last work if none was. A plan has no folder."""
        work = outcome.get("work") or outcome.get("kept") or {}
        return str(work.get("folder") or "") if work.get("performed", True) else ""

    def why_impossible(self, workers: "Iterable[Announcement]", settings: Mapping[str, Any], *, folder: bool) -> str:
        """Experts act with tools, and those that ship are for a folder."""
        if folder or settings.get("tool_calls") != 0 or not any("expert" in w.roles for w in workers):
            return ""
        return (
            "no folder is named, so nothing can be changed: a task that asks for a change ends as a plan (planned, exit"
            " status 3), one that asks for a text can be done; --folder DIR lets experts work on a copy"
        )

    def of_folder(
        self, data: bytes, workers: "Iterable[Announcement]", settings: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], str]:
        """The check: the one that is given, else the command by which the folder's manifest has it tested."""
        there = tuple(workers)
        check, said = self._check(data, there, settings.get("check"))
        experts = [w for w in there if "expert" in w.roles]
        if experts and not any(w.tools for w in experts):
            without = "one that leaves it as it is ends as a plan (planned, exit status 3)"
            said = f"tools are off: experts change the folder by a diff in their reply alone, and {without}; {said}"
        elif why := next((w.no_run for w in experts if w.tools and w.no_run), None):
            said = f"run is off, so experts run no command: {why}; {said}"
        if lost := next((w.no_tools for w in experts if w.tools and w.no_tools), None):
            said = f"some tools are not there, and experts work without them: {lost}; {said}"
        return check, said

    def check_here(self, data: bytes, settings: Mapping[str, Any]) -> None:
        """The program of the check stands in the folder, or is found on PATH. Raises BadInput."""
        if command := settings.get(CHECK):
            from parley.client.protocols.madp.task_files import refuse_missing

            refuse_missing(str(command), data)

    def _check(
        self, data: bytes, workers: "Sequence[Announcement]", given: str | None
    ) -> tuple[Mapping[str, Any], str]:
        how = "before and after the work, in a sandbox"
        if given:
            return {}, f"the check is `{given}`, {how}"
        if given is not None or not any(CHECK in w.roles for w in workers):
            return {}, "no check is run: nothing but reviews will say whether the work is right"
        from parley.schemas.folders.archive import FolderError, unpack_archive
        from parley.schemas.folders.manifest import test_command

        try:
            command = test_command({path: content for path, (content, _) in unpack_archive(data).items()})
        except FolderError as error:
            return {}, f"no check is run: {error}"
        if command is not None and (why := next((w.no_run for w in workers if w.no_run), None)):
            return {}, f"no check is run ({why}): nothing but reviews will say whether the work is right"
        if command is None:
            return {}, "no check is run: the folder names no command that tests it; --check COMMAND gives one"
        return {
            "check": command.command
        }, f"the check is `{command.command}` ({command.source}), {how}; --check off: none"

    def routing(self) -> "Routing":
        """The machine up to who leads, in this process."""
        from parley.client.protocols.madp.routing_preview import ROUTING

        return ROUTING


def _snippets(paths: list[Path]) -> list[str]:
    from parley.client.protocols.madp import task_files

    return task_files.snippets(paths)


def _conversation(path: Path) -> list[dict[str, str]]:
    from parley.client.protocols.madp import task_files

    return task_files.conversation(path)


SETUP = MadpSetup(
    name="madp",
    about="Experts claim the task and challenge each other. The one who fits best does it, and others review the work.",
    hidden=("folder", "code_snippets", "prior_conversation", "deliberation_settings"),
    opening_only=(
        "expert",
        "depth",
        "folder",
        "project",
        "files_mentioned",
        "code_snippets",
        "prior_conversation",
    ),
    rank=5,
    options=(
        Option(
            "--expert",
            str | None,
            "madp: the expert that leads. It overrides the routing, and counts as an override.",
            metavar="ID",
        ),
        Option(
            "--depth",
            str | None,
            "madp: how deep the coordination goes: instant, quick, standard or extended (default: as the task needs).",
            metavar="DEPTH",
        ),
        Option(
            "--files",
            list[str] | None,
            "madp: a file that the task is about; repeatable.",
            sets="files_mentioned",
            metavar="NAME",
        ),
        Option("--file", list[str] | None, "The same as --files.", sets="files_mentioned", hidden=True),
        Option(
            "--snippet",
            list[Path] | None,
            "madp: code to look at; repeatable.",
            sets="code_snippets",
            metavar="FILE",
            read=_snippets,
            pasted=True,
        ),
        Option(
            "--conversation",
            Path | None,
            "madp: the conversation before the task, as JSON lines with role and text.",
            sets="prior_conversation",
            metavar="FILE",
            read=_conversation,
            pasted=True,
        ),
        Option(
            "--check",
            str | None,
            "madp: a command that checks the work; off: no check (default: the test command in the folder's manifest).",
            metavar="COMMAND",
            read=lambda given: "" if given == "off" else given,
        ),
        Option(
            "--folder",
            Path | None,
            "A folder. Experts of madp change a copy of it; a panel reads it as documents.",
            metavar="DIR",
            gives="folder",
        ),
    ),
    applied=frozenset({"approved", "reviewed", "planned"}),
    without_folder={"tool_calls": 0},
)
