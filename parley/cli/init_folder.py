"""`parley init`: a folder to begin in: `.env`, a panel file, settings that name it, and an example with documents."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from parley.client.errors import BadInput, bad_input
from parley.client.protocols import all_setups

if TYPE_CHECKING:
    from parley.agents.openai.local_servers import LocalServer

NEXT = (
    "parley doctor",
    'parley ask "$(cat example/question.txt)" --evidence example/evidence',
    'parley ask "$(cat example/question.txt)" --evidence example/evidence --dry-run',
)
"""What to run there."""


def next_steps(folder: Path) -> list[str]:
    """What to run from where the user stands."""
    go = [] if folder.resolve() == Path.cwd() else [f"cd {shlex.quote(str(folder))}"]
    return [*go, *NEXT]


def texts() -> Mapping[str, str]:
    """File -> what is written into it: of the first protocol that has a folder to begin in."""
    return next((files for setup in all_setups() if (files := setup.template())), {})


def with_server(env: str, server: "LocalServer", *, used: bool) -> str:
    """The text of `.env` with a server of models on this machine in it. `used`: agents use it from now on."""
    values = {"LLM_PROVIDER": server.provider, "LLM_MODEL": server.model, "LLM_BASE_URL": server.base_url}
    rows = []
    for row in env.split("\n"):
        name = row.removeprefix("#").partition("=")[0]
        rows.append(f"{'' if used else '#'}{name}={values.pop(name)}" if name in values else row)
    return "\n".join(rows)


def write(folder: Path, server: "LocalServer | None" = None, *, used: bool = False) -> list[Path]:
    """Fill a folder; what was written. `server`: stands in `.env`; `used`: and agents use it. Raises BadInput: one of
    the files is there already (nothing is written then), or the folder cannot be written to."""
    paths = {folder / name: text for name, text in texts().items()}
    if server is not None and (env := folder / ".env") in paths:
        paths[env] = with_server(paths[env], server, used=used)
    there = [str(path) for path in paths if path.exists() or path.is_symlink()]
    if there:
        raise BadInput("init", f"{', '.join(there)} already there; nothing is overwritten, name another folder")
    with bad_input("init", OSError, what=f"cannot write to {folder}"):
        for path, text in paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        (folder / ".env").chmod(0o600)
    return list(paths)
