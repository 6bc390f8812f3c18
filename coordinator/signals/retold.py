"""What a text says that was counted, against what was counted: who won, with which figures, who was best, whether all
were of one mind.

Only what is said plainly counts: a sentence that denies, supposes, reports or is about a part of a debate claims
nothing. Words of English, German and French are known; of a text in another language nothing is found.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

import msgspec

DRAW = "draw"


class Contender(msgspec.Struct, frozen=True, kw_only=True):
    """One that may win."""

    names: tuple[str, ...]
    """What a text may call it; the first is what we call it."""
    figures: tuple[float, ...] = ()
    """What may be told of it."""


class RetoldCount(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted."""

    sides: Mapping[str, Contender]
    winner: str = ""
    """A side, `draw`, or empty: nobody."""
    figures: tuple[float, ...] = ()
    """What may be told beside what is of a side: the margin."""
    best: tuple[str, ...] = ()
    """The best seats."""
    voters: tuple[str, ...] = ()
    """Who decided, as a text may call them: begins of words."""
    unanimous: bool | None = None
    """Whether they were of one mind; None: nothing was counted."""


_QUOTED = re.compile(r"“[^”]*”|„[^“”]*[“”]|«[^»]*»|\"[^\"]*\"")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_IDIOMS = re.compile(
    r"\b(?:without (?:a |any )?(?:doubt|question)|(?:there is )?no (?:doubt|question)(?: that)?|not only|even if|"
    r"after (?:all )?(?:\w+ )?(?:stages|rounds|speeches)|sans aucun doute|sans doute|ohne (?:jeden )?zweifel)\b,?"
)
_HEDGES = re.compile(
    r"\b(?:would|could|might|may|should|ought|if|unless|without|whether|before (?:the )?(?:penalties|fines)|until|"
    r"almost|nearly|perhaps|probably|deserve[sd]? to|wants?|wanted|tr(?:y|ies|ied)|hopes?|hoped|needs?|needed|"
    r"arguing|argue[sd]?|claim(?:s|ed)?|says|said|saying|believe[sd]?|think|thinks|thought|predict(?:s|ed)?|"
    r"expect(?:s|ed)?|promise[sd]?|had it|wäre|wären|hätten?|könnten?|würden?|wenn|falls|ohne|ob|beinahe|fast|"
    r"sagte?|behauptet(?:e|en)?|aurait|auraient|pourrait|serait|sans|presque|prétend|affirme|imagin\w+|"
    r"suppos\w+)\b|\bsi\b"
)
_DENIES = re.compile(
    r"\b(?:not|never|nobody|neither|nor|no|none|cannot|hardly|nicht|niemals|nie|niemand|keine?[rnms]?|weder|ne|pas|"
    r"jamais|personne|aucune?)\b|n't\b|\bn'"
)
_PART = re.compile(
    r"\b(?:clash\w*|exchanges?|questions?|rounds?|stages?|cross-?examinations?|free debate|ground|arguments?|"
    r"issues?|parts?|moments?|points? (?:on|of|about|that)|openings?|closings?|speech(?:es)?|minutes?|halves|half|"
    r"frage|runde|abschnitt|kreuzverhör|austausch|streitpunkt|eröffnung|échange|manche|étape|interrogatoire|"
    r"costs?|evidence|sympath\w+)\b"
)
_WHOLE = r"(?:debate|match|competition|contest|day|whole thing|debatte|wettbewerb|wettstreit|débat|concours)"
_WHOLE_WON = re.compile(rf"\b(?:the|this|die|diese|den|dieses|le|ce|l')\s?{_WHOLE}\b")
_ARTICLES = (
    r"(?:(?:the|die|der|den|das|la|le|les|team|side|seite|équipe|a|clearly|rightly|therefore|thus|again|l'|our)\s*)*"
)
_BETWEEN = re.compile(
    r"(?:'s)?(?:[ -](?:side|team|seite|bench))?(?:,[^,]{1,60},| \([^)]{1,60}\))?(?:[ ,]+(?:ha[sd]|have|hat|haben|"
    r"that|a|ont|as|who|which|qui|clearly|\w+ly|also|thus|therefore|then|so|just|far|and|away|by|in|the|end|still|"
    r"again|debate|match|competition|die|diese|debatte|damit|also|eindeutig|klar|knapp|deutlich|verdient|am|ende|"
    r"today's|donc|nettement|largement|bien|le|débat|l')\b)*[ ,]*"
)
"""What may stand between a side and the word that says that it won."""
_WON = re.compile(
    r"\b(?:won|wins|prevail(?:s|ed)|triumph(?:s|ed)|carr(?:ies|ied) the day|(?:takes?|took) the (?:debate|win|"
    r"victory|match|day)|c[oa]mes? out (?:on top|ahead)|emerge[sd]? (?:as (?:the )?)?(?:victorious|winner|victor)|"
    r"walk(?:s|ed) (?:away|off) with (?:the|this) (?:debate|victory|win|day)|g[eo]ts? the (?:victory|win)|"
    r"finish(?:es|ed) (?:first|ahead|on top)|(?:takes?|took) first place|(?:is|was|stands) first(?! to)|"
    r"edge[sd] it|battu|deserve[sd]? (?:its|their|the|this) (?:victory|win)|beaten(?= )|(?:(?:is|are|was|were|ist|"
    r"war|est) )?(?:\w+ly )?(?:the |der |die |le |today's |our )?(?:clear |deserved |overall )?(?:victorious|"
    r"winners?|winning (?:team|side)|sieger|siegerin|vainqueur)|beat|beats|defeat(?:s|ed)|outscore[sd]?|gewinnt|"
    r"gewonnen|gewann|siegt|siegte|gesiegt|gagne|gagné|emporte|emporté|remporte|remporté)\b"
)
_LOST = re.compile(
    r"\b(?:lost|loses|verliert|verlor|verloren|perd|perdu|(?:was|were|is|been) (?:clearly |\w+ly )?(?:beaten|"
    rf"defeated))\b(?=\s*(?:$|[.!,;]|(?:the|this) (?:whole )?{_WHOLE}|le débat|die debatte|by \d|by a|narrowly|"
    r"clearly|badly|on points|overall|to |against |gegen ))"
)
_OTHER_OBJECT = re.compile(
    r"\s+(?:over|back|him|her|them|us|me|it|every|each|both|most|some|two|three|four|support|trust|applause|"
    r"hearts?|\d+ |the (?!(?:whole |entire )?(?:debate|match|competition|contest|day))|that |nothing|little|our |my |"
    r"this (?!debate|one|match|competition)|on (?!points|all|the whole|balance)|in (?!the end|total|this debate|"
    r"our)|more|many|votes|points|les |la )"
)
_PRIZE = (
    r"(?:winner|winning (?:team|side)|victor|sieger|siegerin|gewinner|gewinnerin|vainqueur|gagnant)(?: (?:of|"
    rf"in) (?:the|this|today's) {_WHOLE})?(?:\s*(?:is|was|are|ist|war|est|:|=|–|—|-|,))*|(?:victory|win|sieg|"
    r"victoire|debate|debatte|débat|match|competition|day|prize|trophy|this one)\s+(?:goes|went|belongs|geht|ging|"
    r"gehört|revient|va)\s+(?:\w+ly )?(?:to|an|à|aux?)|(?:was|is|been|wurde|wird) (?:\w+ly )?(?:won|"
    r"gewonnen) (?:\w+ly )?(?:by|von)|(?:won|gewonnen|remporté) (?:by|von|par)|(?:wide|clear|narrow|deserved|big|"
    r"great|easy|close|a|ein|une) (?:victory|win|sieg|victoire) (?:for|of|für|der|de|pour)|(?:decided|decides?|"
    r"decision|finds?|found|ruled|rules|verdict|entscheidung)(?: is| was|:)* (?:for|in favou?r of|zugunsten|für)|"
    r"(?:verdict|decision)(?: is|:)|(?:count|judges?|jury) (?:gives?|gave|awards?|awarded) it to|(?:count|result|"
    r"points|bench|jury|house) favou?rs?|(?:awards?|awarded|gives?|gave|hands?) (?:the |this )?(?:debate|win|"
    r"victory|match) to|gewonnen hat"
)
_PALM = re.compile(
    r"\b(?:victory|winners?|trophy|champions?|the win|sieg|sieger|siegerin|victoire|vainqueur)\b(?! (?:over|on|in|"
    r"against)\b)"
)
_AND_WON = re.compile(r"(?:\band|,) (?:(?:it|they|thus|therefore|so|then|has|have) )*(?:won|wins)\b")
_OTHER_PALM = re.compile(rf"\bthat\b|\b(?:winners?|victory|champions?) (?:of|in) (?:the|this) (?!{_WHOLE})")
_LOSER = re.compile(r"\b(?:losers?|(?:goes|went) home (?:beaten|defeated)|verlierer|perdant)\b")
_MORE = re.compile(
    r"\b(?:(?:has|had|got|scored|made|ended with|finished with|ended on|collected) )?(more|fewer|less) points than\b"
)
_DRAWN = re.compile(
    r"(?:\b(?:end(?:s|ed)?|is|was|finish(?:es|ed)|endete?|ist|war|c'est|it's|result:?|verdict:?)\b[^.;,]{0,25}|"
    r"^)\b(?:a draw|a tie|drawn|tied|unentschieden|match nul|égalité)\b(?! (?:between|on|of|over|about))|"
    r"\b(?:sides|teams) (?:are |were |have |had )?tied?\b(?! (?:on|in|over))|, a (?:draw|tie)\W*$"
)
_NO_WINNER = re.compile(
    r"\b(?:nobody|no one|no side|no team|neither side|neither team|niemand|keine seite|personne n'a|"
    r"aucune équipe n'a)\s*(?:has |hat |have )?(?:won|wins|gewonnen|gewinnt|gagné)\b(?! (?:over|back|"
    r"the (?!debate)))|\bthere (?:is|was) no winner\b"
)
_NUMBER = r"\d{1,4}(?:[.,]\d{1,4})?"
_POINTS = r"(?:points?|pts|punkten?|votes?|stimmen|voix)"
_PAIR = re.compile(
    rf"(?<![\w.,])({_NUMBER})\s*(?:to|against|zu|gegen|à|contre|vs\.?|:|–|—|-)\s*({_NUMBER})(?![\w]|"
    rf"[.,]\d)(\s+{_POINTS}\b)?"
)
_SCORED = re.compile(rf"\b(?:scores?|scored|totals?|swing|margin|ended|final|result|verdict|ergebnis)\b|{_WON.pattern}")
_NEAR = 40
"""Characters before a pair of figures in which a word says that it is the result."""
_BY = re.compile(rf"\b(?:by|um|mit|de|avec)\s+(?:a margin of |just |only |nur )?({_NUMBER})\s+{_POINTS}\b")
_OTHER_UNIT = re.compile(
    r"\b(?:words?|seconds|minutes?|marks?|percent|crowns|euros?|wörtern?|sekunden|minuten|mots)\b|[%$€]"
)
_ABOUT = re.compile(
    r"\b(?:about|around|roughly|some|over|more than|nearly|etwa|rund|über|environ|plus de)\s+(?:an? )?\d"
)
_HOLDS = (
    r"(?:\s*(?:[:=,(–—-]|with|has|had|have|got|gets|at|on|scored|scores|received|reached|leads with|"
    r"finished (?:with|on|at)|ended (?:with|on|at)|won|wins with|hat|hatte|erhielt|erreicht|kam auf|mit|avec|"
    r"obtient|totalise|a))*\s*"
)
_SEAT = re.compile(r"\b[a-z]+_\d+\b")
_BEST = re.compile(
    r"(?<!'s )(?<!its )(?<!their )\bbest (?:debater|speaker)s?\b(?! (?:of|on|for|in) (?:its|their|the (?:pro|con|"
    r"free|stage|second|first|team)))|\b(?:bester redner|meilleure? (?:orateur|oratrice|débatteur))\b"
)
_ONE_MIND = re.compile(
    r"\bunanim\w*|\ball (?:\w+ ){0,4}?(?:agree|agreed|approve|approved|concur|concurred|voted|accept|accepted)\b|"
    r"\bevery(?:one|body)? (?:\w+ ){0,4}?(?:agree[sd]|approve[sd]|concur(?:s|red)|accept(?:s|ed))\b|\b(?:approved|"
    r"accepted|agreed) by (?:all|every|both)\b|\bboth (?:\w+ ){0,3}?(?:agree|agreed|approve|approved)\b|\b(?:no|"
    r"without|zero) (?:any )?(?:dissent|dissenters|objections?)\b|\b(?:nobody|no one|no \w+) (?:dissent(?:s|ed)|"
    r"object(?:s|ed)|disagree[sd])\b|\beinstimmig\w*|\balle (?:\w+ ){0,4}?(?:einig|zu|zugestimmt)\b|"
    r"\bniemand (?:widersprach|widerspricht|war dagegen)\b|\bunanimité\b|\btous (?:\w+ ){0,3}?d'accord\b|"
    r"\bpersonne ne s'(?:y )?(?:oppose|est opposé)\b"
)
_NOT_ONE_MIND = re.compile(
    r"\b(?:not|never|hardly|nicht|pas|far from|almost|nearly|less than|fast|presque)\b[^.;]{0,20}?\b(?:unanim\w*|"
    r"all\b|every\w*|both\b|einstimmig\w*|alle\b|tous\b|by all|by every)|n't\b"
)

