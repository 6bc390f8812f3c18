"""The Dockerfile's steps in empty roots, where no container engine is. What comes of them runs, and is measured.

    python -m tests.deploy.root FOLDER [--mirror URL]

It needs root's rights, debootstrap, chroot and unshare, downloads what the image's build downloads, and takes minutes.
Debian's own Python stands for the base image's. FOLDER is made, and can be removed afterwards; its base is used again.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.deploy import dockerfile
from tests.parley.support import QUESTION, TEXTS

SUITE, PACKAGES = "bookworm", "python3,python3-venv,ca-certificates"
BASE = "python:3.11-slim"
FROM_HERE = ("/etc/resolv.conf", "/etc/pip.conf", os.environ.get("PIP_CERT", ""))
"""Files that tell the build how this machine reaches the network and the package registry."""
PATH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
ASKED = (
    ("parley", "--version"),
    ("parley", "ask", QUESTION, "--protocol", "consensus", "--evidence", "/tmp/evidence"),
)


class Root:
    """A root folder in which commands run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {"PATH": PATH, "HOME": "/root"}
        self.user = "0:0"
        self.workdir = "/"

    def run(self, command: str, network: Mapping[str, str] | None = None) -> str:
        """Its output. Raises subprocess.CalledProcessError."""
        shell = f"cd {self.workdir}\n{command}"
        inside = ["chroot", f"--userspec={self.user}", str(self.folder), "/bin/sh", "-ec", shell]
        begin = f"mount -t proc proc {shlex.quote(str(self.folder / 'proc'))} && exec {shlex.join(inside)}"
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-ec", begin]
        done = subprocess.run(words, env={**self.env, **(network or {})}, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout

    def inside(self, path: str) -> Path:
        """A path of its own as one of this machine."""
        return self.folder / os.path.normpath(os.path.join(self.workdir, path)).lstrip("/")

    def size_mb(self, path: str = "/") -> float:
        """Of all files below it."""
        found = self.inside(path)
        return sum(f.lstat().st_size for f in found.rglob("*") if f.is_file() or f.is_symlink()) / 1e6


def base(folder: Path, mirror: str) -> None:
    """Debian with Python, `python` and `pip` where the base image has them."""
    if (folder / "usr/local/bin/pip").exists():
        return
    if not (folder / "usr/bin/python3").exists():
        words = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(folder)]
        subprocess.run([*words, *([mirror] if mirror else [])], check=True, stdout=sys.stderr)
    Root(folder).run("python3 -m venv --copies /usr/local")


def copy(root: Root, sources: list[str], target: str, origin: Path) -> None:
    """As COPY does: a folder's content, or a file into a folder or under a name."""
    for name in sources:
        source, to = origin / name.lstrip("/"), root.inside(target)
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__") if origin == dockerfile.ROOT else None
            shutil.copytree(source, to, symlinks=True, dirs_exist_ok=True, ignore=ignored)
            continue
        to = to / source.name if target.endswith("/") else to
        to.parent.mkdir(parents=True, exist_ok=True)
        to.unlink(missing_ok=True)
        shutil.copy(source, to)


def build(folder: Path, mirror: str) -> Root:
    """Every line of the Dockerfile; the root of its last stage."""
    base(folder / "base", mirror)
    network = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    stages: dict[str, Root] = {}
    root = Root(folder / "none")
    for instruction, text in dockerfile.lines():
        print(f"{instruction} {text}", file=sys.stderr, flush=True)
        words = shlex.split(text) if instruction in ("COPY", "FROM", "ENV") else []
        if instruction == "FROM":
            assert words[0] == BASE, f"{words[0]} is another base image than {BASE}"
            name = words[2] if len(words) > 1 else "image"
            root = stages[name] = Root(folder / name)
            shutil.rmtree(root.folder, ignore_errors=True)
            subprocess.run(["cp", "-a", "--reflink=auto", str(folder / "base"), str(root.folder)], check=True)
            for path in filter(os.path.isfile, FROM_HERE):
                copy(root, [path], path, Path("/"))
        elif instruction == "WORKDIR":
            root.workdir = text
            root.inside(text).mkdir(parents=True, exist_ok=True)
        elif instruction == "COPY" and words[0].startswith("--from="):
            copy(root, words[1:-1], words[-1], stages[words[0].removeprefix("--from=")].folder)
        elif instruction == "COPY":
            copy(root, words[:-1], words[-1], dockerfile.ROOT)
        elif instruction == "RUN":
            root.run(text, network)
        elif instruction == "ENV":
            root.env |= {name: value.replace("$PATH", PATH) for name, _, value in (w.partition("=") for w in words)}
        elif instruction == "USER":
            root.user = text
        else:
            assert instruction in ("EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"), instruction
    return root


def measure(root: Root, bare: Root) -> None:
    """Say how large it is, and what takes most."""
    own, base_mb = root.size_mb("/opt/parley"), bare.size_mb()
    print(f"/opt/parley {own:.0f} MB, the base {base_mb:.0f} MB, beside both {root.size_mb() - base_mb - own:.0f} MB")
    folders = [p for p in root.inside("/opt/parley").glob("lib/*/site-packages/*") if p.is_dir()]
    for size, name in sorted(((Root(p).size_mb(), p.name) for p in folders), reverse=True)[:12]:
        print(f"  {name} {size:.0f} MB")


def main() -> None:
    """Build, measure, try."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mirror", default="", help="of Debian's packages (default: debootstrap's)")
    given = parser.parse_args()
    root = build(given.folder, given.mirror)
    measure(root, Root(given.folder / "base"))
    evidence = root.inside("/tmp/evidence")
    evidence.mkdir()
    for name, text in TEXTS.items():
        (evidence / name).write_text(text)
    root.env["HOME"] = "/tmp"
    for words in ASKED:
        print(root.run(shlex.join(words)).rstrip())


if __name__ == "__main__":
    main()
