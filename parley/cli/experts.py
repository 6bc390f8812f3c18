"""Commands of experts and strategies: `experts`, `experts memory`, `route`, `strategies`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parley.cli import options
from parley.cli.options import Answer, State, command
from parley.client.show.printing import warn

if TYPE_CHECKING:
    from parley.settings import Settings

app = options.group("Check, enroll and list experts of tasks.")
memory = options.group("Show, change and forget what experts remember of accepted tasks.")
strategies = options.group("Show the strategies that panelists work by.")
app.add_typer(memory, name="memory")

Keys = Annotated[
    Path | None, typer.Option("--dir", help="Folder of parley bus config (default: the embedded stack's own keys).")
]
Specs = Annotated[list[Path], typer.Argument(metavar="SPEC...", help="Specifications of experts (YAML or Markdown).")]
Given = Annotated[list[Path], typer.Argument(metavar="SPEC|DIR...", help="Specifications, or folders of them.")]
Experts = Annotated[
    Path | None, typer.Option("--experts", metavar="DIR", help="Folder of specifications (default: the shipped ones).")
]
NoteId = Annotated[str, typer.Argument(metavar="NOTE", help="The note, as the list names it: SESSION.NUMBER.")]
Folder = Annotated[
    Path | None, typer.Option("--strategies", metavar="DIR", help="Folder of strategies beside those that ship.")
]


@command(app, "enroll", "state config json")
def experts_enroll(
    settings: "Settings",
    specs: Specs,
    folder: Keys = None,
    nats: Annotated[
        str | None, typer.Option("--nats", help="With --dir: the running bus, to read its configuration again.")
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Enroll it even if another specification has its id. That one's worker ends."),
    ] = False,
    state: State = None,
) -> Answer:
    """Add experts to the bus, without starting them.

    Each gets a queue and a key of its own, pinned to its specification. parley agent starts one, beside parley up.

    \b
    Example:
      parley experts enroll gardener.yaml --dir deploy/keys --nats nats://127.0.0.1:4222
    """
    from parley.bus_admin import enrol

    options.apart(dir=folder, state=state)
    done = enrol.enroll(folder or enrol.keys_of(settings), specs, nats, replace=replace)
    return Answer(done, enrol.enroll_words(done))


@command(app, "list")
def experts_list(settings: "Settings", folder: Keys = None) -> Answer:
    """List experts that run, and those that are only enrolled.

    An expert runs if the moderators hear from it.

    \b
    Example:
      parley experts list --json
    """
    from parley.bus_admin import enrol

    rows = enrol.list_experts(settings, folder)
    return Answer({"experts": rows}, enrol.list_words(rows))


@command(app, "check", "json")
def experts_check(paths: Given) -> Answer:
    """Check specifications before anything runs with them.

    Exit status: 2 one cannot be used.

    \b
    Example:
      parley experts check agents/experts my-experts/gardener.yaml
    """
    from parley.bus_admin import enrol

    report = enrol.check(paths)
    return Answer(report, enrol.check_words(report), 0 if report["ok"] else 2)


@command(memory, "list")
def memory_list(
    settings: "Settings",
    folder: Annotated[Path, typer.Option("--folder", metavar="DIR", help="The folder (default: this one).")] = Path(),
    everything: Annotated[bool, typer.Option("--all", help="List the notes of every folder.")] = False,
    task: Annotated[
        str | None, typer.Option("--for", metavar="TASK", help="List only what experts would see with this task.")
    ] = None,
) -> Answer:
    """List the notes of a folder.

    A note that is marked as resting is not used: its file or line is gone, or a newer note is about its subject.

    \b
    Example:
      parley experts memory list --for "add a discount to invoices"
    """
    from parley.learned import remembered

    found = remembered.list_notes(settings, None if everything else folder, task)
    return Answer({"notes": found}, remembered.list_words(found))


@command(memory, "edit")
def memory_edit(
    settings: "Settings",
    note: NoteId,
    text: Annotated[str, typer.Argument(help="The new words, at most 300 characters.")],
) -> Answer:
    """Give a note other words.

    \b
    Example:
      parley experts memory edit 1f2e3d4c5b6a79880716.2 "Amounts are integers of cents, never floats."
    """
    from parley.learned import remembered

    was = remembered.change(settings, note, text)
    return Answer(
        {"note": note, "text": text, "was": was.text}, f"note {note} is changed; later tasks see the new words"
    )


@command(memory, "forget")
def memory_forget(settings: "Settings", note: NoteId) -> Answer:
    """Forget a note: no later task sees it.

    Its words stay in the record of its session until that is erased (parley sessions erase).

    \b
    Example:
      parley experts memory forget 1f2e3d4c5b6a79880716.2
    """
    from parley.learned import remembered

    was = remembered.change(settings, note, None)
    told = f"note {note} is forgotten; its words stay in session {was.session} until that is erased"
    return Answer({"note": note, "was": was.text}, told)


def route(
    task: Annotated[str, typer.Argument(help="The task; - reads it from standard input.")],
    files: Annotated[
        list[str] | None, typer.Option("--files", metavar="NAME", help="A file that the task is about; repeatable.")
    ] = None,
    experts: Experts = None,
    keyword: Annotated[
        bool,
        typer.Option("--keyword", help="Route by trigger words and without claims, as degraded coordination does."),
    ] = False,
) -> Answer:
    """Show which experts would take a task, and how much they would coordinate.

    Nobody works on the task, and no bus is needed.

    \b
    Examples:
      parley route "add JWT authentication" --json
      parley route "the page jumps" --files app/main.css --files app/index.html
    """
    from parley import process

    process.one_thread()
    from parley.routing import route, route_lines

    routed = route(options.read_question() if task == "-" else task, files or (), experts, keyword=keyword)
    for note in routed.cleaned:
        warn(f"parley: task: {note}")
    return Answer(routed, route_lines(routed))


@command(strategies, "list", "json")
def strategies_list(folder: Folder = None) -> Answer:
    """List the strategies by which a panelist may work, with the styles that deal them.

    \b
    Example:
      parley strategies list
    """
    from parley.client.setup import strategies as known

    rows = known.table(folder)
    listed = [{**known.fields(strategy), "source": of} for strategy, of in rows.values()]
    return Answer({"strategies": listed}, known.list_words(rows))


@command(strategies, "show", "json")
def strategies_show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A strategy, such as base-rates.")],
    folder: Folder = None,
) -> Answer:
    """Show what a strategy tells a panelist.

    \b
    Example:
      parley strategies show base-rates
    """
    from parley.client.setup import strategies as known

    strategy, source = known.strategy_named(name, folder)
    return Answer({**known.fields(strategy), "source": source}, known.show_words(strategy))
