"""Which language a text is in: by its letters, and by the words that hold its sentences together."""

import re

DEFAULT = "en"
_FUNCTION_WORDS = {
    "en": """the a an and or of to in on at for with without from by is are was were be been am it its this that these
    those i we you they he she my our your their his her not no do does did don't doesn't can could should would will
    shall may might must have has had what which who whom why how when where there if then than so but as into
    about after before please me us them him up out off all any some every only just also one more most""",
    "de": """der die das den dem des ein eine einen einem einer und oder ist sind war nicht kein keine mit ohne für auf
    aus bei von vom zum zur ich wir ihr sie er es mein meine unser unsere wie wer wann wo warum bitte kann darf muss
    soll sich auch noch nur schon nach über unter wird werden hat haben dass wenn im am seit dieser diese dieses
    dort was wen wem in welche welcher welches welchen welchem viel viele vielen""",
    "fr": """le la les un une des du de et ou est sont était ne pas plus avec sans pour sur dans par je nous vous il
    elle ils mon ma mes notre nos votre son sa ses ce cette ces comment qui quand où pourquoi peut faut doit au aux
    en que depuis très trop chez leur quel quelle quels quelles combien il""",
    "es": """el la los las un una unos del de y o es son fue no con sin para por sobre en yo nosotros usted ella mi mis
    nuestro nuestra su sus este esta estos cómo quién cuándo dónde qué puede debe muy más desde hay como pero porque
    que se lo al e cuál cuáles cuánto cuánta cuántos cuántas""",
    "it": """il lo la le gli un uno una della dei delle di e è sono era non con per su come chi quando dove perché può
    deve mio nostro suo questo questa che del nel nella alla anche in""",
    "pt": """o a os as um uma do da dos das no na nos nas de e é são não com sem para por sobre eu nós você ele ela meu
    minha nosso seu sua este esta como quem quando onde porquê pode deve que ao qual quais quanto quantos quantas""",
    "nl": """de het een en of in is zijn niet geen met zonder voor op uit van naar ik wij jij hij zij mijn ons onze dit
    deze dat hoe wie wanneer waar waarom kan moet mag worden wordt heeft hebben""",
    "pl": "w na z do nie jest są się że jak co czy dla od po przez",
    "sv": "och att det som en ett är inte med på av för till har kan ska vi jag du den",
    "da": "og at det som en et er ikke med på av for til har kan skal vi jeg du den",
}
WORDS = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
"""The function words of each language whose letters are Latin."""
OTHERS = frozenset[str]().union(*(words for language, words in WORDS.items() if language != "en")) - WORDS["en"]
"""The function words of any other language than English."""
_SCRIPTS = (
    ("ja", "\u3040", "\u30ff"), ("zh", "\u3400", "\u9fff"), ("ko", "\uac00", "\ud7af"), ("hi", "\u0900", "\u097f"),
    ("ru", "\u0400", "\u04ff"), ("el", "\u0370", "\u03ff"), ("he", "\u0590", "\u05ff"), ("ar", "\u0600", "\u06ff"),
    ("hy", "\u0530", "\u058f"), ("th", "\u0e00", "\u0e7f"),
)  # fmt: skip
_MUCH = 0.15
"""Share of letters of a script, in a text, from which its language is the text's."""
_READ = 4_000
"""Characters of a text by which its language is found."""
_FEW = 2
"""Words that hold sentences together, of another language, from which on they tell."""
_LATIN = 0x250
_FOREIGN = 0.3
"""Share of letters that are not Latin, from which a text is foreign."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def language_of(text: str, otherwise: str = DEFAULT) -> str:
    """The language of a text as a code of two letters; `otherwise` where its words do not tell.

    Examples
    --------
    >>> language_of("Die Heizung wird im Winter betrieben."), language_of("图书馆星期一闭馆。"), language_of("E14")
    ('de', 'zh', 'en')
    """
    text = text[:_READ]
    if not text.isascii():
        letters = sum(map(str.isalpha, text)) or 1
        for language, first, last in _SCRIPTS:
            if sum(first <= c <= last for c in text) > _MUCH * letters:
                return language
    words = [w.lower() for w in _WORD.findall(text)]
    found = {language: sum(map(known.__contains__, words)) for language, known in WORDS.items()}
    most = max(found.values())
    if not most:
        return otherwise
    return otherwise if found.get(otherwise) == most else max(found, key=lambda language: found[language])


def is_foreign(text: str) -> bool:
    """Whether a text is surely in another language than English; few words tell nothing."""
    words = [w.lower() for w in _WORD.findall(text)]
    plain = text.isascii()
    letters = 0 if plain else sum(map(len, words))
    if not plain and sum(ord(c) >= _LATIN for w in words for c in w) > _FOREIGN * letters:
        return True
    english, others = sum(map(WORDS["en"].__contains__, words)), sum(map(OTHERS.__contains__, words))
    accents = 0 if plain else sum(any(0xC0 <= ord(c) < _LATIN for c in w) for w in words)
    return others + accents >= _FEW and others + accents > english
