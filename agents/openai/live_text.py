"""Live text out of a JSON object that is still coming: the texts of its own fields, as they are written."""

from parley.agents.model.base import Emit

_ENOUGH = 60
_ESCAPES = {"n": "\n", "t": "\t", "r": "", "b": "", "f": "", "/": "/", "\\": "\\", '"': '"'}


class LiveText:
    """Takes a reply in pieces of any size, and emits the values of its top-level texts; prose passes as it is."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._buffer = ""
        self._blank = True
        """Nothing but white space has come so far: it is held back until more comes."""
        self._depth = 0
        self._in_text = False
        self._is_value = False
        self._escape = ""

    def feed(self, piece: str) -> None:
        """More of the reply."""
        for c in piece:
            shown = self._step(c)
            self._buffer += shown
            self._blank = self._blank and (not shown or shown.isspace())
        if len(self._buffer) >= _ENOUGH:
            self.flush()

    def flush(self) -> None:
        """Emit what is held back."""
        if self._buffer and not self._blank:
            self._emit(self._buffer)
            self._buffer = ""

    def _step(self, c: str) -> str:
        if self._in_text:
            return self._inside(c)
        if c in "{[":
            self._depth += 1
            self._is_value = False
        elif c in "}]":
            self._depth = max(0, self._depth - 1)
        elif c == '"' and self._depth:
            self._in_text = True
        elif c == ":":
            self._is_value = self._depth == 1
        elif c == "," and self._depth == 1:
            self._is_value = False
        elif not self._depth:
            return c
        return ""

    def _inside(self, c: str) -> str:
        shown = self._is_value and self._depth == 1
        if self._escape:
            self._escape += c
            if self._escape[1] != "u":
                text = _ESCAPES.get(c, "")
            elif len(self._escape) < 6:
                return ""
            else:
                text = _character(self._escape[2:])
            self._escape = ""
            return text if shown else ""
        if c == "\\":
            self._escape = c
            return ""
        if c == '"':
            self._in_text = False
            return "\n" if shown else ""
        return c if shown else ""


def _character(code: str) -> str:
    try:
        character = chr(int(code, 16))
    except ValueError:
        return ""
    return "" if "\ud800" <= character <= "\udfff" else character
