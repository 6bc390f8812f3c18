"""The critic protocol's posts, rounds and outcome in words."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from parley.client.show.lines import StyledLine
from parley.client.text import line
from parley.client.untrusted import items, mapping, number
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
    if not body.get("number"):
        checked = f"; it computed: {line(str(body['checked']), _WIDE)}" if body.get("checked") else ""
        yield "seat", f"  {line(seat)} has no new objection{checked}"
    else:
        said = line(str(body.get("objection", "")), max(width, _WIDE))
        yield "seat", f"  {line(seat)} objects ({body['number']}): {said}"
        if body.get("checked"):
            yield "quiet", f"      it computed: {line(str(body['checked']), width)}"


def _repeated(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    yield "score", f"      this repeats objection {body.get('repeats')}"
    yield "quiet", f"        now:    {line(str(body.get('objection', '')), _WIDE)}"
    yield "quiet", f"        before: {line(str(body.get('text', '')), _WIDE)}"


def untried(result: Result) -> Iterator[StyledLine]:
    """What confidence does not mean where a critic with a language model raised nothing and no check of its holds."""
    raised = [mapping(r["raised"]) for r in result.rounds if r.get("raised")]
    confirmed = any(mapping(r.get("judgement") or {}).get("check_holds") for r in result.rounds)
    if raised and result.keyless is not True and not confirmed and not any(o.get("number") for o in raised):
        yield (
            "score",
            "The critic raised no objection and shows no check that holds. So the confidence means that nothing was "
            "said against the answer, and not that the answer was tried.",
        )


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
    parts = [f"confidence {float(body.get('confidence', 0)):.0f} ({line(str(body.get('label')))})"]
    if len(body.get("trend") or ()) > 1:
        parts.append(f"trend {trend}")
    if body.get("source") not in ("judge", "nothing"):
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
    text = line(str(body.get("answer") or body.get("reasoning", "")), width)
    yield "quiet", f"  {line(seat)} writes the verdict{how}: {text}"


def _signature(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    signs = body.get("states") == "yes"
    clause = f": “{line(str(body['differs']), width)}”" if body.get("differs") and not signs else ""
    yield "quiet", f"  {line(seat)} {'signs the verdict' if signs else f'does not sign the verdict{clause}'}"


def _countersignature(seat: str, round_: int, body: Body, width: int) -> Iterator[StyledLine]:
    still, fault, reason = items(body.get("open")), body.get("fatal"), str(body.get("reason", ""))
    why = f": {line(reason, width)}" if reason and still else ""
    said = f"holds {named(still)} against it{why}" if still else "holds no objection against it" if not fault else ""
    if said:
        yield "quiet", f"  {line(seat)} takes a last look at the answer, and {said}"
    if fault:
        yield "score", f"  {line(seat)} names a fault that nobody has ruled on: {line(str(fault), _WIDE)}"


POSTS: dict[str, Callable[[str, int, Body, int], Iterator[StyledLine]]] = {
    "question": _question,
    "answer": _answer,
    "objection": _objection,
    "repeated": _repeated,
    "judgement": _judgement,
    "judgement_swapped": _swapped,
    "tally": _tally,
    "verdict": _verdict,
    "signature": _signature,
    "countersignature": _countersignature,
}
"""Kind of post -> its lines: (seat, round, body, width)."""


def unseen(outcome: Body) -> Iterator[str]:
    """That the critic did not say what it holds against the answer, where it was to."""
    if outcome.get("unseen"):
        yield f"The critic has not seen the answer as it stands: {line(str(outcome['unseen']), _WIDE)}"


def rewritten(outcome: Body) -> Iterator[str]:
    """What the question that was debated lacks of the one that was asked, or adds to it."""
    for name, what in (("left_out", "leaves out"), ("added", "adds")):
        if outcome.get(name):
            words = ", ".join(line(str(word)) for word in items(outcome[name]))
            yield f"the question that was debated {what}: {words}"


def outcome_lines(outcome: Body) -> Iterator[StyledLine]:
    """What stands beside a verdict: what it does to the answer that was debated and what it assumes, the label and what
    it is worth, and the objections that are left."""
    yield from ruling_lines(outcome)
    yield from (("score", text[:1].upper() + text[1:]) for text in rewritten(outcome))
    yield "quiet", f"Label: {line(str(outcome.get('label')))} ({line(str(outcome.get('label_note')))})"
    objections = outcome.get("objections") or ()
    still = [o for o in objections if not o.get("answered")]
    yield "", f"Objections: {len(objections)}, of which {len(still) or 'none'} {'are' if len(still) > 1 else 'is'} open"
    for o in still:
        if o.get("number") in items(outcome.get("refused_by")):
            continue  # told above
        yield "quiet", f"  open, {objection_words(outcome, o.get('number')).removeprefix('objection ')}"
        yield from (("quiet", f"  {text}") for text in dispute_lines(outcome, o.get("number")))


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


def capped(result: Result) -> Iterator[StyledLine]:
    """Why the confidence is lower than after the last round, where nothing but the judge's scores spoke for that."""
    trend = [number(points) for points in items(result.stop.certificate.get("trend"))]
    last, told = trend[-1] if trend else None, number(result.outcome.get("confidence"))
    if result.keyless is True:
        return
    if last is not None and told is not None and last > 100 * told + 0.5 and not named_last(result):
        yield (
            "score",
            f"Nothing but the judge's scores speaks for the {last:.0f} of the last round. So it is {told:.2f}.",
        )


