"""consensus: who has signed a sentence, and whether that is enough.

A group of answers is somebody's proposal. A sentence is agreed when its owners say so: a seat whose own answer is the
same word for word has said it; every other seat signs it, or does not. With w the seats' weights, S those who said or
signed it, A those who ever answered (all seats, where `consensus.absent` is `counts`) and N all seats:

    agreed      100 w(S) >= threshold * w(A)   and   2 |S| > |N|

A seat that left stays in A and N if it ever answered, and is in neither if it never did.

    signatures that a threshold of 60 / 70 / 90 asks for, weights 1
    n = 3, all answered 2 / 3 / 3     n = 5, all answered 3 / 4 / 5
           one never    2 / 2 / 2            one never    3 / 3 / 4
           two never    no number            two never    3 / 3 / 3
                                             three never  no number

An abstention is an answer here: it stays in A, and the seat may sign. A signature binds the hash of the sentence, the
seat's own last answer and the seat, so none is asked for twice, and none is carried to another answer.
"""

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Literal

import msgspec

from parley.coordinator.commands import SayOn
from parley.coordinator.protocol_parts import say
from parley.coordinator.protocols.consensus.state import (
    ANALYST,
    SIGNATURE,
    UNCHANGED,
    VOTED,
    Group,
    State,
    counted,
    distinct,
    position,
    sides,
    weights,
)
from parley.coordinator.table import View, seat_of
from parley.schemas.protocols.consensus import (
    Offered,
    Position,
    Put,
    SeatSignature,
    Settings,
    Signature,
    SignBrief,
    Signed,
)
from parley.schemas.text import answer_key, plain, same, squeeze, stands_in, tokens, two_ways
from parley.schemas.voting import AGREEMENT
from parley.schemas.wire import decode

replace = msgspec.structs.replace

MAX_SENTENCE = 300
"""Characters of a seat's own words that are put as they are."""
MAX_LINE = 240
"""Characters of a reason, and of a quotation, that a signer is shown."""
_DENIES = re.compile(
    r"\b(?:disagree|object to|incorrect|inaccurate|untrue|false|wrong)\b|\bnot (?:true|correct|right|accurate)\b"
    r"|\b(?:do not|don't|cannot|can't) (?:agree|accept|believe|endorse|hold|share|sign|support)\b"
    r"|\b(?:hold|believe|think|say|mean) the (?:opposite|contrary|reverse)\b",
    re.I,
)
"""A reservation that says so is none."""
_NO = frozenset({"no", "not", "never", "isn't", "aren't", "wasn't", "weren't", "doesn't", "don't", "cannot", "can't"})
_NEXT_SENTENCE = re.compile(r"[.!?]\s+\S|\n\s*\S")
_NEARLY = 1e-9


def binding(sentence: str, answer: str, seat: str) -> str:
    """The hash that a signature binds: sentence, the seat's own last answer, seat. 32 hex digits, the same for the same
    words (parley.schemas.text.answer_key)."""
    h = blake2b(digest_size=16)
    for part in (answer_key(sentence), answer_key(answer), seat):
        data = part.encode()
        h.update(len(data).to_bytes(8, "big") + data)
    return h.hexdigest()


def contradicts(reservation: str, sentence: str, other: str = "") -> bool:
    """Whether a reservation takes back what it signs, as far as words tell: it says so, it says the rival (`other`) and
    not the sentence, or it has all of the sentence's words and a no of its own."""
    if _DENIES.search(reservation.replace("’", "'")):
        return True
    said, put, against = (frozenset(tokens(x.replace("’", "'"))) for x in (reservation, sentence, other))
    if against and against <= said and not put <= said:
        return True
    return bool(put) and put <= said and bool((said - put) & _NO)


def is_sentence(text: str) -> bool:
    """Whether words are a sentence or less, so that they can be put as they are."""
    text = text.strip()
    return len(text) <= MAX_SENTENCE and not _NEXT_SENTENCE.search(text)


def own_answer(s: State, v: View, seat: str) -> str:
    """The seat's last answer; empty: it has none."""
    if seat not in s.held:
        return ""
    p = position(v, s.held[seat])
    return plain(p.answer) if p.speaks else ""


def stand(s: State, v: View, sentence: str, seat: str, weight: float = 1.0) -> SeatSignature:
    """Where a seat, of this weight, stands to a sentence, as far as it is on record."""
    if seat not in s.held and seat in s.left:
        return SeatSignature(seat=seat, stands="left", weight=weight)
    if seat not in s.held:
        why = next((r.why.get(seat, "") for r in reversed(s.rounds) if seat in r.why), "")
        return SeatSignature(seat=seat, stands="never", weight=weight, why=why)
    answer = own_answer(s, v, seat)
    binds = binding(sentence, answer, seat)
    if answer and same(answer, sentence):
        return SeatSignature(seat=seat, stands="said", weight=weight, binds=binds)
    given = s.signatures.get(binds)
    if any(keeps_rival(s, v, put, seat) for put in s.puts if put.sentence == sentence):
        return SeatSignature(seat=seat, stands="rival", weight=weight, binds=binds)
    if given is None:
        left = s.rounds[-1].why.get(seat, "") if seat in gone(s) else ""
        left = f"it left after round {s.left[seat] - 1}" if seat in s.left else left
        return SeatSignature(seat=seat, stands="none" if answer else "abstains", weight=weight, why=left)
    stands = given.states if given.states != "sentence" else "reserved" if given.reservation else "signed"
    return SeatSignature(
        seat=seat,
        stands=stands,
        weight=weight,
        binds=binds,
        differs=given.differs,
        reservation=given.reservation,
        why=given.why,
    )


