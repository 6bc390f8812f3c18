"""What a worker counts, under the labels of its queue, role and model. One object a worker."""

from collections.abc import Callable

from parley.agents.model.base import ModelError, ModelMisconfigured, ModelRefused, ModelUnavailable
from parley.observability import tracing
from parley.observability.metrics import MODEL_FAULTS, WORKER_OUTCOMES, Metrics

DEADLINE, RAISED = "deadline", "raised"
_KINDS: tuple[tuple[type[ModelError], str], ...] = (
    (ModelMisconfigured, "misconfigured"),
    (ModelUnavailable, "unavailable"),
    (ModelRefused, "refused"),
)


def kind_of_fault(fault: ModelError) -> str:
    """Why a model call failed, as the label `kind` says it."""
    return next((kind for of, kind in _KINDS if isinstance(fault, of)), "other")


class WorkerMeasures:
    """The series of one worker.

    Parameters
    ----------
    room
        Turns that it serves at once.
    """

    def __init__(self, metrics: Metrics, queue: str, role: str, model: str, room: int) -> None:
        self._metrics = metrics
        self._queue, self._role, self._model = metrics.queue(queue), metrics.role(role), metrics.model(model)
        self._by_turn = {"queue": self._queue, "role": self._role}
        self._worker_room = metrics.worker_room.labels(**self._by_turn)
        self.busy: Callable[[float], None] = metrics.worker_busy.labels(**self._by_turn).inc
        """It serves so many turns more, or fewer."""
        self.redelivered: Callable[[], None] = metrics.redeliveries.labels(queue=self._queue).inc
        """A turn came that had been delivered before."""
        self.skipped: Callable[[], None] = metrics.turns_skipped.labels(queue=self._queue).inc
        """A turn was dropped before a model call, because it was no longer open."""
        self.late: Callable[[], None] = metrics.late_calls.labels(queue=self._queue).inc
        """A model was called for a turn that was no longer open when its reply came."""
        self.called: Callable[[], None] = metrics.model_calls.labels(model=self._model).inc
        """A model call begins."""
        self._seconds = metrics.model_seconds.labels(model=self._model)
        self.added: Callable[[float], None] = metrics.turn_overhead_seconds.observe
        """What was added to a model's time, from taking a turn until its reply was accepted."""
        self._room = room
        self._open = 0
        for outcome in WORKER_OUTCOMES:
            metrics.worker_turns.labels(outcome=outcome, **self._by_turn)
        self.retried: Callable[[], None] = metrics.model_retries.labels(model=self._model).inc
        """A call within a model call failed, and is made again."""
        for kind in MODEL_FAULTS:
            metrics.model_errors.labels(model=self._model, kind=kind)

    def started(self) -> None:
        """It serves."""
        self._open = self._room
        self._worker_room.inc(self._open)

    def stopped(self) -> None:
        """It serves no more."""
        self._worker_room.inc(-self._open)
        self._open = 0

    def ended(self, outcome: str) -> None:
        """A turn ended."""
        self._metrics.worker_turns.labels(outcome=outcome, **self._by_turn).inc()

    def answered(self, seconds: float) -> None:
        """A model call ended, with or without a reply."""
        ids = tracing.ids() if tracing.is_recording() else None
        self._seconds.observe(seconds, {"trace_id": ids[0]} if ids else None)

    def failed(self, kind: str) -> None:
        """A model call failed."""
        tracing.failed(kind)
        self._metrics.model_errors.labels(model=self._model, kind=kind).inc()