def named_last(result: Result) -> bool:
    """Whether the critic's last look named something that the judge did not call open."""
    raised = {mapping(r.get("raised") or {}).get("number") for r in result.rounds}
    every = map(mapping, items(result.outcome.get("objections")))
    return any(o.get("disputed") or o.get("number") not in raised for o in every)


def dispute_lines(outcome: Body, number: Any) -> Iterator[str]:
    """What the judge went by where the critic disputes that an objection is met, and why it does."""
    found = next((o for o in map(mapping, items(outcome.get("objections"))) if o.get("number") == number), {})
    if found.get("disputed"):
        met = f"it is met by “{line(str(found['met_by']), _WIDE)}”" if found.get("met_by") else "there is nothing to it"
        yield f"  disputed: the judge says that {met}; the critic says: {line(str(found['disputed']), _WIDE)}"


def refusal_lines(outcome: Body) -> Iterator[str]:
    """By which objections an answer is refused, or reversed, and the answer that was."""
    if outcome.get("reversed_by"):
        yield f"Reversed by {objection_words(outcome, outcome['reversed_by'])}"
        yield f"The answer that was debated: {line(str(outcome.get('debated', '')), _WIDE)}"
        return
    for refusing in items(outcome.get("refused_by")):
        yield f"Refused by {objection_words(outcome, refusing)}"
        yield from dispute_lines(outcome, refusing)


def ruling_lines(outcome: Body) -> Iterator[StyledLine]:
    """What the verdict does to the answer that was debated, where that is not to uphold it, and what it assumes."""
    yield from (("score", text) for text in (*refusal_lines(outcome), *unseen(outcome)))
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
    elif signed and outcome.get("ruling") == "narrows":
        yield "score", f"The verdict narrows the answer that was debated, in the judge's words, signed by {signed}."
    elif signed:
        yield (
            "quiet",
            f"In the answerer's own words. Seen at the end by {signed}, which holds nothing more against it.",
        )
    for assumption in outcome.get("assumptions") or ():
        yield "", f"Assumes: {line(str(assumption), _WIDE)}"


def round_words(r: Body) -> Iterator[str]:
    """One round of a result."""
    confidence = r.get("confidence")
    how = "not judged" if confidence is None else f"confidence {confidence:g} of 100"
    source = "" if r.get("source") in (None, "judge", "nothing") else f" ({line(str(r['source']))})"
    yield f"Round {r.get('round')}: {how}{source}."
    answer = r.get("answer") or {}
    if answer:
        yield f"  answer: {line(str(answer.get('answer')), 200)}"
    if said := r.get("raised"):
        yield f"  {_objected(said)}"
    if c := r.get("repeats"):
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
    if not said.get("number"):
        return "no new objection"
    return f"objection {said['number']}: {line(str(said.get('objection')), _WIDE)}"


def _numbers(numbers: Any) -> str:
    return ", ".join(str(n) for n in numbers)


def named(numbers: Any) -> str:
    """`objection 1`, `objections 1, 2`."""
    return f"objection{'s' if len(numbers) > 1 else ''} {_numbers(numbers)}"
