"""What every service's registry has beside its own series: the process, Python, and which build of Parley it is."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import CollectorRegistry
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from parley.observability.series import Gauge


@cache
def parley_version() -> str:
    """Of the installed distribution; `unknown` where Parley runs from a folder."""
    try:
        return version("parley")
    except PackageNotFoundError:
        return "unknown"


def registry_of(registry: CollectorRegistry | None) -> CollectorRegistry:
    """The registry, or a fresh one, with those series (`process_*`, `python_info`, `parley_build_info`)."""
    target = registry if registry is not None else CollectorRegistry()
    ProcessCollector(registry=target)
    PlatformCollector(registry=target)
    build = Gauge("parley_build_info", "Which build of Parley this is: always 1.", ("version",), target)
    build.of(parley_version()).set(1)
    return target
