"""What a request wants, by its words alone: a change of something, a text, or an answer. Words of several languages are
known; what begins otherwise is taken as it is said."""

import re
from functools import lru_cache
from typing import Literal

Wanted = Literal["change", "text", "question", "statement"]
_PLEASE = re.compile(
    r"^(?:(?:please|kindly|hey|hi|now|bitte|por favor|s'il (?:te|vous) pla[iî]t|per favore|пожалуйста)\b[\s,:]*"
    r"|请|請|帮我|幫我)",
    re.IGNORECASE,
)
_WILL_YOU = re.compile(
    r"(?:can|could|would|will) (?:you|we|someone|somebody) |(?:i|we) (?:want|need|would like)(?: you)? to |"
    r"i'd like (?:you )?to "
    r"|let'?s |(?:kannst|könntest|würdest) du |k(?:ö|o)nnen sie |(?:peux|pourrais)-tu |(?:pouvez|pourriez)-vous "
    r"|(?:puedes|podrías|puede) |puoi |pode |você pode |можешь |可以|能不能|能否",
    re.IGNORECASE,
)
_ASKS = re.compile(
    # words that ask, behind a preposition too, and verbs that want an answer
    r"(?:(?:in|at|on|to|from|by|for|with|of|under|since|until|an|auf|aus|bei|mit|nach|seit|um|von|zu|für|en|"
    r"dans|à|de|"
    r"par|pour|depuis|desde|por|para|con|sobre|em|nel|per|в|на|с|от|из|за|по)\s+)?"
    r"(?:who(?:se|m)?|what|why|which|how|(?:when|where) (?:is|are|was|were|do|does|did|has|have|will|should|can|to)|"
    r"is|are|was|were|am|does|did|should|shall|may|might|can|could|would|will|isn't|aren't|doesn't|"
    r"don't (?:we|you|they)|"
    r"(?:do|has|have|had) (?:i|we|you|they|he|she|it|these|those|all|any)|"
    r"explain|describe|summari[sz]e|compare|list|(?:tell|show|give) (?:me|us)|discuss|estimate|predict|"
    r"recommend|suggest|"
    r"assess|wer|was|wann|wo|warum|wieso|weshalb|wie|wem|wen|wessen|woher|wohin|wozu|welche[rsnm]?|"
    r"(?:ist|sind|hat|haben|kann|können|soll|sollen|sollte|sollten|darf|dürfen|muss|müssen|gibt|lohnt) (?:es|"
    r"das|die|der|ich|"
    r"wir|man|sich)|erkläre?|beschreibe?|vergleiche?|fasse|nenne|"
    r"qui|que|quoi|quand|où|pourquoi|quel(?:le)?s?|comment|combien|est-(?:ce|il|elle)|faut-il|y a-t-il|"
    r"explique[rz]?|décris|résume[rz]?|quién|qué|cuándo|dónde|cuál(?:es)?|cómo|cuánt[oa]s?|explica|resume|"
    r"compara|describe|"
    r"chi|che|quando|dove|perché|quale|quali|come|quanto|quem|onde|qual|quais|como|"
    r"кто|что|когда|где|куда|почему|зачем|как|какой|какая|какие|каком|сколько|стоит ли|"
    r"क्या|कौन|कब|कहाँ|क्यों|कैसे|ما|ماذا|من|متى|أين|لماذا|كيف|هل)(?![\w-])|qu'",
    re.IGNORECASE,
)
_ASKS_ANYWHERE = re.compile(
    r"吗|嗎|呢$|什么|什麼|哪|谁|誰|为什么|為什麼|怎么|怎麼|如何|多少|几|何時|いつ|どこ|なぜ|どう|何|か。?$|까\b"
)
_ENDS = re.compile(r"[?？؟¿][\s\"'”»)]*$")
_CHANGE = (
    # each says that something is to be changed
    r"add(?! up)|fix|rename|refactor|implement|remove|delete|"
    r"update(?! (?:me|us))|upgrade|migrate|port|replace|rewrite|modify|integrate|"
    r"optimi[sz]e|repair|debug|deprecate|uninstall|inline|bump|reformat|"
    r"füge|ergänze|behebe|repariere|korrigiere|entferne|lösche|benenne|ändere|ersetze|implementiere|"
    r"aktualisiere|baue|"
    r"verschiebe|refaktoriere|ajoute[rz]?|corrige[rz]?|répare[rz]?|renomme[rz]?|supprime[rz]?|remplace[rz]?|"
    r"modifie[rz]?|"
    r"implémente[rz]?|déplace[rz]?|añade|añadir|agrega|agregar|corregir|arregla|arreglar|renombra|elimina|reemplaza|"
    r"modifica|implementa|actualiza|aggiungi|correggi|rimuovi|rinomina|adiciona|adicione|remova|renomeie|corrija|"
    r"добавь(?:те)?|исправь(?:те)?|удали(?:те)?|переименуй(?:те)?|замени(?:те)?|обнови(?:те)?|измени(?:те)?"
)
_MAKE = (
    # each may be a wish for a text too: it is a change only of what is made of code
    r"write|create|make|build|generate|change|convert|extend|move|split|clean|set up|configure|install|test|correct|"
    r"rotate|revert|deploy|harden|encrypt|cache|validate|enable|disable|wire|expose|drop|pin|"
    r"edit|translate|document|improve|draft|prepare|produce|draw up|tidy(?: up)?|shorten|"
    r"restructure|use|switch|turn|speed up|simplify|extract|format|"
    r"erstelle?|schreibe?|mache?|crée[rz]?|écri[sv]\w*|traduis|crea|crear|escribe|cambia|traduce|scrivi|escreva|crie|"
    r"создай(?:те)?|напиши(?:те)?"
)
_CHANGES = re.compile(
    rf"(?:{_CHANGE})(?![\w-])|(?:添加|增加|修复|修改|删除|刪除|重命名|重构|实现|替换|更新)", re.IGNORECASE
)
_MAKES = re.compile(rf"(?:{_MAKE})(?![\w-])|(?:创建|编写|写)", re.IGNORECASE)
_CODE = re.compile(
    r"\b(?:api|tests?|unit tests?|functions?|class(?:es)?|methods?|endpoints?|scripts?|modules?|readme|"
    r"repo(?:sitory)?|"
    r"code(?:base)?|button|css|html|config|dockerfile|makefile|cli|option|flag|login|database|schema|imports?|types?|"
    r"package|library|linter|pipeline|ci|bug|error handling|folder|project|projekt|projet|proyecto|page)\b"
    r"|\b[\w-]+\.(?:py|js|ts|tsx|go|rs|java|c|h|cpp|rb|php|sh|md|toml|ya?ml|json|css|html|sql)\b|`[^`]+`|--\w|\w\(\)",
    re.IGNORECASE,
)
_GERMAN_END = re.compile(
    r"(?:hinzufügen|ergänzen|beheben|reparieren|korrigieren|entfernen|löschen|umbenennen|ändern|ersetzen|"
    r"implementieren)"
    r"[\s?.!]*$",
    re.IGNORECASE,
)
_GENRE = re.compile(
    # the text that is to be written, before anything is said of what it is about
    r"(?:\s+(?!(?:for|of|that|to|in|on|with|which|from|about|and|so|by|at|into|as)\b)[\w'’-]+){0,6}?"
    r"\s+(?:plan|guide|record|adr|report|review|analysis|notes?|summary|overview|comparison|glossary|proposal|"
    r"post-?mortem|runbook|checklist|threat model|memo|outline|tutorial|faq|policy|strategy|roadmap|list|table|text|"
    r"announcement|e-?mail|letter|article|essay|post|description|explanation|recommendations?|agenda|minutes|"
    r"bericht|leitfaden|konzept|vergleich|übersicht|rapport|guía|informe)s?"
    r"(?=\W*$|\s*[,.;:(—-]|\s+(?:for|of|that|to|in|on|with|which|from|about|and|so|by|at|as|covering|comparing|"
    r"für|über|von|zu|pour|sur|de|para|sobre)\b)",
    re.IGNORECASE,
)
_GIVEN = re.compile(r"\s+(?:the following|this|these|my)\b[^.:\n]{0,40}:(?=\s|$)", re.IGNORECASE)
"""What is to be changed stands in the request itself."""
_FILE = re.compile(r"\b(?:into|as|to|under)\s+[`\"']?[\w./-]*\w\.[a-z]\w{0,4}\b", re.IGNORECASE)
"""A file that it is to be written to."""
_TELLS = re.compile(
    r"(?:review|propose|suggest|plan|design|outline|sketch|advise|assess|evaluate|analy[sz]e|audit|investigate|name|"
    r"find out|look into|think about|report|judge|check whether|prüfe|schlage|entwirf|analysiere|bewerte)(?![\w-])",
    re.IGNORECASE,
)
"""Verbs whose result is told."""
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n+")
_CLAUSE = re.compile(r",\s+|\s+(?:and|then|und|et|y)\s+")