_APPROVED = re.compile(r"\b(?:approv|agree|stimm|zugestimmt|approuv)")
_THEIR_WORDS = re.compile(r"\b(?:finding|comment|remark|suggestion|request|change|issue|objection)s?\b")
"""What those who decide may say: that all of it was accepted is not that all accepted."""

_TAKEN = re.compile(r"\b(?:fines?|penalt\w+|lost|taken|overtimes?)\b")


def contradiction(text: str, count: RetoldCount) -> str:
    """The first thing that a text says otherwise than it was counted, in words; empty: nothing that is plain."""
    for sentence in _sentences(text):
        for told in (_told_winner, _told_figure, _told_best):
            if said := told(sentence, count):
                return said
    if count.unanimous is False and all_of_one_mind(text, count.voters):
        return f"it says that all {'of those who decided ' if count.voters else ''}were of one mind"
    return ""


def all_of_one_mind(text: str, voters: Iterable[str] = ()) -> bool:
    """Whether a text says plainly that all agreed. `voters`: begins of words of which its sentence must have one, as it
    is about other people elsewhere; none: any sentence counts."""
    begins = "|".join(map(re.escape, voters))
    return any(
        _ONE_MIND.search(s)
        and not _NOT_ONE_MIND.search(s)
        and not _HEDGES.search(_ONE_MIND.sub("", s))
        and (not begins or (re.search(rf"\b(?:{begins})", s) and not _THEIR_WORDS.search(s)))
        for s in _sentences(text)
    )


