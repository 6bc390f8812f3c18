"""The help of `parley ask`: what any protocol takes in groups, and a protocol's own options where it is named.

`--help` alone lists the options that most sessions need. With `--protocol P` it also lists what P takes, and the rare
ones. `--help-all` lists every option.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from parley.cli.options import errors
from parley.cli.protocol_options import ProtocolCommand

if TYPE_CHECKING:
    from parley.client.setup.setup import Setup

GROUPS = {
    "Question and documents": ("--protocol", "--evidence", "--continue", "--kind"),
    "Panel and models": ("--panel", "--panel-file", "--round-limit", "--human", "--wait-for-human", "--set"),
    "Budget": ("--budget-tokens", "--budget-calls", "--budget-usd", "--budget-seconds", "--dry-run"),
    "Output": ("--json", "--plain", "--verbose", "--quiet", "--open"),
    "Where it runs": ("--ephemeral", "--nats", "--creds", "--state", "--config"),
    "Help": ("--help-all", "--help"),
}
"""The options of `parley ask --help`, in its order."""
RARE = ("--from", "--turn-timeout", "--seed", "--all", "--yes")
WITH_FOLDER = ("--apply", "--experts")
"""Of protocols whose sessions begin with a folder."""
_HELP_ALL = "--help-all"
_ALL = "ask: every option"
_NAMED = "ask: of this protocol"


class AskCommand(ProtocolCommand):
    """`ask`, whose help lists what the command line asks for."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Notes for the help what it is to list."""
        ctx.meta[_ALL] = _HELP_ALL in args
        ctx.meta[_NAMED] = named = _named(args)
        if named and (ctx.meta[_ALL] or not {"--help", "-h"}.isdisjoint(args)):
            with errors("--json" in args):
                _check_known(named)
        return super().parse_args(ctx, ["--help"] if ctx.meta[_ALL] else args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the groups."""
        records = {flag: p.get_help_record(ctx) for p in self.get_params(ctx) for flag in p.opts if not _hidden(p)}
        arguments = [p.get_help_record(ctx) for p in self.get_params(ctx) if p.param_type_name == "argument"]
        for title, rows in (
            ("Arguments", arguments),
            *((title, [records.get(flag) for flag in flags]) for title, flags in self._groups(ctx)),
        ):
            if known := [row for row in rows if row]:
                with formatter.section(title):
                    formatter.write_dl(known)

    def _groups(self, ctx: Any) -> list[tuple[str, Sequence[str]]]:
        from parley.client.protocols import all_setups

        setups = [s for s in all_setups() if ctx.meta.get(_ALL) or s.name == ctx.meta.get(_NAMED)]
        groups: list[tuple[str, Sequence[str]]] = list(GROUPS.items())
        if not setups:
            return groups
        listed = {flag for flags in GROUPS.values() for flag in flags}
        own: list[tuple[str, Sequence[str]]] = []
        for setup in setups:
            flags = [flag for flag in _of(setup) if flag not in listed]
            listed.update(flags)
            own.append((f"Of {setup.name}", flags))
        return [*groups[:2], *own, *groups[2:-1], ("Rare", RARE), groups[-1]]


def _check_known(protocol: str) -> None:
    from parley.client.opening import known_protocol, spelling

    with spelling("ask", "", ("protocol",)):
        known_protocol(protocol)


def _of(setup: "Setup") -> list[str]:
    flags = [option.flag for option in setup.options]
    return [*flags, *WITH_FOLDER] if any(option.gives == "folder" for option in setup.options) else flags


def _named(args: Sequence[str]) -> str:
    for place, word in enumerate(args):
        flag, equals, value = word.partition("=")
        if flag == "--protocol":
            return value if equals else next(iter(args[place + 1 :]), "")
    return ""


def _hidden(parameter: Any) -> bool:
    return bool(getattr(parameter, "hidden", False))
