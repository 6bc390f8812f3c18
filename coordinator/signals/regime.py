"""Whether a debate is worth its cost here, or a vote will do (3.6, K.1, K.5)."""

import msgspec

from parley.schemas.control import Control

FEW = 5  # K.1: small multiple choice


class Regime(msgspec.Struct, frozen=True, kw_only=True):
    """What K.1's three conditions say. Any one of them asks for a debate."""

    advice: str
    """vote | debate | open: between the two, K.5 says only that a debate may pay."""
    words: str
    outcomes: int
    q: float
    d: float
    overlap: float | None
    documents: int
    ece: float | None
    large_and_ambiguous: bool
    synthesis: bool
    calibration_risk: bool | None
    """None: the vote's calibration error is not known."""


def classify(
    config: Control,
    *,
    outcomes: int,
    q: float,
    d: float,
    overlap: float | None,
    documents: int,
    q_lo: float,
    d_hi: float,
) -> Regime:
    """K.1 on the signals before any argument.

    Parameters
    ----------
    outcomes
        |Y|, however many were given or proposed.
    q, d, overlap
        Q(0), D(0), O of the blind round. O is None where fewer than two debaters cited anything: that two have nothing
        in common says something only of what both cite.
    documents
        From how many documents the passages come. Evidence of one source needs no synthesis.
    q_lo, d_hi
        The bins that the start uses.
    """
    constants = config.constants
    large = outcomes >= constants.y_min and q <= q_lo and d >= d_hi
    synthesis = documents > 1 and overlap is not None and overlap <= constants.o_lo
    risk = None if constants.ece is None else constants.ece >= constants.ece_max
    why = []
    if large:
        why.append(f"{outcomes} outcomes, weak evidence (Q {q:.2f}) and high disagreement (D {d:.2f})")
    if synthesis:
        why.append(f"evidence of {documents} documents with little in common (overlap {overlap:.2f})")
    if risk:
        why.append(f"a vote's calibration error is {constants.ece:.2f}, allowed is less than {constants.ece_max:.2f}")
    if why:
        advice, words = "debate", "a debate is worth it: " + "; ".join(why)
    elif outcomes <= FEW:
        known = "" if risk is False else ", as far as is known: its calibration was not measured"
        advice, words = "vote", f"a vote will do: {outcomes} outcomes{known}"
    else:
        advice, words = "open", f"a vote may do, a debate may be better: {outcomes} outcomes"
    return Regime(
        advice=advice,
        words=words,
        outcomes=outcomes,
        q=q,
        d=d,
        overlap=overlap,
        documents=documents,
        ece=constants.ece,
        large_and_ambiguous=large,
        synthesis=synthesis,
        calibration_risk=risk,
    )
