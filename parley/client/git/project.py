"""What a task's folder is called in what is remembered of it: every clone and work tree of a repository the same."""

import platform
from collections.abc import Container, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from parley.client.git.branch import GitFailed, Repository


def project_of(folder: Path) -> str:
    """`git:` and the first commit of the folder's repository, with the folder's place in it. A shallow clone has no
    first commit: its remote stands for it. Without a repository, or before its first commit, `path:` and the folder's
    place on this machine. Of all but the kind only a hash is told."""
    repository = Repository(folder)
    try:
        place = repository.git("rev-parse", "--show-prefix").strip()
        if repository.git("rev-parse", "--is-shallow-repository").strip() == "true":
            return _named("git", repository.git("config", "--get", "remote.origin.url").strip(), place)
        return _named("git", repository.git("rev-list", "--first-parent", "--max-parents=0", "HEAD").strip(), place)
    except GitFailed:
        return _named("path", platform.node(), str(folder.resolve()))


def _named(kind: str, *parts: str) -> str:
    return f"{kind}:{sha256(chr(0).join(parts).encode(errors='surrogateescape')).hexdigest()[:20]}"


def with_project(given: Mapping[str, Any], kept: Container[str], folder: Path) -> dict[str, Any]:
    """Settings with the folder's name, where neither they nor those that stand already (`kept`) have one."""
    return dict(given) if "project" in kept else {"project": project_of(folder), **given}
