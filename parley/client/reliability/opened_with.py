"""What a new session starts with: the records of members, and how to read its confidence."""

import time
from pathlib import Path

import msgspec

from parley.client.reliability import store
from parley.client.reliability.verdicts import question_hash
from parley.schemas.afterwards.learned import Learned, Thresholds
from parley.schemas.session import OpenSession


def with_records(
    opening: OpenSession,
    path: Path | None,
    *,
    kind: str = "",
    reliability: bool = True,
    calibration: bool = True,
    thresholds: Thresholds | None = None,
    now_ns: int | None = None,
) -> OpenSession:
    """The session with its kind, the members' records and the fit of its confidence, where the file has any.

    A question that a fit was made on is not read by that fit, and what is known of the question at hand is left out.

    Parameters
    ----------
    path
        The file of what was learned (parley.client.reliability.store); None, or no such file: nothing is known.
    kind
        What kind of question it is, in a word of one's own.
    reliability, calibration
        Whether members weigh by their records, and whether the confidence is told as past outcomes say.

    thresholds
        Those that stand in its settings; None: none of them were learned.

    Raises
    ------
    BadInput
        The file cannot be read.
    """
    learned = Learned(kind=kind, thresholds=thresholds or msgspec.UNSET)
    if path is not None and (reliability or calibration):
        found = store.read(path)
        if reliability and found.verdicts:
            from parley.client.reliability.table import table

            now = time.time_ns() if now_ns is None else now_ns
            records = table(found.verdicts, now_ns=now, question=opening.question)
            if records.rows:
                learned = msgspec.structs.replace(learned, reliability=records)
        fits = [fit for fit in found.calibrations if fit.protocol in ("", opening.protocol)]
        at_hand = question_hash(opening.question)
        if calibration and fits and all(said.question != at_hand for said in found.verdicts):
            learned = msgspec.structs.replace(learned, calibration=fits[-1])
    return opening if learned == Learned() else msgspec.structs.replace(opening, learned=learned)
