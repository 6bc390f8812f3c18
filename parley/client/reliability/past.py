"""How sessions use past outcomes: the same for the command line, the gateway and the Python API."""

from dataclasses import dataclass
from pathlib import Path

from parley.client.errors import BadInput
from parley.client.reliability.opened_with import with_records
from parley.schemas.session import OpenSession
from parley.schemas.wire import InvalidValue


@dataclass(frozen=True, kw_only=True)
class Past:
    """A file of what was learned, and what of it enters a session."""

    file: Path | None = None
    """As parley.client.reliability.store keeps it; None: nothing is known."""
    reliability: bool = True
    """Whether members weigh by their records."""
    calibration: bool = True
    """Whether confidence is told as past outcomes say it should be read."""

    def into(self, opening: OpenSession, kind: str | None = "", *, now_ns: int | None = None) -> OpenSession:
        """The session with its kind, the members' records and the fit of its confidence, where these are used and the
        file has any. A question that a fit was made on is not read by that fit.

        Parameters
        ----------
        kind
            What kind of question it is, in a word of one's own; None or empty: none is named.
        now_ns
            Unix time; None: now.

        Raises
        ------
        BadInput
            The file cannot be read; the kind is none.
        """
        try:
            return with_records(
                opening,
                self.file,
                kind=_kind_of(kind),
                reliability=self.reliability,
                calibration=self.calibration,
                now_ns=now_ns,
            )
        except InvalidValue as error:
            raise BadInput("kind", str(error)) from error


def _kind_of(kind: str | None) -> str:
    """The kind as a text. Raises BadInput where it is none."""
    if kind is not None and not isinstance(kind, str):
        raise BadInput("kind", f"got {kind!r}, expected a word")
    return kind or ""
