"""The only place that imports the OpenTelemetry SDK, and only where an endpoint is given."""

import os
from collections.abc import Callable

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"


def setup_tracing(service: str, endpoint: str | None = None, instance: str = "") -> Callable[[], None]:
    """Export this process's spans over OTLP/HTTP, once, at its start.

    Parameters
    ----------
    service
        Name of the service (`parley-moderator`), unless OTEL_SERVICE_NAME says otherwise.
    endpoint
        Base address of the receiver, such as http://127.0.0.1:4318. Default: what the standard variables say; where
        they say nothing, nothing is set up and nothing slow is imported.
    instance
        Which process of the service this is.

    Returns
    -------
    Callable
        Sends what is still held, within 5 s, and stops. Blocks.
    """
    base = endpoint or os.environ.get(ENDPOINT) or ""
    traces = os.environ.get(TRACES_ENDPOINT, "") if endpoint is None else ""
    if not base and not traces:
        return _nothing
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return _nothing

    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_INSTANCE_ID, SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    attributes = {SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME") or service}
    if instance:
        attributes[SERVICE_INSTANCE_ID] = instance
    provider = TracerProvider(resource=Resource.create(attributes), shutdown_on_exit=False)
    address = traces or f"{base.rstrip('/')}/v1/traces"
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=address, timeout=5)))
    trace.set_tracer_provider(provider)

    def stop() -> None:
        provider.force_flush(5_000)
        provider.shutdown()

    return stop


def _nothing() -> None:
    """Nothing was set up."""
