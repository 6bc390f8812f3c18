"""What the text of a refusal says: one table, by meaning and not by one provider's words.

A row matches words that many servers use for the same thing. More than one may match a text: they are tried in the
table's order (agents/openai/trials.py), and one that changes nothing is passed over. Numbers in a text are hints. One
counts as a limit where the words before it say so and it stands as a count of tokens, and never where it is an error's
code.
"""

import re
from collections.abc import Sequence
from enum import StrEnum, auto
from functools import lru_cache

from parley.agents.endpoint.endpoint import Broken, Failure, Rejected

LEAST = 512
"""Tokens: what tells of less is no window."""
_LEAST_OUTPUT = 64


class Action(StrEnum):
    """What is done about a refusal."""

    KEY = auto()
    CREDIT = auto()
    ADDRESS = auto()
    PLACE = auto()
    """The provider serves nobody from here, or under these rules."""
    FILTER = auto()
    FORBIDDEN = auto()
    """Key, model or place: the server does not say which."""
    MODEL = auto()
    WAIT = auto()
    LESS_OUTPUT = auto()
    AFFORD = auto()
    """Less output too, because of what is left of a credit: this holds for the moment alone."""
    OTHER_TOKENS_FIELD = auto()
    SHORTER = auto()
    """Fewer tokens in all."""
    FIELD = auto()
    """A field of the request is left out."""
    NO_TOOLS = auto()
    """Tools are called in a text. It may be about what follows from calls, and not about tools."""
    LOWER_RUNG = auto()
    NO_SYSTEM = auto()
    STREAM = auto()
    NO_STREAM = auto()


STOPS = {
    Action.KEY: ("the key is refused", "put a key that it takes into {keys}"),
    Action.CREDIT: ("the account has no credit left", "pay there, or name another with LLM_PROVIDER"),
    Action.ADDRESS: ("the server is elsewhere", "set LLM_BASE_URL to its address"),
    Action.PLACE: (
        "the provider does not serve this account or place",
        "see to that there, or name another with LLM_PROVIDER",
    ),
    Action.FILTER: ("declined: its provider's filter", "LLM_MODEL names another"),
    Action.FORBIDDEN: ("the server forbids it", "see the key in {keys}, LLM_MODEL, and what the provider allows"),
    Action.MODEL: ("the server has no such model or address", "LLM_MODEL names the one, LLM_BASE_URL the other"),
}
"""Nothing that a request could say otherwise would help: what is said then, and the setting that would."""

