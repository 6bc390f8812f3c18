"""`parley experts`: who is an expert on a bus, and with which specification.

Enrolling makes a row, a queue and a key for an expert, pinned to the hash of its specification, and has the bus let it
in. It changes nobody else's: a specification that is enrolled already keeps its key, one that changed gets a new one,
and whoever still serves the older is out.
"""

import asyncio
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from parley.agents import experts
from parley.agents.experts import ExpertError
from parley.bus import accounts
from parley.bus.accounts import Credentials, User
from parley.bus.errors import BadKeyFile, BadTable
from parley.bus_admin import expert_files, users
from parley.client.errors import BadInput
from parley.client.text import line
from parley.schemas.expert import ROLE, ExpertSpec, expert_of, pin, queue_of
from parley.schemas.presence import Announcement, ExpertHere, Workers
from parley.stack import keys
from parley.stack.lease import OWNER, default_state, read_running

if TYPE_CHECKING:
    from parley.settings import Settings

_ASK_S = 3.0


# ---------------------------------------------------------------- enrol


def keys_of(settings: "Settings") -> Path:
    """The keys of the embedded stack."""
    return (settings.state or default_state()) / "keys"


def enroll(folder: Path, paths: Sequence[Path], url: str | None = None, *, replace: bool = False) -> dict[str, Any]:
    """Enrol the experts of these files with the bus whose keys lie in a folder; what was done, as JSON values.

    Parameters
    ----------
    folder
        As `parley bus config` wrote it, or an embedded stack's `keys`.
    url
        Of a running server that reads a configuration of `parley bus config`; None: it is told by somebody else.
    replace
        Also experts that are enrolled, or shipped, with another specification: whoever serves that is out.

    Raises
    ------
    BadInput
        A specification that cannot be used, two of one id, one that needs `replace`, a folder that is neither, or whose
        keys are not all there. Nothing was changed.
    Unreachable, StackFailed
        As parley.bus_admin.users.change.
    """
    specs = _specs(paths)
    rows = {u.name: u for u in _users(specs)}
    try:
        there = keys.everybody(folder)
        ends = _ends(specs, there)
        if ends and not replace:
            raise BadInput("spec", f"{'; '.join(ends.values())}. --replace enrols the new one in its place")
        what = {name: _what(there.get(name), user) for name, user in rows.items()}
        minted = accounts.mint(rows.values())
        chosen = {name: there[name] if what[name] == "kept" else minted[name] for name in rows}
    except (BadKeyFile, BadTable) as error:
        raise BadInput("dir", str(error)) from error
    except OSError as error:
        raise BadInput("dir", f"{error.filename or folder}: {error.strerror}") from error
    done = users.change(folder, url, chosen)
    enrolled = [
        expert_files.row(spec)
        | {"queue": name, "credentials": str(keys.file(folder, name)), "key": what[name]}
        | {"replaces": ends.get(spec.id, "")}
        for spec in specs
        for name in (queue_of(spec.id),)
    ]
    return {"enrolled": enrolled, **done}


def enroll_words(done: dict[str, Any]) -> Iterator[str]:
    """What was done, and what is to be done."""
    for row in done["enrolled"]:
        if row["replaces"]:
            yield line(row["replaces"], 400)
        yield f"{row['id']}: queue {row['queue']}, pin {row['pin']}, key {row['key']}, {line(row['credentials'], 400)}"
    yield users.done_words(done)
    yield "each is started, beside parley up, by: parley agent SPEC --nats URL --creds FILE"


def _specs(paths: Sequence[Path]) -> list[ExpertSpec]:
    specs: dict[str, ExpertSpec] = {}
    for path in paths:
        try:
            spec = experts.load_spec(path)
        except ExpertError as error:
            raise BadInput("spec", str(error)) from error
        if spec.id in specs:
            raise BadInput("spec", f"{path}: id: got {spec.id!r}, which another of these files has already")
        specs[spec.id] = spec
    return list(specs.values())


def _users(specs: Iterable[ExpertSpec]) -> tuple[User, ...]:
    pins = {queue_of(spec.id): pin(spec) for spec in specs}
    return accounts.table(dict.fromkeys(pins, ROLE), moderators=(), clients=(), owners=(), pins=pins)[1:]


def _ends(specs: Iterable[ExpertSpec], there: dict[str, Credentials]) -> dict[str, str]:
    """By id: which other specification each would come in the place of, in words."""
    shipped = {spec.id: spec for spec in experts.builtin()}
    ends = {}
    for spec in specs:
        own, known = shipped.get(spec.id), there.get(queue_of(spec.id))
        before = known.pin if known is not None else pin(own) if own is not None else pin(spec)
        if before == pin(spec):
            continue
        if own is not None and before == pin(own):
            was = f"{spec.id} is a shipped expert (version {own.version}, pin {before})"
        else:
            was = f"{spec.id} is enrolled with another specification (pin {before})"
        ends[spec.id] = f"{was}, this is version {spec.version}, pin {pin(spec)}: a worker that serves the older ends"
    return ends


