"""The command line's `sessions` group: each command parses, calls one function, prints."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from parley.cli import completing, options
from parley.cli.options import (
    CommandGroup,
    Config,
    Creds,
    Everything,
    Json,
    Nats,
    Plain,
    Sid,
    State,
    Subject,
    Verbose,
)
from parley.cli.output import confirm, write_document
from parley.client.show.printing import say, say_all, terminal_width, warn

app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, rich_markup_mode=None, help="List, show, follow, export and end sessions."
)


@app.command("list")
def sessions_list(
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
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """List the sessions that changed last, each with its answer. An owner sees all, a client its own.

    \b
    Examples:
      parley sessions list --limit 10
      parley sessions list --ended agreed --sure 0.8 --since 2027-01-31
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import sessions
        from parley.client.listing import ListFilter
        from parley.client.show.session_list import NOT_WHOLE, open_words, sessions_table
        from parley.planned.access import bus_options

        since_ns = int(since.timestamp() * 1e9) if since is not None else 0
        wanted = ListFilter(ended=ended, protocol=protocol, sure=sure, usd=cost, since_ns=since_ns, standing=standing)
        listed = sessions.find(settings, wanted, limit, 10**9)
        if json:
            options.print_json({"sessions": listed.sessions, "whole": listed.whole})
        else:
            say_all(sessions_table(listed.sessions, terminal_width()))
            if still := open_words(listed.sessions, bus_options(settings)):
                warn(f"parley: {still}")
            if not listed.whole:
                warn(f"parley: {NOT_WHOLE}; parley sessions rebuild-index{bus_options(settings)}")


