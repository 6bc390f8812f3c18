"""What the posts and the result of a measured debate say: beliefs, arguments at the gates, signals and dials."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from parley.client.protocols.maci import gates
from parley.client.protocols.maci.gates import (
    COLUMNS,
    advocate_words,
    figure,
    level_words,
    met_words,
    most_held,
    passed,
    score_words,
    title,
    top,
    why_refused,
)
from parley.client.protocols.maci.setup import SETUP
from parley.client.show import card as cards
from parley.client.show.answer import ResultSummary
from parley.client.show.card import Card, CardPart, CardQuote, Changed, Chip, Quote, Row, Series, Table, paragraphs
from parley.client.show.palette import seat_name
from parley.client.show.show import FIELDS, Form, Show, outcome_part, rounds_part
from parley.client.show.words import all_of
from parley.client.text import count, line
from parley.client.untrusted import mapping, value_as_text
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
    Score,
)
from parley.schemas.result import Result

_NAME, _WIDE, _OUTCOMES = 60, 300, 5
_SIGNALS = ("jsd", "overlap", "q", "crit", "entropy", "information_gain")
_DIALS = ("cl", "tau_q", "tau_crit")
_GATES = {"q": "tau_q", "crit": "tau_crit"}
_SIGNS = {name: (sign, what) for name, sign, what in COLUMNS}


class _Gated(msgspec.Struct):
    """An argument after the gates, whose it was, and what it spoke for when it was brought."""

    post: int
    round: int
    seat: str
    ruled: Ruled
    side: str
    scores: list[tuple[str, Score]]


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
        "belief.outcome": ("Outcome", ""),
        "belief.p": ("Probability", "0 to 1."),
        "spans": ("Evidence", "Words of a passage, exactly as they stand there."),
        "spans.passage": ("Passage", "For example p7."),
        "spans.quote": ("Quoted words", ""),
        "arguments": ("Argument", ""),
        "arguments.claim": ("Claim", ""),
        "arguments.reasons": ("Reasons", ""),
        "arguments.spans": ("Evidence", ""),
        "arguments.spans.passage": ("Passage", "For example p7."),
        "arguments.spans.quote": ("Quoted words", ""),
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
        "document": "document that all quote",
        "advocates": "devil's advocates",
        "admitted": "arguments admitted",
        "refused": "arguments refused",
        "cross_family": "judges of another model family than every debater",
        "debater_families": "debaters' model families",
        "judge_families": "judges' model families",
        "judges": "judges, each another worker",
        "disagreement": "how disagreement is measured",
        "jsd": "Jensen-Shannon divergence",
        "gates": "gates at the end, 0 to 1",
        "gates_first": "gates at the beginning, 0 to 1",
        "plateau": "how a plateau is found",
        "tau_q": "evidence quality",
        "tau_crit": "argument quality",
        "window": "figures of the plateau's rule",
        "eps_d": "standstill of disagreement",
        "eps_i": "standstill of information",
        "eta": "least denominator",
        "w": "rounds looked at",
        "held": "rounds that the monotone gate held back, which count towards no plateau of disagreement",
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
        self._known: set[tuple[str, ...]] = set()
        self._new = 0
        """Arguments of the round that nobody had brought before."""

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
                for score in body.scores:
                    for held in self._arguments:
                        if held.ruled.id == f"a{score.item}":
                            held.scores.append((post.seat, score))
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
        what = f"by {', '.join(body.queries)}" if body.queries else "for the question"
        what = "that debaters looked up" if body.looked else what
        chips = () if body.q is None else (Chip(text=f"evidence quality {figure(body.q)}", tone="quiet"),)
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
        likeliest = top(belief, _OUTCOMES)
        held = likeliest[0].outcome if likeliest else ""
        self._held[seat] = self._groups.get(held, held)
        shares = tuple(cards.Share(name=s.outcome, p=s.p) for s in likeliest)
        return Card(position=held, confidence=shares[0].p if shares else None, shares=shares, **more)

    def _case(self, seat: str, body: Case) -> Card:
        before = self._before[seat] = self._held.get(seat, "")
        met = "\n\n".join(map(met_words, body.answers))
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
        self._arguments.append(_Gated(post.n, post.round, post.seat, body, side, []))
        key = (body.claim, *sorted(span.quote for span in body.spans))
        if body.admitted and key not in self._known:
            self._known.add(key)
            self._new += 1
        advocate = f"{advocate_words(body)[:1].upper()}{advocate_words(body)[1:]}." if body.speaks_for else ""
        judged = (
            f"Judge {k}: {score_words(score)}" + (f"; {score.justification}" if score.justification else "")
            for k, score in enumerate(body.scores, 1)
        )
        chip = Chip(text=passed(body), tone="good") if body.admitted else Chip(text="refused", tone="warn")
        return Card(
            head=f"argument {title(body)}",
            text=paragraphs(body.claim, advocate, *body.reasons, *judged),
            chips=(chip,),
            quotes=self._quotes(body),
            refused="" if body.admitted else why_refused(body),
            more=not body.tests,
        )

    def _round(self, body: RoundSignals) -> Card:
        s, new, told = body.signals, self._new, []
        self._rounds.append(body)
        self._new = 0
        if s.advocate:
            gave = f"a debater took {s.yielded:.2f} from it" if s.yielded else "nobody has taken anything from it yet"
            brought = "" if s.arguments != 0 else ", and brought no argument"
            told.append(f"{seat_name(str(s.advocate))} was devil's advocate against what all held{brought}; {gave}")
        if s.held:
            told.append("the monotone gate kept the beliefs of the round before: they would have drawn apart")
        if body.next_advocate:
            shared = line(str(s.shared), _NAME)
            told.append(f"{seat_name(body.next_advocate)} is to argue against {shared}, which all hold")
        chips = [Chip(text=", ".join(f"{line(o.outcome, _NAME)} {o.p:.2f}" for o in top(s.mixture, 2)))]
        chips += [Chip(text=count(new, "new argument") if new else "no new argument")] if s.round else []
        if body.refused:
            chips.append(Chip(text=f"{body.refused} refused", tone="warn"))
        chips += [Chip(text=_SIGNS[name][1], tone="quiet") for name in ("pi_i", "pi_d") if getattr(s, name)]
        return Card(
            place="score",
            head=f"disagreement {figure(s.jsd)}",
            text=paragraphs(*told),
            missing=tuple(body.missing),
            chips=tuple(chip for chip in chips if chip.text),
        )

    def series(self) -> tuple[Series, ...]:
        """Signals, dials and the mixture by round, and the values of each argument at the gates."""
        if not self._rounds:
            return ()
        signals = [r.signals for r in self._rounds]
        rounds = tuple(float(s.round) for s in signals)
        found: list[Series] = []
        for group, names in (("Signals", _SIGNALS), ("Dials in force", _DIALS)):
            for name in names:
                values = tuple(getattr(s, name) for s in signals)
                sign, what = _SIGNS[name]
                gate = getattr(signals[-1], _GATES[name]) if name in _GATES else None
                if any(v is not None for v in values):
                    found.append(
                        Series(
                            name=name,
                            label=f"{sign}, {what}",
                            group=group,
                            rounds=rounds,
                            values=values,
                            threshold=gate,
                            threshold_label=f"gate {gate:.2f}" if gate is not None else "",
                            least=0.0,
                            most=None if name == "information_gain" else 1.0,
                        )
                    )
        for k, share in enumerate(top(signals[-1].mixture, _OUTCOMES)):
            found.append(
                Series(
                    name=f"mixture_{k + 1}",
                    label=f"{k + 1}. {line(share.outcome, 38)}",
                    group="Mixture",
                    rounds=rounds,
                    values=tuple(s.mixture.get(share.outcome) for s in signals),
                    least=0.0,
                    most=1.0,
                )
            )
        for name, sign in (("q", "q"), ("crit", "CRIT")):
            at = [(float(a.round), value) for a in self._arguments if (value := getattr(a.ruled, name)) is not None]
            if at:
                found.append(
                    Series(
                        name=f"argument_{name}",
                        label=f"{sign} of each argument",
                        group="Arguments at the gates",
                        form="points",
                        rounds=tuple(x for x, _ in at),
                        values=tuple(v for _, v in at),
                        least=0.0,
                        most=1.0,
                    )
                )
        return tuple(found)

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
        return ", ".join(f"{_SIGNS[name][0]} {figure(value)}" for name, value in figures.items() if value is not None)

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
        apart = [] if asked else gates.kept_apart(certificate)
        untested = result.stop.converged and not gates.tested(certificate)
        parts = (
            *self._beliefs(answer),
            *self._argued(),
            *self._table(),
            *_plan_part(outcome),
            *_beside(outcome, self._vote(outcome), tuple(gates.unlike_words(result.rounds, outcome.record))),
        )
        dissent = self._dissent(answer) if answer else ""
        level = "" if answer else level_words(outcome)
        apart = [text for text in apart if text not in level]
        stood = f", but {apart[0]}" if apart and dissent == "nobody" else ""
        stood = ", also after arguments against it" if result.stop.reason == "agreement" else stood
        behind = self._agreed(answer, stood, converged=result.stop.converged) if answer else level
        return ResultSummary(
            word="Answer" if result.stop.converged or not answer else "Most probable",
            text=answer,
            behind=behind,
            open=apart[0] if apart else "",
            why=why,
            quote=quotes[0] if quotes else None,
            posts=() if post is None else (post,),
            dissent=dissent,
            weak=(*apart[1:], *([gates.UNTESTED] if untested else []), *judged),
            next=plan,
            parts=parts,
            rules=tuple(gates.stops_of(certificate)),
        )

    def certificate(self, result: Result) -> Iterator[tuple[str, str]]:
        """What the tests do not tell."""
        given = result.stop.certificate
        told = ("stops", "near_consensus", "one_answer", "one_mind", "confirmed", "heard", "history", "spent")
        yield from self.certificate_rows({k: v for k, v in given.items() if k not in told})
        if spent := mapping(given.get("spent")):
            yield "Spent when it stopped, before the final plan", gates.spent_words(spent)

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
            for share in self._counted(blind)
            if share.outcome == answer and blind.reasoning
        ]
        if not held:
            return None, "", ()
        blind = max(held, key=lambda one: one[0])[1]
        return None, blind.reasoning, self._quotes(blind)

    def _counted(self, blind: Blind) -> Belief:
        """A blind belief over the outcomes that its words count as."""
        total: dict[str, float] = {}
        for share in blind.belief:
            name = self._groups.get(share.outcome, share.outcome)
            total[name] = total.get(name, 0.0) + share.p
        return tuple(msgspec.structs.replace(blind.belief[0], outcome=name, p=p) for name, p in total.items())

    def _last(self) -> dict[str, str]:
        """Seat -> the outcome that it holds most probable in the end; empty where several are."""
        return {seat: most_held(belief) for seat, belief in self._rounds[-1].beliefs.items()} if self._rounds else {}

    def _agreed(self, answer: str, stood: str, *, converged: bool) -> str:
        """Who holds it, from when on, and what it stood or did not."""
        last = self._last()
        n, of = sum(name == answer for name in last.values()), len(last)
        if not of:
            return ""
        alone = [most_held(self._counted(blind)) for blind in self._blind.values()]
        if n < of:
            return f"{n} of {of} hold it"
        who, moved = f"{all_of(of)} {'agree' if converged else 'hold it'}", sum(first != answer for first in alone)
        who += stood if moved or not alone else f" from the start{stood}"
        return who + (
            f"; {moved} changed its mind" if moved == 1 else f"; {moved} changed their minds" if moved else ""
        )

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

    def _vote(self, outcome: Outcome) -> str:
        """The vote of the blind round, and whether it was a tie."""
        if not outcome.vote:
            return ""
        votes = {outcome.vote: 0}
        for blind in self._blind.values():
            if first := top(self._counted(blind), 1, outcome.vote):
                votes[first[0].outcome] = votes.get(first[0].outcome, 0) + 1
        most = max(votes.values())
        tied = [f"{line(name, _NAME)} {n}" for name, n in votes.items() if n == most]
        same = "the same as the answer" if outcome.vote == outcome.answer else "another than the answer"
        if len(tied) > 1 and votes[outcome.vote] == most:
            return f"a tie ({', '.join(tied)}), which the mixture of beliefs settled for {outcome.vote}, {same}"
        return f"{outcome.vote}, {same}"

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
            for s in top(last.signals.mixture, 10, answer)
        )
        head = ("Outcome", "Mixture", *map(seat_name, beliefs))
        weights = {seat: w for seat, w in last.signals.weights.items() if seat in beliefs}
        told = [f"Weights: {', '.join(f'{seat_name(s)} {w:.2f}' for s, w in weights.items())}"] if weights else []
        yield CardPart(name="beliefs", title="Beliefs in the end", table=Table(head=head, rows=rows), lines=tuple(told))

    def _argued(self) -> Iterator[CardPart]:
        """Each argument with what became of it."""
        told: list[str] = []
        for a in self._arguments:
            fate = f"admitted, {passed(a.ruled)}" if a.ruled.admitted else f"refused, {why_refused(a.ruled)}"
            side = f", for {line(a.side, _NAME)}" if a.side else ""
            told.append(
                f"Round {a.round}, {title(a.ruled)} of {seat_name(a.seat)}{side} ({fate}): {line(a.ruled.claim, _WIDE)}"
            )
            told += [f"  {line(q.document)}: “{line(q.quote, _WIDE)}”" for q in self._quotes(a.ruled)]
            told += [f"  {seat_name(judge)}: {score_words(score)}" for judge, score in a.scores]
        if told:
            yield CardPart(name="arguments", title="Arguments, and the gates", lines=tuple(told), finding=True)

    def _table(self) -> Iterator[CardPart]:
        """Signals and the dials in force, by round."""
        if self._rounds:
            rows = tuple(
                Row(cells=(str(r.signals.round), *(figure(getattr(r.signals, name)) for name, _, _ in COLUMNS)))
                for r in self._rounds
            )
            table = Table(head=("Round", *(sign for _, sign, _ in COLUMNS)), rows=rows)
            what = "; ".join(f"{sign}: {what}" for _, sign, what in COLUMNS)
            ahead = ((_SIGNS[n][0], getattr(self._rounds[-1], f"next_{n}")) for n in _DIALS)
            dials = "Dials of the next round: " + ", ".join(f"{sign} {figure(value)}" for sign, value in ahead)
            yield CardPart(name="signals", title="Signals and dials by round", table=table, lines=(what, dials))


def _plan(body: RetrievalPlan) -> Card:
    if not body.tests:
        return Card(place="line", more=True, head="plan", text="nothing to find out was named")
    return Card(place="note", more=True, head="plan", text=paragraphs(*_tests(body)))


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


def _beside(outcome: Outcome, vote: str, unlike: tuple[str, ...]) -> Iterator[CardPart]:
    """The vote of the blind round, whether it was worth a debate, and what the gate on evidence did."""
    told = [f"Vote of the blind round: {vote}"] if vote else []
    if reason := value_as_text(outcome.regime.get("words") or ""):
        told.append(f"Whether it was worth a debate: {line(reason, _WIDE)}")
    told.append(f"Arguments: {len(outcome.record)} admitted, {outcome.refused} refused")
    yield CardPart(name="debate", title="Worth of the debate", lines=(*told, *unlike))


SHOW = MaciShow
