"""What a task's folder is called in what is remembered of it: every clone and work tree of a repository the same."""

import os
import platform
import subprocess
from collections.abc import Container, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

_TIMEOUT_S = 60.0


def project_of(folder: Path) -> str:
    """`git:` and the first commit of the folder's repository, with the folder's place in it. A shallow clone has no
    first commit: its remote stands for it. Without a repository, or before its first commit, `path:` and the folder's
    place on this machine. Of all but the kind only a hash is told."""
    place = _git(folder, "rev-parse", "--show-prefix")
    if _git(folder, "rev-parse", "--is-shallow-repository") == "true":
        begins = _git(folder, "config", "--get", "remote.origin.url")
    else:
        begins = _git(folder, "rev-list", "--first-parent", "--max-parents=0", "HEAD")
    if begins is None:
        return _named("path", platform.node(), str(folder.resolve()))
    return _named("git", begins, place or "")


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints; None: it could not do it. Of its own environment nothing holds: it might name another
    repository."""
    try:
        done = subprocess.run(
            ("git", "-c", "core.fsmonitor=false", *arguments),
            cwd=folder.resolve(),
            capture_output=True,
            timeout=_TIMEOUT_S,
            env={k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.decode(errors="surrogateescape").strip()


def _named(kind: str, *parts: str) -> str:
    return f"{kind}:{sha256(chr(0).join(parts).encode(errors='surrogateescape')).hexdigest()[:20]}"


def with_project(given: Mapping[str, Any], kept: Container[str], project: str) -> dict[str, Any]:
    """Settings with the folder's name, where neither they nor those that stand already (`kept`) have one."""
    return dict(given) if "project" in kept else {"project": project, **given}