@app.command("rebuild-index")
def sessions_rebuild_index(
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Enter every session that the log holds in the lists, such as after a restore.

    It reads the log and needs an owner's credentials. You can interrupt and repeat it at any time. Sessions go on
    meanwhile.

    \b
    Examples:
      parley sessions rebuild-index
      parley sessions rebuild-index --nats nats://bus:4222 --creds owner.json --json
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import sessions
        from parley.client.show.session_list import rebuilding, rebuilt_lines

        if json:
            options.print_json(sessions.rebuild_index(settings, lambda piece, count: None))
        else:
            rebuilt = sessions.rebuild_index(settings, lambda piece, count: warn(rebuilding(piece, count)))
            say_all(rebuilt_lines(rebuilt))


@app.command("search")
def sessions_search(
    wanted: Annotated[
        list[str],
        typer.Argument(metavar="WORDS", help="Words that must all stand in the question, the answer or the posts."),
    ],
    limit: Annotated[int, typer.Option(help="Largest number of sessions.", min=1, max=1_000)] = 20,
    among: Annotated[int, typer.Option(help="Search only so many of the newest sessions.", min=1, max=10_000)] = 200,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Find sessions by the words in their texts, newest first.

    Every word must be in the question, the answer or what was said. Upper and lower case are the same.

    \b
    Example:
      parley sessions search canary payment
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import sessions
        from parley.client.errors import BadInput
        from parley.client.listing import ListFilter
        from parley.client.show.session_list import found_words, sessions_table

        words = " ".join(wanted).strip()
        if not words:
            raise BadInput("words", "no words are given")
        found = sessions.find(settings, ListFilter(words=words), limit, among)
        more = found.before is not None
        if json:
            options.print_json({"searched": found.searched, "more": more, "sessions": found.sessions})
        else:
            if found.sessions:
                say_all(sessions_table(found.sessions, terminal_width()))
            say(found_words(len(found.sessions), found.searched, more=more))


@app.command("show")
def sessions_show(
    session: Subject,
    everything: Everything = False,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Show everything that was said in a session.

    \b
    Example:
      parley sessions show 1f2e3d4c5b6a79880716
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import sessions
        from parley.client.rendering import documents, terminal

        record = sessions.view(settings, session, everything=everything)
        if json:
            options.print_json(documents.document(record))
        else:
            say_all(terminal.show(record), terminal_width())


@app.command("watch")
def sessions_watch(
    session: Sid,
    everything: Everything = False,
    json: Json = False,
    plain: Plain = False,
    verbose: Verbose = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Follow a session to its end; with --json, print its result.

    \b
    Example:
      parley sessions watch 1f2e3d4c5b6a79880716 --nats nats://bus:4222 --creds owner.json
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import sessions
        from parley.follow import exit_code

        result = sessions.watch(
            settings, session, json=json, plain=plain, verbose=verbose or everything, everything=everything
        )
        if json:
            options.print_json(result)
    raise typer.Exit(exit_code(result))


@app.command("cancel")
def sessions_cancel(
    wanted: Annotated[
        list[str], typer.Argument(metavar="ID", help="The sessions' ids.", autocompletion=completing.sessions)
    ],
    reason: Annotated[str, typer.Option(help="The reason, which the record keeps.")] = "",
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """End sessions before their protocols do.

    Exit status: 0 all of them are cancelled, 2 one was not open, or there is no such session.

    \b
    Examples:
      parley sessions cancel 1f2e3d4c5b6a79880716 --reason "asked the wrong thing"
      parley sessions cancel 1f2e3d4c5b6a79880716 0a1b2c3d4e5f60718293
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import sessions
        from parley.client.errors import Refusal
        from parley.planned.access import bus_options

        done = sessions.cancel(settings, wanted, reason, lambda text: warn(f"parley: {text}"))
        if len(wanted) == 1 and not done[0].cancelled:
            raise Refusal("session", done[0].why)
        if json:
            options.print_json(done[0] if len(wanted) == 1 else {"sessions": done})
        else:
            where = bus_options(settings)
            for one in done:
                if one.cancelled:
                    shown = f"parley sessions show {one.session}{where}"
                    say(f"session {one.session} is cancelled; to read what was said: {shown}")
                else:
                    warn(f"parley: {one.why}")
    raise typer.Exit(0 if all(one.cancelled for one in done) else 2)


@app.command("answer-now")
def sessions_answer_now(
    session: Sid,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """End a session with what it has come to by now. Nobody is asked any more.

    Exit status: that of the session: 0 if the seats that answered have signed one answer, else 3; 2 it is not open.

    \b
    Example:
      parley sessions answer-now 1f2e3d4c5b6a79880716
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import sessions
        from parley.follow import exit_code
        from parley.planned.access import bus_options

        result = sessions.answer_now(settings, session, lambda text: warn(f"parley: {text}"))
        if json:
            options.print_json(result)
        else:
            say(f"session {session} has ended; its answer: parley sessions show {session}{bus_options(settings)}")
    raise typer.Exit(exit_code(result))


@app.command("seat")
def sessions_seat(
    session: Sid,
    act: Annotated[Literal["add", "remove"], typer.Argument(metavar="add|remove")],
    seat: Annotated[str, typer.Argument(metavar="SEAT", help="Name of the member: the queue that it serves.")],
    why: Annotated[str, typer.Option(help="Why; everybody who reads the session sees it.")] = "",
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Let a member join a panel's debate, or a seat leave it, from its next round on.

    Whoever joins answers blind first. What a seat said stays when it leaves: it still counts among those that must
    sign, and is printed where it differs.

    Exit status: 0 it was taken; 2 nobody serves that seat, it sits there already, or the last round runs.

    \b
    Examples:
      parley sessions seat 1f2e3d4c5b6a79880716 add dora --why "nobody knows databases"
      parley sessions seat 1f2e3d4c5b6a79880716 remove panelist_2
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import inbox as items

        items.decide(settings, session, "seat", f"{act} {seat}", why)
        if json:
            options.print_json({"session": session, "seat": seat, "act": act})
        else:
            does = "joins" if act == "add" else "leaves"
            say(f"session {session}: {seat} {does} from the next round on")


_FORMS = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json"}
"""Suffix of a file -> what is written into it, if no form is named."""


@app.command("export")
def sessions_export(
    session: Subject,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="jsonl (log entries verbatim), json, markdown, html or trace (default: by the suffix, else jsonl).",
        ),
    ] = None,
    html: Annotated[bool, typer.Option("--html", help="One page for a browser; the same as --format html.")] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="A task's coordination trace as JSON; the same as --format trace.")
    ] = False,
    everything: Everything = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File (default: standard output).")] = None,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Write a session's log, to keep, replay or read it.

    For a competition it holds what the audience hears; with --all it holds everything.

    \b
    Examples:
      parley sessions export 1f2e3d4c5b6a79880716 -o session.jsonl
      parley sessions export session.jsonl --format markdown
      parley sessions export session.jsonl --html -o session.html
      parley sessions export 1f2e3d4c5b6a79880716 --all -o whole.jsonl
      parley sessions export 1f2e3d4c5b6a79880716 --trace
    """
    with options.errors():
        options.apart(html=html, trace=trace, format=form if form not in ("html", "trace") else None)
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import sessions

        by_suffix = _FORMS.get(output.suffix.lower(), "jsonl") if output is not None else "jsonl"
        wanted = "html" if html else "trace" if trace else form or by_suffix
        record = sessions.view(settings, session, everything=everything)
        write_document(sessions.export(record, wanted), output)


@app.command("apply")
def sessions_apply(
    session: Sid,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="The folder of the task, which worked on a copy of it.")
    ] = Path(),
    unapproved: Annotated[
        bool,
        typer.Option("--unapproved", help="Apply the change even if nobody approved it or its check failed."),
    ] = False,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Apply the change of a finished task.

    The change is written into the task's folder, if the folder has not changed since the task began. Exit status: 0 the
    change is applied, 1 it is not applied, 2 the input is bad.

    \b
    Examples:
      parley sessions apply 1f2e3d4c5b6a79880716 --folder .
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley.applying import Into, apply_session

        into = Into(apply=True, unapproved=unapproved)
        code, report = apply_session(settings, session, folder, into, json=json)
        if json:
            options.print_json({"session": session, **report})
    raise typer.Exit(code)


@app.command("results")
def sessions_results(
    session: Sid,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where to write them, a folder for each turn.")
    ],
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Write the full results of a task's tools to files.

    \b
    Example:
      parley sessions results 1f2e3d4c5b6a79880716 --output results
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import tool_results

        written = tool_results.write(settings, session, output)
        if json:
            options.print_json(written)
        else:
            say_all(written.files or ("Nothing to write: the record holds every result of a tool as a whole.",))


@app.command("erase")
def sessions_erase(
    session: Annotated[
        str | None, typer.Argument(metavar="ID", help="The session's id.", autocompletion=completing.sessions)
    ] = None,
    again: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Erase what this list has as erased: what parley sessions list --json printed before a restore.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Cancel the session first if it is open.")] = False,
    json: Json = False,
    nats: Nats = None,
    creds: Creds = None,
    state: State = None,
    config: Config = None,
) -> None:
    """Remove a session's texts, and print what remains.

    This cannot be undone. A restore brings back what was erased after the backup; --from erases it again.

    \b
    Examples:
      parley sessions erase 1f2e3d4c5b6a79880716 --yes
      parley sessions erase --from sessions.json --yes
    """
    with options.errors(json):
        settings = options.settings(config, state=state, nats__url=nats, nats__creds=creds)
        from parley import sessions
        from parley.client.errors import BadInput

        if (session is None) == (again is None):
            raise BadInput("session", "name one session, or a list with --from FILE")
        if again is not None:
            if not yes:
                confirm(f"Remove everything that was said in the erased sessions of {again}, for good?", json=json)
            done = sessions.erase_again(settings, again)
            if json:
                options.print_json(done)
            else:
                say(f"{len(done['erased'])} of {done['listed']} erased sessions were there again; they are erased")
            return
        assert session is not None
        if not yes:
            confirm(f"Remove everything that was said in session {session}, for good?", json=json)
        erased = sessions.erase(settings, session, force=force)
        if json:
            options.print_json(erased)
        else:
            say(f"session {session} is erased; what remains:")
            say_all(f"  {text}" for text in erased["remains"])
