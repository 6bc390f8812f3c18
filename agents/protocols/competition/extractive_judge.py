"""Judge and audience of the competition without a language model: they count words and compare quotations.

    logic             quotations as evidence, words that link, sentences with a word of the motion
    persuasion        quotations, what is taken up of the other side's last speech, the motion
    expression        how varied the words are, and how much of the time is used
    teamwork          how much of it its own team has not said, and whether it goes on from there
    rule_compliance   10, less for each violation and for overtime

Each part is a share of 1, a mark is 1 + 9 times their weighted sum. What talks to the judge as to a machine is not
there for it: it neither raises a mark nor lowers it.
"""

import re
from collections.abc import Sequence

from parley.agents.context import Shown
from parley.agents.extractive.stance import firmness, polarity, source_weight
from parley.agents.model.injection import is_suspicious
from parley.agents.protocols.competition.extractive_breaches import breaches
from parley.agents.protocols.competition.extractive_reading import (
    PublicSpeech,
    counted,
    fits_style,
    quotes,
    sentences,
    shared,
    speeches,
    terms_of,
    without_orders,
)
from parley.agents.retrieval.corpus import Sentence, clean, collapse, sentence, stems, word_set, words
from parley.schemas.protocols.competition.format import TEAMS
from parley.schemas.protocols.competition.messages import (
    Ballot,
    BallotBrief,
    Marks,
    Review,
    ReviewBrief,
    ScoreBrief,
    StageSummary,
    SummaryBrief,
)
from parley.schemas.wire import figure

WHO = "Counted, no language model."
WORDS_PER_QUOTE = 25
"""So many words of a speech want a quotation."""
WORDS_PER_LINK = 20
"""So many words want one that links: because, therefore, but."""
TAKEN_UP, SHARE_TAKEN_UP = 6, 0.2
"""Words of the other side's last speech that are to be taken up: so many, or this share of them."""
FULL = 0.6
"""Share of the words allowed from which the time counts as used."""
PER_BREACH, FOR_OVERTIME = 3.0, 4.0
LEAD = 1.05
"""How much more than the other one side must weigh to have an audience seat's vote."""
LISTENS = (("", 0.5), ("data_driven", 0.5), ("emotional", 0.5), ("logical", 0.5), ("", 0.0))
"""Audience seats 1, 2, ..., in turn: the style whose sentences count double, and what counts of those that were met."""
_LINKING = word_set("because therefore so since hence thus if then but yet although however follows not nor against")
_BACK = re.compile(r"\b(?:we|our|us)\b", re.I)


# ---------------------------------------------------------------- marks


def score(shown: Shown) -> tuple[Marks, bool]:
    """(marks of the last speech, whether something that was said talks to the reader as to a machine)."""
    brief: ScoreBrief = shown.brief
    speech_list, injected = speeches(shown)
    if not speech_list:
        return Marks(
            logic=1, persuasion=1, expression=1, teamwork=1, rule_compliance=1, comment=f"Nothing was said. {WHO}"
        ), injected
    it, before = speech_list[-1], speech_list[:-1]
    terms = terms_of(shown.question)
    faults = breaches(brief, it, before, terms)
    parts = _parts(it, before, terms, brief.limit)
    over = brief.words > brief.limit
    quoted = _number_of(round(parts["quoted"]), "quotation")
    basis = f"{quoted}; on the motion {parts['motion']:.0%}, new to its team {parts['fresh']:.0%}"
    return Marks(
        logic=_mark(0.45 * parts["evidence"] + 0.25 * parts["links"] + 0.3 * parts["motion"]),
        persuasion=_mark(0.4 * parts["evidence"] + 0.3 * parts["meets"] + 0.3 * parts["motion"]),
        expression=_mark(0.5 * parts["varied"] + 0.5 * parts["time"] * (not over)),
        teamwork=_mark(0.6 * parts["fresh"] + 0.4 * parts["goes_on"]),
        rule_compliance=max(1.0, 10.0 - PER_BREACH * len(faults) - FOR_OVERTIME * over),
        violations=faults,
        comment=f"{basis}, taken up of the other side {parts['meets']:.0%}. {WHO}",
    ), injected


