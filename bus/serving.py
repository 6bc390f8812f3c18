"""Counts the requests in hand, so that a service can limit them."""


class Serving:
    """Requests in hand, by who asked."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}
        self.total = 0
        """Of all."""

    def __getitem__(self, who: str) -> int:
        return self._of.get(who, 0)

    def add(self, who: str, many: int = 1) -> None:
        """So many more are in hand."""
        self.total += many
        self._of[who] = self._of.get(who, 0) + many

    def drop(self, who: str) -> None:
        """One of them is done."""
        self.total -= 1
        remaining = self._of[who] - 1
        if remaining:
            self._of[who] = remaining
        else:
            del self._of[who]
