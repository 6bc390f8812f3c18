"""What the command line calls, one function a command: each takes plain values and returns what is to be printed."""

import contextlib
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bus import accounts
from bus.errors import BadKeyFile, BadTable, BusError, UnknownSession
from client.api import Parley
from client.errors import BadInput, Interrupted, ParleyError, Refusal, Unreachable
from client.records import Record, read_record
from client.seen import Seen
from client.seen import seen as as_seen
from client.show import documents
from coordinator.protocols import STANDING
from parley import ask as asking
from parley.bus import keys
from parley.cli import process
from parley.local_stack import LocalParley
from parley.settings import Settings
from parley.show.view import choose
from parley.stack import panel_file
from parley.stack.agent_identity import check_models, check_tools
from parley.stack.earlier_sessions import earlier_words, open_sessions
from parley.stack.lease import OTHER, OWNER, Lease, Order, Running, default_state, remembered
from parley.stack.rows import panel, rows_of
from schemas.post import SessionRow
from schemas.result import Result
from schemas.session import human_queue, is_human

if TYPE_CHECKING:
    from parley.doctor.checks import Report

replace = msgspec.structs.replace
_EARLIER_S = 3.0
"""So long `up` waits for the list of sessions that go on."""


class NoSession(BadInput):
    """There is no such session."""

    def __init__(self, sid: str, where: str) -> None:
        super().__init__("session", f"there is no session {sid} in {where}")


@asynccontextmanager
async def looking(settings: Settings) -> AsyncIterator[Parley | None]:
    """The named bus, or the state directory's stack as it last ran; None where none ever ran."""
    if settings.nats.url:
        async with asking.front(settings) as parley:
            yield parley
        return
    state = settings.state or default_state()
    order = remembered(state)
    if order is None:
        yield None
        return
    from client.api import connected

    lease_of = Lease(order.stack, state, any_stack=True)
    async with lease_of as lease, connected(lease.url, lease.credentials(OWNER), 30.0) as client:
        yield LocalParley(client, lease)


def place(settings: Settings) -> str:
    """Where sessions are looked for, in a word."""
    return settings.nats.url or str(settings.state or default_state())


def list_sessions(settings: Settings, limit: int, *, standing: bool) -> list[SessionRow]:
    """The newest sessions.

    Parameters
    ----------
    standing
        Also those that moderators keep for themselves (coordinator.protocols.STANDING).
    """

    async def main() -> list[SessionRow]:
        async with looking(settings) as parley:
            if parley is None:
                return []
            if standing:
                return await parley.client.sessions(limit)
            rows = await parley.client.sessions(limit + len(STANDING))
            return [row for row in rows if row.session not in STANDING][:limit]

    return asking.run(main())


def record(settings: Settings, name: str) -> Record:
    """A session's record, from a file or by its id. Raises BadInput if there is neither."""
    path = Path(name)
    if path.is_file():
        return read_record(path)
    if path.suffix or "/" in name:
        raise BadInput("file", f"{name} does not exist")

    async def main() -> Record:
        async with looking(settings) as parley:
            if parley is None:
                raise NoSession(name, place(settings))
            entries = await parley.client.log(name)
            if not entries:
                raise await _absent(parley, settings, name)
            return Record(sid=name, entries=tuple(entries))

    return asking.run(main())


async def _absent(parley: Parley, settings: Settings, sid: str) -> BadInput:
    for row in await parley.client.sessions():
        if row.session == sid and row.status == "erased":
            at = time.strftime("%Y-%m-%d %H:%M", time.localtime((row.erased_ns or 0) / 1e9))
            return BadInput("session", f"session {sid} was erased by {row.erased_by} at {at}")
        if row.session == sid:
            return BadInput("session", f"session {sid} was refused: {row.reason}")
    return NoSession(sid, place(settings))


def seen(settings: Settings, name: str, *, everything: bool) -> Seen:
    """A session as whoever asks may see it: all of it, what clients read, or what the seat of the credentials reads.

    Raises
    ------
    BadInput
        There is no such session; `everything` with credentials that are no owner's.
    """
    from client import visible_posts as fetching

    if Path(name).is_file() or not settings.nats.url or fetching.owns(settings.nats.creds):
        return as_seen(record(settings, name), everything=everything)
    if everything:
        raise BadInput("all", "only an owner's credentials see every channel of a session")
    return asking.run(fetching.posts(settings.nats.url, settings.nats.creds, name))


