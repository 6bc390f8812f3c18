"""What the posts and the result of a measured debate say: beliefs, arguments at the gates, signals and dials."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from parley.client.protocols.maci import gates
from parley.client.protocols.maci.setup import SETUP
from parley.client.show import card as cards
from parley.client.show.answer import ResultSummary
from parley.client.show.card import (
    Card,
    CardPart,
    CardQuote,
    Changed,
    Chip,
    Quote,
    Row,
    Series,
    Table,
    by_round,
    paragraphs,
)
from parley.client.show.palette import seat_name
from parley.client.show.show import FIELDS, Form, Show, outcome_part, rounds_part
from parley.client.show.words import all_of
from parley.client.text import count, line
from parley.client.untrusted import value_as_text
from parley.schemas.belief import Belief, leading
from parley.schemas.post import Post
from parley.schemas.protocols.maci.messages import (
    Argument,
    Blind,
    Case,
    Crit,
    Merged,
    Outcome,
    Passages,
    RetrievalPlan,
    RoundSignals,
    Ruled,
)
from parley.schemas.result import Result

_NAME, _WIDE, _OUTCOMES = 60, 300, 5
_SIGNALS = ("jsd", "overlap", "q", "crit", "entropy", "information_gain")
_DIALS = ("cl", "tau_q", "tau_crit")
_GATES = {"q": "tau_q", "crit": "tau_crit"}
_SIGNS = {name: (sign, what) for name, sign, what in gates.COLUMNS}


class _Gated(msgspec.Struct):
    """An argument after the gates, whose it was, and what it spoke for when it was brought."""

    post: int
    round: int
    seat: str
    ruled: Ruled
    side: str


FORM = Form(
    asks={
        "blind": "Say how likely each outcome is. Nobody sees it before this round is over.",
        "argue": "Argue, and say how likely each outcome is now.",
        "attack": "Argue against the answer that all hold, as devil's advocate, and say what you believe yourself.",
        "answer": "Answer each argument of the devil's advocate, and say how likely each outcome is now.",
        "crit": "Mark each argument by its reasons and evidence. You do not argue yourself.",
    },
    fields={
        **FIELDS,
        "belief": ("How likely each outcome is", "Together they make 1."),
        "belief.p": ("Probability", "0 to 1."),
        "arguments.rebuts": ("Number of the post that it answers", "Leave it empty if it stands alone."),
        "changed": ("What moved your belief, or why it stands", ""),
        "speaks_for": ("Outcome that your arguments speak for", "Another than the one that all hold."),
        "answers": ("Answer to the devil's advocate", "One for each of its arguments."),
        "answers.argument": ("Argument", "For example a7."),
        "answers.why": ("Why it fails, or what it changes", ""),
        "answers.fails": ("It takes nothing from the answer that all hold", "Else your belief in it is lower now."),
        "apart": ("Your words that are another answer", "Of those that were taken for the same."),
    },
)
"""How a person is asked for a turn."""


class MaciShow(Show):
    """Shows a debate that is measured."""

    setup = SETUP
    form = FORM
    measured = False
    kinds: ClassVar[Mapping[str, type]] = {
        "passages": Passages,
        "blind": Blind,
        "outcomes": Merged,
        "case": Case,
        "crit": Crit,
        "argument": Ruled,
        "refused": Ruled,
        "signals": RoundSignals,
        "plan": RetrievalPlan,
    }
    certificate_names: ClassVar[Mapping[str, str]] = {
        "jsd": "Jensen-Shannon divergence",
        "tau_q": "evidence quality",
        "tau_crit": "argument quality",
        "eps_d": "standstill of disagreement",
        "eps_i": "standstill of information",
        "eta": "least denominator",
        "w": "rounds looked at",
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(settings)
        self._documents: dict[str, str] = {}
        """Passage -> its document."""
        self._held: dict[str, str] = {}
        """Seat -> the outcome that it held most probable last."""
        self._before: dict[str, str] = {}
        """The same before its last reply."""
        self._rounds: list[RoundSignals] = []
        self._arguments: list[_Gated] = []
        self._blind: dict[str, Blind] = {}
        self._groups: dict[str, str] = {}
        """Words of a debater -> the outcome that they count as."""

    @classmethod
    def alone(cls, result: Result) -> dict[str, tuple[str, ...]]:
        """Of the blind round: the outcome that a debater held most probable, where that is one."""
        held: dict[str, tuple[str, ...]] = {}
        for seat, shares in (result.rounds[0].get("beliefs", {}) if result.rounds else {}).items():
            first = leading({share["outcome"]: share["p"] for share in shares})
            if len(first) == 1:
                held[seat] = (first[0],)
        return held

    # -- posts
    def said(self, post: Post, body: Any) -> Card:
        """A post."""
        match body:
            case Passages():
                return self._found(body)
            case Blind():
                self._blind[post.seat] = body
                return self._believes(
                    post.seat, body.belief, head="alone", text=body.reasoning, quotes=self._quotes(body)
                )
            case Merged():
                return self._merged(body)
            case Case():
                return self._case(post.seat, body)
            case Ruled():
                return self._ruled(post, body)
            case Crit():
                scores = ", ".join(f"a{score.item} {score.composite:.2f}" for score in body.scores)
                return Card(place="line", more=True, head="scores", text=scores or "nothing")
            case RoundSignals():
                return self._round(body)
            case RetrievalPlan():
                return _plan(body)
        return super().said(post, body)

    def _found(self, body: Passages) -> Card:
        self._documents.update({p.id: p.document for p in body.passages})
        parts = tuple(CardQuote(head=f"{p.id}, {p.document}", text=line(p.text, _WIDE)) for p in body.passages)
        documents = ", ".join(line(d, _NAME) for d in dict.fromkeys(p.document for p in body.passages))
        what = f"by {', '.join(body.queries)}" if body.queries else "looked up" if body.looked else "for the question"
        chips = () if body.q is None else (Chip(text=f"evidence quality {gates.figure(body.q)}", tone="quiet"),)
        text = f"{count(len(body.passages), 'passage')} {what}, from {documents or 'no document'}"
        return Card(place="line", text=text, chips=chips, parts=parts)

    def _quotes(self, body: Blind | Argument) -> tuple[Quote, ...]:
        return tuple(Quote(document=self._documents.get(s.passage, s.passage), quote=s.quote) for s in body.spans)

    def _merged(self, body: Merged) -> Card:
        self._groups = {member: g.name for g in body.groups for member in g.members}
        also = [
            f"{g.name} is also {', '.join(m for m in g.members if m != g.name)}"
            for g in body.groups
            if any(m != g.name for m in g.members)
        ]
        names = ", ".join(line(g.name, _NAME) for g in body.groups)
        return Card(
            place="note" if also else "line", head=count(len(body.groups), "outcome"), text=paragraphs(names, *also)
        )

    def _believes(self, seat: str, belief: Belief, **more: Any) -> Card:
        likeliest = gates.top(belief, _OUTCOMES)
        held = likeliest[0].outcome if likeliest else ""
        self._held[seat] = self._groups.get(held, held)
        shares = tuple(cards.Share(name=s.outcome, p=s.p) for s in likeliest)
        return Card(position=held, confidence=shares[0].p if shares else None, shares=shares, **more)

    def _case(self, seat: str, body: Case) -> Card:
        before = self._before[seat] = self._held.get(seat, "")
        met = "\n\n".join(map(gates.met_words, body.answers))
        apart = "\n\n".join(f"{name} is another answer than it was taken for." for name in body.apart)
        head = count(len(body.arguments), "argument") if body.arguments else "brings no argument"
        head = "answers the devil's advocate" if met else head
        card = self._believes(seat, body.belief, head=head, text=paragraphs(met or body.changed, apart))
        if not before or before == self._held[seat]:
            return msgspec.structs.replace(card, more=not met)
        why = body.changed or " ".join(one.why for one in body.answers)
        by = "by argument" if why else "without a reason that was found"
        return msgspec.structs.replace(card, changed=Changed(by=by, why=why, explained=bool(why)))

    def _side(self, seat: str, body: Ruled) -> str:
        """The outcome that an argument speaks for: what it says, or what its debater held before and after it; empty
        where it names another outcome than its debater holds, or the debater changed its mind and it names none."""
        if body.speaks_for:
            return body.speaks_for
        held = {self._before.get(seat, ""), self._held.get(seat, "")} - {""}
        outcomes = self._rounds[-1].signals.mixture if self._rounds else {}
        named = {name for name in outcomes if name.casefold() in body.claim.casefold()}
        sides = held & named if named else held
        return next(iter(sides)) if len(sides) == 1 else ""

    def _ruled(self, post: Post, body: Ruled) -> Card:
        side = self._side(post.seat, body)
        self._arguments.append(_Gated(post.n, post.round, post.seat, body, side))
        advocate = (
            f"{gates.advocate_words(body)[:1].upper()}{gates.advocate_words(body)[1:]}." if body.speaks_for else ""
        )
        judged = (
            f"Judge {k}: {gates.score_words(score)}" + (f"; {score.justification}" if score.justification else "")
            for k, score in enumerate(body.scores, 1)
        )
        admitted = Chip(text=gates.passed(body), tone="good")
        return Card(
            head=f"argument {gates.title(body)}",
            text=paragraphs(body.claim, advocate, *body.reasons, *judged),
            chips=(admitted if body.admitted else Chip(text="refused", tone="warn"),),
            quotes=self._quotes(body),
            refused=gates.why_refused(body),
            more=not body.tests,
        )

    def _round(self, body: RoundSignals) -> Card:
        s, told = body.signals, list[str]()
        self._rounds.append(body)
        if s.advocate:
            told.append(f"{seat_name(str(s.advocate))} argued against what all held, which lost {s.yielded:.2f}")
        if s.held:
            told.append("the monotone gate kept the beliefs of the round before: they would have drawn apart")
        if body.next_advocate:
            told.append(f"{seat_name(body.next_advocate)} is to argue against {line(str(s.shared), _NAME)}")
        chips = [Chip(text=", ".join(f"{line(o.outcome, _NAME)} {o.p:.2f}" for o in gates.top(s.mixture, 2)))]
        chips += [Chip(text=f"{body.refused} refused", tone="warn")] if body.refused else []
        chips += [Chip(text=_SIGNS[name][1], tone="quiet") for name in ("pi_i", "pi_d") if getattr(s, name)]
        return Card(
            place="score",
            head=f"disagreement {gates.figure(s.jsd)}",
            text=paragraphs(*told),
            missing=tuple(body.missing),
            chips=tuple(chip for chip in chips if chip.text),
        )

    def series(self) -> tuple[Series, ...]:
        """Signals, dials and the mixture by round, and the values of each argument at the gates."""
        if not self._rounds:
            return ()
        signals = [r.signals for r in self._rounds]
        found = []
        for group, names in (("Signals", _SIGNALS), ("Dials in force", _DIALS)):
            for name in names:
                sign, what = _SIGNS[name]
                gate = getattr(signals[-1], _GATES[name]) if name in _GATES else None
                look: dict[str, Any] = {"most": None if name == "information_gain" else 1.0, "threshold": gate}
                look["threshold_label"] = "" if gate is None else f"gate {gate:.2f}"
                at = [(s.round, getattr(s, name)) for s in signals]
                found.append(by_round(name, f"{sign}, {what}", at, group, **look))
        for k, share in enumerate(gates.top(signals[-1].mixture, _OUTCOMES), 1):
            at = [(s.round, s.mixture.get(share.outcome)) for s in signals]
            found.append(by_round(f"mixture_{k}", f"{k}. {line(share.outcome, 38)}", at, "Mixture", most=1.0))
        for name, sign in (("q", "q"), ("crit", "CRIT")):
            at = [(a.round, getattr(a.ruled, name)) for a in self._arguments if getattr(a.ruled, name) is not None]
            label, group = f"{sign} of each argument", "Arguments at the gates"
            found.append(by_round(f"argument_{name}", label, at, group, form="points", most=1.0))
        return tuple(one for one in found if any(value is not None for value in one.values))

    def round_note(self, round_: int) -> str:
        """That the first one is blind."""
        return "blind, nobody saw another answer" if round_ == 0 else ""

    def round_title(self, round_: int) -> str:
        """The blind round has number 0."""
        return f"Round {round_}"

    def foot(self) -> str:
        """The last round's signals."""
        s = self._rounds[-1].signals if self._rounds else None
        figures = {name: getattr(s, name) for name in (*_SIGNALS[:4], *_DIALS)} if s is not None else {}
        return ", ".join(
            f"{_SIGNS[name][0]} {gates.figure(value)}" for name, value in figures.items() if value is not None
        )

    # -- the result
    def told(self, result: Result) -> ResultSummary:
        """What it came to."""
        if "mixture" not in result.outcome:
            return ResultSummary(parts=(*outcome_part(result), *rounds_part(result, "Round")))
        outcome, certificate = msgspec.convert(result.outcome, Outcome), result.stop.certificate
        answer = outcome.answer
        post, why, quotes = self._carried(answer)
        plan = f"parley explain {line(result.session)} plan" if outcome.plan and outcome.plan.tests else ""
        judged = tuple(gates.warnings(outcome, certificate))
        asked = result.stop.reason in ("answered_now", "cancelled")
        apart = "" if asked else gates.kept_apart(certificate)
        untested = result.stop.converged and not gates.tested(certificate)
        tests = tuple(gates.stop_lines(certificate))
        parts = (
            *self._beliefs(answer),
            *self._argued(),
            *self._table(),
            *_plan_part(outcome),
            CardPart(name="tests", title="Each reason to stop: the first that holds ends it", lines=tests),
            *_beside(outcome, tuple(gates.unlike_words(result.rounds, outcome.record))),
        )
        dissent = self._dissent(answer) if answer else ""
        level = "" if answer else gates.level_words(outcome)
        stood = f", but {apart}" if apart and dissent == "nobody" else ""
        stood = ", also after arguments against it" if result.stop.reason == "agreement" else stood
        behind = self._agreed(answer, stood, converged=result.stop.converged) if answer else level
        return ResultSummary(
            word="Answer" if result.stop.converged or not answer else "Most probable",
            text=answer,
            behind=behind,
            open=apart,
            why=why,
            quote=quotes[0] if quotes else None,
            posts=() if post is None else (post,),
            dissent=dissent,
            weak=(*([gates.UNTESTED] if untested else []), *judged),
            next=plan,
            parts=parts,
        )

    def certificate(self, result: Result) -> Iterator[tuple[str, str]]:
        """What the tests do not tell."""
        told = ("stops", "near_consensus", "one_answer", "one_mind", "confirmed", "heard", "history")
        given = result.stop.certificate.items()
        return self.certificate_rows({name: value for name, value in given if name not in told})

    def _carried(self, answer: str) -> tuple[int | None, str, tuple[Quote, ...]]:
        """The strongest admitted argument for the answer, by what the judges gave it, then by how near its evidence is
        to the subject: its post, words and quotations; where nobody argued for it, why whoever was surest of it held it
        alone."""
        mine = [a for a in self._arguments if a.ruled.admitted and a.side == answer]
        best = max(mine, key=lambda a: (a.ruled.crit or 0.0, a.ruled.q or 0.0), default=None)
        if best is not None:
            return best.post, best.ruled.claim, self._quotes(best.ruled)
        held = [
            (share.p, blind)
            for blind in self._blind.values()
            for share in gates.top(blind.belief, 1)
            if self._groups.get(share.outcome, share.outcome) == answer and blind.reasoning
        ]
        if not held:
            return None, "", ()
        blind = max(held, key=lambda one: one[0])[1]
        return None, blind.reasoning, self._quotes(blind)

    def _last(self) -> dict[str, str]:
        """Seat -> the outcome that it holds most probable in the end; empty where several are."""
        return (
            {seat: gates.most_held(belief) for seat, belief in self._rounds[-1].beliefs.items()} if self._rounds else {}
        )

    def _agreed(self, answer: str, stood: str, *, converged: bool) -> str:
        """Who holds it, and what it stood or did not."""
        last = self._last()
        n, of = sum(name == answer for name in last.values()), len(last)
        if n < of:
            return f"{n} of {of} hold it"
        return f"{all_of(of)} {'agree' if converged else 'hold it'}{stood}" if of else ""

    def _dissent(self, answer: str) -> str:
        """Debaters that hold something else in the end."""
        if not self._rounds:
            return ""
        told = (
            f"{seat_name(seat)} holds {line(name, _NAME) if name else 'several outcomes as equally likely'}"
            for seat, name in self._last().items()
            if name != answer
        )
        return "; ".join(told) or "nobody"

    def _beliefs(self, answer: str) -> Iterator[CardPart]:
        """The mixture, and what each debater gives to each outcome."""
        if not self._rounds:
            return
        last = self._rounds[-1]
        beliefs = {seat: {s.outcome: s.p for s in belief} for seat, belief in last.beliefs.items()}
        rows = tuple(
            Row(
                cells=(s.outcome, f"{s.p:.2f}", *(f"{held.get(s.outcome, 0.0):.2f}" for held in beliefs.values())),
                strong=s.outcome == answer,
            )
            for s in gates.top(last.signals.mixture, 10, answer)
        )
        head = ("Outcome", "Mixture", *map(seat_name, beliefs))
        weights = {seat: w for seat, w in last.signals.weights.items() if seat in beliefs}
        told = [f"Weights: {', '.join(f'{seat_name(s)} {w:.2f}' for s, w in weights.items())}"] if weights else []
        yield CardPart(name="beliefs", title="Beliefs in the end", table=Table(head=head, rows=rows), lines=tuple(told))

    def _argued(self) -> Iterator[CardPart]:
        """Each argument with what became of it."""
        told: list[str] = []
        for a in self._arguments:
            fate = (
                f"admitted, {gates.passed(a.ruled)}" if a.ruled.admitted else f"refused, {gates.why_refused(a.ruled)}"
            )
            side = f", for {line(a.side, _NAME)}" if a.side else ""
            head = f"Round {a.round}, {gates.title(a.ruled)} of {seat_name(a.seat)}{side} ({fate})"
            told.append(f"{head}: {line(a.ruled.claim, _WIDE)}")
            told += [f"  {line(q.document)}: “{line(q.quote, _WIDE)}”" for q in self._quotes(a.ruled)]
            told += [f"  Judge {k}: {gates.score_words(score)}" for k, score in enumerate(a.ruled.scores, 1)]
        if told:
            yield CardPart(name="arguments", title="Arguments, and the gates", lines=tuple(told), finding=True)

    def _table(self) -> Iterator[CardPart]:
        """Signals and the dials in force, by round."""
        if self._rounds:
            rows = tuple(
                Row(
                    cells=(
                        str(r.signals.round),
                        *(gates.figure(getattr(r.signals, name)) for name, _, _ in gates.COLUMNS),
                    )
                )
                for r in self._rounds
            )
            table = Table(head=("Round", *(sign for _, sign, _ in gates.COLUMNS)), rows=rows)
            what = "; ".join(f"{sign}: {what}" for _, sign, what in gates.COLUMNS)
            ahead = ((_SIGNS[n][0], getattr(self._rounds[-1], f"next_{n}")) for n in _DIALS)
            dials = "Dials of the next round: " + ", ".join(f"{sign} {gates.figure(value)}" for sign, value in ahead)
            yield CardPart(name="signals", title="Signals and dials by round", table=table, lines=(what, dials))