def _mark(share: float) -> float:
    return round(1 + 9 * max(0.0, min(1.0, share)), 1)


def _parts(it: PublicSpeech, before: Sequence[PublicSpeech], terms: frozenset[str], limit: int) -> dict[str, float]:
    """Shares of 1 of which the marks are made, and how many quotations there are."""
    size = max(1, counted(it.text))
    has = set(stems(it.text))
    quoted = _evidence(it)
    mates = [h for h in before if h.team == it.team]
    against = [h for h in before if h.team != it.team][-1:]
    team_text = collapse(" ".join(h.text for h in mates))
    their_stems = {s for h in against for s in stems(h.text)} - terms
    our_stems = {s for h in mates for s in stems(h.text)} - terms
    speech_words = words(it.text)
    parts = [set(stems(s)) for s in sentences(it.text)]
    return {
        "quoted": float(len(quoted)),
        "evidence": min(1.0, len(quoted) * WORDS_PER_QUOTE / size),
        "links": min(1.0, sum(1 for w in speech_words if w in _LINKING) * WORDS_PER_LINK / size),
        "motion": sum(1 for p in parts if p & terms) / max(1, len(parts)) if terms else 1.0,
        "meets": min(1.0, len(their_stems & has) / max(TAKEN_UP, SHARE_TAKEN_UP * len(their_stems)))
        if against
        else 0.5,
        "varied": max(0.0, min(1.0, (len(set(speech_words)) / max(1, len(speech_words)) - 0.3) / 0.5)),
        "time": min(1.0, size / max(1.0, FULL * limit)),
        "fresh": 1.0 if not quoted else sum(1 for q in quoted if q not in team_text) / len(quoted),
        "goes_on": 0.5 * bool(_BACK.search(it.text)) + 0.5 * (shared(our_stems, has) if mates else 1.0),
    }


def _evidence(it: PublicSpeech) -> list[str]:
    """What it quotes, each once: citations, which the moderator has looked up, and quotations in the text."""
    cited = [collapse(c.quote) for c in it.body.citations if not is_suspicious(c.quote)]
    return list(dict.fromkeys([*cited, *quotes(it.text)]))


# ---------------------------------------------------------------- words of the judge


def summarize(shown: Shown) -> tuple[StageSummary, bool]:
    """What each team quoted in the stage, what was met, and the totals."""
    brief: SummaryBrief = shown.brief
    speech_list, injected = speeches(shown)
    here = [h for h in speech_list if h.body.stage == brief.stage]
    parts = [f"{clean(without_orders(brief.stage)) or 'The stage'}: {_number_of(len(here), 'speech')}."]
    for team in TEAMS:
        of_team = [h for h in here if h.team == team]
        rival = [h for h in here if h.team != team]
        claims = list(dict.fromkeys(c for h in of_team for c in h.claims))
        parts.append(f"{team}: {_number_of(len(of_team), 'speech')}, {_number_of(len(claims), 'quotation')}.")
        open_ = [c for c in claims if not _met(c, rival)]
        if claims:
            parts.append(f"Above all: “{clean(claims[0].text)}”")
        if open_:
            parts.append(f"Not met by the other side: {len(open_)}, such as “{clean(open_[0].text)}”")
    return StageSummary(text=" ".join([*parts, _totals(brief.totals), WHO])), injected


