"""Finds the language of a text, by its script and its function words, and what counts of a word in that language.

Function words are few, and every sentence has some. English has a light stem of its own
(parley.agents.retrieval.corpus). In the other languages a word counts by its first five letters, which found as many
answers as Snowball's rules did on 108 questions. Chinese and Japanese are written without spaces, so their words are
pairs of characters that stand next to each other.
"""

import re
from collections.abc import Iterator, Mapping

ENGLISH, CHINESE, UNKNOWN = "English", "Chinese", ""
STEM = 5
"""Letters of a word that count, in other languages than English."""
_FUNCTION_WORDS: Mapping[str, str] = {
    ENGLISH: """the a an and or of to in on at for with without from by is are was were be been it its this that these
        those i we you they he she my our your their not no do does did can could should would will may must have has
        had what which who whom whose why how when where if than as into about after before there""",
    "German": """der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine keinen ist sind
        war waren wird werden wurde wurden hat haben hatte kann können darf dürfen muss müssen soll sollte sollen mit
        ohne für auf aus bei von vom zum zur zu nach seit bis über unter um durch gegen an am im in ins als wie wenn
        weil dass ob ich du er sie es wir ihr man mich mir uns sich mein meine meinen sein seine ihre ihren ihrem dieser
        diese dieses diesem was wer wem wen wann wo wohin woher warum wieso welche welcher welches welchen welchem viel
        viele vielen oft lange hoch alle jeder jede jedes auch noch nur schon so da hier dort gibt bedeutet heißt macht
        gemacht""",
    "French": """le la les l un une des du de d et ou où mais ne n pas est sont était sera a ont avait avec sans pour
        sur sous dans par en au aux ce cet cette ces c qui que qu quoi quel quelle quels quelles quand comment pourquoi
        combien je j tu il elle on nous vous ils elles mon ma mes ton son sa ses notre votre leur leurs se s y si plus
        faut peut peuvent puis doit dois doivent être avoir fait t m lui entre vers chez depuis jusqu signifie
        veut dire""",
    "Spanish": """el la los las lo un una unos unas del al de y e o u pero no ni es son era fue ser está están ha han
        hay con sin para por sobre en entre a ante desde hasta que qué quién quiénes cuál cuáles cuándo cómo dónde
        cuánto cuánta cuántos cuántas cada como si se su sus mi mis tu me te le les nos yo él ella ellos usted este esta
        estos estas ese esa esto eso más muy también ya porque puede puedo pueden debe debo deben tiene tengo necesito
        conviene significa""",
    "Portuguese": """o a os as um uma uns umas do da dos das no na nos nas ao aos à às de e ou mas não é são era foi ser
        está com sem para por pelo pela pelos pelas em entre sobre até que quem qual quais quando como onde quanto
        quanta quantos quantas porque se seu sua seus suas meu minha me eu ele ela eles nós você este esta esse essa
        isso mais muito também já pode posso podem deve tem há""",
    "Russian": """и в во на не ни но а что чтобы где кто как когда почему сколько какой какая какое какие каком для по с
        со из к ко от до у о об за при это этот эта эти тот та то те он она они оно мы вы я ты его её их мой моя наш
        ваш свой же ли бы был была было были есть быть нет или если уже ещё только можно нужно так там тут""",
}
_WORDS = {language: frozenset(text.split()) for language, text in _FUNCTION_WORDS.items()}
LANGUAGES = (*_WORDS, CHINESE)
"""Languages whose words are known."""
_CHINESE_FUNCTION_WORDS = re.compile(
    "什么时候|什么意思|为什么|什么|多少|多[久长大高重远深]|怎么样?|怎样|如何|为何|何时|哪[里个些天年种]?|几[个天次点月年]?|可以|能不能|能否|是否"
    "|不能|不可以|应该|应当|需要|必须|一共|总共|我们|你们|他们|这[个台种些]?|那[个台种些]?|[的了吗呢吧要在给能有是谁我你他她把被会才]"
)
_PARTICIPLE = re.compile(r"ge(\w{3,})t$")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ELIDED = re.compile(r"\b(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)'(?=[^\W\d_])")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")
_HAN, _CYRILLIC = re.compile(r"[\u4e00-\u9fff]"), re.compile(r"[\u0400-\u04ff]")
_OTHER_SCRIPT = re.compile(r"[\u0370-\u03ff\u0530-\u1cff\u3040-\u30ff\uac00-\ud7af]")
_SAMPLE = 4_000
"""Characters of a text that tell its language."""
_MUCH = 0.25
"""Share of its letters that are of one script, from which that script tells."""


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


def language_of(text: str) -> str:
    """The language whose function words a text has most of; English where nothing tells, and UNKNOWN where the script
    is that of no known language.

    Examples
    --------
    >>> language_of("Wie oft wird der Filter gewechselt?"), language_of("¿Quién dirige el club?"), language_of("E14")
    ('German', 'Spanish', 'English')
    """
    text = text[:_SAMPLE]
    if not text.isascii():
        least = _MUCH * sum(map(str.isalpha, text))
        scripts = ((_OTHER_SCRIPT, UNKNOWN), (_HAN, CHINESE), (_CYRILLIC, "Russian"))
        told = next((name for script, name in scripts if len(script.findall(text)) > least), None)
        if told is not None:
            return told
    found = words(text)
    counts = {name: sum(w in known for w in found) for name, known in _WORDS.items()}
    return max(counts, key=lambda name: counts[name])


def subject(question: str, language: str) -> str:
    """A question without the words that only ask, where these are not parted by spaces."""
    return _CHINESE_FUNCTION_WORDS.sub(" ", question) if language == CHINESE else question


def function_words(language: str) -> frozenset[str]:
    """The words of a language that say nothing about the subject of a question."""
    return _WORDS.get(language, frozenset())


def prefix(word: str, language: str) -> str:
    """What counts of a word in another language than English."""
    if language == "German":
        word = _PARTICIPLE.sub(r"\1", word)  # gewechselt, wechseln
    return word if language == CHINESE or not word.isalpha() else word[:STEM]
