"""`docs/options.md`, made from the table of options: python -m docs.generators.options_page docs/options.md"""

import sys
from collections.abc import Iterator
from pathlib import Path

from parley.client.protocols import all_setups
from parley.client.setup.options import SESSION, Option, base_of
from parley.coordinator.protocols import DEFAULT

_HEAD = """# Options of a session

Every door takes the same options, and calls them by these names, also in its errors.

## Of any session

`parley ask` takes the flag, other doors the name in brackets; in `/v1` it is `parley.NAME`. `budget.tokens` is
`{"budget": {"tokens": 9000}}`. Where some doors alone take an option, they are named.

"""
_KINDS = {
    str: "text",
    int: "whole number",
    float: "number",
    list: "list",
    dict: "object",
    bool: "yes or no",
    Path: "path",
}
_WORDS = {"page": "the page", "mcp": "MCP", "v1": "`/v1`", "python": "Python"}


def page() -> str:
    """The whole page."""
    names = ", ".join(setup.name for setup in all_setups())
    parts = [_HEAD, *(_row(option, names) for option in SESSION), "\n", *_of_protocols()]
    return "".join(parts)


def _row(option: Option, names: str) -> str:
    help_ = option.help.replace("{protocols}", names).replace("{default}", DEFAULT)
    flag = "--set P.NAME=VALUE" if base_of(option) is dict else option.flag
    doors = [_WORDS[door] for door in ("page", "mcp", "v1", "python") if door in option.doors]
    kind = " or ".join((_KINDS[base_of(option)], *(f"`{word}`" for word in option.words)))
    if option.least is not None and option.most is not None:
        kind += f", {option.least:,g} to {option.most:,g}"
    if doors:
        kind = f"`{option.setting}`: {kind}" + (f"; {', '.join(doors)}" if len(doors) < len(_WORDS) else "")
    return f"- `{flag}` ({kind}): {help_}\n"


def _of_protocols() -> Iterator[str]:
    yield "## Of one protocol\n\nIn `parley.yaml` and `--set`, a setting begins with its protocol.\n\n"
    rows: dict[tuple[str, str], list[str]] = {}
    for setup in all_setups():
        for option in setup.options:
            if not option.hidden:
                setting = f"`{setup.name}.{option.setting}`" if option.gives == "setting" else setup.name
                text = option.help.removeprefix(f"{setup.name}: ")
                rows.setdefault((option.flag, f"{text[:1].upper()}{text[1:]}"), []).append(setting)
    yield from (f"- `{flag}` ({', '.join(settings)}): {text}\n" for (flag, text), settings in rows.items())


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
