"""`docs/cli.md`, made from what the commands say with --help: python -m docs.generators.commands_page docs/cli.md"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from parley.cli.app import app

_HEAD = """# The command line

Each command with its options. `parley COMMAND --help` says what each option does, with examples, bounds and defaults.
[Options](options.md) has those of a question.

With `--json` a command prints exactly one JSON document on standard output. An error is then
`{"error": {"field", "message"}, "exit_code"}`. Diagnostics go to standard error.

| exit status | means |
|---|---|
| 0 | the session is settled, or was played to its end; the command did what it says |
| 1 | the session failed; a record does not recompute; the stack did not start; an attack of `bus check` went through |
| 2 | a wrong value, configuration or credentials; a refused session; no bus |
| 3 | the session ended, and nothing is settled; `bus check` could not try all attacks |
| 130 | interrupted, or cancelled |
| 141 | the program that read the output has ended; the session was cancelled |

[Stops](stops.md) has the exit status of each stop reason. `parley --install-completion` makes your shell complete
commands.

## Where the bus is
Without `--nats`, a command uses the stack of its state directory: `--state DIR`, else `$PARLEY_STATE`, else `parley` in
`$XDG_STATE_HOME`, else `~/.local/state/parley`. If none runs there, the command starts one, and it ends with the last
command that uses it. Sessions stay; unfinished ones go on with the next stack. `logs/` holds one file for each service.

With `--nats URL --creds FILE` a command uses a bus elsewhere. A client's credentials ask, watch and list its own
sessions. An owner's also list everybody's, read logs, see who is alive, and erase.

## Settings
The command line overrides the environment, that overrides a file, and that overrides the defaults. The file is
`parley.yaml` in the working folder, or `--config FILE`. `PARLEY__BUDGET__TOKENS=5000` is `budget.tokens`. A key that
does not exist is refused.

```yaml
protocol: consensus
turn_timeout_s: 120
seed: 7
state: ./state
budget: {tokens: 200000, calls: 100, cost_usd: 2.5, seconds: 600}
nats: {url: "nats://bus:4222", creds: owner.json}
panel_file: panel.yaml      # the model of each seat
tools: tools.yaml           # what experts' models may use, or off
hands: hands.yaml           # which coding agents may do experts' work
retention: {log_days: 90}
spend: {tenant: default, day_usd: 20}       # what a day may cost before an alert; it stops nothing
watch: {expect: [consensus, single, sre]}   # whose queues must have workers
learned: {used: on}
consensus: {threshold: 90, round_limit: 5, panel: 3}
critic: {threshold: 80, round_limit: 6, min_rounds: 3}
competition: {format: oxford, styles: {pro_1: logical}}
stack: {moderators: 1, copies: 1}    # the embedded one
```

## Options of several commands
- `--json`: print one JSON document. `--set NAME=VALUE`: one setting. `--yes`: do not ask first.
- `--help-all` of `ask`: list all its options.
- `--nats`, `--creds`, `--state`, `--config`: see above.
- `--dir` of `parley bus`: folder with the keys of all users, or `STATE/keys` of a stack.
- `--metrics-host`, `--metrics-port`, `--log-level`: of services. Their pages are `/metrics`, `/healthz` and `/readyz`.
- `--panel-file`: file that gives each seat its model. `--panels`: folder of saved panel files.
- `--plain`: print plain lines. `--verbose`: show everything that is said. `--quiet`: print only the answer.
- `--all` of `sessions`: also the teams' own channels and the judge's notes (owners only).
- `--budget-tokens`, `--budget-calls`, `--budget-usd`, `--budget-seconds`: limits.
- `--file`, `--folder` of what was learned: its file, and only tasks of this folder.

## Commands
"""
_COMMON = (
    "--json", "--nats", "--creds", "--state", "--config", "--set", "--dir", "--metrics-host", "--metrics-port",
    "--log-level", "--panel-file", "--panels", "--yes", "--help", "--help-all", "--plain", "--verbose", "--quiet",
    "--budget-tokens", "--budget-calls", "--budget-usd", "--budget-seconds", "--file",
)  # fmt: skip
"""Told once."""
_ALIKE = {("sessions", "export", "--all"), ("sessions", "show", "--all"), ("sessions", "watch", "--all"),
          *(("preferences", name, "--folder") for name in ("export", "forget", "list"))}  # fmt: skip
"""The same: of commands that share them."""
_TOLD_BY = {
    ("ask",): "[options](options.md), [ask](ask.md)",
    ("eval", "debates"): "[evaluation](evaluation.md)",
    ("eval", "live"): "[evaluation](evaluation.md)",
    ("bus", "config"): "[deploy](operations/deploy.md), [three servers](operations/cluster.md)",
}
"""Commands whose options other pages tell."""
_OPTION = re.compile(r"^  (?:-\w, )?(--[a-z-]+)")
_WIDTH = {"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(
        f"{text}\n" for path, it in _commands(typer.main.get_command(app)) for text in _told(path, it)
    )


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command, with its name in words; a group that also is a command before what it holds."""
    group = hasattr(command, "list_commands")
    if path and (not group or command.invoke_without_command):
        yield path, command
    context = command.make_context(" ".join(path), [], resilient_parsing=True) if group else None
    for name in sorted(command.list_commands(context)) if group else ():
        inside = command.get_command(context, name)
        if not inside.hidden:
            yield from _commands(inside, (*path, name))


def _told(path: tuple[str, ...], command: Any) -> Iterator[str]:
    done = CliRunner().invoke(app, [*path, "--help"], env=_WIDTH)
    lines = done.output.split("\n")
    usage = re.sub(r"\s+", " ", lines[0])
    arguments = re.sub(r"^.*?\[OPTIONS\]", "", usage).replace("COMMAND [ARGS]...", "")
    arguments = (
        re.sub(r"\{([\w|]+)(?:\.\.\.)?\}", lambda found: found[1], arguments)
        .replace("[[", "[")
        .replace("]]", "]")
        .replace("]...]", "]")
        .strip()
    )
    about = command.help.partition("\n\n")[0].replace("\n", " ")
    options = [name for name in _options(lines) if (*path, name) not in _ALIKE]
    more = _TOLD_BY.get(path, ", ".join(f"`{name}`" for name in options))
    yield f"- **`{' '.join(('parley', *path, *arguments.split()))}`** {_sentence(about)}{more and f' {more}'}"


def _sentence(text: str) -> str:
    """The first one."""
    return re.sub(r"(?<=[.)]) [A-Z].*$", "", " ".join(text.split()))


def _options(lines: list[str]) -> Iterator[str]:
    """Each option that is not of most commands."""
    at = next(n for n, line in enumerate(lines) if line in ("Options:", "Arguments:", "Question and documents:"))
    found = (_OPTION.match(line) for line in lines[at:])
    yield from (name for name in (match[1] for match in found if match) if name not in _COMMON)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
