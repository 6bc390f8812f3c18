"""The critic protocol's posts, rounds and outcome in words."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from parley.client.show.lines import StyledLine
from parley.client.text import line
from parley.client.untrusted import items, mapping
from parley.schemas.result import Result

Body = Mapping[str, Any]

_WIDE = 300


def _question(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    kept = not seat or body.get("note") == "kept as asked"
    who = "the question stands as it was asked" if kept else f"{line(seat)} rewrites the question"
    yield "seat", f"  {who}: {line(str(body.get('question', '')), _WIDE)}"
    if body.get("note"):
        yield "quiet", f"      {line(str(body['note']), width)}"
    for name, what in (("left_out", "left out of the question as it was asked"), ("added", "added to it")):
        if body.get(name):
            yield "score", f"      {what}: {line(', '.join(map(str, items(body[name]))), _WIDE)}"


def _answer(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    yield "seat", f"  {line(seat)} ({float(body.get('confidence', 0)):.2f}): {line(str(body.get('answer', '')), width)}"
    if body.get("reasoning"):
        yield "quiet", f"      {line(str(body['reasoning']), width)}"


def _objection(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    pressed = ", asked again," if body.get("pressed") else ""
    if not body.get("number"):
        checked = f"; it computed: {line(str(body['checked']), _WIDE)}" if body.get("checked") else ""
        yield "seat", f"  {line(seat)}{pressed} has no new objection{checked}"
    else:
        said = line(str(body.get("objection", "")), max(width, _WIDE))
        yield "seat", f"  {line(seat)}{pressed} objects ({body['number']}): {said}"
        if body.get("checked"):
            yield "quiet", f"      it computed: {line(str(body['checked']), width)}"


def _repeated(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    yield "score", f"      this repeats objection {body.get('repeats')}"
    yield "quiet", f"        now:    {line(str(body.get('objection', '')), _WIDE)}"
    yield "quiet", f"        before: {line(str(body.get('text', '')), _WIDE)}"


def unread(result: Result) -> bool:
    """Whether no language model had a part in the session."""
    used = result.usage
    return bool(used.calls) and not used.input_tokens + used.output_tokens


def counted(result: Result) -> Iterator[StyledLine]:
    """What confidence means where no language model had a part, beside how sure the answerer was."""
    given = [r["answer"].get("confidence") for r in result.rounds if r.get("answer")]
    if unread(result) and given and isinstance(given[-1], int | float):
        yield (
            "score",
            "The confidence is counted from the objections that are open. No language model judged the answer. "
            f"The answerer itself is {given[-1]:.2f} sure of it.",
        )


def untried(result: Result) -> Iterator[StyledLine]:
    """What confidence does not mean where a critic with a language model raised nothing and no check of its holds."""
    raised = [mapping(o) for r in result.rounds for o in items(r.get("raised"))]
    confirmed = any(mapping(r.get("judgement") or {}).get("check_holds") for r in result.rounds)
    if raised and not unread(result) and not confirmed and not any(o.get("number") for o in raised):
        yield (
            "score",
            "The critic raised no objection and shows no check that holds. So the confidence means that nothing was "
            "said against the answer, and not that the answer was tried.",
        )


def _pressed(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    yield "score", f"  the critic is asked again, in a sharper tone: {line(str(body.get('why', '')), width)}"


def _judgement(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    yield (
        "quiet",
        f"  {line(seat)}: {float(body.get('score', 0)):.0f} of 100; {line(str(body.get('comment', '')), width)}",
    )
    for one in map(mapping, items(body.get("met"))):
        yield "quiet", f"      objection {one.get('objection')} is met by: “{line(str(one.get('quote', '')), width)}”"
    if body.get("check_holds"):
        yield "quiet", "      the critic's calculation holds"


def _swapped(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    yield "quiet", f"  {line(seat)}, the opposite order: {float(body.get('score', 0)):.0f} of 100"


def _tally(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    trend = " → ".join(f"{c:.0f}" for c in body.get("trend") or ())
    parts = [f"confidence {float(body.get('confidence', 0)):.0f} ({line(str(body.get('label')))})", f"trend {trend}"]
    if body.get("source") != "judge":
        parts.append(line(str(body.get("source"))))
    if body.get("answered"):
        parts.append(f"meets {named(body['answered'])}")
    if body.get("reopened"):
        parts.append(f"no longer meets {named(body['reopened'])}")
    if body.get("found") and _closed(body, body["found"]):
        parts.append(f"objection {body['found']} is new and has nothing to it, closed")
    elif body.get("found"):
        judged = body.get("source") == "judge"
        weight = f"weight {float(body.get('weight', 0)):.2f}" if judged else "and nobody judged it: it counts as 0.50"
        parts.append(f"objection {body['found']} is new, {weight}")
    bias = body.get("bias")
    if bias:
        parts.append(f"order makes a difference of {float(bias['difference']):+.0f}")
    if body.get("missing"):
        parts.append("missing: " + ", ".join(line(str(s)) for s in body["missing"]))
    yield "score", f"  round {round_}: " + ", ".join(parts)


def _closed(body: Body, number: int) -> bool:
    """Whether an objection was closed at once."""
    return any(o.get("number") == number and o.get("closed") for o in body.get("profile") or ())


def _verdict(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    how = f", which {line(str(body['ruling']))} the answer" if body.get("ruling") else ""
    yield "quiet", f"  {line(seat)} writes the verdict{how}: {line(str(body.get('answer', '')), width)}"


def _signature(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    signs = body.get("states") == "yes"
    clause = f": “{line(str(body['differs']), width)}”" if body.get("differs") and not signs else ""
    yield "quiet", f"  {line(seat)} {'signs the verdict' if signs else f'does not sign the verdict{clause}'}"


def _countersignature(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    n = body.get("left_out")
    said = f"says that the verdict leaves out objection {n}" if n else "says that no open objection is left out"
    yield "quiet", f"  {line(seat)} {said}"


POSTS: dict[str, Callable[[str, int, Body, int], Iterator[StyledLine]]] = {
    "question": _question,
    "answer": _answer,
    "objection": _objection,
    "repeated": _repeated,
    "pressed": _pressed,
    "judgement": _judgement,
    "judgement_swapped": _swapped,
    "tally": _tally,
    "verdict": _verdict,
    "signature": _signature,
    "countersignature": _countersignature,
}
"""Kind of post -> its lines: (seat, round, body, width)."""


def outcome_lines(outcome: Body) -> Iterator[StyledLine]:
    """What stands beside a verdict: what it does to the answer that was debated and what it assumes, the label and what
    it is worth, and the objections that are left."""
    yield from ruling_lines(outcome)
    yield "quiet", f"Label: {line(str(outcome.get('label')))} ({line(str(outcome.get('label_note')))})"
    objections = outcome.get("objections") or ()
    still = [o for o in objections if not o.get("answered")]
    yield "", f"Objections: {len(objections)}, of which {len(still) or 'none'} {'are' if len(still) > 1 else 'is'} open"
    for o in still:
        yield "quiet", f"  open, {objection_words(outcome, o.get('number')).removeprefix('objection ')}"


REVERSED = (
    "The verdict reverses the answer that was debated, and is the judge's own answer: nobody has attacked it."
    " Confidence is that of the debated answer."
)
"""What is said of a verdict that reverses."""


def objection_words(outcome: Body, number: Any) -> str:
    """`objection 1 (weight 0.90): it burns`."""
    found = next((o for o in map(mapping, items(outcome.get("objections"))) if o.get("number") == number), {})
    weight = found.get("weight")
    judged = "nobody judged its weight" if weight is None else f"weight {float(weight):.2f}"
    return f"objection {number} ({judged}): {line(str(found.get('text', '')), _WIDE)}"


def refusal_lines(outcome: Body) -> Iterator[str]:
    """By which objections an answer is refused, or reversed, and the answer that was."""
    if outcome.get("reversed_by"):
        yield f"Reversed by {objection_words(outcome, outcome['reversed_by'])}"
        yield f"The answer that was debated: {line(str(outcome.get('debated', '')), _WIDE)}"
        return
    for number in items(outcome.get("refused_by")):
        yield f"Refused by {objection_words(outcome, number)}"


def ruling_lines(outcome: Body) -> Iterator[StyledLine]:
    """What the verdict does to the answer that was debated, where that is not to uphold it, and what it assumes."""
    yield from (("score", text) for text in refusal_lines(outcome))
    if outcome.get("departing"):
        yield (
            "score",
            f"The verdict departs from the debate and was not taken: {line(str(outcome['departing']), _WIDE)}",
        )
        _, _, why = str(outcome.get("departs", "")).partition(": ")
        yield "quiet", f"  Why: {line(why, _WIDE)}"
    signed = ", ".join(line(str(seat)) for seat in items(outcome.get("signed")))
    if outcome.get("ruling") == "reverses":
        yield "score", REVERSED
    elif signed:
        narrows = " The verdict narrows the answer that was debated." if outcome.get("ruling") == "narrows" else ""
        yield "quiet" if not narrows else "score", f"In the judge's words, signed by {signed}.{narrows}"
    for assumption in outcome.get("assumptions") or ():
        yield "", f"Assumes: {line(str(assumption), _WIDE)}"


def round_words(r: Body) -> Iterator[str]:
    """One round of a result."""
    confidence = r.get("confidence")
    how = "not judged" if confidence is None else f"confidence {confidence:g} of 100"
    source = "" if r.get("source") in (None, "judge") else f" ({line(str(r['source']))})"
    yield f"Round {r.get('round')}: {how}{source}."
    answer = r.get("answer") or {}
    if answer:
        yield f"  answer: {line(str(answer.get('answer')), 200)}"
    for said in r.get("raised") or ():
        yield f"  {_objected(said)}"
    for c in r.get("repeats") or ():
        yield f"    repeats objection {c['repeats']}: {line(str(c['objection']), _WIDE)}"
    judged = r.get("judgement") or {}
    if judged:
        yield f"  judge: {float(judged.get('score', 0)):.0f} of 100; {line(str(judged.get('comment', '')), _WIDE)}"
    for name, words in (("answered", "objections newly met"), ("reopened", "objections no longer met")):
        if r.get(name):
            yield f"  {words}: {_numbers(r[name])}"
    for seat in r.get("missing") or ():
        yield f"  {line(str(seat))} was missing"


def _objected(said: Body) -> str:
    again = " (asked again)" if said.get("pressed") else ""
    if not said.get("number"):
        return f"no new objection{again}"
    return f"objection {said['number']}{again}: {line(str(said.get('objection')), _WIDE)}"


def _numbers(numbers: Any) -> str:
    return ", ".join(str(n) for n in numbers)


def named(numbers: Any) -> str:
    """`objection 1`, `objections 1, 2`."""
    return f"objection{'s' if len(numbers) > 1 else ''} {_numbers(numbers)}"
