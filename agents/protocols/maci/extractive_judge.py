"""Judge and analyst of the MACI protocol without a language model: they count words, and see no names.

    evidence    how much of the claim's and the reasons' meaning stands in the quotations; firm quotations count more
    links       for each reason: how much of it is about what the claim or a quotation says
    against     whether the claim denies the answer that all hold, or names another
    logic       their mean; less where a quotation denies what another says
    relevance   words of the question that the argument has: ENOUGH of them are all that is wanted. Of a rebuttal also
                words of the claim that it answers

Judges on this model score alike: several of them are one, and their variance is 0.
"""

import re
from collections.abc import Sequence

import msgspec

from parley.agents.context import Shown
from parley.agents.extractive.same_answer import grouped
from parley.agents.extractive.stance import firmness
from parley.agents.model.injection import is_suspicious
from parley.agents.protocols.maci.extractive_reading import PassageLine, about, reading
from parley.agents.retrieval.corpus import clean, sentence, stem, stems, word_set
from parley.agents.text.words import words
from parley.schemas.belief import Share
from parley.schemas.protocols.maci.messages import (
    AnonymousItem,
    Crit,
    CritBrief,
    Group,
    MergeBrief,
    Merged,
    PlanBrief,
    Score,
    Test,
    Tests,
)

ENOUGH = 4
LIKELY, UNLIKELY = 0.8, 0.2
"""How likely a finding is positive under the outcome of which it is said, and under another."""
LEAST_TELLING, QUERY_WORDS = 2, 6
"""Words of a sentence that only it has: so many are needed, and so many go into a query."""
STATED = 0.5
"""Share of a sentence's words, outcomes aside, from which the question states it already."""
_DENIES = word_set("against not no nor never excludes excluded cannot contradicts unlikely wrong false instead rather")
_QUOTE = re.compile("“[^”]*”(?: \\([^)]*\\))?")
_KINDS = (
    ("test", re.compile(r"\b(?:test|count|level|serology|antibod|antigen|scan|measure|sample|trial|blood|rate)", re.I)),
    ("document", re.compile(r"\b(?:record|report|log|policy|contract|audit|register|ledger|minutes)", re.I)),
)


def crit(shown: Shown) -> tuple[Crit, bool]:
    """(three sub-scores for each argument, whether one of them talks to the judge as to a machine)."""
    brief: CritBrief = shown.brief
    question_stems = frozenset(stems(shown.question))
    injected = any(is_suspicious(t) for item in brief.items for t in _texts_of(item))
    scores = (
        msgspec.structs.replace(_score(item, question_stems), against=_speaks_against(item, brief.against))
        for item in brief.items
    )
    return Crit(scores=tuple(scores)), injected


def _speaks_against(item: AnonymousItem, answer: str) -> bool:
    """By the claim's words: it names the answer beside a word that denies, or does not name it at all."""
    if not answer or is_suspicious(item.claim):
        return False
    named = set(stems(answer)) <= set(stems(item.claim))
    return not named or bool(_DENIES & set(words(item.claim)))


def _texts_of(item: AnonymousItem) -> tuple[str, ...]:
    return (item.claim, *item.reasons, *item.quotes)


def _score(item: AnonymousItem, question_stems: frozenset[str]) -> Score:
    """What talks to the judge as to a machine is not read, and what is not read is worth nothing."""
    quotes = [q for q in item.quotes if not is_suspicious(q)]
    claim = "" if is_suspicious(item.claim) else item.claim
    reasons = ["" if is_suspicious(r) else r for r in item.reasons]
    quoted, claimed = _meaning(" ".join(quotes)), _meaning(claim)
    own = [_meaning(_QUOTE.sub(" ", r)) for r in reasons]
    links = tuple(
        round(0.5 * _share(_meaning(r), quoted | claimed) + 0.5 * _share(claimed, quoted | mine), 3)
        if claim and r
        else 0.0
        for r, mine in zip(reasons, own, strict=True)
    )
    firm = sum(firmness(sentence(q)) for q in quotes) / len(quotes) / 1.3 if quotes else 0.0
    covered = _share(claimed | frozenset().union(*own), quoted | question_stems) if quotes else 0.0
    logic = sum(links) / len(links) if links else 0.0
    if item.rebuts and not is_suspicious(item.rebuts.claim):
        question_stems |= _meaning(item.rebuts.claim)
    everything = claimed | quoted | frozenset().union(*own)
    relevance = min(1.0, len(everything & question_stems) / max(1, min(ENOUGH, len(question_stems)))) if claim else 0.0
    evidence = firm * (0.4 + 0.6 * covered)
    why = (
        f"{len(quotes)} quotations, {len(everything & question_stems)} words of the question, {len(links)} reasons. "
        "Counted, no language model."
    )
    return Score(
        item=item.item,
        links=links,
        evidence=round(evidence, 3),
        logic=round(logic, 3),
        relevance=round(relevance, 3),
        justification=why,
    )