_OUTPUT = (
    r"(?:max_?(?:completion_|output_|new_)?_?tokens|output tokens?|completion tokens?|maximum tokens|maxoutputtokens)"
)
_NO = r"(?:not|n't|un(?:supported|known|recognized|expected)|invalid|forbidden|only|disabled|must|cannot)"
_WORDS: tuple[tuple[Action, tuple[str, ...]], ...] = (
    (Action.NO_TOOLS, (r"tool|function|thought_signature|reasoning_content|jinja|role",)),
    (Action.AFFORD, (r"fewer max_tokens", r"can only afford")),
    (
        Action.STREAM,
        (
            r"only (?:be )?(?:support\w*|accept\w*|allow\w*|available|use\w*)[^.]{0,30}\bstream",
            r"stream[^.]{0,30}(?:must be|to|=) ?.?true",
            r"stream\w*[^.]{0,20} (?:is )?(?:required|mandatory)",
            r"requires? [^.]{0,20}stream",
            r"non-?stream",
            r"stream ?= ?.?false",
            r"without (?:using )?stream",
            r"只支持.{0,12}(?:流式|stream)",
        ),
    ),
    (
        Action.NO_STREAM,
        (
            r"\bstream(?:ing)?\b(?!_options)[^.]{0,60}(?:not|n't|unsupported|disabled|must be .{0,3}false|= ?false)",
            r"(?:not|n't|cannot|verified to|disable)[^.]{0,30}\bstream(?:ing)?\b(?!_options)",
            r"param\W{1,6}stream\b",
        ),
    ),
    (
        Action.KEY,
        (
            r"api[ _-]?key\W{1,4}(?:not valid|is (?:not valid|invalid)|invalid|expired)",
            r"(?:invalid|incorrect|missing|no|expired|wrong) (?:api|authentication|access)[ _-]?(?:key|token)",
            r"invalid_api_key",
            r"unauthorized",
            r"authentication[ _](?:fail|error)",
            r"(?:api|access)[ _-]?(?:key|token)[^.]{0,30} permission",
        ),
    ),
    (
        Action.CREDIT,
        (
            r"insufficient[ _](?:balance|credit|fund|quota)",
            r"credit balance",
            r"billing[ _]hard",
            r"arrears|overdue|payment required|out of credits",
            r"余额|欠费|资源包",
        ),
    ),
    (
        Action.PLACE,
        (
            r"location is not supported",
            r"(?:country|region|territory)[^.]{0,40}(?:not|un)\W?(?:supported|available)",
            r"data policy|guardrail|terms of service|must be verified to use",
        ),
    ),
    (
        Action.FILTER,
        (
            r"content[ _](?:management[ _])?(?:policy|filter|exists risk)",
            r"data_?inspection|moderation|flagged|inappropriate content",
            r"safety (?:system|filter|polic)",
            r"敏感|不安全",
        ),
    ),
    (
        Action.WAIT,
        (
            r"(?:currently|still|being) (?:down)?load(?:ing|ed)\b",
            r"is loading|loading(?: the)? model|model[^.]{0,60}\bloading",
            r"warming|cold start|not (?:yet )?ready|starting up|no healthy upstream",
        ),
    ),
    (
        Action.LESS_OUTPUT,
        (
            # of the output alone, and not of a sum
            rf"(?<!\+ )(?<!\+ `){_OUTPUT}\W{{0,4}}(?:must|should|can|may|has to)[^.]{{0,20}}"
            r"(?:less|at most|between|<|\[|exceed|greater)",
            rf"(?:not|n't) exceed[^.]{{0,20}}{_OUTPUT}",
        ),
    ),
    (
        Action.SHORTER,
        (
            r"(?:context|window)[ _-]?(?:length|window|size|limit)",
            r"(?:exceed\w*|beyond|larger than|longer than|over)[^.]{0,40}\b(?:context|window)\b",
            r"maximum context|n_ctx|max_model_len|max_seq_len",
            r"request[ _](?:is )?too[ _]large|too many (?:input |prompt )?tokens",
            r"(?:prompt|input|message|conversation|text|content)s?\b[^.]{0,60}"
            r"(?:too (?:long|large|big)|exceed|longer than|over the)",
            r"(?:prompt|input)[^.]{0,30}tokens?[^.]{0,30}(?:exceed|must be|less than|>|limit)",
            r"range of input|maximum (?:prompt|input) length|tokens? (?:limit|count) exceed",
            r"reduce (?:the length|your (?:prompt|message|input))|shorten",
            r"payload too large|entity too large",
            r"超长|超[出过].{0,20}(?:长度|上下文|限制|上限)",
        ),
    ),
    (
        Action.LESS_OUTPUT,
        (
            rf"{_OUTPUT}.{{0,120}}(?:range|at most|less than|too (?:large|big|high)|maximum|exceed|above|greater|up to"
            r"|<|>|\[|limit|between)",
            rf"(?:exceed\w*|above|greater than|range of|maximum)[^.]{{0,60}}{_OUTPUT}",
        ),
    ),
    (Action.OTHER_TOKENS_FIELD, (r"\bmax_(?:completion_)?tokens\b",)),
    (Action.FIELD, (r"",)),
    (
        Action.LOWER_RUNG,
        (
            r"response[_ ]?(?:format|schema)|json[_ -]?(?:schema|object|mode)|structured[ _]output|guided|grammar",
            r"m(?:in|ax)(?:length|items)|(?:min|max)imum\W{1,3}(?:is )?not\b|repetition|\bschema\b|too many states",
            r"additional_?properties",
            r"no endpoints found that|requested parameters",
        ),
    ),
    (
        Action.NO_SYSTEM,
        (
            rf"(?:system|developer)[\w ]{{0,12}}[ _.'\"]*(?:role|message|instruction|prompt)?[^.]{{0,40}}{_NO}",
            rf"{_NO}[^.]{{0,60}}\b(?:system|developer)\b",
            r"roles? must alternate|first message|role[^.]{0,30}(?:must|should) be",
            r"(?:unknown|invalid|unexpected|unsupported|incorrect)[^.]{0,20} role",
            r"jinja|chat template|角色",
        ),
    ),
    # Words that other rows have already heard in their own sense.
    (
        Action.SHORTER,
        (r"\btoo (?:long|large)\b", r"token limit", r"tokens? per (?:min|day)", r"request[^.]{0,30}exceed"),
    ),
)
TABLE: tuple[tuple[Action, re.Pattern[str]], ...] = tuple(
    (action, re.compile("|".join(words), re.I | re.S)) for action, words in _WORDS
)
"""The first that changes something counts."""