def cancel(settings: Settings, sid: str, reason: str) -> None:
    """End a session. Raises Refusal where it is not open: one that was refused says why."""

    async def main() -> None:
        async with looking(settings) as parley:
            if parley is None:
                raise NoSession(sid, place(settings))
            await parley.client.cancel(sid, reason)

    asking.run(main())


def watch(settings: Settings, sid: str, *, json: bool, plain: bool, everything: bool = False) -> Result:
    """Follow a session to its end. Raises Interrupted when the user stopped watching; Refusal where it was refused."""

    async def main() -> Result:
        async with looking(settings) as parley:
            if parley is None:
                raise NoSession(sid, place(settings))
            view = choose(json=json, quiet=False, plain=plain)
            view.located(asking.where(settings))
            try:
                return await asking.follow(parley, sid, view, can_leave=True, owns=False, everything=everything)
            except UnknownSession as error:
                if error.why:
                    raise Refusal("session", str(error)) from None
                raise NoSession(sid, place(settings)) from None
            finally:
                view.close()

    try:
        return asking.run(main())
    except asking.Ended as ended:
        hint = f"parley sessions watch {sid}{asking.where(settings)}"
        raise Interrupted(f"interrupted: {ended.why}; {hint}") from None
    except KeyboardInterrupt:
        raise Interrupted("interrupted") from None


def erase(settings: Settings, sid: str, *, force: bool) -> dict[str, Any]:
    """Remove a session's texts; what was done and what remains, as JSON values.

    Raises
    ------
    BadInput
        There is no such session; it is open and `force` is not set; the credentials are no owner's.
    """

    async def main() -> None:
        async with looking(settings) as parley:
            if parley is None:
                raise NoSession(sid, place(settings))
            if not parley.client.owner:
                raise BadInput("creds", "only an owner's credentials may erase a session")
            rows = {r.session: r for r in await parley.client.sessions()}
            row = rows.get(sid)
            if row is None:
                raise NoSession(sid, place(settings))
            if row.status == "open":
                if not force:
                    raise BadInput("session", f"session {sid} is open; cancel it first, or --force does")
                await parley.client.cancel(sid, "to be erased")
            await parley.client.erase(sid)

    asking.run(main())
    return {"session": sid, "erased": True, "remains": list(REMAINS)}


REMAINS = (
    "one row in `parley sessions list`: its id, protocol, times, how it ended, who erased it and when",
    "texts of its documents, and sentences of it, in the memory of running agents, until others displace them or they"
    " restart",
    "what services logged and traced: ids, durations and counts, the reasons of refusals and faults",
    "exports and backups that were made of it, what follow-ups took over as a document, what a model's provider keeps",
)
"""What erasing does not reach (docs/retention.md)."""


def confirm(question: str, *, json: bool) -> None:
    """Ask on the terminal. Raises BadInput where the answer is no, or nobody can be asked."""
    if json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput("--yes", "nobody is there to be asked; confirm with --yes")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BadInput("--yes", "not confirmed; nothing was done")


def dry_run(settings: Settings, question: str, evidence: Path | None, *, json: bool) -> None:
    """Print what a session may come to. Raises BadInput where it could not be opened or does not fit one round."""
    from client import estimate as estimating
    from parley.cli import options

    found = asking.dry_run(settings, question, evidence)
    if json and not found.shortfall:
        options.print_json(estimating.document(found))
    elif not json:
        write_lines(estimating.table(found), None)
    estimating.refuse(found)


def examine(settings: Settings, *, probe: bool) -> "Report":
    """What works and what is missing (parley.doctor.checks)."""
    from parley.doctor import checks as doctor

    return asking.run(doctor.examine(settings, probe=probe))


def up(settings: Settings, *, clients: tuple[str, ...], json: bool) -> int:
    """The stack in the foreground, until SIGTERM or SIGINT; the exit status."""
    asking.check_settings(settings)
    process.one_thread()
    from parley.stack.supervisor import Supervisor

    state = (settings.state or default_state()).absolute()
    stack = replace(asking.stack_of(settings), clients=clients)
    unpriced = panel_file.unpriced_words(stack.agents)
    check_models(stack.agents)
    check_tools(stack.agents, stack.env)
    if unpriced:
        print(unpriced, file=sys.stderr, flush=True)
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        (state / "logs").mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise BadInput("state", f"cannot use {state}: {error.strerror}") from error
    order = Order(stack=stack, state=str(state.resolve()), permanent=True)

    def on_ready(running: Running) -> None:
        print(_addresses(running, state, panel_file.protocol_of(settings), json=json), flush=True)
        if before:
            _tell_earlier(running, asking.where(settings))

    before = remembered(state) is not None
    code = Supervisor(order, on_ready).run()
    if code == OTHER:
        raise BadInput("state", f"a stack runs in {state} already; end it, or name another folder with --state")
    return code


