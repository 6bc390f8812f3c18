"""The service level objectives: one table, from which come recording rules, alerts, dashboards and the page.

An objective says which share of events must be good over a window. An event's share of bad ones is a ratio of two
counts; a latency or a size is good where it falls into a bucket whose bound is the bar, so no quantile is interpolated.

Outcome series come from any number of copies of `parley metrics`, which all show the same totals. A rule reads the
largest of them (`parley:NAME:max`), so that copies never add up.
"""

import re
from collections.abc import Iterator

import msgspec

PAGE, TICKET = "page", "ticket"
COPIES = "instance, pod, job"
"""Labels by which the copies of one exporter differ."""
WINDOWS = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
"""Windows over which the share of bad events is recorded."""


class Burn(msgspec.Struct, frozen=True):
    """How fast the error budget may burn before somebody is told (the multi-window method of the SRE workbook)."""

    long: str
    short: str
    rate: float
    """Times the rate at which the budget lasts just as long as the objective's window."""
    severity: str


BURNS = (
    Burn("1h", "5m", 14.4, PAGE),
    Burn("6h", "30m", 6.0, PAGE),
    Burn("1d", "2h", 3.0, TICKET),
    Burn("3d", "6h", 1.0, TICKET),
)


class Slo(msgspec.Struct, frozen=True, kw_only=True):
    """One objective."""

    name: str
    title: str
    total: str
    """Selector of the counter of all events; a histogram's `_count`. Of several, joined with ` + `, the sum counts."""
    good: str = ""
    """Selector of the good ones."""
    bad: str = ""
    """Selector of the bad ones, where those are what is counted; several as in `total`."""
    objective: float
    """The share that must be good, between 0 and 1."""
    window: str = "30d"
    severity: str = TICKET
    """The gravest alert that it may raise."""
    least: int = 20
    """Events in an alert's long window below which it stays silent: of few, one is a large share."""
    why: str
    """What a bad event is, in words."""
    steps: tuple[str, ...]
    """The runbook: what to look at first."""

    @property
    def alert(self) -> str:
        """Name of its alerts."""
        return "Parley" + "".join(word.capitalize() for word in self.name.split("_"))

    def bad_share(self, window: str) -> str:
        """The expression for the share of bad events over a window: no value where there was none."""
        total = _sum("rate", self.total, window)
        if self.bad:
            return f"{_sum('rate', self.bad, window)} / ({total} > 0)"
        return f"1 - {_sum('rate', self.good, window)} / ({total} > 0)"

    def events(self, window: str) -> str:
        """The expression for how many events there were in a window."""
        return _sum("increase", self.total, window)

    def burns(self) -> Iterator[Burn]:
        """When it raises its alert: none is graver than its severity, and none asks for more than all to be bad."""
        for burn in BURNS:
            if burn.rate * (1 - self.objective) < 1:
                yield burn if self.severity == PAGE else Burn(burn.long, burn.short, burn.rate, TICKET)


def _sum(function: str, selectors: str, window: str) -> str:
    """Of what these counters counted in a window. Of several, one that is not there counts as 0."""
    sums = [f"sum({function}({selector}[{window}]))" for selector in selectors.split(" + ")]
    return sums[0] if len(sums) == 1 else "(" + " + ".join(f"({one} or vector(0))" for one in sums) + ")"


