"""`parley experts`: who is an expert on a bus, and with which specification.

Enrolling makes a row, a queue and a key for an expert, pinned to the hash of its specification, and has the bus let it
in. It changes nobody else's: a specification that is enrolled already keeps its key, one that changed gets a new one,
and whoever still serves the older is out.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from parley.agents import experts
from parley.agents.experts import ExpertError
from parley.bus import accounts
from parley.bus.accounts import Credentials, User
from parley.bus.errors import BadKeyFile, BadTable
from parley.client.errors import BadInput, bad_input
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
    from parley.bus_admin import users  # loads the bus, which a check of files does without

    specs = _specs(paths)
    rows = {u.name: u for u in _users(specs)}
    with bad_input("dir", BadKeyFile, BadTable, OSError):
        there = keys.everybody(folder)
        ends = _ends(specs, there)
        if ends and not replace:
            raise BadInput("spec", f"{'; '.join(ends.values())}. --replace enrols the new one in its place")
        what = {name: _what(there.get(name), user) for name, user in rows.items()}
        minted = accounts.mint(rows.values())
        chosen = {name: there[name] if what[name] == "kept" else minted[name] for name in rows}
    done = users.change(folder, url, chosen)
    enrolled = [
        row(spec)
        | {"queue": name, "credentials": str(keys.file(folder, name)), "key": what[name]}
        | {"replaces": ends.get(spec.id, "")}
        for spec in specs
        for name in (queue_of(spec.id),)
    ]
    return {"enrolled": enrolled, **done}


def enroll_words(done: dict[str, Any]) -> Iterator[str]:
    """What was done, and what is to be done."""
    from parley.bus_admin import users

    for row in done["enrolled"]:
        if row["replaces"]:
            yield line(row["replaces"], 400)
        yield f"{row['id']}: queue {row['queue']}, pin {row['pin']}, key {row['key']}, {line(row['credentials'], 400)}"
    yield users.done_words(done)
    yield "each is started, beside parley up, by: parley agent SPEC --nats URL --creds FILE"


def _specs(paths: Sequence[Path]) -> list[ExpertSpec]:
    specs: dict[str, ExpertSpec] = {}
    for path in paths:
        with bad_input("spec", ExpertError):
            spec = experts.load_spec(path)
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


def list_experts(settings: "Settings", folder: Path | None = None) -> list[Listed]:
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
    where = folder or (None if settings.nats.url else keys_of(settings))
    with bad_input("dir", BadKeyFile):
        enrolled = {c.queue: c.pin for c in keys.load_enrolled_experts(where).values()} if where is not None else {}
    url, creds = settings.nats.url, settings.nats.creds
    if url is None and (running := read_running(settings.state or default_state())):
        url, creds = running.url, Path(running.credentials[OWNER])
    there = asyncio.run(_workers(url, creds)) if url else Workers(workers=(), listening_s=0.0)
    return _listed(there, enrolled)


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


async def _workers(url: str, creds: Path | None) -> Workers:
    from parley.client.api import open_client

    async with open_client(url, creds, _ASK_S) as client:
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


# ---------------------------------------------------------------- check


def check(paths: Sequence[Path]) -> dict[str, Any]:
    """What is right and wrong with these files and folders, as JSON values: experts, errors, warnings.

    Warned of are experts to whom somebody defers and who are neither here nor among the shipped ones.
    """
    errors: list[str] = []
    specs: dict[str, tuple[ExpertSpec, Path]] = {}
    for path in _files(paths, errors):
        try:
            spec = experts.load_spec(path)
        except ExpertError as error:
            errors.append(str(error))
            continue
        if spec.id in specs and specs[spec.id][1].resolve() != path.resolve():
            errors.append(f"{path}: id: got {spec.id!r}, which {specs[spec.id][1]} has already")
        specs.setdefault(spec.id, (spec, path))
    shipped = [spec for spec in experts.builtin() if spec.id not in specs]
    said = experts.warnings([*(spec for spec, _ in specs.values()), *shipped])
    return {
        "ok": not errors,
        "experts": [row(spec) | {"file": str(path), **_model(spec)} for spec, path in specs.values()],
        "errors": errors,
        "warnings": [text for text in said if text.partition(":")[0] in specs],
    }


def check_words(report: dict[str, Any]) -> Iterator[str]:
    """A line for each."""
    for known in report["experts"]:
        yield f"{known['id']:24} {line(known['version']):10} {known['pin']}  {line(known['file'])}"
        if wish := known.get("wish"):
            yield f"{'':24} wishes the model {line(wish)}: here {line(known['model'], 300)}"
    yield from (f"error    {line(text, 400)}" for text in report["errors"])
    yield from (f"warning  {line(text, 400)}" for text in report["warnings"])
    yield ", ".join(_counted(len(report[what]), what) for what in ("experts", "errors", "warnings"))


def _counted(n: int, what: str) -> str:
    return f"{n} {what.removesuffix('s') if n == 1 else what}"


def _files(paths: Iterable[Path], errors: list[str]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        inside = experts.files_in(path)
        if not inside:
            errors.append(f"{path}: {experts.NO_FILES}")
        yield from inside


def _model(spec: ExpertSpec) -> dict[str, str]:
    """What an expert's wish comes to with the variables of this process and `.env`; nothing: it has none."""
    if not spec.model:
        return {}
    from parley.agents.config import environment, resolve, unmet_wish
    from parley.agents.models import ModelError
    from parley.agents.specs import of_expert

    try:
        agent, environ = of_expert(spec), environment()
        resolved, variable = resolve(agent, environ), unmet_wish(agent, environ)
    except ModelError as error:
        return {"wish": spec.model, "model": f"none ({error})"}
    model = str(resolved.options.get("model") or resolved.model)
    return {"wish": spec.model, "model": f"the default, {model}: set {variable}" if variable else model}


def row(spec: ExpertSpec) -> dict[str, Any]:
    """Who an expert is, as JSON values."""
    return {"id": spec.id, "name": spec.name, "version": spec.version, "pin": pin(spec)}
