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

`make api` makes this page from `parley COMMAND --help`, and a test checks that it is current. `--help` also shows
examples, bounds and defaults. Guides: [ask](ask.md), [panels](panels.md), [folders](folders.md).

With `--json` a command prints exactly one JSON document on standard output. An error is then
`{"error": {"field", "message"}, "exit_code"}`. Diagnostics go to standard error. All text is UTF-8.

| exit status | means |
|---|---|
| 0 | the session converged, or did what was asked of it; the command did what it says |
| 1 | the session failed; a record does not recompute; the stack did not start; some lines of a file were bad |
| 2 | bad input or configuration: a wrong value, a refused session, a bus that does not answer, wrong credentials |
| 3 | the session ended, and nothing is settled: no agreement, a stalemate, a plan, its budget, its last round |
| 130 | interrupted, or cancelled |
| 141 | the program that read the output has ended; the session was cancelled |

[Stops](stops.md) has the exit status of each stop reason.

## Where the bus is
Without `--nats`, a command uses the stack of its state directory: `--state DIR`, else `$PARLEY_STATE`, else `parley` in
`$XDG_STATE_HOME`, else `~/.local/state/parley`. If no stack runs there, the command starts one, and it ends with the
last command that uses it. Sessions stay in the directory; unfinished ones go on when the next stack starts. `logs/`
holds one file for each service.

With `--nats URL --creds FILE` a command uses a bus that runs elsewhere. A client's credentials ask, and watch and list
the client's own sessions. An owner's also list everybody's, read logs, see who is alive, and erase.

## Settings
The command line overrides the environment, that overrides a file, and that overrides the defaults. The file is
`parley.yaml` in the working folder, or `--config FILE`. `PARLEY__BUDGET__TOKENS=5000` is `budget.tokens`. A key that
does not exist is refused, with the nearest key that does.

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
retention: {log_days: 90, unreadable_hours: 1}
bus: {replicas: 0}          # servers a stream lies on, 0: 3 of a cluster
spend: {tenant: default, day_usd: 20}       # what a day may cost before an alert tells; it stops nothing
watch: {expect: [consensus, single, sre]}   # whose queues must have workers
learned: {reliability: on, calibration: on, kind: law}
consensus: {threshold: 90, round_limit: 5, panel: 3}
critic: {threshold: 80, round_limit: 6, min_rounds: 3, measure_bias: false}
competition: {format: oxford, styles: {pro_1: logical}}
stack:                      # the embedded one
  moderators: 1
  copies: 1
  ack_wait_s: 8
  agents:                   # in place of a panel on the extractive model
    - {queue: panelist_1, spec: agents/storage.yaml, copies: 2}
```

## Options of most commands
- `--help`: what it does; `--help-all` of `ask`: every option. `--json`: print exactly one JSON document.
- `--nats`, `--creds`: address and credentials of a running bus.
- `--state`: folder of the embedded stack and its sessions.
- `--config`: settings file. `--set NAME=VALUE`: one setting.
- `--dir` of `parley bus`: folder with the keys of all users, or `STATE/keys` of a stack.
- `--metrics-host`, `--metrics-port`, `--log-level`: of services. Their pages are `/metrics`, `/healthz` and `/readyz`.
- `--panel-file`: file that gives each seat its model. `--yes`: do not ask first. `--url`: the same as `--nats`.
"""
_COMMON = (
    "--json", "--nats", "--creds", "--state", "--config", "--set", "--dir", "--metrics-host", "--metrics-port",
    "--log-level", "--panel-file", "--yes", "--help", "--help-all",
)  # fmt: skip
"""Told once."""
_EVALUATION = "[Evaluation](evaluation.md) says"
_TOLD_BY = {
    ("ask",): "[Options](options.md) and [ask](ask.md) say",
    ("eval", "debates"): _EVALUATION,
    ("eval", "live"): _EVALUATION,
}
"""Commands whose options a guide tells."""
_OPTION = re.compile(r"^  (?:-\w, )?(--[a-z-]+)(.*)$")
_WIDTH = {"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}


def page() -> str:
    """The whole page."""
    return "".join([_HEAD, *("\n".join(["", *_told(path)]) + "\n" for path in _commands(typer.main.get_command(app)))])


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command, with its name in words; a group that also is a command before what it holds."""
    group = hasattr(command, "list_commands")
    if path and (not group or command.invoke_without_command):
        yield path
    context = command.make_context(" ".join(path), [], resilient_parsing=True) if group else None
    for name in sorted(command.list_commands(context)) if group else ():
        inside = command.get_command(context, name)
        if not inside.hidden:
            yield from _commands(inside, (*path, name))


def _told(path: tuple[str, ...]) -> Iterator[str]:
    done = CliRunner().invoke(app, [*path, "--help-all" if path == ("ask",) else "--help"], env=_WIDTH)
    lines = done.output.split("\n")
    usage = re.sub(r"\s+", " ", lines[0]).replace("Usage: ", "").replace("root", "parley", 1)
    yield f"### parley {' '.join(path)}"
    arguments = re.sub(r"^.*?\[OPTIONS\]", "", usage).replace("COMMAND [ARGS]...", "").strip()
    arguments = re.sub(r"\{(\w+)\}", lambda found: found[1].upper(), arguments)
    text = " ".join(" ".join(lines[2:]).partition("   ")[0].split())
    yield (f"`{arguments}`. " if arguments else "") + text
    options = list(_options(lines))
    yield from [""] if options else []
    if path in _TOLD_BY:
        names = [f"`{name}`" for name, _ in options]
        yield f"{_TOLD_BY[path]} what these are:"
        yield ""
        yield from ("- " + ", ".join(names[at : at + 10]) for at in range(0, len(names), 10))
    else:
        yield from (f"- `{name}`: {text}" for name, text in options)


def _options(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Each option that is not of most commands, with the first sentence of its help."""
    at = next(n for n, line in enumerate(lines) if line in ("Options:", "Arguments:", "Question and documents:"))
    while at < len(lines):
        found = _OPTION.match(lines[at])
        at += 1
        if found is None:
            continue
        parts = re.split(r"\s{2,}", found[2], maxsplit=1)
        said = [parts[1]] if len(parts) > 1 else []
        while at < len(lines) and lines[at].startswith(" " * 10):
            said.append(lines[at].strip())
            at += 1
        if found[1] not in _COMMON:
            text = re.sub(r"\s*\[[^\]]*\]$", "", " ".join(said))
            text = re.sub(r"(?<=[.)]) [A-Z].*$", "", re.sub(r"[ ;,]*(?:\(default[^)]*\)|; repeatable)", "", text))
            yield found[1], text


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
