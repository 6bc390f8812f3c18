"""What the text of a refusal says: one table, by meaning and not by one provider's words.

A row matches words that many servers use for the same thing. More than one may match a text: they are tried in the
table's order (agents/openai/trials.py), and one that changes nothing is passed over. Numbers in a text are hints. One
counts as a limit where the words before it say so and it stands as a count of tokens, and never where it is an error's
code.
"""

import re
from collections.abc import Iterator
from enum import StrEnum, auto

from parley.agents.endpoint.endpoint import Rejected

LEAST = 512
"""Tokens: what tells of less is no window."""
_LEAST_OUTPUT = 64


class Action(StrEnum):
    """What is done about a refusal."""

    KEY = auto()
    CREDIT = auto()
    PLACE = auto()
    """The provider serves nobody from here, or under these rules."""
    FILTER = auto()
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
    LOWER_RUNG = auto()
    NO_SYSTEM = auto()
    STREAM = auto()
    NO_STREAM = auto()


STOPS = frozenset({Action.KEY, Action.CREDIT, Action.PLACE, Action.FILTER, Action.MODEL})
"""Nothing that a request could say otherwise would help."""

_OUTPUT = (
    r"(?:max_?(?:completion_|output_|new_)?_?tokens|output tokens?|completion tokens?|maximum tokens|maxoutputtokens)"
)
_NO = r"(?:not|n't|un(?:supported|known|recognized|expected)|invalid|forbidden|deprecated|only|disabled|removed|must|cannot)"

