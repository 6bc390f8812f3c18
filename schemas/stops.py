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
_OWN = {
    row.reason: row
    for row in (
        StopRow(
            reason="threshold",
            converged=True,
            status="finished",
            exit_code=0,
            words="enough seats said or signed the same answer",
        ),
        StopRow(
            reason=ONE_SOURCE,
            converged=False,
            status="finished",
            exit_code=0,
            words="rests on one document, or on copies of one sentence",
        ),
        StopRow(
            reason="stuck",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="the score made no progress; no consensus",
        ),
        StopRow(
            reason="incomplete",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="too few seats are left to sign an answer",
        ),
        StopRow(
            reason="decided",
            converged=False,
            status="finished",
            exit_code=0,
            words="a rule decided between the answers; nobody signed",
        ),
        StopRow(
            reason="undecided",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="the rule decided nothing",
        ),
        StopRow(
            reason="objections_exhausted",
            converged=True,
            status="finished",
            exit_code=0,
            words="the critic has no new objection",
        ),
        StopRow(
            reason="confidence",
            converged=True,
            status="finished",
            exit_code=0,
            words="the judge's confidence reached its threshold",
        ),
        StopRow(
            reason="overturned",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="an objection that stands overturns the answer",
        ),
        StopRow(
            reason="unsettled",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="the debate ended, and what stands against the answer is not settled",
        ),
        StopRow(
            reason="round_limit",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="the last round allowed was played; it did not converge",
        ),
        StopRow(
            reason="agreement",
            converged=True,
            status="finished",
            exit_code=0,
            words="all hold the same answer, also after they replied to arguments against it",
        ),
        StopRow(
            reason="plateau",
            converged=True,
            status="finished",
            exit_code=0,
            words="the debate no longer changes; the debaters agree",
            unless="the debate no longer changes; the debaters do not agree: a deadlock, not convergence",
        ),
        StopRow(
            reason="stalemate",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="the mean quality of the arguments stayed below the gate; no consensus",
        ),
        StopRow(
            reason="played",
            converged=False,
            status="finished",
            exit_code=0,
            words="every stage was played",
        ),
        StopRow(
            reason="nothing_said",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="nobody won: neither side said anything",
        ),
        StopRow(
            reason="answered",
            converged=False,
            status="finished",
            exit_code=0,
            words="one answer; nobody checked it",
        ),
        StopRow(
            reason="approved",
            converged=True,
            status="finished",
            exit_code=0,
            words="the work is done, and every reviewer approved it",
        ),
        StopRow(
            reason="reviewed",
            converged=True,
            status="finished",
            exit_code=0,
            words="the text is done, and every reviewer approved it; nothing was run",
        ),
        StopRow(
            reason="unchecked",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="the work is done; nothing was run that shows whether it is right",
        ),
        StopRow(
            reason="needs_human",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="a human has to decide about security, and nobody did",
        ),
        StopRow(
            reason="joined",
            converged=True,
            status="finished",
            exit_code=0,
            words="every part is agreed, and those who decided them signed how they are put together",
        ),
        StopRow(
            reason="in_parts",
            converged=False,
            status="finished",
            exit_code=0,
            words="every part is settled on its own; the whole is no agreement",
        ),
        StopRow(
            reason="partly",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="some parts are not settled",
        ),
        StopRow(
            reason="no_part",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="no part has an answer",
        ),
        StopRow(
            reason="unreviewed",
            converged=False,
            status="finished",
            exit_code=0,
            words="the work is done; nobody reviewed it",
        ),
        StopRow(
            reason="no_check",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="the check cannot be run, so the work was not begun",
        ),
        StopRow(
            reason="unproven",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="the work is done; the check does not show that it is right",
        ),
        StopRow(
            reason="planned",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="nothing was done; the result is a plan",
        ),
        StopRow(
            reason="declined",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="the lead declined: it cannot be done",
        ),
        StopRow(
            reason="review_limit",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="the work was returned although reviewers still ask for a revision",
        ),
        StopRow(
            reason="rejected",
            converged=False,
            status="failed",
            exit_code=1,
            words="a human rejected the task or its work, or nobody was left to go on",
        ),
        StopRow(
            reason="nobody",
            converged=False,
            status="failed",
            exit_code=1,
            words="no expert took the task",
        ),
        StopRow(
            reason="budget",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="the next turns did not fit the budget",
        ),
        StopRow(
            reason="answered_now",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="the answer was asked for before the session had ended",
        ),
        StopRow(
            reason="unanswered",
            converged=False,
            status="finished",
            exit_code=UNSETTLED,
            words="nobody was sure enough to answer",
        ),
        StopRow(
            reason="quorum",
            converged=False,
            status="failed",
            exit_code=1,
            words="too few seats gave a position to go on",
        ),
        StopRow(
            reason="cancelled",
            converged=False,
            status="cancelled",
            exit_code=130,
            words="a client cancelled the session",
        ),
        StopRow(
            reason=PROTOCOL_FAULT,
            converged=False,
            status="failed",
            exit_code=1,
            words="the protocol's own code failed",
        ),
        StopRow(
            reason=VERSION_LOST,
            converged=False,
            status="failed",
            exit_code=1,
            words="no running moderator knows the version of its protocol",
        ),
    )
}
STOPS: Mapping[str, StopRow] = Extended(_OWN, brought_stops)


def stop_row(reason: str) -> StopRow:
    """The row of a reason that a session ended with, also of one whose package is not loaded here: of that it says
    nothing more than that nothing is known to be settled."""
    words = "it ended for a reason of a package that is not loaded here"
    return STOPS.get(reason) or StopRow(
        reason=reason, converged=False, status="finished", exit_code=UNSETTLED, words=words
    )