SIGNS = ("said", "signed", "reserved")


class Backing(msgspec.Struct, frozen=True):
    """What stands behind a sentence."""

    stands: tuple[SeatSignature, ...]
    """One for each seat, in the order of the opening."""
    weight: float
    of_weight: float
    seats: int
    of_seats: int
    reached: bool

    @property
    def signers(self) -> tuple[str, ...]:
        """The seats that said or signed it."""
        return tuple(x.seat for x in self.stands if x.stands in SIGNS)


def tally(s: State, v: View, sentence: str) -> Backing:
    """Count what stands behind a sentence."""
    stands = tuple(_named(v, stand(s, v, sentence, seat, weight)) for seat, weight in weights(v).items())
    signed = [x for x in stands if x.stands in SIGNS]
    weight = sum(x.weight for x in signed)
    of = share_of(s, v)
    reached = enough(weight, len(signed), of, len(counted(s, v)), v.settings.threshold)
    return Backing(stands, weight, of, len(signed), len(counted(s, v)), reached)


def _named(v: View, of: SeatSignature) -> SeatSignature:
    """With the strategy that the seat works by."""
    strategy = seat_of(v.opened, of.seat).strategy
    return of if strategy is msgspec.UNSET else replace(of, strategy=strategy.name)


def share_of(s: State, v: View) -> float:
    """The weight of which the threshold is a share."""
    every = counted(s, v)
    return sum(w for seat, w in every.items() if seat in s.held or v.settings.absent == "counts")


def enough(weight: float, seats: int, of_weight: float, of_seats: int, threshold: float) -> bool:
    """Whether this is agreement: the share of the weight, and more than half of all seats."""
    return 100 * weight >= threshold * of_weight - _NEARLY and 2 * seats > of_seats


def can_reach(s: State, v: View) -> bool:
    """Whether those still able to sign could reach it, if all of them signed: seats that answered at least once and did
    not miss the last two rounds. Those that did still stand behind what they signed, and behind their own words where a
    seat that is there says the same. A rule needs no signatures."""
    if v.settings.decide != AGREEMENT:
        return True
    every, left = counted(s, v), gone(s)
    able = [seat for seat in s.held if seat not in left]
    sentences = ["", *(own_answer(s, v, seat) for seat in able), *(p.sentence for p in s.puts)]
    for sentence in sentences:
        seats = [*able, *(seat for seat in left if sentence and stand(s, v, sentence, seat).stands in SIGNS)]
        weight = sum(every[seat] for seat in seats)
        if enough(weight, len(seats), share_of(s, v), len(every), v.settings.threshold):
            return True
    return False


def gone(s: State) -> frozenset[str]:
    """Seats that missed the last two rounds, or left."""
    left = frozenset(s.left)
    if len(s.rounds) < 2:
        return left
    return left | (frozenset(s.rounds[-1].missing) & frozenset(s.rounds[-2].missing))


def seats_to_ask(s: State, v: View, sentence: str) -> tuple[str, ...]:
    """Seats that are to be asked: they were heard, have not said it word for word, did not answer for it before, and
    do not keep the words of its rival. A vote is counted, and asks nobody."""
    if s.rounds[-1].source == VOTED:
        return ()
    other = rival(sides(s, v))
    against = plain(other.answer) if other else ""
    seats = []
    for seat in weights(v):
        answer = own_answer(s, v, seat)
        known = binding(sentence, answer, seat) in s.signatures or _keeps(s, v, seat, against)
        if seat in s.held and seat not in gone(s) and not known and not (answer and same(answer, sentence)):
            seats.append(seat)
    return tuple(seats)


def keeps_rival(s: State, v: View, put: Put, seat: str) -> bool:
    """Whether a seat was not asked for a sentence because its own words are the rival's."""
    return seat not in put.asked and _keeps(s, v, seat, put.rival)


def _keeps(s: State, v: View, seat: str, answer: str) -> bool:
    """Whether a seat says this answer, which the analyst parted from the first one, and has kept it since it read the
    others: it need not be asked for another."""
    own = own_answer(s, v, seat)
    before = [r.posts[seat] for r in s.rounds if seat in r.posts][:-1]
    parted = s.rounds[-1].source in (ANALYST, UNCHANGED)
    return (
        parted and bool(answer and own and before) and same(own, answer) and same(position(v, before[-1]).answer, own)
    )