TABLE: tuple[tuple[Action, re.Pattern[str]], ...] = tuple((action, re.compile(pattern, re.I | re.S)) for action, pattern in (
    (Action.AFFORD, r"fewer max_tokens|can only afford"),
    (Action.STREAM, r"only (?:be )?(?:support\w*|accept\w*|allow\w*|available|use\w*)[^.]{0,30}\bstream|stream[^.]{0,30}(?:must be|to|=) ?.?true"
        r"|stream\w*[^.]{0,20} (?:is )?required|requires? [^.]{0,20}stream|non-?stream|stream ?= ?.?false|(?:without|unless) (?:using )?stream"
        r"|stream(?:ing)? is (?:strongly )?(?:recommended|mandatory)|只支持.{0,12}(?:流式|stream)"),
    (Action.NO_STREAM, r"\bstream(?:ing)?\b(?!_options)[^.]{0,60}(?:not|n't|unsupported|disabled|must be .{0,3}false|= ?false)"
        r"|(?:not|n't|cannot|verified to|disable)[^.]{0,30}\bstream(?:ing)?\b(?!_options)|param\W{1,6}stream\b"),
    (Action.KEY, r"api[ _-]?key\W{1,4}(?:not valid|is (?:not valid|invalid)|invalid|expired)|(?:invalid|incorrect|missing|no|expired|wrong) "
        r"(?:api|authentication|access)[ _-]?(?:key|token)|invalid_api_key|unauthorized|authentication[ _](?:fail|error)"),
    (Action.CREDIT, r"insufficient[ _](?:balance|credit|fund|quota)|credit balance|billing[ _](?:hard|details.{0,20}required)|arrears|overdue|"
        r"payment required|out of credits|余额|欠费|资源包"),
    (Action.PLACE, r"location is not supported|(?:country|region|territory)[^.]{0,40}(?:not|un)\W?(?:supported|available)|data policy|guardrail"
        r"|terms of service|must be verified to use"),
    (Action.FILTER, r"content[ _](?:management[ _])?(?:policy|filter|exists risk)|data_?inspection|moderation|flagged|safety (?:system|filter|polic)"
        r"|inappropriate content|敏感|不安全"),
    (Action.WAIT, r"(?:currently|still|being) (?:down)?load(?:ing|ed)\b|is loading|loading(?: the)? model|model[^.]{0,60}\bloading|warming|cold start|not (?:yet )?ready"
        r"|starting up|no healthy upstream"),
    (Action.LESS_OUTPUT, r"(?<!\+ )(?<!\+ `)" + _OUTPUT + r"\W{0,4}(?:must|should|can|may|has to)[^.]{0,20}(?:less|at most|between|<|\[|exceed|greater)"
        r"|(?:not|n't) exceed[^.]{0,20}" + _OUTPUT),
    (Action.SHORTER, r"(?:context|window)[ _-]?(?:length|window|size|limit)|(?:exceed\w*|beyond|larger than|longer than|over)[^.]{0,40}\b(?:context|window)\b"
        r"|maximum context|n_ctx|max_model_len|max_seq_len|request[ _](?:is )?too[ _]large|too many (?:input |prompt )?tokens"
        r"|(?:prompt|input|message|conversation|text|content)s?\b[^.]{0,60}(?:too (?:long|large|big)|exceed|longer than|over the)"
        r"|(?:prompt|input)[^.]{0,30}tokens?[^.]{0,30}(?:exceed|must be|less than|>|limit)|range of input|maximum (?:prompt|input) length"
        r"|tokens? (?:limit|count) exceed|reduce (?:the length|your (?:prompt|message|input))|shorten|payload too large|entity too large"
        r"|超长|超出.{0,20}(?:长度|限制|上限)|超过.{0,20}(?:长度|上下文|限制|上限)"),
    (Action.LESS_OUTPUT, _OUTPUT + r".{0,120}(?:range|at most|less than|too (?:large|big|high)|maximum|exceed|above|greater|up to|<|>|\[|limit|between)"
        r"|(?:exceed\w*|above|greater than|range of|maximum)[^.]{0,60}" + _OUTPUT),
    (Action.OTHER_TOKENS_FIELD, r"\bmax_(?:completion_)?tokens\b"),
    (Action.FIELD, r""),
    (Action.LOWER_RUNG, r"response[_ ]?(?:format|schema)|json[_ -]?(?:schema|object|mode)|structured[ _]output|guided|grammar|min(?:length|imum|items)|"
        r"max(?:length|imum|items)|repetition|\bschema\b|too many states|additional_?properties|no endpoints found that|requested parameters"),
    (Action.NO_SYSTEM, r"(?:system|developer)[\w ]{0,12}[ _.'\"]*(?:role|message|instruction|prompt)?[^.]{0,40}" + _NO
        + r"|" + _NO + r"[^.]{0,60}\b(?:system|developer)\b|roles? must alternate|first message|(?:unknown|invalid|unexpected|unsupported|incorrect)[^.]{0,20} role"
        r"|role[^.]{0,30}(?:must|should) be|jinja|chat template|角色"),
    # Words that other rows have already heard in their own sense.
    (Action.SHORTER, r"\btoo (?:long|large)\b|token limit|tokens? per (?:min|day)"),
))  # fmt: skip
"""The first that changes something counts."""

