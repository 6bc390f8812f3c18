"""A result that prints itself: in words on a terminal, as a small page in a notebook."""

from collections.abc import Iterable

from markupsafe import Markup

from parley.client.show.words import bare
from parley.client.text import hung
from parley.client.turns import Nothing, Turns
from parley.schemas import result

_STYLES = {
    "heading": "font-weight: bold", "answer": "font-weight: bold; font-size: 115%", "stop": "color: #1a7f37",
    "score": "color: #9a6700", "warning": "color: #8250df; font-weight: bold", "quiet": "opacity: 0.7",
}  # fmt: skip


class Result(result.Result, frozen=True, kw_only=True):
    """The result of a session. `print` shows it in words, and a notebook shows it as a small page."""

    unanswered: tuple[Nothing, ...] = ()
    """Turns that no seat answered, each with its `seat`, `kind`, `round` and `why`. Empty: there are none, or only an
    owner may read them."""

    def __str__(self) -> str:
        """The answer, how sure it is, who dissents, why it stopped, what was used."""
        from parley.client.rendering.transcript import brief_result

        return "\n".join(bare(brief_result(self, self._turns())))

    def _repr_html_(self) -> str:
        """The same for a notebook. Every text is escaped."""
        from parley.client.rendering.transcript import brief_result

        rows = [
            Markup('<div style="{}; white-space: pre-wrap" dir="auto">{}</div>').format(
                _STYLES.get(style, ""), hung(text)
            )
            for style, text in brief_result(self, self._turns())
        ]
        return str(Markup('<div class="parley-result" title="{}">{}</div>').format(self.session, Markup("").join(rows)))

    def _turns(self) -> Turns:
        turns = Turns()
        turns.nothing.extend(self.unanswered)
        return turns


def to_api(ended: result.Result, unanswered: Iterable[Nothing] = ()) -> Result:
    """The result as the Python API gives it."""
    fields = {name: getattr(ended, name) for name in ended.__struct_fields__}
    return Result(**fields, unanswered=tuple(unanswered))