_MODEL = re.compile(
    r"model[ :]+\W{0,3}[\w./:@-]+\W{0,3} ?(?:was |is )?"
    r"(?:not found|not exist|does not exist|doesn't exist|not available|unavailable)"
    r"|(?:no such|unknown|invalid|unsupported|nonexistent) model\b|model[ _]not[ _](?:found|exist)|not a valid model"
    r"|\bmodels?/[\w.-]+ is not found|no endpoints found for|模型不存在|pulling it first|no models? loaded"
    r"|has been (?:retired|decommissioned)"
    r"|(?:not have|no|without|denied) access to (?:the |this )?model|access to (?:the |this )?model[^.]{0,40} denied"
    r"|not (?:allowed|permitted|entitled|authorized) to [^.]{0,30}model|model[^.]{0,40} not (?:allowed|permitted)"
    r"|model_decommissioned",
    re.I,
)
_ADDRESS = re.compile(
    r"\A\W*(?:404 )?(?:page )?not found\W*\Z|<html|<!doctype|cannot post|no (?:route|handler)"
    r"|unknown (?:url|path|endpoint|request url)|invalid url|unexpected endpoint",
    re.I,
)
_ONLY_TOO_MANY = re.compile(r"request too large|too large for|tokens must be reduced|reduce your message", re.I)
_CODES = re.compile(
    r"\b(?:code|status|status_code|error_code|http_code|request_id|id|retcode|errno)\s*[:=]\s*[\w.-]+", re.I
)
_NUMBER = re.compile(r"(?<![\w.#-])(\d{1,3}(?:,\d{3})+|\d+)(?![\w]|\.\d|-\w)")
_LIMIT = re.compile(
    r"(?:limit\w*|max\w*|at most|up to|allowed|less than|must be|no more than|greater than|longer than"
    r"|larger than|above|afford|exceeds?(?: the)?|length|window|size|n_ctx|supports?|only|range|between|<=?|>|≤)"
    r"[^\d]{0,48}\Z",
    re.I,
)
_LIMIT_AFTER = re.compile(r"\A[\s'\")\]]{0,2}(?:tokens? )?(?:maximum|max\b|limit)", re.I)
_BY = re.compile(r"\bby\W{0,3}\Z", re.I)
_WINDOW = re.compile(r"context|window|n_ctx|max_model_len|max_seq_len", re.I)
_ASKED = re.compile(
    r"(?:requested|your (?:request|prompt|input|message)\w*|provided|resulted in|got|given|has|sent|used)"
    r"[^\d]{0,40}\Z",
    re.I,
)
_UNIT_AFTER = re.compile(
    r"\A[\s'\")\]-]{0,3}(?:input |output |completion |prompt |context )?(?:tokens?|maximum|max\b|\()", re.I
)
_UNIT_BEFORE = re.compile(r"(?:tokens?|length|window|n_ctx|max_model_len|max_seq_len|size)\b[^\d]{0,48}\Z", re.I)


_DURATION = re.compile(
    r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|milliseconds?|s|sec(?:ond)?s?|m|min(?:ute)?s?|h|hours?)(?![a-z])", re.I
)
_WAIT = re.compile(rf"(?:try|retry|again|wait|available)[^.\d]{{0,30}}?((?:{_DURATION.pattern}[, ]{{0,2}})+)", re.I)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0}
_LONGEST_WAIT_S = 60.0


