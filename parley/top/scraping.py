"""Fetches the series of several services over HTTP and puts them together.

Copies of `parley metrics` show the same totals, so of their series the largest counts. Those of all other services add
up (parley.observability.slos says why).
"""

import asyncio
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from parley.client.errors import BadInput

TIMEOUT_S = 3.0
MAX_BYTES = 16_000_000
"""Of one page of series."""
_SELECTOR = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})?$")
_MATCH = re.compile(r'(\w+)(=~|=)"([^"]*)"')

Labels = tuple[tuple[str, str], ...]


class MetricsPage(msgspec.Struct, frozen=True):
    """One service's page of series."""

    url: str
    error: str = ""
    """Why it could not be read."""
    samples: tuple[tuple[str, Labels, float], ...] = ()


def pages(urls: Sequence[str]) -> list[str]:
    """Addresses of the pages, checked.

    Raises
    ------
    BadInput
        One is no http address.
    """
    texts = []
    for url in urls:
        parts = urllib.parse.urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadInput(
                "--metrics", f"got {url!r}, expected the address of a service, such as http://127.0.0.1:9464"
            )
        texts.append(
            f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/') or ''}".removesuffix("/metrics") + "/metrics"
        )
    return texts


async def fetch(urls: Sequence[str]) -> list[MetricsPage]:
    """Read all pages at once; one that cannot be read says why."""
    return list(await asyncio.gather(*(asyncio.to_thread(_read, url) for url in urls)))


def _read(url: str) -> MetricsPage:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=TIMEOUT_S) as answer:
            data = answer.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            return MetricsPage(url, f"its page is larger than {MAX_BYTES:,} bytes")
        families = text_string_to_metric_families(data.decode("utf-8", "replace"))
        samples = [(s.name, tuple(sorted(s.labels.items())), float(s.value)) for f in families for s in f.samples]
    except (OSError, ValueError, urllib.error.URLError) as error:
        return MetricsPage(url, str(getattr(error, "reason", error)) or type(error).__name__)
    return MetricsPage(url, samples=tuple(samples))


class Snapshot:
    """The series of all services at one time.

    Parameters
    ----------
    outcomes
        Names of the series, without `parley_`, of which the largest copy counts.
    at_s
        When, on a clock that only goes forward.
    """

    def __init__(self, sources: Iterable[MetricsPage], outcomes: frozenset[str], at_s: float | None = None) -> None:
        self.sources = tuple(sources)
        self.at_s = time.monotonic() if at_s is None else at_s
        self._series: dict[str, dict[Labels, float]] = {}
        for source in self.sources:
            for name, labels, value in source.samples:
                if not name.startswith("parley_"):
                    continue
                series = self._series.setdefault(name, {})
                if name.removeprefix("parley_") in outcomes:
                    series[labels] = max(value, series.get(labels, value))
                else:
                    series[labels] = value + series.get(labels, 0.0)

    def has(self, name: str) -> bool:
        """Whether any service shows the series."""
        return name in self._series

    def total(self, selector: str) -> float:
        """Sum of the series that a selector of a rule names: `parley:x:max{a="b"}` is read as `parley_x{a="b"}`.
        Several are joined with ` + `."""
        return sum(sum(self.by(one, "").values()) for one in selector.split(" + "))

    def by(self, selector: str, label: str) -> dict[str, float]:
        """The same, by the value of one label."""
        name, wanted = _parsed(selector)
        sums: dict[str, float] = {}
        for labels, value in self._series.get(name, {}).items():
            known = dict(labels)
            if all(re.fullmatch(pattern, known.get(key, "")) for key, pattern in wanted.items()):
                key = known.get(label, "")
                sums[key] = sums.get(key, 0.0) + value
        return sums

    def largest(self, selector: str, label: str) -> dict[str, float]:
        """The largest value by one label: of what several services say of the same thing."""
        name, wanted = _parsed(selector)
        maxima: dict[str, float] = {}
        for source in self.sources:
            for sample, labels, value in source.samples:
                known = dict(labels)
                if sample == name and all(re.fullmatch(p, known.get(k, "")) for k, p in wanted.items()):
                    key = known.get(label, "")
                    maxima[key] = max(value, maxima.get(key, value))
        return maxima


def _parsed(selector: str) -> tuple[str, Mapping[str, str]]:
    match = _SELECTOR.match(selector)
    assert match is not None, f"{selector} is no selector"
    name = re.sub(r"^parley:(\w+):max$", r"parley_\1", match[1])
    matches = _MATCH.findall(match[2] or "")
    return name, {key: value if how == "=~" else re.escape(value) for key, how, value in matches}


def rate(now: Snapshot, before: Snapshot | None, selector: str, label: str = "") -> dict[str, float]:
    """How fast counters grew between two snapshots, a second, by one label; nothing without an earlier one."""
    if before is None or now.at_s <= before.at_s:
        return {}
    then = before.by(selector, label)
    return {
        key: max(0.0, value - then.get(key, 0.0)) / (now.at_s - before.at_s)
        for key, value in now.by(selector, label).items()
    }
