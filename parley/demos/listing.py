"""The list of all demos."""

from typing import Any

from parley.demos.demo import names, read

_SHOWN = ("protocol", "about", "question", "written")


def rows() -> list[dict[str, Any]]:
    """A row for each demo."""
    demos = {name: read(name) for name in names()}
    return [{"name": name, **{field: getattr(demo, field) for field in _SHOWN}} for name, demo in demos.items()]


def words() -> list[str]:
    """A line for each demo."""
    width = max(map(len, names()))
    return [f"{row['name']:<{width}}  {row['about']}" for row in rows()]