def asked_for(text: str) -> Wanted:
    """What a text is by the words that it begins with: one that has something changed, one that wants a text written,
    one that wants an answer, or none of them."""
    plain = _PLEASE.sub("", text.strip().lstrip("¿¡ \"'“«-*•"), count=1)
    polite = _WILL_YOU.match(plain)
    wish = _PLEASE.sub("", plain[polite.end() :], count=1) if polite else plain
    changed, made = _CHANGES.match(wish), _MAKES.match(wish)
    asks = bool(_ENDS.search(plain))
    if changed or (polite and _GERMAN_END.search(wish)):
        return "text" if changed and _GIVEN.match(wish, changed.end()) else "change"
    if made and (polite or not asks):
        if _GENRE.match(wish, made.end()) or _GIVEN.match(wish, made.end()):
            return "text"
        return "change" if _CODE.search(wish, made.end()) else "statement"
    return "question" if asks or _ASKS.match(plain) or _ASKS_ANYWHERE.search(plain) else "statement"


@lru_cache(maxsize=256)
def wanted(task: str) -> Wanted:
    """What a whole task wants: a change, where one of its sentences asks for one; else a text, where one does; else an
    answer. Behind a colon stands what the wish is about."""
    found: list[Wanted] = []
    for piece in filter(str.strip, _SENTENCE.split(task)):
        kind = asked_for(piece)
        to_file = kind == "text" and (file := _FILE.search(piece)) and " from " not in piece[: file.start()]
        found += ["change"] if to_file else [kind] if kind in ("question", "text") else _clauses(piece)
        if piece.rstrip().endswith(":") and found[-1] in ("question", "text"):
            break
    return next((kind for kind in ("change", "text", "question") if kind in found), "statement")


def _clauses(sentence: str) -> list[Wanted]:
    kinds = ((clause, asked_for(clause)) for clause in _CLAUSE.split(sentence))
    return ["question" if kind == "statement" and _TELLS.match(clause.strip()) else kind for clause, kind in kinds]
