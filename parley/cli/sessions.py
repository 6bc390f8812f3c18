"""The command line's `sessions` group."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from parley.cli import options
from parley.cli.options import Answer, Everything, Json, Plain, Sid, Subject, Verbose, Yes, command
from parley.client.show.printing import terminal_width, warn

if TYPE_CHECKING:
    from parley.settings import Settings

app = options.group("List, show, follow, export and end sessions.")


@command(app, "list")
def sessions_list(
    settings: "Settings",
    limit: Annotated[int, typer.Option(help="Largest number of sessions.", min=1, max=100_000)] = 50,
    ended: Annotated[
        str, typer.Option(help="Only those that are open, agreed, done, unsettled, failed or cancelled.", metavar="HOW")
    ] = "",
    protocol: Annotated[str, typer.Option(help="Only those of this protocol.")] = "",
    sure: Annotated[float, typer.Option(help="Only those with this confidence or more.", min=0, max=1)] = 0.0,
    cost: Annotated[float | None, typer.Option(help="Only those that cost at most so many US dollars.", min=0)] = None,
    since: Annotated[
        datetime | None, typer.Option(help="Only those opened then or later.", formats=["%Y-%m-%d"])
    ] = None,
    standing: Annotated[
        bool, typer.Option("--all", help="Also list sessions that moderators opened for themselves. They stay open.")
    ] = False,
    json: Json = False,
) -> Answer:
    """List the sessions that changed last, each with its answer. An owner sees all, a client its own.

    \b
    Examples:
      parley sessions list --limit 10
      parley sessions list --ended agreed --sure 0.8 --since 2027-01-31
    """
    from parley import sessions
    from parley.client.listing import ListFilter
    from parley.client.show.session_list import NOT_WHOLE, open_words, sessions_table
    from parley.planned.access import bus_options

    since_ns = int(since.timestamp() * 1e9) if since is not None else 0
    wanted = ListFilter(ended=ended, protocol=protocol, sure=sure, usd=cost, since_ns=since_ns, standing=standing)
    listed = sessions.find(settings, wanted, limit, 10**9)
    if not json and (still := open_words(listed.sessions, bus_options(settings))):
        warn(f"parley: {still}")
    if not json and not listed.whole:
        warn(f"parley: {NOT_WHOLE}; parley sessions rebuild-index{bus_options(settings)}")
    table = sessions_table(listed.sessions, terminal_width())
    return Answer({"sessions": listed.sessions, "whole": listed.whole}, table)


@command(app, "rebuild-index")
def sessions_rebuild_index(settings: "Settings", json: Json = False) -> Answer:
    """Enter every session that the log holds in the lists, such as after a restore.

    It reads the log and needs an owner's credentials. You can interrupt and repeat it at any time. Sessions go on
    meanwhile.

    \b
    Example:
      parley sessions rebuild-index --nats nats://bus:4222 --creds owner.json
    """
    from parley import sessions
    from parley.client.show.session_list import rebuilding, rebuilt_lines

    rebuilt = sessions.rebuild_index(settings, lambda piece, count: None if json else warn(rebuilding(piece, count)))
    return Answer(rebuilt, rebuilt_lines(rebuilt))


@command(app, "search")
def sessions_search(
    settings: "Settings",
    wanted: Annotated[
        list[str],
        typer.Argument(metavar="WORDS", help="Words that must all stand in the question, the answer or the posts."),
    ],
    limit: Annotated[int, typer.Option(help="Largest number of sessions.", min=1, max=1_000)] = 20,
    among: Annotated[int, typer.Option(help="Search only so many of the newest sessions.", min=1, max=10_000)] = 200,
) -> Answer:
    """Find sessions by the words in their texts, newest first.

    Every word must be in the question, the answer or what was said. Upper and lower case are the same.

    \b
    Example:
      parley sessions search canary payment
    """
    from parley import sessions
    from parley.client.errors import BadInput
    from parley.client.listing import ListFilter
    from parley.client.show.session_list import found_words, sessions_table

    words = " ".join(wanted).strip()
    if not words:
        raise BadInput("words", "no words are given")
    found = sessions.find(settings, ListFilter(words=words), limit, among)
    more = found.before is not None
    table = sessions_table(found.sessions, terminal_width()) if found.sessions else ()
    told = found_words(len(found.sessions), found.searched, more=more)
    return Answer({"searched": found.searched, "more": more, "sessions": found.sessions}, [*table, told])


@command(app, "show")
def sessions_show(settings: "Settings", session: Subject, everything: Everything = False) -> Answer:
    """Show everything that was said in a session.

    \b
    Example:
      parley sessions show 1f2e3d4c5b6a79880716
    """
    from parley import sessions
    from parley.client.rendering import documents, terminal
    from parley.planned.access import bus_options

    record = sessions.view(settings, session, everything=everything)
    record.led = Path(session).is_file()  # another command would not find it by its id
    told = terminal.show(record, bus_options(settings))
    return Answer(lambda: documents.document(record), told, width=terminal_width())


@command(app, "watch")
def sessions_watch(
    settings: "Settings",
    session: Sid,
    everything: Everything = False,
    json: Json = False,
    plain: Plain = False,
    verbose: Verbose = False,
) -> Answer:
    """Follow a session to its end; with --json, print its result.

    \b
    Example:
      parley sessions watch 1f2e3d4c5b6a79880716 --nats nats://bus:4222 --creds owner.json
    """
    from parley import sessions
    from parley.follow import exit_code

    result = sessions.watch(
        settings, session, json=json, plain=plain, verbose=verbose or everything, everything=everything
    )
    return Answer(result, code=exit_code(result))


@command(app, "cancel")
def sessions_cancel(
    settings: "Settings",
    wanted: Annotated[list[str], typer.Argument(metavar="ID", help="The sessions' ids.")],
    reason: Annotated[str, typer.Option(help="The reason, which the record keeps.")] = "",
) -> Answer:
    """End sessions before their protocols do.

    Exit status: 0 all of them are cancelled, 2 one was not open, or there is no such session.

    \b
    Example:
      parley sessions cancel 1f2e3d4c5b6a79880716 --reason "asked the wrong thing"
    """
    from parley import sessions
    from parley.client.errors import Refusal
    from parley.planned.access import bus_options

    done = sessions.cancel(settings, wanted, reason, lambda text: warn(f"parley: {text}"))
    if len(wanted) == 1 and not done[0].cancelled:
        raise Refusal("session", done[0].why)
    for why in (one.why for one in done if not one.cancelled):
        warn(f"parley: {why}")
    where = bus_options(settings)
    lines = [
        f"session {one.session} is cancelled; to read what was said: parley sessions show {one.session}{where}"
        for one in done
        if one.cancelled
    ]
    whole = all(one.cancelled for one in done)
    return Answer(done[0] if len(wanted) == 1 else {"sessions": done}, lines, 0 if whole else 2)


@command(app, "answer-now")
def sessions_answer_now(settings: "Settings", session: Sid) -> Answer:
    """End a session with what it has come to by now. Nobody is asked any more.

    Exit status: that of the session: 0 if the seats that answered have signed one answer, else 3; 2 it is not open.

    \b
    Example:
      parley sessions answer-now 1f2e3d4c5b6a79880716
    """
    from parley import sessions
    from parley.follow import exit_code
    from parley.planned.access import bus_options

    result = sessions.answer_now(settings, session, lambda text: warn(f"parley: {text}"))
    told = f"session {session} has ended; its answer: parley sessions show {session}{bus_options(settings)}"
    return Answer(result, told, exit_code(result))


@command(app, "seat")
def sessions_seat(
    settings: "Settings",
    session: Sid,
    act: Annotated[Literal["add", "remove"], typer.Argument(metavar="add|remove")],
    seat: Annotated[str, typer.Argument(metavar="SEAT", help="Name of the member: the queue that it serves.")],
    why: Annotated[str, typer.Option(help="Why; everybody who reads the session sees it.")] = "",
) -> Answer:
    """Let a member join a panel's debate, or a seat leave it, from its next round on.

    Whoever joins answers blind first. What a seat said stays when it leaves: it still counts among those that must
    sign, and is printed where it differs.

    Exit status: 0 it was taken; 2 nobody serves that seat, it sits there already, or the last round runs.

    \b
    Examples:
      parley sessions seat 1f2e3d4c5b6a79880716 add dora --why "nobody knows databases"
      parley sessions seat 1f2e3d4c5b6a79880716 remove panelist_2
    """
    from parley import inbox

    inbox.decide(settings, session, "seat", f"{act} {seat}", why)
    does = "joins" if act == "add" else "leaves"
    told = f"session {session}: {seat} {does} from the next round on"
    return Answer({"session": session, "seat": seat, "act": act}, told)


_FORMS = {"": "jsonl", ".jsonl": "jsonl", ".json": "json", ".md": "markdown", ".html": "html", ".htm": "html"}
"""Suffix of a file -> what is written into it, if no form is named."""


@command(app, "export", "nats creds state config")
def sessions_export(
    settings: "Settings",
    session: Subject,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="jsonl (log entries verbatim), json, markdown, html (one page), or trace (a task's coordination as "
            "JSON) (default: by the suffix, else jsonl).",
        ),
    ] = None,
    everything: Everything = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File (default: standard output).")] = None,
) -> None:
    """Write a session's log, to keep, replay or read it.

    For a competition it holds what the audience hears; with --all it holds everything.

    \b
    Examples:
      parley sessions export 1f2e3d4c5b6a79880716 -o session.jsonl
      parley sessions export session.jsonl -o session.html
      parley sessions export 1f2e3d4c5b6a79880716 --format trace
    """
    from parley import sessions
    from parley.client.errors import BadInput

    suffix = output.suffix.lower() if output is not None else ""
    if form is None and suffix not in _FORMS:
        known = ", ".join(filter(None, _FORMS))
        raise BadInput("--output", f"got {suffix}, known are {known}; --format writes into any other")
    record = sessions.view(settings, session, everything=everything)
    options.write_document(sessions.export(record, form or _FORMS[suffix]), output)


@command(app, "apply")
def sessions_apply(
    settings: "Settings",
    session: Sid,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="The folder of the task, which worked on a copy of it.")
    ] = Path(),
    unapproved: Annotated[
        bool,
        typer.Option("--unapproved", help="Apply the change even if nobody approved it or its check failed."),
    ] = False,
    json: Json = False,
) -> Answer:
    """Apply the change of a finished task.

    The change is written into the task's folder, if the folder has not changed since the task began. Exit status: 0 the
    change is applied, 1 it is not applied, 2 the input is bad.

    \b
    Examples:
      parley sessions apply 1f2e3d4c5b6a79880716 --folder .
    """
    from parley.applying import Into, apply_session

    into = Into(apply=True, unapproved=unapproved)
    code, report = apply_session(settings, session, folder, into, json=json)
    return Answer({"session": session, **report}, code=code)


@command(app, "erase")
def sessions_erase(
    settings: "Settings",
    session: Sid,
    yes: Yes = False,
    force: Annotated[bool, typer.Option("--force", help="Cancel the session first if it is open.")] = False,
    json: Json = False,
) -> Answer:
    """Remove a session's texts, and print what remains.

    This cannot be undone. A restore erases again what was erased after the backup (parley bus restore).

    \b
    Example:
      parley sessions erase 1f2e3d4c5b6a79880716 --yes
    """
    from parley import sessions

    if not yes:
        options.confirm(f"Remove everything that was said in session {session}, for good?", json=json)
    erased = sessions.erase(settings, session, force=force)
    remains = (f"  {text}" for text in erased["remains"])
    return Answer(erased, [f"session {session} is erased; what remains:", *remains])