def review(shown: Shown) -> tuple[Review, bool]:
    """Who has won, as it was counted; what stayed open; what each might do better."""
    brief: ReviewBrief = shown.brief
    speech_list, injected = speeches(shown)
    openings = {
        "": "No winner: the debate was not played to its end, or there was nothing to decide by.",
        "draw": "The debate ends in a draw.",
    }
    best = f" Best debater: {clean(brief.best)}." if brief.best and brief.winner else ""
    parts = [openings.get(brief.winner, f"Team {clean(brief.winner)} has won.") + best, _totals(brief.totals)]
    for team in TEAMS:
        of_team = [h for h in speech_list if h.team == team]
        rival = [h for h in speech_list if h.team != team]
        claims = list(dict.fromkeys(c for h in of_team for c in h.claims))
        open_ = [c for c in claims if not _met(c, rival)]
        over = sum(1 for h in of_team if h.body.overtime)
        counts = f"{_number_of(len(of_team), 'speech')}, {_number_of(len(claims), 'quotation')}"
        parts.append(f"{team}: {counts}, {len(open_)} of them not met.")
        if claims:
            strongest = max(claims, key=lambda c: (_worth(c, ""), c.text))
            parts.append(f"Its firmest: “{clean(strongest.text)}”")
        if over:
            parts.append(f"It was over its words in {over} of them, and might say less.")
        elif open_ == claims and rival and claims:
            parts.append("Nothing of it was taken up: the other side might listen more.")
    return Review(text=" ".join([*parts, WHO])), injected


def _number_of(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 'es' if what.endswith('ch') else 's'}"


def _met(claim: Sentence, rival: Sequence[PublicSpeech]) -> bool:
    """Whether the other side quotes it, or the beginning of it."""
    begins = " ".join(claim.text.split()[:6]).rstrip(".,;:!?")
    return any(begins in collapse(h.text) for h in rival)


def _totals(totals: dict[str, float]) -> str:
    scores = ", ".join(f"{team} {figure(totals[team], 2)}" for team in TEAMS if team in totals)
    return f"Totals so far: {scores}." if scores else "There are no totals."


# ---------------------------------------------------------------- the audience


def vote(shown: Shown) -> tuple[Ballot, bool]:
    """Before: as the motion's words sound. After: what each side has quoted, weighed by what this seat listens for."""
    brief: BallotBrief = shown.brief
    motion = without_orders(shown.question)
    odd = is_suspicious(shown.question) or any(is_suspicious(s) for s in brief.stances.values())
    if brief.name == "before":
        sound = polarity(motion)
        choice = "pro" if sound > 0 else "con" if sound < 0 else "undecided"
        return _ballot(choice, f"The motion's words speak {sound:+.1f} for it."), odd
    speech_list, injected = speeches(shown)
    listens, of_met = LISTENS[_number(shown.seat) % len(LISTENS)]
    weights = {team: _weight(speech_list, team, listens, of_met) for team in TEAMS}
    pro, con = weights["pro"], weights["con"]
    choice = "pro" if pro > LEAD * con else "con" if con > LEAD * pro else "undecided"
    what = f", {listens} sentences twice" if listens else ""
    met = f", those that were met {of_met:.0%}"
    why = f"What was quoted weighs {pro:.1f} for pro and {con:.1f} for con{what}{met}."
    return _ballot(choice, why), odd or injected


def _ballot(choice: str, why: str) -> Ballot:
    named = {"pro": "pro", "con": "con"}
    return Ballot(choice=named.get(choice, "undecided"), why=f"{why} {WHO}")  # type: ignore[arg-type]


def _number(seat: str) -> int:
    """The number of an audience seat, from 0: 2 of audience_3."""
    number = seat.rpartition("_")[2]
    return int(number) - 1 if number.isdecimal() and number.isascii() else 0


def _weight(speech_list: Sequence[PublicSpeech], team: str, listens: str, of_met: float) -> float:
    """What a side has quoted, each sentence once; what the other side took up counts less."""
    rival = [h for h in speech_list if h.team != team]
    quotes = dict.fromkeys(
        (c.document, collapse(c.quote)) for h in speech_list if h.team == team for c in h.body.citations
    )
    total = 0.0
    for document, quote in quotes:
        if not is_suspicious(quote):
            s = sentence(quote)
            total += _worth(s, listens) * source_weight(document) * (of_met if _met(s, rival) else 1.0)
    return total


def _worth(s: Sentence, listens: str) -> float:
    return firmness(s) * (1 + fits_style(listens, s))