def _plan(body: RetrievalPlan) -> Card:
    text = paragraphs(*_tests(body)) or "nothing to find out was named"
    return Card(place="note", more=True, head="plan", text=text)


def _tests(plan: RetrievalPlan) -> list[str]:
    return [
        f"{n}. {t.kind}, {t.gain:.2f} bits expected: {line(t.what, _WIDE)}; query: {line(t.query, _WIDE)}"
        for n, t in enumerate(plan.tests, 1)
    ]


def _plan_part(outcome: Outcome) -> Iterator[CardPart]:
    """What to find out next, ranked."""
    if outcome.plan and outcome.plan.tests:
        names = ", ".join(line(o, _NAME) for o in outcome.plan.outcomes)
        yield CardPart(name="plan", title="What to find out", lines=(f"To tell {names} apart:", *_tests(outcome.plan)))


def _beside(outcome: Outcome, unlike: tuple[str, ...]) -> Iterator[CardPart]:
    """The vote of the blind round, whether it was worth a debate, and what the gate on evidence did."""
    worth = line(value_as_text(outcome.regime.get("words") or "not known"), _WIDE)
    told = [f"Vote of the blind round: {outcome.vote or 'none'}", f"Whether it was worth a debate: {worth}"]
    told.append(f"Arguments: {len(outcome.record)} admitted, {outcome.refused} refused")
    yield CardPart(name="debate", title="Worth of the debate", lines=(*told, *unlike))


SHOW = MaciShow
