"""What models cost: a table in a file, the first pattern that matches a model's name counts."""

import math
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from parley.agents import strict_yaml
from parley.agents.model.base import ModelMisconfigured

TABLE = Path(__file__).with_name("prices.yaml")
_FIELDS = ("model", "input", "output")
_OPTIONAL = ("cached",)


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """US dollars for a million tokens."""

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None
    """Of input that the endpoint had in its cache; None: as any other input."""

    def of(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """US dollars of a call. `cached_tokens`: of the input."""
        cached = self.input if self.cached is None else self.cached
        read = input_tokens - cached_tokens
        return (read * self.input + cached_tokens * cached + output_tokens * self.output) / 1e6


def check(field: str, value: Any) -> float:
    """A price as a number. Raises ModelMisconfigured: not a number, negative, or not finite; `field` is named."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ModelMisconfigured(f"{field}: got {value!r}, expected a number of US dollars for a million tokens")
    if value < 0:
        raise ModelMisconfigured(f"{field}: got {value:g}, a price is not negative")
    return float(value)


def load(path: Path = TABLE) -> list[tuple[str, Price]]:
    """(pattern, price) in the file's order. Raises ModelMisconfigured: the file cannot be read or is no table of
    prices; names the row and the field."""
    try:
        rows = strict_yaml.read(path)
    except strict_yaml.BadYaml as error:
        comma = "," if error.why.startswith("line") else ""
        raise ModelMisconfigured(f"prices: {path}{comma} {error.why}") from error
    wanted = f"{', '.join(_FIELDS)}, and {_OPTIONAL[0]} if you like"
    if not isinstance(rows, list):
        raise ModelMisconfigured(f"prices: {path}: expected a list of rows with {wanted}")
    table = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or set(row) - set(_OPTIONAL) != set(_FIELDS) or not isinstance(row["model"], str):
            raise ModelMisconfigured(f"prices: {path}, row {number}: expected the fields {wanted}")
        where = f"prices: {path}, row {number} ({row['model']})"
        price = Price(**{name: check(f"{where}: {name}", row[name]) for name in row if name != "model"})
        table.append((row["model"].lower(), price))
    return table


@cache
def shipped() -> list[tuple[str, Price]]:
    """The table that ships, read once a process. Nobody changes it."""
    return load()


def price_of(model: str, table: list[tuple[str, Price]]) -> Price | None:
    """The price of a model, by its name or by what follows its last `/`; None: the table does not have it."""
    full = model.lower()
    names = (full, full.rpartition("/")[2])
    for pattern, price in table:
        if any(fnmatchcase(name, pattern) for name in names):
            return price
    return None