def stop(refusal: Rejected) -> Action | None:
    """Why no request would be answered; None: another may be."""
    text, first = refusal.body, _first(refusal)
    if refusal.status < 400:
        return Action.ADDRESS
    if refusal.code == "insufficient_quota":
        return Action.CREDIT
    if refusal.status == 402:
        return None if first is Action.AFFORD else Action.CREDIT
    if refusal.status == 401 or (refusal.status in (400, 403, 422) and first is Action.KEY):
        return Action.KEY
    if first in STOPS and refusal.status in (400, 403, 404, 422, 429, 451):
        return first
    if refusal.status in (400, 403, 404, 422) and _MODEL.search(text):
        return Action.MODEL
    if refusal.status == 403 and first not in (Action.STREAM, Action.NO_STREAM, Action.SHORTER):
        return Action.FORBIDDEN
    return Action.MODEL if refusal.status in (404, 405) and _ADDRESS.search(text) else None


def cure(failure: Failure, keys: Sequence[str]) -> str:
    """What mends it, where no request would be answered; empty: another may be. `keys`: the variables of the key."""
    if isinstance(failure, Broken):
        return failure.cure
    action = stop(failure) if isinstance(failure, Rejected) else None
    return "" if action is None else STOPS[action][1].format(keys=" or ".join(keys))


def is_loading(refusal: Rejected) -> bool:
    """Whether the server is there and its model is not yet: that takes as long as it takes."""
    return refusal.status == 503 or any(action is Action.WAIT for action, _ in matching(refusal))


def wait_s(refusal: Rejected) -> float | None:
    """So many seconds the server asks to wait: in its header, else in its text, which counts up to a limit."""
    if refusal.retry_after_s is not None:
        return refusal.retry_after_s
    if (said := _WAIT.search(refusal.body)) is None:
        return None
    seconds = sum(
        float(n) * (1e-3 if unit.lower().startswith(("ms", "milli")) else _SECONDS[unit[0].lower()])
        for n, unit in _DURATION.findall(said[1])
    )
    return min(seconds, _LONGEST_WAIT_S)


def is_too_large(refusal: Rejected) -> bool:
    """Whether it says that a request has too many tokens, and not that there were too many requests."""
    if refusal.status == 429:
        return _ONLY_TOO_MANY.search(refusal.body) is not None
    return _first(refusal) is Action.SHORTER


def matching(refusal: Rejected) -> tuple[tuple[Action, re.Match[str]], ...]:
    """What the table has for a text, in its order."""
    return _matching(refusal.body)


@lru_cache(maxsize=64)
def _matching(text: str) -> tuple[tuple[Action, re.Match[str]], ...]:
    found = ((action, pattern.search(text)) for action, pattern in TABLE)
    return tuple((action, match) for action, match in found if match)


def _first(refusal: Rejected) -> Action | None:
    return next((action for action, _ in matching(refusal) if action not in (Action.FIELD, Action.NO_TOOLS)), None)


def limit_in(refusal: Rejected, asked: int, *, output: bool = False, own: int = 0) -> int | None:
    """A limit that the text names and that this request, of so many tokens, is beyond; None: no number can be taken
    for one. A number in parentheses alone may be anything: it counts beside a second one that is larger. `own`: a
    number that the request itself named."""
    text = _CODES.sub(" ", refusal.body)
    numbers = [(int(m[1].replace(",", "")), m) for m in _NUMBER.finditer(text) if len(m[1]) < 12]
    numbers = [(n, m) for n, m in numbers if str(n) not in (refusal.code, str(own))]
    limits, of_window = [], []
    for n, m in numbers:
        before, after = text[max(0, m.start() - 60) : m.start()], text[m.end() : m.end() + 24]
        if not (_LEAST_OUTPUT if output else LEAST) <= n < asked or _BY.search(before):
            continue
        is_range = re.search(r"\[\s*\d+\s*,\s*\Z", before) is not None
        in_brackets = before.endswith("<") and after.startswith(">")
        if in_brackets or not (is_range or _LIMIT.search(before) or _LIMIT_AFTER.search(after)):
            continue
        if (said := _ASKED.search(before)) and said.start() > (_LIMIT.search(before) or said).start():
            continue
        in_parentheses = before.endswith("(") and after.startswith(")")
        has_unit = bool(_UNIT_AFTER.search(after) or _UNIT_BEFORE.search(before))
        beside = any(other > n for other, _ in numbers)
        if is_range or beside or (has_unit and not in_parentheses):
            limits.append(n)
            of_window += [n] if _WINDOW.search(before + after) else []
    return min(of_window or limits, default=None)