_MODEL = re.compile(
    r"model[ :]+\W{0,3}[\w./:@-]+\W{0,3} ?(?:was |is )?(?:not found|not exist|does not exist|doesn't exist|not available|unavailable)"
    r"|model_not_found|(?:no such|unknown|invalid|unsupported|nonexistent) model\b|model[ _]not[ _](?:found|exist)|not a valid model"
    r"|no endpoints found for|模型不存在|pulling it first|no models? loaded|has been (?:retired|decommissioned|deprecated)|model_decommissioned",
    re.I,
)  # fmt: skip
_ADDRESS = re.compile(
    r"\A\W*(?:404 )?(?:page )?not found\W*\Z|<html|<!doctype|cannot post|no (?:route|handler)|detail\W+not found|unknown "
    r"(?:url|path|endpoint|request url)|error\W+not found\W*\Z|invalid url|unexpected endpoint",
    re.I,
)  # fmt: skip
_ONLY_TOO_MANY = re.compile(r"request too large|too large for|tokens must be reduced|reduce your message", re.I)
_CODES = re.compile(
    r"\"?(?:code|status|status_code|error_code|http_code|request_id|id|retcode|errno)\"?\s*[:=]\s*\"?[\w.-]+\"?", re.I
)
_NUMBER = re.compile(r"(?<![\w.#-])(\d{1,3}(?:,\d{3})+|\d+)(?![\w]|\.\d|-\w)")
_LIMIT = re.compile(
    r"(?:limit\w*|maximum|max\w*|at most|up to|allowed|less than|must be|no more than|greater than|longer than|larger than"
    r"|above|afford|exceeds?(?: the)?|length|window|size|n_ctx|supports?|only|range|between|<=?|>|≤)[^\d]{0,48}\Z",
    re.I,
)  # fmt: skip
_LIMIT_AFTER = re.compile(r"\A[\s'\")\]]{0,2}(?:tokens? )?(?:maximum|max\b|limit)", re.I)
_BY = re.compile(r"\bby\W{0,3}\Z", re.I)
_WINDOW = re.compile(r"context|window|n_ctx|max_model_len|max_seq_len", re.I)
_ASKED = re.compile(
    r"(?:requested|your (?:request|prompt|input|message)\w*|provided|resulted in|got|given|has|sent|used)[^\d]{0,40}\Z",
    re.I,
)
_UNIT_AFTER = re.compile(
    r"\A[\s'\")\]-]{0,3}(?:input |output |completion |prompt |context )?(?:tokens?|maximum|max\b|\()", re.I
)
_UNIT_BEFORE = re.compile(r"(?:tokens?|length|window|n_ctx|max_model_len|max_seq_len|size)\b[^\d]{0,48}\Z", re.I)


def stop(refusal: Rejected) -> Action | None:
    """Why no request would be answered; None: another may be."""
    text = refusal.body
    first = next((action for action, pattern in TABLE if pattern.pattern and pattern.search(text)), None)
    if refusal.code == "insufficient_quota":
        return Action.CREDIT
    if refusal.status == 402:
        return None if first is Action.AFFORD else Action.CREDIT
    if refusal.status == 401 or (refusal.status in (400, 403, 422) and first is Action.KEY):
        return Action.KEY
    if first in STOPS and refusal.status in (400, 403, 404, 422, 429, 451):
        return first
    if refusal.status == 403 and first not in (Action.STREAM, Action.NO_STREAM, Action.SHORTER):
        return Action.KEY
    if refusal.status in (400, 404, 422) and _MODEL.search(text):
        return Action.MODEL
    return Action.MODEL if refusal.status in (404, 405) and _ADDRESS.search(text) else None


def is_loading(refusal: Rejected) -> bool:
    """Whether the server is there and its model is not yet: that takes as long as it takes."""
    return refusal.status == 503 or Action.WAIT in (a for a, _ in matching(refusal) if a is not Action.FIELD)


def is_too_large(refusal: Rejected) -> bool:
    """Whether it says that a request has too many tokens, and not that there were too many requests."""
    if refusal.status == 429:
        return _ONLY_TOO_MANY.search(refusal.body) is not None
    return next((a for a, _ in matching(refusal) if a is not Action.FIELD), None) is Action.SHORTER


def matching(refusal: Rejected) -> Iterator[tuple[Action, re.Match[str]]]:
    """What the table has for a text, in its order."""
    for action, pattern in TABLE:
        if found := pattern.search(refusal.body):
            yield action, found


def limit_in(refusal: Rejected, asked: int, *, output: bool = False) -> int | None:
    """A limit that the text names and that this request, of so many tokens, is beyond; None: no number can be taken
    for one. A number in parentheses alone may be anything: it counts beside a second one that is larger."""
    text = _CODES.sub(" ", refusal.body)
    numbers = [(int(m[1].replace(",", "")), m) for m in _NUMBER.finditer(text) if len(m[1]) < 12]
    numbers = [(n, m) for n, m in numbers if str(n) != refusal.code]
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
