"""Commands of what is learned from past sessions: `reliability`, `thresholds`, `preferences`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parley.cli import options
from parley.cli.options import BUS, Answer, command

if TYPE_CHECKING:
    from parley.settings import Settings

reliability = options.group("Show how reliable members were in past sessions.")
thresholds = options.group("Learn a panel's threshold, round limit and quorum from feedback.")
preferences = options.group("Show and forget what your choices in past tasks teach later ones.")

LEARNED = f"file {BUS}"
Kind = Annotated[
    str | None, typer.Option(metavar="WORD", help="Kind of question (default: all questions for `show`; none named).")
]
Folder = Annotated[Path | None, typer.Option("--folder", metavar="DIR", help="Only tasks of this folder.")]


@command(reliability, "list", LEARNED)
def reliability_list(
    settings: "Settings",
    kind: Annotated[
        str | None, typer.Option(metavar="WORD", help="Show only records of this kind of question.")
    ] = None,
) -> Answer:
    """Show the record of each model and seat.

    An older answer counts less. The interval is the 95 % credible interval of the reliability.

    \b
    Examples:
      parley reliability list
      parley reliability list --kind law --json
    """
    import msgspec

    from parley.learned import learning

    records = learning.list_records(settings, kind or "")
    known = learning.kinds(settings) if kind else ()
    words = learning.table_words(records, settings.learned.used, kind or "", known)
    return Answer({**msgspec.to_builtins(records), "used": settings.learned.used}, words)


@command(reliability, "learn", LEARNED)
def reliability_learn(settings: "Settings") -> Answer:
    """Update the records from the feedback on stored sessions.

    Sessions that open afterwards use them. An open session keeps the records that it was opened with.

    \b
    Examples:
      parley reliability learn
    """
    from parley.learned import learning

    report = learning.learn(settings)
    return Answer(report, learning.learned_words(report))


@command(thresholds, "show", LEARNED)
def thresholds_show(settings: "Settings", kind: Kind = None) -> Answer:
    """Show which settings the feedback speaks for, and how they did where they were not chosen.

    Other settings are tried on what past sessions recorded, without a call. Half of the sessions choose, the other half
    compares with the defaults. `parley reliability learn` reads new feedback first.

    \b
    Example:
      parley thresholds show --kind law
    """
    from parley.learned import thresholds as learned
    from parley.planned.access import bus_options

    found, applied = learned.thresholds_of(settings, kind or "")
    told = learned.threshold_lines(found, applied, bus_options(settings))
    return Answer({"found": found, "holds": found.holds, "applied": applied}, told)


@command(thresholds, "apply", LEARNED)
def thresholds_apply(
    settings: "Settings",
    kind: Kind = None,
    defaults: Annotated[bool, typer.Option("--defaults", help="Go back to the defaults.")] = False,
) -> Answer:
    """Let new sessions of a kind of question open with what `show` found.

    Settings that are named for a session, or in the settings file, go before them. An open session keeps its own.

    \b
    Examples:
      parley thresholds apply --kind law
      parley thresholds apply --kind law --defaults
    """
    from parley.learned import thresholds as learned

    applied = None
    if defaults:
        learned.undo(settings, kind or "")
    else:
        applied = learned.apply(settings, kind or "")
    return Answer({"applied": applied}, learned.applied_words(applied, kind or ""))


@command(preferences, "list", LEARNED)
def preferences_list(settings: "Settings", folder: Folder = None) -> Answer:
    """Show what past tasks teach: who was chosen, which depth, and what became of the result.

    \b
    Example:
      parley preferences list --folder . --json
    """
    from parley.learned import preferences as learned

    found, used = learned.load_lessons(settings, folder), settings.learned.used
    return Answer({"lessons": [learned.row(one) for one in found], "used": used}, learned.preference_lines(found, used))


@command(preferences, "forget", LEARNED)
def preferences_forget(
    settings: "Settings",
    sessions: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Sessions, as the list has them.")
    ] = None,
    folder: Folder = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything that was learned of tasks.")] = False,
) -> Answer:
    """Forget what sessions taught. Later tasks are routed as if these had not been. The sessions stay.

    \b
    Examples:
      parley preferences forget 3f9c2a
      parley preferences forget --folder .
    """
    from parley.client.text import count
    from parley.learned import preferences as learned

    gone = learned.forget(settings, sessions or (), folder, everything=everything)
    return Answer({"forgotten": gone}, f"forgotten: what {count(len(gone), 'task')} taught")


@command(preferences, "export", LEARNED.replace("json ", ""))
def preferences_export(settings: "Settings", folder: Folder = None) -> None:
    """Print all that is kept of past tasks as JSON, one on each line.

    \b
    Example:
      parley preferences export --folder . > preferences.jsonl
    """
    from parley.learned import preferences as learned

    for one in learned.load_lessons(settings, folder, everything=True):
        options.print_json(learned.row(one))