SLOS = (
    Slo(
        name="questions_answered",
        title="Questions asked and answered",
        bad='parley:sessions_closed_total:max{status="failed"}'
        ' + parley_sessions_refused_total{reason=~"worker|late|fault"}'
        ' + parley_asked_total{outcome=~"failed|refused|unanswered"}',
        total="parley:sessions_closed_total:max"
        ' + parley_sessions_refused_total{reason=~"worker|late|fault"} + parley_asked_total',
        objective=0.99,
        severity=PAGE,
        why="A question, also a synthetic one, was refused, or its session failed.",
        steps=(
            "The dashboard *start* shows which alert says why.",
            "Refused: see ParleyQuestionsRefused. `late`: no moderator took the question.",
            "Failed: the dashboard *debates* has the reasons, `parley explain ID` the details.",
        ),
    ),
    Slo(
        name="expert_selection",
        title="Expert selections that nobody corrected",
        good='parley:selections_total:max{verdict="right"}',
        total="parley:selections_total:max",
        objective=0.95,
        why="A person chose another expert, or said that the wrong one led.",
        steps=(
            "`parley sessions search TEXT` and `parley explain ID` show which tasks went to whom, and why.",
            "Add examples to `domain.owns` and `triggers.examples` of the right expert.",
            'Try it: `parley route "…"`, and `parley eval routing` for other tasks.',
        ),
    ),
    Slo(
        name="coordination_tokens",
        title="Coordination cost: at most 400 tokens a task",
        good='parley:coordination_tokens_bucket:max{le="400.0"}',
        total="parley:coordination_tokens_count:max",
        objective=0.95,
        why="Finding who does a task took more than 400 tokens.",
        steps=(
            "Too many tasks reach the depth `extended`: make `domain.owns` and `domain.defers` more precise.",
            "Give the turns that word claims a smaller model (docs/models.md).",
        ),
    ),
    Slo(
        name="review_iterations",
        title="Review iterations: at most two a task",
        good='parley:review_revisions_bucket:max{le="2.0"}',
        total="parley:review_revisions_count:max",
        objective=0.95,
        why="A task's work was revised more than twice after reviews.",
        steps=(
            "`parley explain ID` shows the findings. The same each time: take another lead or model.",
            "New ones each time: shorten the reviewer's checklist.",
        ),
    ),
    Slo(
        name="overrides",
        title="Human overrides: fewer than 5 % of tasks",
        bad="parley:overrides_total:max",
        total="parley:tasks_ended_total:max",
        objective=0.95,
        why="A person replaced the chosen expert.",
        steps=(
            "`parley sessions list` and `parley explain ID` show which expert replaced which. If it is often the same "
            "pair, correct their `owns` and `defers`.",
        ),
    ),
    Slo(
        name="turns_answered",
        title="Turns that are answered in time",
        bad='parley_turns_total{outcome="missed"}',
        total='parley_turns_total{outcome=~"accepted|retried|missed"}',
        objective=0.99,
        severity=PAGE,
        least=50,
        why="A turn reached its deadline, or its replies could not be used.",
        steps=(
            "One queue (dashboard *specialists*): its worker is frozen or gone, or its model is slow. Read its log.",
            "All queues: look at the bus and the moderators.",
        ),
    ),
    Slo(
        name="turn_overhead",
        title="What Parley itself adds to a turn: at most 250 ms",
        good='parley_turn_overhead_seconds_bucket{le="0.25"}',
        total="parley_turn_overhead_seconds_count",
        objective=0.99,
        severity=PAGE,
        least=50,
        why="A turn took more than 250 ms beside its model's calls and its time in the queue.",
        steps=(
            "Workers or moderators are short of CPU.",
            "Or nats-server's disk is slow: appends take long (dashboard *bus and models*).",
        ),
    ),
    Slo(
        name="submissions_taken",
        title="Submissions that are not refused for want of room",
        bad='parley_submissions_total{verdict="busy"}',
        total="parley_submissions_total",
        objective=0.999,
        severity=PAGE,
        least=200,
        why="A client's or worker's queue at the moderator is full.",
        steps=(
            "Are all moderators connected? If so, start more.",
            "Only one author: it sends too much. The moderators' log names it.",
        ),
    ),
    Slo(
        name="gateway_answered",
        title="Requests that the gateway can answer",
        bad='parley_gateway_requests_total{door=~"web|openai|mcp|login",status=~"5.."}',
        total='parley_gateway_requests_total{door=~"web|openai|mcp|login"}',
        objective=0.999,
        severity=PAGE,
        least=100,
        why="A request was answered with a status of 500 or more.",
        steps=(
            "500 (dashboard *gateway*): a fault of the gateway. Its log says more.",
            "503: the bus or a moderator did not answer. Run `parley doctor` with the same credentials. If it gets "
            "answers, restart the gateway: no session is lost.",
        ),
    ),
    Slo(
        name="gateway_lag",
        title="Posts that a viewer gets within a second",
        good='parley_gateway_lag_seconds_bucket{le="1.0"}',
        total="parley_gateway_lag_seconds_count",
        objective=0.99,
        severity=TICKET,
        least=200,
        why="A post reached a viewer more than a second after its append.",
        steps=(
            "If the gateway is short of CPU (dashboard *gateway*), start more copies.",
            "Do the clocks of gateway and moderators differ?",
        ),
    ),
)


def outcome_series(texts: Iterator[str] | tuple[str, ...]) -> list[str]:
    """Names of the series of which expressions read the largest copy: of `parley:NAME:max`, each NAME once."""
    return sorted({name for text in texts for name in re.findall(r"parley:([a-z_]+):max", text)})