def share_told(text: str, voters: Iterable[str]) -> tuple[int, int] | None:
    """How many of how many a text says approved: the first that it tells. `voters`: begins of what they are called."""
    of = re.compile(rf"\b(\d{{1,3}}) (?:out of|of|von|sur) (?:the )?(\d{{1,3}}) (?:{'|'.join(map(re.escape, voters))})")
    for s in _sentences(text):
        m = of.search(s)
        if m and _APPROVED.search(s) and not any(x.search(s) for x in (_HEDGES, _DENIES, _THEIR_WORDS)):
            return int(m[1]), int(m[2])
    return None


def _sentences(text: str) -> Iterator[str]:
    """In small letters, without what is quoted at length."""
    flat = unicodedata.normalize("NFKC", text).replace("’", "'").lower()
    flat = _QUOTED.sub(lambda m: m[0][1:-1] if len(m[0].split()) <= 2 else "…", re.sub(r"[*`#]+|__+", "", flat))
    return (_IDIOMS.sub("", " ".join(s.split())) for s in _SENTENCE.split(flat) if s.strip())


def _names(count: RetoldCount) -> tuple[str, dict[str, str]]:
    """A pattern of all names, and whose each is."""
    whose = {" ".join(name.lower().split()): key for key, side in count.sides.items() for name in side.names}
    longest_first = sorted(whose, key=len, reverse=True)
    return rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b", whose


