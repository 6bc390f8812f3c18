"""Decides whether a text is in English, the only language that the matcher reads: by its letters, and by its
function words.
"""

import re

from parley.agents.retrieval.corpus import word_set

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_ENGLISH = word_set(
    """the a an and or of to in on at for with without from by is are was were be been am it its this that these those
    i we you they he she my our your their his her not no do does did don't doesn't can could should would will
    shall may might must have has had what which who whom why how when where there if then than so but as into
    about after before please me us them him up out off all any some every only just also one more most"""
)
_OTHERS = word_set(
    """der die das den dem des ein eine einen einem einer und oder ist sind war nicht kein keine mit ohne für auf aus
    bei von vom zum zur ich wir ihr sie er es mein meine unser unsere wie wer wann wo warum bitte kann darf muss
    soll sich auch noch nur schon nach über unter wird werden hat haben dass wenn im am seit dieser diese dieses
    le la les un une des du de et ou est sont était ne pas plus avec sans pour sur dans par je nous vous il elle
    ils mon ma mes notre nos votre son sa ses ce cette ces comment qui quand où pourquoi peut faut doit au aux
    en que depuis très trop chez leur el los las una unos del y o es son fue no con sin para por sobre en yo
    nosotros usted ella mi mis nuestro nuestra su sus este esta estos cómo quién cuándo dónde qué puede debe muy
    más desde hay como pero porque se lo al il lo gli uno della dei delle di e è sono era non su come chi quando
    dove perché può deve mio nostro suo questo questa che del nel nella alla anche o os as um uma do da dos das
    no na nos nas e é são não com sem para por sobre eu nós você ele ela meu minha nosso seu sua este esta como
    quem quando onde porquê pode deve que ao de het een en of is zijn niet geen met zonder voor op uit van naar
    ik wij jij hij zij mijn ons onze dit deze dat hoe wie wanneer waar waarom kan moet mag worden wordt heeft
    hebben w na z do nie jest są się że jak co czy dla od po przez och att det som en ett är inte med på av för
    till har kan ska vi jag du på og ikke å"""
) - _ENGLISH  # fmt: skip
_FEW = 2
"""Words that hold sentences together, of another language, from which on they tell."""
_LATIN = 0x250
_MUCH = 0.3


def is_foreign(text: str) -> bool:
    """Whether a text is surely in another language than English; few words tell nothing."""
    words = [w.lower() for w in _WORD.findall(text)]
    plain = text.isascii()
    letters = 0 if plain else sum(map(len, words))
    if not plain and sum(ord(c) >= _LATIN for w in words for c in w) > _MUCH * letters:
        return True
    english, others = sum(map(_ENGLISH.__contains__, words)), sum(map(_OTHERS.__contains__, words))
    accents = 0 if plain else sum(any(0xC0 <= ord(c) < _LATIN for c in w) for w in words)
    return others + accents >= _FEW and others + accents > english
