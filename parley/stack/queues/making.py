"""What the workers of a stack are made of, as a user hands it to the supervisor and a worker takes it.

A row whose agent nothing changes (no file, no model, no variable that is set for it) is the agent that its name stands
for, and its queue has that name. What differs has a queue of its own, whose name ends with a digest of all that its
worker is, keys included: one queue a model, shared by all who want the same.
"""

import contextlib
import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec

from parley.bus import accounts, subjects
from parley.schemas.session import is_variant, variant_of
from parley.stack import child_environment
from parley.stack.queues.joining import QueueMember, Unit
from parley.stack.rows import AgentRow

replace = msgspec.structs.replace


class Making(msgspec.Struct, frozen=True, kw_only=True):
    """One process's: what lies in the file that goes with its unit."""

    rows: tuple[AgentRow, ...]
    own: dict[str, str] = {}
    """Environment beside the supervisor's."""
    folder: str = ""
    """Where relative paths begin; empty: where the supervisor is."""
    path: tuple[str, ...] = ()
    """Where Python finds modules, beside the supervisor's own."""


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A unit with its making."""

    unit: Unit
    making: Making


def make_units(rows: Sequence[AgentRow], environ: Mapping[str, str], secret: bytes) -> tuple[Made, ...]:
    """The units of these rows. Rows share a process where they say so and their agents get the same of the environment:
    a key that is for one seat reaches no other.

    Parameters
    ----------
    environ
        Of the user; a file `.env` in the working folder is taken too.
    secret
        The key of the digests: whoever sees a queue's name cannot try which key made it.
    """
    own = child_environment.of_agents(tuple(rows), environ)
    groups: dict[tuple[str, str], list[AgentRow]] = {}
    for row in rows:
        environment = str(sorted(own.get(row.queue, {}).items()))
        group = (row.process, environment) if row.process else (f"{row.queue}/", "")
        groups.setdefault(group, []).append(row)
    names: list[str] = []
    for members in groups.values():
        name = members[0].process
        names.append(name if name and name not in names else members[0].queue)
    return tuple(
        _made(name, members, own.get(members[0].queue, {}), secret)
        for name, members in zip(names, groups.values(), strict=True)
    )


def _made(name: str, rows: Sequence[AgentRow], own: dict[str, str], secret: bytes) -> Made:
    elsewhere = any(":" in row.model or row.model == "command" or row.spec for row in rows)
    making = Making(
        rows=tuple(replace(row, spec=_absolute(row.spec)) for row in rows),
        own=own,
        folder=str(Path.cwd()) if elsewhere or "LLM_COMMAND" in str(own) else "",
        path=tuple(p for p in sys.path if p) if elsewhere else (),
    )
    members = tuple(_member(row, making, secret) for row in making.rows)
    first = rows[0]
    return Made(
        unit=Unit(name=name, members=members, copies=first.copies, loads=_loads(first, own)),
        making=making,
    )


def _member(row: AgentRow, making: Making, secret: bytes) -> QueueMember:
    bare = AgentRow(queue=row.queue, copies=row.copies, process=row.process)
    shown = child_environment.without_network(making.own)
    identity = ""
    if row != bare or shown:
        alike = replace(row, copies=1, process=""), sorted(shown.items()), making.folder, _content(row.spec)
        identity = blake2b(msgspec.json.encode(alike), key=secret, digest_size=16).hexdigest()
    digest = blake2b(b"queue" + identity.encode(), key=secret, digest_size=16).hexdigest()[:7]
    role, pin = _role(row)
    return QueueMember(queue=row.queue, variant=variant_of(row.queue, digest), identity=identity, role=role, pin=pin)


def _role(row: AgentRow) -> tuple[str, str]:
    """Role and pin; empty: those of the agent that the queue's name stands for."""
    if row.roles:
        return row.roles[0], ""
    if not row.spec:
        return "", ""
    from parley.agents.specs import load

    spec = load(row.spec)
    return spec.roles[0], spec.pin


def _absolute(spec: str) -> str:
    return str(Path(spec).resolve()) if spec and Path(spec).is_file() else spec


def _content(spec: str) -> bytes:
    """Of an agent file: it may be another one by now."""
    return Path(spec).read_bytes() if spec and Path(spec).is_file() else b""


def secret_of(state: Path) -> bytes:
    """The key of a state directory's digests; it is made by whoever is first."""
    path = state / "keys" / "names.key"
    if not path.exists():
        path.parent.mkdir(mode=0o700, exist_ok=True)
        draft = path.with_name(f".names.{secrets.token_hex(4)}")
        accounts.write_private(draft, secrets.token_bytes(32))
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_bytes()


def kept(folder: Path, queue: str) -> Path:
    """Where it stands what a queue's worker is made of, without what of the environment is for it."""
    return folder / f"{subjects.escape(queue)}.json"


def keep(folder: Path, units: Sequence[Made], queues: Mapping[str, str]) -> None:
    """Write down what the workers of these queues are made of: a session that outlives its stack can be served again.
    `queues`: as a row calls a queue -> the queue."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for unit in units:
        for row, member in zip(unit.making.rows, unit.unit.members, strict=True):
            path = kept(folder, queues[member.queue])
            if member.identity and not path.exists():
                accounts.write_private(path, msgspec.json.encode(replace(unit.making, rows=(row,), own={})))


def again(folder: Path, queue: str, environ: Mapping[str, str], secret: bytes) -> Made | None:
    """The unit of a queue as it was, with what of this environment is for it; None: it would be another one."""
    try:
        making = msgspec.json.decode(kept(folder, queue).read_bytes(), type=Making)
    except FileNotFoundError:
        making = Making(rows=(AgentRow(queue=queue),))
    except (OSError, msgspec.DecodeError):
        return None
    (row,) = making.rows
    making = replace(making, own=child_environment.of_agents(making.rows, environ).get(row.queue, {}))
    member = replace(_member(row, making, secret), had=queue)
    if is_variant(queue) and member.variant != queue:
        return None
    return Made(unit=Unit(name=queue, members=(member,), loads=_loads(row, making.own)), making=making)


def _loads(row: AgentRow, own: Mapping[str, str]) -> str:
    if row.model or row.spec:
        return "" if row.model != "openai" else "openai"
    return "openai" if any(name.endswith("LLM_PROVIDER") for name in own) else "extractive"


@contextlib.contextmanager
def in_files(units: Sequence[Made]) -> Iterator[list[int]]:
    """A file without a name for each, open while this lasts."""
    with contextlib.ExitStack() as closing:
        yield [closing.enter_context(child_environment.anonymous(msgspec.json.encode(unit.making))) for unit in units]


def taken(fd: int) -> Making:
    """What lies in a unit's file, with its environment and its paths made this process's. Others may take it too,
    later."""
    making = msgspec.json.decode(os.pread(fd, os.fstat(fd).st_size, 0), type=Making)
    os.environ.update(making.own)
    sys.path.extend(p for p in making.path if p not in sys.path)
    if making.folder:
        with contextlib.suppress(OSError):
            os.chdir(making.folder)
    return making