def _told_winner(sentence: str, count: RetoldCount) -> str:
    """Another winner than the one that was counted, or one where there is none."""
    if _HEDGES.search(sentence):
        return ""
    whole = bool(_WHOLE_WON.search(sentence))
    if _PART.search(sentence) and not whole:
        return ""
    if count.winner in count.sides and _NO_WINNER.search(sentence):
        return "it says that nobody won"
    names, _ = _names(count)
    sentence = re.sub(rf",? (?:and |but )?not (?:the )?{names},?", "", sentence)
    if _DENIES.search(sentence):
        return ""
    if count.winner != DRAW and _DRAWN.search(sentence):
        return "it says that it was a draw"
    other = next((key for key in _winners(sentence, count) if key != count.winner), "")
    return f"it says that {count.sides[other].names[0]} won" if other else ""


def _winners(sentence: str, count: RetoldCount) -> Iterator[str]:
    """Each side of which a sentence says that it won."""
    names, whose = _names(count)
    for m in re.finditer(rf"\b(?:{_PRIZE})\s*{_ARTICLES}({names})", sentence):
        yield whose[m[1]]
    if len(sides := {whose[name] for name in re.findall(names, sentence)}) == 1 and not _OTHER_PALM.search(sentence):
        yield from (key for key in count.sides if (key in sides) != bool(_LOSER.search(sentence)) and _palm(sentence))
    yield from (
        whose[x]
        for x in re.findall(rf"\b(?:an?|clear|narrow|wide|deserved|easy) ({names}) (?:win|victory)\b", sentence)
    )
    for m in re.finditer(names, sentence):
        rest = sentence[m.end() :]
        between = _BETWEEN.match(rest)
        after = rest[between.end() :] if between else rest
        if won := _WON.match(after):
            beyond = after[won.end() :]
            by = re.match(r"\s+(?:by|von|par) (?:the )?(?!\d|a |an |points)", beyond)
            beyond = re.sub(rf"^ {_ARTICLES}{names}", "", beyond)  # whom it beat
            if not by and not _OTHER_OBJECT.match(beyond):
                yield whose[m[0]]
        elif (more := _MORE.match(after)) and not _TAKEN.search(sentence):
            yield from (key for key in count.sides if (key == whose[m[0]]) == (more[1] == "more"))
        elif lost := _LOST.match(after):
            beyond = after[lost.end() :]
            to = re.match(r"\s*(?:to|against|gegen)\s", beyond)
            if not to or re.match(rf"\s*(?:to|against|gegen)\s+{_ARTICLES}{names}", beyond):
                yield from (key for key in count.sides if key != whose[m[0]])