def _what(before: Credentials | None, user: User) -> str:
    if before is None:
        return "made"
    return "kept" if before.row == user else "replaced"


# ---------------------------------------------------------------- list


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """One expert: running somewhere, or only enrolled."""

    id: str
    state: str
    """running | enrolled (and not running)"""
    pin: str
    name: str = ""
    version: str = ""
    model: str = ""
    copies: int = 0
    busy: int = 0
    """Turns that its copies work on."""


def listed(settings: "Settings", folder: Path | None = None) -> list[Listed]:
    """Every expert, by id: those that the bus's moderators hear, and those of the keys' folder that do not run.

    Parameters
    ----------
    folder
        The keys; None: an embedded stack's own, and nothing for a bus elsewhere.

    Raises
    ------
    BadInput
        Credentials that are no owner's, or cannot be read.
    Unreachable
        The bus is not there, or no moderator answers.
    """
    state = settings.state or default_state()
    where = folder or (None if settings.nats.url else keys_of(settings))
    try:
        enrolled = {c.queue: c.pin for c in keys.enrolled(where).values()} if where is not None else {}
    except BadKeyFile as error:
        raise BadInput("dir", str(error)) from error
    url, creds = settings.nats.url, settings.nats.creds
    if url is None:
        running = read_running(state)
        url, creds = (running.url, Path(running.credentials[OWNER])) if running else (None, None)
    elif creds is None:
        raise BadInput("nats.creds", "a bus at --nats needs an owner's credentials, --creds FILE")
    there = asyncio.run(_workers(url, creds)) if url and creds else Workers(workers=(), listening_s=0.0)
    return _listed(there, enrolled)


def resting_words(settings: "Settings", there: Sequence[Announcement], url: str = "") -> Iterator[str]:
    """Which experts are enrolled with the embedded stack and do not run, and how they come to run, in lines; nothing
    where there is none, or where no expert takes part.

    Parameters
    ----------
    there
        What the workers announce.
    url
        Of a stack that stays; empty: it is still to be started.
    """
    running = {worker.queue for worker in there if ROLE in worker.roles}
    try:
        enrolled = {c.queue for c in keys.enrolled(keys_of(settings)).values()} if running else set()
    except BadKeyFile:
        return
    if resting := sorted(map(expert_of, enrolled - running)):
        where = f" --state {shlex.quote(str(settings.state))}" if settings.state else ""
        yield f"enrolled, but not running, and so no candidates: {', '.join(resting)}; to have them take part:"
        if not url:
            yield f"  parley up{where}  (in a terminal of its own; it prints the URL of its bus)"
        for name in resting:
            file = shlex.quote(str(keys.file(keys_of(settings), queue_of(name))))
            yield f"  parley agent SPEC --nats {url or 'URL'} --creds {file}  (SPEC: the file of {name}; so, too)"
        yield "  then ask again"


def _listed(there: Workers, enrolled: dict[str, str]) -> list[Listed]:
    copies: dict[str, list[Announcement]] = {}
    for worker in there.workers:
        copies.setdefault(expert_of(worker.queue), []).append(worker)
    rows = {here.id: _running(here, copies[here.id]) for here in there.experts}
    for queue, pinned in enrolled.items():
        name = expert_of(queue)
        if name not in rows:
            rows[name] = Listed(id=name, state="enrolled", pin=pinned)
    return [rows[name] for name in sorted(rows)]


def _running(here: ExpertHere, copies: Sequence[Announcement]) -> Listed:
    models = sorted({worker.model for worker in copies})
    return Listed(
        id=here.id,
        state="running",
        pin=here.pin,
        name=here.name,
        version=here.version,
        model=", ".join(models),
        copies=len(copies),
        busy=sum(worker.busy for worker in copies),
    )


async def _workers(url: str, creds: Path) -> Workers:
    from parley.client.api import connected

    async with connected(url, creds, _ASK_S) as client:
        if not client.owner:
            raise BadInput("creds", "only an owner may ask who is there: --creds owner.json")
        return await client.everybody(_ASK_S)


def list_words(rows: Sequence[Listed]) -> Iterator[str]:
    """A line for each, and the sum."""
    for row in rows:
        shown = f"{row.id:24} {row.state:9} {row.pin}"
        if row.copies:
            many = f" ({row.copies} copies)" if row.copies > 1 else ""
            shown += f"  {line(row.version)}  {line(row.model)}{many}  {line(row.name)}"
        yield shown
    running = sum(row.copies > 0 for row in rows)
    yield f"{running} running, {len(rows) - running} enrolled and not running"