def _tell_earlier(running: Running, options: str) -> None:
    """Sessions of the stack before this one go on: one line on stderr."""
    from client.api import connected

    async def main() -> None:
        with contextlib.suppress(ParleyError, BusError):
            async with connected(running.url, Path(running.credentials[OWNER]), _EARLIER_S) as client:
                text = earlier_words(await open_sessions(client), options)
                if text:
                    print(text, file=sys.stderr, flush=True)

    asking.run(main())


def _addresses(running: Running, state: Path, protocol: str, *, json: bool) -> str:
    if json:
        return msgspec.json.encode(running).decode()
    lines = [f"bus          {running.url}", f"state        {state}"]
    lines += [f"credentials  {user:12} {path}" for user, path in running.credentials.items()]
    lines += [f"service      {name:16} pid {s.pid}  {s.metrics}" for name, s in running.services.items()]
    seats = [user.removesuffix(human_queue("")) for user in running.credentials if is_human(user)]
    lines += [f"sit          parley sit SESSION {seat} --state {state}" for seat in seats]
    bus = f"--nats {running.url} --creds {running.credentials[OWNER]}"
    lines.append(f'ask          parley ask --protocol {protocol} {bus} "..."')
    return "\n".join(lines)


def moderator(settings: Settings, *, token_key: Path, host: str, port: int, log_level: str) -> int:
    """One moderator in this process, until SIGTERM; the exit status."""
    from parley.stack import services

    url, credentials = _bus(settings)
    if credentials.kind != accounts.MODERATOR:
        raise BadInput(
            "creds", f"they are for {credentials.user!r}, of kind {credentials.kind}; wanted are a moderator's"
        )
    try:
        key = accounts.load_token_key(token_key)
    except BadKeyFile as error:
        raise BadInput("token-key", str(error)) from error
    make = services.moderator(
        token_key=key, ack_wait_s=settings.stack.ack_wait_s, log_max_age_s=settings.retention.log_days * 86_400,
        notify_url=settings.notify.webhook,
    )  # fmt: skip
    return _serve(credentials.user, make, url, credentials, host, port, log_level)


def agent(settings: Settings, spec: str, *, host: str, port: int, log_level: str) -> int:
    """One worker in this process, until SIGTERM; the exit status."""
    from agents.models import ModelMisconfigured
    from agents.specs import NotEnrolled, SpecError, load
    from agents.tools.allow import ToolsError
    from parley.stack import services

    try:
        found = load(spec)
        make = services.agent(found, ack_wait_s=settings.stack.ack_wait_s, tools=settings.tools)
    except ToolsError as error:
        raise BadInput("tools", str(error)) from error
    except (SpecError, ModelMisconfigured) as error:
        raise BadInput("spec", str(error)) from error
    url, credentials = _bus(settings)
    if credentials.queue != found.queue:
        raise BadInput("creds", f"they are for queue {credentials.queue!r}, the agent serves {found.queue!r}")
    try:
        found.check_pin(credentials.pin)
    except NotEnrolled as error:
        raise BadInput("spec", str(error)) from error
    return _serve(found.queue, make, url, credentials, host, port, log_level)


def _bus(settings: Settings) -> tuple[str, accounts.Credentials]:
    if not settings.nats.url or settings.nats.creds is None:
        raise BadInput("nats", "a service needs the bus's address and its credentials: --nats URL --creds FILE")
    try:
        return settings.nats.url, accounts.load_credentials(settings.nats.creds)
    except BadKeyFile as error:
        raise BadInput("creds", str(error)) from error


def _serve(
    name: str, make: Any, url: str, credentials: accounts.Credentials, host: str, port: int, log_level: str
) -> int:
    from parley.stack import services

    try:
        return services.run(
            name, make, url=url, credentials=credentials, metrics_host=host, metrics_port=port, log_level=log_level,
            json_logs=not sys.stderr.isatty(),
        )  # fmt: skip
    except BusError as error:
        raise Unreachable(str(error)) from error
    except OSError as error:
        raise BadInput("metrics-port", f"{host}:{port}: {error.strerror}") from error
    except ValueError as error:
        raise BadInput("log-level", str(error)) from error


