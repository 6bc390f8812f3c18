"""Chooses the protocol of what was asked, where nobody names one.

A question, a claim or a motion goes to a panel; a change of a folder goes to experts. Documents alone never make a
task, and what needs a folder is refused by that, before anything starts. Nothing is read here but the text: every door
tells the rest.
"""

import re
import shlex
from collections.abc import Collection, Container, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from parley.client.errors import BadInput
from parley.client.faces.options import PANEL
from parley.client.opening import names_of
from parley.client.protocols import all_setups, panel_setup, task_setup
from parley.client.text import line

_SHOWN = 60
_URL = re.compile(r"\bhttps?://[^\s<>\"'，。？）)]+")
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
    r"edit|translate|document|improve|use|switch|turn|speed up|simplify|extract|format|"
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
    r"|\b[\w-]+\.(?:py|js|ts|tsx|go|rs|java|c|h|cpp|rb|php|sh|md|toml|ya?ml|json|css|html|sql)\b|`[^`]+`|--\w",
    re.IGNORECASE,
)
_GERMAN_END = re.compile(
    r"(?:hinzufügen|ergänzen|beheben|reparieren|korrigieren|entfernen|löschen|umbenennen|ändern|ersetzen|"
    r"implementieren)"
    r"[\s?.!]*$",
    re.IGNORECASE,
)


class Spelled(NamedTuple):
    """What a door calls what may be missing."""

    evidence: str
    folder: str
    protocol: str


COMMAND_LINE = Spelled("--evidence PATH", "--folder . lets experts with a language model work on a copy", "--protocol ")
ELSEWHERE = Spelled(
    "documents", "on the command line, --folder . lets experts with a language model work on a copy", "protocol "
)
"""A page, or another program."""
PYTHON = Spelled("evidence=PATH", "folder=DIR lets experts with a language model work on a copy", "protocol=")


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The protocol that what was asked goes to."""

    protocol: str = ""
    why: str = ""
    """In words; empty: it was named, or it follows from the session before."""
    opens_none: str = ""
    """The address in the question, which nobody opens; empty: there is none."""

    def words(self) -> list[str]:
        """One line that says what was chosen and how to choose otherwise, and one on an address in it."""
        if not self.why:
            return []
        others = "|".join(s.name for s in all_setups() if s.name != self.protocol)
        told = [f"{self.why}: {self.protocol} ({COMMAND_LINE.protocol}{others} for another way)"]
        if self.opens_none:
            told.append(f"{self.opens_none} is not opened: save the page, and give it as {COMMAND_LINE.evidence}")
        return told

    def told(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {"chosen": {"protocol": self.protocol, "why": self.why}} if self.why else {}


NAMED = Choice()
"""Nothing was chosen."""


def takers(given: Mapping[str, Any], flags: Container[str] = (), *, changes: bool = False) -> frozenset[str]:
    """The protocols that take all options which were given; none: every protocol does, or no single one.

    Parameters
    ----------
    given, flags
        As parley.client.opening takes them.
    changes
        The result is to be written into a folder.
    """
    setups = {setup.name: setup for setup in all_setups()}
    takes = set(setups)
    for name in given.get("settings") or ():
        of, dot, setting = name.partition(".")
        takes = {p for p in takes if (setting if dot else name) in names_of(p) and (not dot or p == of)}
    if given.get(PANEL.name) is not None:
        takes = {p for p in takes if setups[p].several}
    for setup in setups.values():
        if any(o.name in flags for o in setup.options if o.gives in ("question", "no_history")):
            takes &= {setup.name}
    if changes:
        takes &= {task_setup().name}
    return frozenset(takes if len(takes) < len(setups) else ())


def choose(
    question: str,
    *,
    folder: bool = False,
    documents: bool = False,
    allowed: Collection[str] = (),
    is_file: bool = False,
    follows: str = "",
    had_folder: bool = False,
    spelled: Spelled = COMMAND_LINE,
) -> Choice:
    """The protocol for a question where nobody named one.

    Parameters
    ----------
    folder
        A folder comes with it, of which a copy may be changed.
    documents
        Documents come with it, or settings that bring something to read.
    allowed
        Protocols that take every option which was given; none: no option belongs to some alone.
    is_file
        The question is the name of a file.
    follows
        The protocol of the session that it goes on from; empty: none.
    had_folder
        That one began with a folder.

    Raises
    ------
    BadInput
        It needs a folder, which is not there; it is a file's name or an address alone.
    """
    kind, panel, task = _kind(question), panel_setup().name, task_setup().name
    if is_file:
        name, shown = shlex.quote(question.strip()), line(question, _SHOWN)
        why = f'{shown} is a file. To ask what is in it: parley ask "$(cat {name})"; to ask about it: --evidence {name}'
        raise BadInput("question", why)
    if follows:
        if folder and kind != "question":
            follows = task
        elif had_folder and not folder:
            if kind != "question":
                what = "the session before changed a folder, and this one takes it as it is now"
                raise BadInput("folder", f"{what}: {spelled.folder}")
            follows = panel
        return Choice(protocol=follows)
    address = _URL.search(question)
    url = line(address.group(), _SHOWN) if address and not documents and not folder else ""
    if url and _URL.sub("", question).strip() == "":
        raise BadInput("question", f"{url} is not opened: save the page, and ask about it with {spelled.evidence}")
    if allowed and not {panel, task} & set(allowed):
        name = next(s.name for s in all_setups() if s.name in allowed)
        return Choice(protocol=name, why="the options given are of one protocol", opens_none=url)
    changes = kind == "change" or (folder and kind == "statement")
    if allowed and (panel not in allowed or (task not in allowed and not folder)):
        changes = panel not in allowed
    if not changes:
        why = "this is a question about the folder, so a panel reads it" if folder else "this goes to a panel"
        return Choice(protocol=panel, why=why, opens_none=url)
    if not folder and not allowed:
        read = "documents are read, and not changed" if documents else "no folder is named"
        why = f"this asks for a change, but {read}: {spelled.folder}"
        raise BadInput("folder", f"{why}. If it is a question: {spelled.protocol}{panel}")
    return Choice(protocol=task, why="this asks for a change of the folder, so experts do it")


def _kind(text: str) -> Literal["change", "question", "statement"]:
    """What a text is by its words alone: one that has something changed, one that wants an answer, or neither."""
    plain = _PLEASE.sub("", text.strip().lstrip("¿¡ \"'“«"), count=1)
    polite = _WILL_YOU.match(plain)
    wish = _PLEASE.sub("", plain[polite.end() :], count=1) if polite else plain
    made = _MAKES.match(wish)
    asks = bool(_ENDS.search(plain))
    if _CHANGES.match(wish) or (polite and _GERMAN_END.search(wish)):
        return "change"
    if made and (polite or not asks):
        return "change" if _CODE.search(wish, made.end()) else "statement"
    return "question" if asks or _ASKS.match(plain) or _ASKS_ANYWHERE.search(plain) else "statement"
