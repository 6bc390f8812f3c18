"""Series, declared once with bounded labels, and the three pages over real sockets: what they say, also to the rude."""

import asyncio
import re

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from parley.observability import health
from parley.observability.health import HealthServer
from parley.observability.metrics import MAX_VALUES, Bounded, Metrics, ReadGauge


async def ask(port: int, request: bytes) -> tuple[int, dict[str, str], str]:
    """Status, headers and body of the answer to these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        await writer.drain()
        data = await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()
    head, _, body = data.decode().partition("\r\n\r\n")
    line, *fields = head.split("\r\n")
    return int(line.split()[1]), dict(f.split(": ", 1) for f in fields), body


async def get(port: int, path: str, accept: str = "") -> tuple[int, dict[str, str], str]:
    extra = f"Accept: {accept}\r\n" if accept else ""
    return await ask(port, f"GET {path} HTTP/1.1\r\nHost: x\r\n{extra}\r\n".encode())


async def test_metrics_in_both_formats() -> None:
    m = Metrics()
    m.turn_overhead_seconds.observe(0.002)
    async with HealthServer(m.registry, lambda: None) as server:
        status, headers, plain = await get(server.port, "/metrics")
        assert (status, headers["Content-Type"].split(";")[0]) == (200, "text/plain")
        _, headers, rich = await get(server.port, "/metrics", "application/openmetrics-text;version=1.0.0,*/*;q=0.1")
        assert headers["Content-Type"].startswith("application/openmetrics-text")
    names = {f.name for f in parse_text(plain)}
    assert {"parley_turn_overhead_seconds", "parley_submissions"} <= names
    families = {f.name: f for f in parse_openmetrics(rich)}  # type: ignore[no-untyped-call]
    samples = {s.name: s.value for s in families["parley_turn_overhead_seconds"].samples}
    assert samples["parley_turn_overhead_seconds_count"] == 1


async def test_ready_follows_the_service_and_health_does_not() -> None:
    why: list[str | None] = ["the bus is away"]
    async with HealthServer(CollectorRegistry(), lambda: why[0]) as server:
        assert (await get(server.port, "/readyz"))[0::2] == (503, "not ready: the bus is away\n")
        assert (await get(server.port, "/healthz"))[0::2] == (200, "ok\n")
        why[0] = None
        assert (await get(server.port, "/readyz?verbose=1"))[0::2] == (200, "ready\n")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /secrets HTTP/1.1\r\n\r\n", 404),
        (b"GET /../metrics HTTP/1.1\r\n\r\n", 404),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 405),
        (b"\x16\x03\x01\x02\x00 hello\r\n\r\n", 400),
        (b"GET /metrics SPDY/9\r\n\r\n", 400),
        (b"GET /" + b"a" * 2 * health.MAX_HEAD + b" HTTP/1.1\r\n\r\n", 431),
    ],
)
async def test_what_is_no_request_of_ours_is_refused(request_: bytes, status: int) -> None:
    async with HealthServer(CollectorRegistry(), lambda: None) as server:
        assert (await ask(server.port, request_))[0] == status
        assert (await get(server.port, "/healthz"))[0] == 200


async def test_head_has_the_length_and_no_body() -> None:
    async with HealthServer(CollectorRegistry(), lambda: None) as server:
        status, headers, body = await ask(server.port, b"HEAD /healthz HTTP/1.1\r\n\r\n")
        assert (status, headers["Content-Length"], body) == (200, "3", "")


async def test_it_listens_on_this_machine_only_and_stops() -> None:
    server = HealthServer(CollectorRegistry(), lambda: None)
    async with server:
        port = server.port
        assert server.url == f"http://127.0.0.1:{port}"
        assert server._server is not None
        assert [s.getsockname()[0] for s in server._server.sockets] == ["127.0.0.1"]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)  # says nothing, and is open when we close
        writer.write(b"GET ")
        await writer.drain()
    await server.close()
    try:
        assert await asyncio.wait_for(reader.read(), 5) == b""
    except ConnectionResetError:
        pass  # closed before it had read what we sent
    writer.close()
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", port)


FORBIDDEN_LABELS = {"session", "sid", "seat", "turn", "instance", "author", "worker", "question"}


def families(metrics: Metrics) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Name -> (type, label names) of all series."""
    out = {}
    for metric in vars(metrics).values():
        if hasattr(metric, "describe"):
            (family,) = metric.describe()
            labels = (metric._described[2],) if isinstance(metric, ReadGauge) else metric._labelnames
            out[family.name] = (family.type, labels)
    return out


def test_every_series_is_ours_and_none_has_an_unbounded_label() -> None:
    found = families(Metrics())
    assert len(found) >= 30
    for name, (_, labels) in found.items():
        assert re.fullmatch(r"parley_[a-z_]+", name), name
        assert not FORBIDDEN_LABELS & set(labels), (name, labels)


def test_a_label_that_comes_from_outside_is_bounded() -> None:
    bounded = Bounded(most=2)
    assert [bounded(v) for v in ("a", "b", "c", "a", "d")] == ["a", "b", "other", "a", "other"]
    assert len(Bounded()("x" * 500)) == 64
    m = Metrics()
    for i in range(10 * MAX_VALUES):
        m.model_calls.labels(model=m.model(f"model-{i}")).inc()
    (family,) = m.model_calls.collect()
    assert len({s.labels["model"] for s in family.samples}) == MAX_VALUES + 1


def test_a_bucket_carries_the_trace_of_a_value_that_fell_into_it() -> None:
    m = Metrics()
    spread = m.model_seconds.labels(model="m")
    spread.observe(0.02)
    spread.observe(0.03, {"trace_id": "a" * 32})
    shown = generate_openmetrics(m.registry).decode()  # type: ignore[no-untyped-call]
    (line,) = [x for x in shown.splitlines() if "trace_id" in x]
    assert line.startswith('parley_model_seconds_bucket{le="0.05",model="m"} 2.0 # {trace_id="' + "a" * 32 + '"} 0.03')
