"""What a run was made of, so that it can be repeated: code, settings, seeds, data."""

import platform
import shlex
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import msgspec

from parley_research.debates.record import SPLIT
from parley_research.debates.registry import DataSet
from parley_research.debates.statistics import RESAMPLES, SEED
from parley_research.made import ROOT, commit, is_changed, today

CODE = ("research/parley_research", "coordinator", "schemas")
"""Folders whose modules decide the figures."""
LIBRARIES = ("numpy", "scipy", "msgspec", "matplotlib")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for."""

    sets: tuple[str, ...] = ()
    """Empty: every one whose files are there."""
    methods: tuple[str, ...] = ()
    """Empty: every one."""
    files: tuple[str, ...] = ()
    """One's own debates."""
    margin: float = 0.01
    """Of the equivalence tests, a share."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run depends on."""

    format: int = 1
    command: str
    """That repeats it, with `--data` where the data lies."""
    commit: str
    """Empty: not in a repository."""
    changed: bool
    """Files differ from the commit."""
    day: str = ""
    code: str
    """SHA-256 of the modules that decide the figures."""
    settings: Settings
    seed: int = SEED
    resamples: int = RESAMPLES
    split: str = SPLIT
    data: dict[str, str]
    """SHA-256 by file."""
    python: str = ""
    libraries: dict[str, str] = {}
    models: tuple[str, ...] = ()
    """That answered, in a live run."""


def made(settings: Settings, sets: Sequence[DataSet], data: Path, own: Sequence[Path]) -> Manifest:
    """The manifest of a run that begins now. Files that are not there are left out."""
    files = {name: data / name for one in sets for name in one.files}
    files |= {file.name: file for file in own}
    return Manifest(
        command=command(settings),
        commit=commit(),
        changed=is_changed(),
        day=today(),
        code=code_hash(),
        settings=settings,
        data={name: hashed(file) for name, file in sorted(files.items()) if file.is_file()},
        python=platform.python_version(),
        libraries={name: version(name) for name in LIBRARIES},
    )


def command(settings: Settings) -> str:
    """What to type."""
    parts = ["parley eval debates", *map(shlex.quote, settings.files)]
    parts += [f"--set {shlex.quote(name)}" for name in settings.sets]
    parts += [f"--method {shlex.quote(name)}" for name in settings.methods]
    if settings.margin != Settings().margin:
        parts.append(f"--margin {100 * settings.margin:g}")
    return " ".join(parts)


def differences(before: Manifest, now: Manifest) -> list[str]:
    """What a repetition does not share with the run that it repeats, in words."""
    told = []
    if before.code != now.code:
        told.append(f"the code differs (that run: commit {before.commit[:12] or 'unknown'})")
    for name in sorted(set(before.data) | set(now.data)):
        if name not in now.data:
            told.append(f"{name} is not there")
        elif before.data.get(name) != now.data[name]:
            told.append(f"{name} is not the same file")
    for what in ("seed", "resamples", "split"):
        if getattr(before, what) != getattr(now, what):
            told.append(f"{what} is {getattr(now, what)}, and was {getattr(before, what)}")
    changed = [
        f"{n} {now.libraries.get(n)} (was {v})" for n, v in before.libraries.items() if now.libraries.get(n) != v
    ]
    if changed:
        told.append("other libraries: " + ", ".join(changed))
    return told


def hashed(file: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    return sha256(file.read_bytes()).hexdigest()


def code_hash() -> str:
    """SHA-256 of the modules that decide the figures, names included."""
    return _of_all(sorted(file for folder in CODE for file in (ROOT / folder).rglob("*.py")))


def _of_all(files: Iterable[Path]) -> str:
    digest = sha256()
    for file in files:
        digest.update(f"{file.relative_to(ROOT)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()
