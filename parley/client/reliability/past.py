"""How sessions use past outcomes: the same for the command line, the gateway and the Python API."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from parley.client.errors import BadInput
from parley.client.reliability import store
from parley.client.reliability.opened_with import with_records
from parley.client.reliability.ways import PRICE, Route
from parley.schemas.session import OpenSession
from parley.schemas.wire import InvalidValue, in_range

MOST_PRICE = 1_000.0


@dataclass(frozen=True, kw_only=True)
class Past:
    """A file of what was learned, and what of it enters a session. Raises BadInput where the price is none."""

    file: Path | None = None
    """As parley.client.reliability.store keeps it; None: nothing is known."""
    reliability: bool = True
    """Whether members weigh by their records."""
    calibration: bool = True
    """Whether confidence is told as past outcomes say it should be read."""
    policy: bool = False
    """Whether a controller takes over what was learned across sessions."""
    price: float = PRICE
    """Share of right answers that 1,000 tokens may cost, 0 to 1,000: for `route` and for a controller."""

    def __post_init__(self) -> None:
        if isinstance(self.price, bool) or not isinstance(self.price, int | float):
            raise BadInput("price", f"got {self.price!r}, expected a number")
        try:
            in_range("price", self.price, 0, MOST_PRICE)
        except InvalidValue as error:
            raise BadInput("price", str(error)) from error

    def into(
        self,
        opening: OpenSession,
        kind: str | None = "",
        *,
        now_ns: int | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> OpenSession:
        """The session with its kind, the members' records, the fit of its confidence and what its controller learned,
        where these are used and the file has any. A question that a fit was made on is not read by that fit.

        Parameters
        ----------
        kind
            What kind of question it is, in a word of one's own; None or empty: none is named.
        now_ns
            Unix time; None: now.
        tell
            Gets a line that says why a controller that is to take over something takes over nothing.

        Raises
        ------
        BadInput
            The file cannot be read; the kind is none.
        """
        word = kind_of(kind)
        try:
            opening = with_records(
                opening, self.file, kind=word, reliability=self.reliability, calibration=self.calibration, now_ns=now_ns
            )
        except InvalidValue as error:
            raise BadInput("kind", str(error)) from error
        if not self.policy:
            return opening
        from parley.client.reliability.steered import with_policy  # faces, and with them what shows sessions

        return with_policy(opening, self.file, kind=word, price=self.price, now_ns=now_ns, tell=tell)

    def route(
        self,
        question: str,
        kind: str | None = "",
        *,
        model: Callable[[], str] = str,
        able: Collection[str] | None = None,
    ) -> Route:
        """Where `auto` sends a question.

        Parameters
        ----------
        kind
            As `into` takes it.
        model
            Names the model that would answer alone; asked only where past sessions are known.
        able
            The protocols that are seated; None: any.

        Raises
        ------
        BadInput
            The file cannot be read, or no way's protocol is seated; the kind is none; as `model`.
        """
        from parley.client.reliability.route import route

        verdicts = store.read(self.file).verdicts if self.file is not None else ()
        alone = model() if verdicts else ""
        return route(verdicts, question, kind_of(kind), self.price, model=alone, able=able)


def kind_of(kind: str | None) -> str:
    """The kind as a text. Raises BadInput where it is none."""
    if kind is not None and not isinstance(kind, str):
        raise BadInput("kind", f"got {kind!r}, expected a word")
    return kind or ""
