"""A stack starts in every home that a user may have, or says in one line why it cannot: paths, locales, limits, masks,
and folders that are missing or cannot be written to. Each is a fresh interpreter, as a user starts it."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from tests.parley.support import ANSWER, MARK, QUESTION, ROOT, TEXTS

MB = 2**20


class Home(NamedTuple):
    """How one differs from a plain one. `{home}` stands for an empty folder."""

    name: str
    env: Mapping[str, str | None] = {}
    """None: the variable is not set."""
    state: str = "{home}/state"
    """Empty: where the command puts it."""
    options: tuple[str, ...] = ()
    """Of the interpreter."""
    before: Callable[[], object] | None = None
    """Done in the child before it starts."""
    cwd: str = "{home}"
    says: str = ""
    """A part of the error; empty: there is an answer."""


def limit(what: int, most: int) -> Callable[[], object]:
    return lambda: resource.setrlimit(what, (most, most))


def left_folder() -> None:
    """Stand in a folder that is gone."""
    here = Path.cwd() / "gone"
    here.mkdir()
    os.chdir(here)
    here.rmdir()


HOMES = (
    Home("plain"),
    Home("home, default state", {"HOME": "{home}/u", "PARLEY_STATE": None}, ""),
    Home("home beyond ASCII", {"HOME": "{home}/josé", "PARLEY_STATE": None}, ""),
    Home("state beyond ASCII", state="{home}/日本 dätä/state"),
    Home("state with signs of a shell", state="{home}/a \"b' \\c $HOME `x` %s {{y}}/state"),
    Home("state with a line break", state="{home}/two\nlines/state"),
    Home("long state", state="{home}/" + "/".join(["d" * 60] * 5)),
    Home("relative state", state="state"),
    Home("no HOME", {"HOME": None, "PARLEY_STATE": None, "XDG_STATE_HOME": "{home}/x"}, ""),
    Home("no TMPDIR", {"TMPDIR": "{home}/none"}),
    Home("TMPDIR beyond ASCII", {"TMPDIR": "{home}/tëmp"}),
    Home("locale C", {"LC_ALL": "C", "LANG": None}),
    Home("locale C without UTF-8", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    Home("unknown locale", {"LC_ALL": "xx_YY.UTF-8"}),
    Home("ASCII output", {"PYTHONIOENCODING": "ascii"}),
    Home("no PATH", {"PATH": None}),
    Home("umask 077", before=lambda: os.umask(0o077)),
    Home("umask 000", before=lambda: os.umask(0o000)),
    Home("optimized", options=("-OO",)),
    Home("64 open files", before=limit(resource.RLIMIT_NOFILE, 64)),
    Home("20 open files", before=limit(resource.RLIMIT_NOFILE, 20), says="20 files open here (ulimit -n)"),
    Home("2 GB of addresses", before=limit(resource.RLIMIT_AS, 2048 * MB)),
    Home("400 MB of addresses", before=limit(resource.RLIMIT_AS, 400 * MB), says="cannot be run"),
    Home("files of 4 MB", before=limit(resource.RLIMIT_FSIZE, 4 * MB)),
    Home("a folder that is gone", before=left_folder),
    Home("read-only folder", cwd="/proc"),
    Home("state that is read-only", state="/proc/parley", says="/proc/parley"),
    Home("state that is a file", state="{home}/file", says="{home}/file"),
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / "evidence").mkdir(exist_ok=True)
        (tmp_path / "evidence" / name).write_text(text)
    (tmp_path / "tëmp").mkdir()
    (tmp_path / "file").write_text("")
    return tmp_path


@pytest.mark.parametrize("case", HOMES, ids=lambda case: case.name)
def test_a_stack_starts_or_says_why_not(case: Home, home: Path) -> None:
    def there(text: str) -> str:
        return text.replace("{home}", str(home))

    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PARLEY", "LLM_", "SSL_CERT_"))}
    wanted = {"PYTHONPATH": str(ROOT), MARK: str(home), **case.env}
    environment = {**kept, **{name: there(value) for name, value in wanted.items() if value is not None}}
    for name in (name for name, value in case.env.items() if value is None):
        environment.pop(name, None)
    state = ("--state", there(case.state)) if case.state else ()
    ran = subprocess.run(
        [sys.executable, *case.options, "-m", "parley", "ask", QUESTION, "--protocol", "consensus",
         "--evidence", str(home / "evidence"), "--quiet", *state],
        cwd=there(case.cwd), env=environment, preexec_fn=case.before, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=120, check=False,
    )  # fmt: skip
    out, err = ran.stdout.decode(errors="replace"), ran.stderr.decode(errors="replace")
    assert "Traceback" not in err, err
    if case.says:
        assert ran.returncode in (1, 2) and there(case.says) in err, err
        assert err.startswith("parley: ") and len(err) < 700, err
    else:
        assert ran.returncode == 0 and ANSWER in out, out + err
    left = [p.pid for p in psutil.process_iter(["environ"]) if (p.info["environ"] or {}).get(MARK) == str(home)]
    assert not left, "nothing runs on"
