"""Stop reason -> converged -> status -> exit status -> words: the one table. What is not converged is never called
consensus. Which protocol gives which reason stands with the protocol (parley.coordinator.table.Protocol.stops).
Packages bring further rows (parley.schemas.packages)."""

from collections.abc import Mapping

from parley.schemas.packages import UNSETTLED, StopRow, brought_stops
from parley.schemas.registry import Extended

ONE_SOURCE = "one_source"
"""What would be agreement, but is of copies of one reader that quote one document
(parley.coordinator.signals.witnesses)."""
VERSION_LOST = "version_lost"
"""The one reason that no protocol gives: moderators end a session with it that none of them can compute."""
PROTOCOL_FAULT = "protocol_fault"
"""The reason of the machine where a protocol's own code fails."""


def _converged(reason: str, words: str, unless: str = "") -> StopRow:
    return StopRow(reason=reason, converged=True, status="finished", exit_code=0, words=words, unless=unless)


def _settled(reason: str, words: str) -> StopRow:
    return StopRow(reason=reason, converged=False, status="finished", exit_code=0, words=words)


def _unsettled(reason: str, words: str) -> StopRow:
    return StopRow(reason=reason, converged=False, status="finished", exit_code=UNSETTLED, words=words)


def _failed(reason: str, words: str) -> StopRow:
    return StopRow(reason=reason, converged=False, status="failed", exit_code=1, words=words)


_ROWS = (
    _converged("threshold", "enough seats said or signed the same answer"),
    _settled(ONE_SOURCE, "rests on one document, or on copies of one sentence"),
    _unsettled("stuck", "the score made no progress; no consensus"),
    _unsettled("incomplete", "too few seats are left to sign an answer"),
    _settled("decided", "a rule decided between the answers; nobody signed"),
    _unsettled("undecided", "the rule decided nothing"),
    _converged("objections_exhausted", "the critic has no new objection"),
    _converged("confidence", "the judge's confidence reached its threshold"),
    _unsettled("overturned", "an objection that stands overturns the answer"),
    _unsettled("unsettled", "the debate ended, and what stands against the answer is not settled"),
    _unsettled("round_limit", "the last round allowed was played; it did not converge"),
    _converged("agreement", "all hold the same answer, also after they replied to arguments against it"),
    _converged(
        "plateau",
        "the debate no longer changes; the debaters agree",
        unless="the debate no longer changes; the debaters do not agree: a deadlock, not convergence",
    ),
    _unsettled("stalemate", "the mean quality of the arguments stayed below the gate; no consensus"),
    _settled("played", "every stage was played"),
    _unsettled("nothing_said", "nobody won: neither side said anything of substance"),
    _settled("answered", "one answer; nobody checked it"),
    _converged("approved", "the work is done, and every reviewer approved it"),
    _converged("reviewed", "the text is done, and every reviewer approved it; nothing was run"),
    _unsettled("unchecked", "the work is done; nothing was run that shows whether it is right"),
    _unsettled("needs_human", "a human has to decide about security, and nobody did"),
    _converged("joined", "every part is agreed, and those who decided them signed how they are put together"),
    _settled("in_parts", "every part is settled on its own; the whole is no agreement"),
    _unsettled("partly", "some parts are not settled"),
    _unsettled("no_part", "no part has an answer"),
    _settled("unreviewed", "the work is done; nobody reviewed it"),
    _unsettled("no_check", "the check cannot be run, so the work was not begun"),
    _unsettled("unproven", "the work is done; the check does not show that it is right"),
    _unsettled("planned", "nothing was done; the result is a plan"),
    _unsettled("declined", "the lead declined: it cannot be done"),
    _unsettled("review_limit", "the work was returned although reviewers still ask for a revision"),
    _failed("rejected", "a human rejected the task or its work, or nobody was left to go on"),
    _failed("nobody", "no expert took the task"),
    _unsettled("budget", "the next turns did not fit the budget"),
    _unsettled("answered_now", "the answer was asked for before the session had ended"),
    _unsettled("unanswered", "nobody was sure enough to answer"),
    _failed("quorum", "too few seats gave a position to go on"),
    StopRow(
        reason="cancelled", converged=False, status="cancelled", exit_code=130, words="a client cancelled the session"
    ),
    _failed(PROTOCOL_FAULT, "the protocol's own code failed"),
    _failed(VERSION_LOST, "no running moderator knows the version of its protocol"),
)
STOPS: Mapping[str, StopRow] = Extended({row.reason: row for row in _ROWS}, brought_stops)


def stop_row(reason: str) -> StopRow:
    """The row of a reason that a session ended with, also of one whose package is not loaded here: of that it says
    nothing more than that nothing is known to be settled."""
    words = "it ended for a reason of a package that is not loaded here"
    return STOPS.get(reason) or StopRow(
        reason=reason, converged=False, status="finished", exit_code=UNSETTLED, words=words
    )