def _palm(sentence: str) -> bool:
    """Whether it speaks of who has won or lost, of one side alone."""
    won = _AND_WON.search(sentence)
    return bool(
        _PALM.search(sentence) or _LOSER.search(sentence) or (won and not _OTHER_OBJECT.match(sentence[won.end() :]))
    )


def _told_figure(sentence: str, count: RetoldCount) -> str:
    """A result that was not counted: of a pair of figures, of a side, or the margin."""
    if any(word.search(sentence) for word in (_HEDGES, _PART, _OTHER_UNIT, _ABOUT, _DENIES)):
        return ""
    if not count.figures and not any(side.figures for side in count.sides.values()):
        return ""
    every = (*count.figures, *(x for side in count.sides.values() for x in side.figures))
    for m in _PAIR.finditer(sentence):
        is_result = m[3] or _SCORED.search(sentence[max(0, m.start() - _NEAR) : m.start()])
        if is_result and not all(_is_one_of(x, every) for x in (m[1], m[2])):
            return f"it gives the result as {m[1]} to {m[2]}"
    for m in _BY.finditer(sentence):
        if not _is_one_of(m[1], every):
            return f"it says {m[0]}"
    names, whose = _names(count)
    for m in re.finditer(rf"({names}){_HOLDS}({_NUMBER})(?![\w]|[.,]\d)(\s+{_POINTS}\b)?", sentence):
        plainly = m[3] or re.search(rf"\b(?:{_POINTS}|scores?|totals?|result)\b", sentence)
        if plainly and not _is_one_of(m[2], (*count.sides[whose[m[1]]].figures, *count.figures)):
            return f"it gives {count.sides[whose[m[1]]].names[0]} {m[2]}"
    return ""


def _is_one_of(told: str, figures: Iterable[float]) -> bool:
    """Whether a number is one of some figures, rounded or cut off to as many places as it has."""
    _, _, places = told.replace(",", ".").partition(".")
    number, step = float(told.replace(",", ".")), 10.0 ** -len(places)
    return any(abs(number - abs(figure)) < step - 1e-9 for figure in figures)


def _told_best(sentence: str, count: RetoldCount) -> str:
    """Another best debater."""
    if not count.best or not _BEST.search(sentence) or _HEDGES.search(sentence) or _DENIES.search(sentence):
        return ""
    named = _SEAT.findall(sentence)
    return f"it says that {named[0]} was best" if named and not set(named) & set(count.best) else ""
