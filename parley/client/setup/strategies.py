"""Strategies of a panel as who asks knows them: those that ship, those of installed packages, and those of a folder."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from parley.client.errors import BadInput, bad_input
from parley.schemas import registry
from parley.schemas.strategies import MAX_FILE, MAX_OWN, Strategy, parse, shipped
from parley.schemas.wire import InvalidValue

_GROUP = "parley.strategies"
SHIPPED = "parley"
"""Where a strategy is from that ships."""


def read_folder(folder: Path | str) -> tuple[Strategy, ...]:
    """The strategies that a folder's Markdown files hold. Raises BadInput."""
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise BadInput("own_strategies", f"{folder} is not a folder; it must hold Markdown files, a strategy each")
    files = sorted(path for path in folder.glob("*.md") if path.is_file())
    if not files or len(files) > MAX_OWN:
        raise BadInput("own_strategies", f"{folder} holds {len(files)} Markdown files; allowed are 1 to {MAX_OWN}")
    return tuple(map(_read, files))


def _read(path: Path) -> Strategy:
    if (size := path.stat().st_size) > MAX_FILE:
        raise BadInput("own_strategies", f"{path}: {size:,} bytes, allowed are at most {MAX_FILE:,}")
    with bad_input("own_strategies", UnicodeDecodeError, InvalidValue, OSError, what=str(path)):
        return parse(path.stem, path.read_text(encoding="utf-8-sig"))


def brought() -> dict[str, Strategy]:
    """Those of installed packages, by id."""
    loaded = (registry.load(_GROUP, name) for name in registry.usable(_GROUP))
    return {strategy.id: strategy for strategy in loaded}


def whole(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the strategies of a folder, and those of packages that a seat is to work by, in them. Raises
    BadInput."""
    settings = dict(settings)
    own = settings.get("own_strategies")
    found: list[Any] = list(read_folder(own)) if isinstance(own, str | Path) else list(own or ())
    named = settings.get("styles")
    if isinstance(named, Mapping):
        known = {s.id if isinstance(s, Strategy) else s.get("id") for s in found} | set(shipped())
        wanted = {name for name in named.values() if isinstance(name, str) and name not in known}
        found += [strategy for id_, strategy in brought().items() if id_ in wanted] if wanted else []
    if found:
        settings["own_strategies"] = msgspec.to_builtins(found)
    return settings


def table(folder: Path | None = None) -> dict[str, tuple[Strategy, str]]:
    """Every strategy by id, with where it is from; a folder's go over those of packages, and these over those that
    ship. Raises BadInput."""
    rows = {id_: (strategy, SHIPPED) for id_, strategy in shipped().items()}
    rows |= {id_: (strategy, "package") for id_, strategy in brought().items()}
    return rows | {s.id: (s, str(folder)) for s in (read_folder(folder) if folder else ())}


def strategy_named(name: str, folder: Path | None = None) -> tuple[Strategy, str]:
    """The strategy of this name, and where it is from. Raises BadInput with the nearest known one."""
    rows = table(folder)
    if name not in rows:
        near = difflib.get_close_matches(name, rows, 1)
        raise BadInput("NAME", f"{name!r} is no strategy; {f'did you mean {near[0]}?' if near else _known(rows)}")
    return rows[name]


def _known(names: Iterable[str]) -> str:
    return f"known are {', '.join(names)}"


def fields(strategy: Strategy) -> dict[str, Any]:
    """A strategy as JSON has it."""
    found: dict[str, Any] = msgspec.to_builtins(strategy)
    return found


def list_words(rows: Mapping[str, tuple[Strategy, str]]) -> Iterator[str]:
    """A line a strategy."""
    width = max(map(len, rows))
    for id_, (strategy, source) in rows.items():
        styles = ", ".join(strategy.styles) or "mixed only"
        yield f"{id_:<{width}}  {strategy.about} ({styles}{'' if source == SHIPPED else f'; {source}'})"


def show_words(strategy: Strategy) -> Iterator[str]:
    """One strategy whole."""
    yield f"{strategy.name}: {strategy.about}"
    yield f"styles: {', '.join(('mixed', *strategy.styles))}"
    yield f"blind round: {strategy.blind}"
    yield f"later rounds: {strategy.later}"