def _meaning(text: str) -> frozenset[str]:
    return frozenset(stems(text))


def _share(wanted: frozenset[str], present: frozenset[str]) -> float:
    return len(wanted & present) / len(wanted) if wanted else 0.0


def merge(shown: Shown) -> Merged:
    """Proposals that are the same by their words (agents/extractive/same_answer.py); each under its shortest."""
    brief: MergeBrief = shown.brief
    proposed = tuple(dict.fromkeys(brief.proposed))
    groups = (tuple(proposed[place] for place in group) for group in grouped(proposed))
    return Merged(
        groups=tuple(Group(name=min(members, key=lambda m: (len(m), m)), members=members) for members in groups)
    )


def plan(shown: Shown) -> tuple[Tests, bool]:
    """(what would separate the outcomes in contention, whether something talks to the reader as to a machine).

    A test asks whether a sentence about one outcome holds here: one with words that are said of no other outcome, and
    that the question does not have. A sentence of which the question has half the words or more is left out: the
    question states it already. Those of the likeliest outcomes come first, one of each, then the second of each.
    """
    brief: PlanBrief = shown.brief
    read = reading(shown)
    outcomes = [s.outcome for s in brief.mixture]
    by_outcome = about(outcomes, read.lines) if len(outcomes) > 1 else []
    question_stems = frozenset(stems(shown.question))
    names = {s for o in outcomes for s in stems(o)}
    known = question_stems | names
    listed: list[tuple[int, float, Test]] = []
    for i, lines in enumerate(by_outcome):
        others = frozenset().union(
            *(line_stems for j, of in enumerate(by_outcome) if j != i for line_stems in of.values())
        )
        own = {line: line_stems - others - known for line, line_stems in lines.items()}
        # What is said beside a word of the question is nearer to it.
        worth = {
            line: len(own[line]) * (1 if line_stems & question_stems else 0.4) for line, line_stems in lines.items()
        }
        order = sorted(own, key=lambda x: (-worth[x] / (8 + len(x.sentence.stems)), x.passage, x.sentence.text))
        unknown = (x for x in order if not _stated(frozenset(x.sentence.stems) - names, question_stems))
        tests = (_test(line, own[line], i, outcomes) for line in unknown if len(own[line]) >= LEAST_TELLING)
        fresh = [t for t in tests if t.query not in brief.asked]
        listed += [(rank, -brief.mixture[i].p, t) for rank, t in enumerate(fresh)]
    chosen = sorted(listed, key=lambda x: (x[0], x[1], x[2].query))[: brief.most]
    return Tests(tests=tuple(t for _, _, t in chosen)), read.injected


def _stated(line_stems: frozenset[str], question_stems: frozenset[str]) -> bool:
    """Whether the question states what a sentence says of an outcome."""
    return len(line_stems & question_stems) >= STATED * len(line_stems)


def _test(line: PassageLine, telling: frozenset[str], of: int, outcomes: Sequence[str]) -> Test:
    text = clean(line.sentence.text)
    words = [w for w in dict.fromkeys(line.sentence.words) if stem(w) in telling][:QUERY_WORDS]
    kind = next((k for k, pattern in _KINDS if pattern.search(text)), "question")
    return Test(
        what=f"Is this so here: “{text}”? It is said of {clean(outcomes[of])} and of no other answer in contention.",
        kind=kind,  # type: ignore[arg-type]
        query=" ".join([*words, clean(outcomes[of])])[:500],
        positive=tuple(Share(outcome=o, p=LIKELY if i == of else UNLIKELY) for i, o in enumerate(outcomes)),
    )