def rival(answer_groups: list[Group]) -> Group | None:
    """The strongest rival of the first group; None: there is none."""
    return answer_groups[1] if len(answer_groups) > 1 else None


def offers(s: State, v: View, sentence: str) -> tuple[Offered, Offered | None]:
    """The sentence and its strongest rival, each with a line of reasons and a quotation."""
    answer_groups = sides(s, v)
    other = rival(answer_groups)
    against = offered(s, v, plain(other.answer), other.seats[0]) if other else None
    return offered(s, v, sentence, answer_groups[0].seats[0]), against


def offered(s: State, v: View, sentence: str, seat: str) -> Offered:
    """A sentence, with a line of this seat's reasons and its first quotation."""
    p: Position = position(v, s.held[seat])
    quotation = squeeze(p.citations[0].quote)[:MAX_LINE] if p.citations else ""
    reason = squeeze(p.reasoning)
    reason = reason if len(reason) <= MAX_LINE else reason[: MAX_LINE - 1].rsplit(" ", 1)[0] + "…"
    return Offered(sentence=sentence, reason=reason, quotation=quotation, two_ways=two_ways(sentence))


def second_first(v: View, round_: int, seat: str) -> bool:
    """Whether this seat is shown the rival before the sentence."""
    digest = blake2b(f"{v.opened.seed}|sign|{round_}|{seat}".encode(), digest_size=1).digest()
    return bool(digest[0] & 1)


def booked(s: State, v: View) -> tuple[State, tuple[SayOn, ...]]:
    """What every seat said that was asked to sign: kept, and posted. Whoever signs another answer than its own has
    changed its answer in this round."""
    put = s.puts[-1]
    given = {seat: _given(s, v, put, seat) for seat in put.asked}
    held = {seat: s.label(s.held[seat]) for seat in given}
    moved = {
        seat: SIGNATURE
        for seat, signed in given.items()
        if signed.states == "sentence" and held[seat] and held[seat] != put.label
    }
    last = s.rounds[-1]
    last = replace(last, flips=tuple(dict.fromkeys((*last.flips, *moved))), moved={**last.moved, **moved})
    s = replace(
        s,
        pending={},
        absent={},
        rounds=(*s.rounds[:-1], last),
        signatures={**s.signatures, **{signed.binds: signed for signed in given.values()}},
    )
    return as_signed(s, v), tuple(say("signature", put.round, signed, seat) for seat, signed in given.items())


def as_signed(s: State, v: View) -> State:
    """Groups as the seats have signed, whatever an analyst put together: who signed a sentence holds its answer; who
    refused a seat's words of an answer, and said or signed none of it, holds another. To refuse an analyst's words
    says nothing of the seats'."""
    labels = dict(s.labels)
    put = {p.label for p in s.puts}
    apart = {answer_key(position(v, int(post)).answer): x for post, x in labels.items() if x not in put}
    for seat, post in s.held.items():
        stands = [(put.label, stand(s, v, put.sentence, seat).stands, put.worded_by in s.held) for put in s.puts]
        behind = [label for label, stood, _ in stands if stood in SIGNS]
        label = labels.get(str(post), "")
        if behind:
            labels[str(post)] = behind[-1]
        elif label and any(x == label and own and stood in ("rival", "neither") for x, stood, own in stands):
            answer = own_answer(s, v, seat)
            key = answer_key(answer)
            if key not in apart:
                apart[key] = distinct(answer, labels.values())
            labels[str(post)] = apart[key]
    return replace(s, labels=labels)


def _given(s: State, v: View, put: Put, seat: str) -> Signed:
    """What a seat said to a sentence, with what it binds."""
    answer = own_answer(s, v, seat)
    given = Signed(sentence=put.sentence, answer=answer, states="none", binds=binding(put.sentence, answer, seat))
    if seat not in s.pending:
        return replace(given, why=s.absent.get(seat, s.short))
    reply = decode(s.pending[seat], Signature)
    differs = reply.differs if stands_in(reply.differs, put.sentence) else ""
    if reply.states == "neither":
        return replace(given, states="neither", differs=differs)
    swapped = bool(put.rival) and second_first(v, put.round, seat)
    if reply.states == "both" or (reply.states == "second") == swapped:
        taken_back = contradicts(reply.reservation, put.sentence, put.rival)
        states: Literal["sentence", "neither"] = "neither" if taken_back else "sentence"
        return replace(given, states=states, reservation=reply.reservation)
    return replace(given, states="rival", differs=differs)


def chosen(brief: SignBrief, states: str) -> Offered | None:
    """The sentence that a reply chooses; None: neither."""
    return {"first": brief.first, "second": brief.second}.get(states)


def below_least(dimensions: Mapping[str, float], settings: Settings) -> dict[str, float]:
    """Dimension -> its value, of those below the least value that the user set; one that was not measured is at 0."""
    found = {name: dimensions.get(name, 0.0) for name in settings.least}
    return {name: value for name, value in found.items() if value < settings.least[name]}
