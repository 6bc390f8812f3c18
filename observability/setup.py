"""The only place that imports the OpenTelemetry SDK, and only where an endpoint is given."""

import os
from collections.abc import Callable

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"

_DELAY_MS = 1_000


def setup_tracing(service: str, instance: str = "") -> Callable[[], None]:
    """Export this process's spans over OTLP/HTTP, once, at its start. Where the standard variables name no receiver,
    nothing is set up, and nothing slow is imported.

    Parameters
    ----------
    service
        Name of the service (`parley-moderator`), unless OTEL_SERVICE_NAME says otherwise.
    instance
        Which process of the service this is.

    Returns
    -------
    Callable
        Sends what is still held, within 5 s, and stops. Blocks.
    """
    base, traces = os.environ.get(ENDPOINT, ""), os.environ.get(TRACES_ENDPOINT, "")
    if not base and not traces:
        return _nothing
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return _nothing

    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_INSTANCE_ID, SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    from parley.observability import tracing

    class Ids(RandomIdGenerator):
        """Random ids, but for spans whose ids follow from what they are of (parley.observability.tracing)."""

        def generate_span_id(self) -> int:
            ids = tracing.next_ids()
            return ids.span_id if ids else super().generate_span_id()

        def generate_trace_id(self) -> int:
            ids = tracing.next_ids()
            return ids.trace_id if ids else super().generate_trace_id()

    attributes = {SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME") or service}
    if instance:
        attributes[SERVICE_INSTANCE_ID] = instance
    provider = TracerProvider(resource=Resource.create(attributes), shutdown_on_exit=False, id_generator=Ids())
    address = traces or f"{base.rstrip('/')}/v1/traces"
    # What a killed process had not sent is lost, so little is held back, unless OTEL_BSP_SCHEDULE_DELAY says otherwise.
    delay = None if os.environ.get("OTEL_BSP_SCHEDULE_DELAY") else _DELAY_MS
    provider.add_span_processor(
        BatchSpanProcessor(OTLPSpanExporter(endpoint=address, timeout=5), schedule_delay_millis=delay)
    )
    trace.set_tracer_provider(provider)

    def stop() -> None:
        provider.force_flush(5_000)
        provider.shutdown()

    return stop


def _nothing() -> None:
    """Nothing was set up."""