def bus_config(
    folder: Path,
    *,
    size: int,
    debaters: int,
    team: int,
    audience: int,
    moderators: int,
    clients: tuple[str, ...],
    humans: tuple[str, ...] = (),
    host: str,
    port: int,
    store: str,
    monitor: str,
) -> dict[str, str]:
    """Write a server configuration and everybody's credentials, for the seats of every protocol; what was written,
    name -> path.

    Keys that are there already stay as they are, so that running it again adds users without changing the others, and
    who was enrolled stays enrolled.
    """
    from agents.specs import load

    extra = {"http": monitor} if monitor else {}
    sizes = (("pro", team), ("con", team), ("audience", audience))
    seats = ("judge", *(f"{role}_{i}" for role, most in sizes for i in range(1, most + 1)))
    competition = rows_of("competition", seats=seats)
    rows = (*panel(size), *rows_of("critic"), *rows_of("maci", debaters), *competition, *rows_of("madp"))
    specs = {row.queue: load(row.queue) for row in rows}
    queues = {queue: spec.roles[0] for queue, spec in specs.items()}
    if humans:
        from parley import human_seat as sitting

        queues |= sitting.people(humans, dict(queues))
    names = tuple(f"moderator-{i}" for i in range(1, moderators + 1))
    try:
        known = keys.enrolled(folder)
        pins = {queue: spec.pin for queue, spec in specs.items()} | {queue: c.pin for queue, c in known.items()}
        queues |= {queue: c.role for queue, c in known.items()}
        users = accounts.table(queues, moderators=names, clients=clients, owners=("owner",), pins=pins)
        credentials, _ = keys.ensure(folder, users)
        text = accounts.render(users, accounts.publics(credentials), store_dir=store, host=host, port=port, extra=extra)
        accounts.rewrite_private(folder / "nats-server.conf", text.encode())
    except (BadTable, BadKeyFile) as error:
        raise BadInput("bus", str(error)) from error
    except OSError as error:
        raise BadInput("dir", f"cannot write to {folder}: {error.strerror}") from error
    written = {"server": str(folder / "nats-server.conf"), "token-key": str(folder / keys.TOKEN_KEY)}
    return {**written, **{name: str(keys.file(folder, name)) for name in credentials}}


def explained(settings: Settings, name: str, plot: Path | None) -> Record:
    """The record that is explained; its picture is drawn into `plot`. Raises BadInput, before it looks for the record
    where the file's format is not one of plotting.FORMATS."""
    from client.show import explain, plotting

    if plot is not None:
        plotting.form_of(plot)
    found = record(settings, name)
    if plot is not None:
        explain.draw(found, plot)
    return found


def export(found: Record | Seen, form: str) -> Iterator[str]:
    """A session as lines, as far as it may be seen: `jsonl` (entries verbatim where all of it may be, else posts),
    `json`, `markdown` or `html`; of a task its coordination `trace` as JSON, where all of it may be seen."""
    if form == "jsonl":
        return documents.jsonl(found)
    if form == "json":
        return iter([msgspec.json.format(msgspec.json.encode(documents.document(found)), indent=2).decode()])
    if form == "markdown":
        from client.show import transcript

        return transcript.markdown(found)
    if form == "html":
        from client.show import page

        return page.html(found)
    if form == "trace":
        whole = found if isinstance(found, Record) else found.record
        if whole is None:
            raise BadInput("trace", "a coordination trace is made from the log, which an owner's credentials read")
        return iter([msgspec.json.format(msgspec.json.encode(documents.trace(whole)), indent=2).decode()])
    raise BadInput("format", f"got {form!r}, allowed are jsonl, json, markdown, html, trace")


def write_lines(lines: Iterator[str], output: Path | None) -> None:
    """To a file, or to standard output."""
    if output is None:
        for text in lines:
            print(text)
        return
    try:
        with output.open("w", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in lines)
    except OSError as error:
        raise BadInput("output", f"cannot write {output}: {error.strerror}") from error


def schema(name: str | None) -> Mapping[str, Any]:
    """JSON Schemas of all messages, or of one module's."""
    from schemas.export import modules, name_of, schema_of

    found = {name_of(m): m for m in modules()}
    if name is None:
        return {key: schema_of(module) for key, module in found.items()}
    if name not in found:
        raise BadInput("schema", f"got {name!r}, known are {', '.join(sorted(found))}")
    return schema_of(found[name])
