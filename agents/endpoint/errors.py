"""What the body of an error says, whatever its shape: an object, a list, JSON within a text, or plain text."""

from typing import Any

import msgspec

_MOST = 2_000
"""Characters that are looked at."""
_GENERIC = ("provider returned error", "upstream error", "upstream request failed", "bad request", "error")
"""Messages of servers that pass on what another said, which then stands elsewhere."""
_SAYS = ("", "message", "msg", "error", "detail", "error_message", "error_msg", "reason", "title")


def error_parts(text: str) -> tuple[str, str, str]:
    """(the message, the code, all of it as sentences: texts as they are, other values with their name)."""
    lines = _lines(_decoded(text), "")
    body = ".\n".join(value if name in (*_SAYS, "raw") else f"{name}: {value}" for name, value in lines)[:_MOST]
    messages = [value for said in _SAYS for name, value in lines if name == said and value]
    useful = [m for m in messages if m.strip().lower().rstrip(".") not in _GENERIC]
    raw = [value for name, value in lines if name == "raw" and value]
    message = (useful or raw or messages or [text])[0]
    param = next((value for name, value in lines if name == "param" and value), "")
    if param and param not in message:
        message = f"{param}: {message}"
    code = next((value for name, value in lines if name in ("code", "error_code", "status_code") and value), "")
    return message, code, body


def _decoded(text: str) -> Any:
    stripped = text.strip()
    if stripped[:1] not in ("{", "[", '"') or len(stripped) > 64_000:
        return text
    try:
        return msgspec.json.decode(stripped)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return text


def _lines(value: Any, name: str, depth: int = 0) -> list[tuple[str, str]]:
    """(name, value) of each plain value below, JSON within texts opened."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") and depth < 8:
        value = _decoded(value)
    if depth >= 8 or value is None:
        return []
    if isinstance(value, dict):
        return [line for key, item in list(value.items())[:50] for line in _lines(item, str(key), depth + 1)]
    if isinstance(value, list) and all(isinstance(item, str | int) for item in value):
        return [(name, ".".join(map(str, value[:20])))]
    if isinstance(value, list):
        return [line for item in value[:20] for line in _lines(item, name, depth + 1)]
    return [(name, str(value)[:_MOST])]
