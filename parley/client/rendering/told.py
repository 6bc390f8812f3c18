"""A result that prints itself: in words on a terminal, as a small page in a notebook."""

import importlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from parley.client.errors import BadInput
from parley.client.show.answer import ResultCard
from parley.client.turns import SubmissionRefused
from parley.schemas import result
from parley.schemas.post import Post

if TYPE_CHECKING:
    from parley.client.view.fold import Fold

T = TypeVar("T")


class Result(result.Result, frozen=True, kw_only=True, dict=True):
    """The result of a session. `print` shows it in words, a notebook as a small page."""

    unanswered: tuple[SubmissionRefused, ...] = ()
    """Turns that no seat answered, each with its `seat`, `kind`, `round` and `why`. Empty: there are none, or only an
    owner may read them."""
    posts: tuple[Post, ...] = ()
    """What was said, where it was read."""

    @cached_property
    def _fold(self) -> "Fold":
        from parley.client.view.fold import Fold

        fold = Fold(self.session)
        fold.runs(self.protocol, {})
        for post in self.posts:
            fold.post(post)
        fold.result = self
        fold.turns.nothing.extend(self.unanswered)
        return fold

    @property
    def card(self) -> ResultCard:
        """The answer, its confidence, why, who dissents, what is weak, what to do next; `card.parts` has the rest."""
        card = self._fold.answer()
        assert card is not None, "it has a result"
        return card

    def outcome_as(self, kind: type[T]) -> T:
        """The outcome as its protocol's own message: `result.outcome_as(Outcome).minority[0].seat`, with `from
        parley.schemas.protocols.consensus import Outcome`. Raises BadInput: it is another protocol's, or the session
        ended before it came to one."""
        try:
            return msgspec.convert(self.outcome, kind)
        except msgspec.ValidationError as error:
            where = f"{kind.__module__}.{kind.__name__}"
            why = f"what session {self.session} ({self.protocol}) came to is no {where}: {error}"
            raise BadInput("kind", why) from error

    def view(self) -> dict[str, Any]:
        """All that any screen shows of the session, as JSON values."""
        return dict(msgspec.to_builtins(self._fold.view()))

    def posts_frame(self) -> Any:
        """The posts as rows of a pandas DataFrame. Raises ModuleNotFoundError where pandas is not installed."""
        return importlib.import_module("pandas").DataFrame(self.posts_rows())

    def posts_rows(self) -> Sequence[dict[str, Any]]:
        """The same as one mapping a post."""
        return [
            {
                "n": c.n,
                "round": c.round,
                "seat": c.seat,
                "kind": c.kind,
                "position": c.position,
                "confidence": c.confidence,
                "text": c.text,
            }
            for c in self._fold.cards
            if c.place != "hidden"
        ]

    def __str__(self) -> str:
        """The answer, how sure it is, why, who dissents, what was used."""
        from parley.client.rendering.terminal import answer_lines, bare

        return "\n".join(bare([*answer_lines(self.card), ("quiet", self.card.used)]))

    def _repr_html_(self) -> str:
        """The same for a notebook, and what stands behind it folded away. Every text is escaped."""
        from parley.client.rendering.html import notebook

        return notebook(self._fold)


def to_api(ended: result.Result, unanswered: Iterable[SubmissionRefused] = (), posts: Iterable[Post] = ()) -> Result:
    """The result as the Python API gives it."""
    fields = {name: getattr(ended, name) for name in ended.__struct_fields__ if name not in ("unanswered", "posts")}
    return Result(**fields, unanswered=tuple(unanswered), posts=tuple(posts))
