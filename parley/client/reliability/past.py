"""How sessions use past outcomes: the same for the command line, the gateway and the Python API."""

from dataclasses import dataclass
from pathlib import Path

from parley.client.errors import BadInput
from parley.client.protocols import setup_of
from parley.client.reliability import store
from parley.client.reliability.opened_with import with_records
from parley.schemas.afterwards.learned import Thresholds
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

    def into(
        self,
        opening: OpenSession,
        kind: str | None = "",
        *,
        thresholds: Thresholds | None = None,
        now_ns: int | None = None,
    ) -> OpenSession:
        """The session with its kind, the members' records and the fit of its confidence, where these are used and the
        file has any. A question that a fit was made on is not read by that fit.

        Parameters
        ----------
        kind
            What kind of question it is, in a word of one's own; None or empty: none is named.
        thresholds
            Those of its settings that were learned; None: none were.
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
                thresholds=thresholds,
                now_ns=now_ns,
            )
        except InvalidValue as error:
            raise BadInput("kind", str(error)) from error

    def applied(self, protocol: str, kind: str | None, seats: int) -> Thresholds | None:
        """The thresholds that were applied to this kind of question (parley thresholds apply); None: there are none.

        Parameters
        ----------
        seats
            Of the panel: a quorum of more seats is not taken.

        Raises
        ------
        BadInput
            The file cannot be read.
        """
        if self.file is None or not setup_of(protocol).learns:
            return None
        there = (found for found in store.read(self.file).thresholds if found.kind == _kind_of(kind))
        return next((found for found in there if found.quorum <= seats), None)


def _kind_of(kind: str | None) -> str:
    """The kind as a text. Raises BadInput where it is none."""
    if kind is not None and not isinstance(kind, str):
        raise BadInput("kind", f"got {kind!r}, expected a word")
    return kind or ""
