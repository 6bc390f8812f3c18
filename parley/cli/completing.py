"""What a shell completes: names of protocols, and ids of sessions where a stack runs."""

from enum import StrEnum

PATIENCE_S = 1.0
"""So long a stack that runs is asked for its sessions."""
_NEWEST = 20


class Shell(StrEnum):
    """A shell for which there is a script."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def script(shell: Shell) -> str:
    """What the shell reads at its start, so that it completes `parley`."""
    # typer's own --show-completion takes these; it exports them under no other name
    from typer.completion import completion_init, get_completion_script  # type: ignore[attr-defined]

    completion_init()
    return get_completion_script(prog_name="parley", complete_var="_PARLEY_COMPLETE", shell=shell.value)


def ready() -> None:
    """Know the shells, before one asks."""
    from typer.completion import completion_init  # type: ignore[attr-defined]  # as above

    completion_init()


def protocols(incomplete: str) -> list[str]:
    """Names of protocols."""
    from parley.coordinator.protocols import PROTOCOLS

    names = [name for name, protocol in PROTOCOLS.items() if not protocol.standing]
    return sorted(name for name in names if name.startswith(incomplete))


def sessions(incomplete: str) -> list[tuple[str, str]]:
    """(id, question) of the newest sessions of the stack that runs on this machine; none where none runs: for a key
    that is pressed nothing is started."""
    import asyncio

    from parley.client.text import line
    from parley.stack.lease import OWNER, default_state, read_running

    running = read_running(default_state())
    if running is None:
        return []

    async def rows() -> list[tuple[str, str]]:
        from pathlib import Path

        from parley.client.api import connected

        async with asyncio.timeout(PATIENCE_S):
            async with connected(running.url, Path(running.credentials[OWNER]), PATIENCE_S) as client:
                return [(r.session, line(r.question, 60)) for r in await client.sessions(_NEWEST)]

    try:
        return [row for row in asyncio.run(rows()) if row[0].startswith(incomplete)]
    except Exception:  # whatever is wrong, a shell that completes shows nothing of it
        return []
