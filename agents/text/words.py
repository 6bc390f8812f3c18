"""The words of a text, and what counts of a word, in the language that a question is asked in.

English has a light stem of its own (parley.agents.retrieval.corpus). In the other languages a word counts by its first
five letters, which found as many answers as Snowball's rules did on 108 questions. Chinese and Japanese are written
without spaces, so their words are pairs of characters that stand next to each other.
"""

import re
from collections.abc import Iterator, Mapping

from parley.agents.text.languages import WORDS

NAMES: Mapping[str, str] = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "pl": "Polish", "sv": "Swedish", "da": "Danish", "ru": "Russian", "zh": "Chinese",
}  # fmt: skip
"""Languages whose words are known, and their names."""
STEM = 5
"""Letters of a word that count, in other languages than English."""
_IDLE: Mapping[str, str] = {
    "de": """eines aber keinen war waren wurde wurden hatte können dürfen müssen sollte sollten bis unter um durch gegen
        an ins als ob du man mich mir uns sein seine ihre ihren ihrem diesem woher wohin wieso oft lange hoch alle jeder
        jede jedes so da hier gibt bedeutet heißt macht gemacht""",
    "fr": """l d mais n sera a ont avait s en c qu quoi j tu elles mes ton leurs y si plus peuvent puis dois doivent
        être avoir fait t m lui entre vers chez jusqu signifie veut dire""",
    "es": """e u pero ni era ser está están ha han entre a ante desde hasta quiénes cada si tu me te le les nos él ellos
        ese esa esto eso también ya puedo pueden debo deben tiene tengo necesito conviene significa""",
    "pt": """umas ao aos à às mas foi ser está até se seus suas me eles elas esse essa isso mais muito também já posso
        podem tem há""",
    "ru": """и в во на не ни но а что чтобы где кто как когда почему сколько какой какая какое какие каком для по с со
        из к ко от до у о об за при это этот эта эти тот та то те он она они оно мы вы я ты его её их мой моя наш ваш
        свой же ли бы был была было были есть быть нет или если уже ещё только можно нужно так там тут""",
}
"""Beside the function words: what says nothing about the subject of a question."""
_ALL_IDLE = {x: WORDS.get(x, frozenset()) | set(_IDLE.get(x, "").split()) for x in NAMES}
_CHINESE_FUNCTION_WORDS = re.compile(
    "什么时候|什么意思|为什么|什么|多少|多[久长大高重远深]|怎么样?|怎样|如何|为何|何时|哪[里个些天年种]?|几[个天次点月年]?|可以|能不能|能否|是否"
    "|不能|不可以|应该|应当|需要|必须|一共|总共|我们|你们|他们|这[个台种些]?|那[个台种些]?|[的了吗呢吧要在给能有是谁我你他她把被会才]"
)
_PARTICIPLE = re.compile(r"ge(\w{3,})t$")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ELIDED = re.compile(r"\b(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)'(?=[^\W\d_])")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")


def words(text: str) -> tuple[str, ...]:
    """Words and numbers, lower case, in order; of text without spaces the pairs of neighbouring characters."""
    low = text.lower().replace("’", "'")
    found = _WORD.findall(_ELIDED.sub(" ", low) if "'" in low else low)
    return tuple(found) if text.isascii() else tuple(part for word in found for part in _parts(word))


def _parts(word: str) -> Iterator[str]:
    at = 0
    for run in _UNSPACED.finditer(word):
        if word[at : run.start()]:
            yield word[at : run.start()]
        pairs = [run[0][i : i + 2] for i in range(len(run[0]) - 1)]
        yield from pairs or [run[0]]
        at = run.end()
    if word[at:]:
        yield word[at:]


def subject(question: str, language: str) -> str:
    """A question without the words that only ask, where these are not parted by spaces."""
    return _CHINESE_FUNCTION_WORDS.sub(" ", question) if language == "zh" else question


def idle_words(language: str) -> frozenset[str]:
    """The words of a language that say nothing about the subject of a question."""
    return _ALL_IDLE.get(language, frozenset())


def prefix(word: str, language: str) -> str:
    """What counts of a word in another language than English."""
    if language == "de":
        word = _PARTICIPLE.sub(r"\1", word)  # gewechselt, wechseln
    return word if language == "zh" or not word.isalpha() else word[:STEM]
