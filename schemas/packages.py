"""Rows that a package adds to Parley's own tables: stop reasons, channels and roles.

One object a package (entry point group `parley.rows`). Every name in it begins with the package's own prefix, so that
no row can take the place of a row of Parley's, or of another package's, now or in a later release. A role of a package
has an account of its own at the broker, and only such accounts read and write a package's channels: no row gives an
account of Parley's anything. `check` holds all that when the object is loaded.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec

from parley.schemas import registry

UNSETTLED = 3
"""Exit status of a session that ended without what its protocol looks for."""
CLIENT = "client"
"""Among the readers of a channel: whoever may read the session."""
_NAME = re.compile(r"[a-z][a-z0-9_]{2,47}")
_MOST_WORDS = 120


class StopRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a stop reason means."""

    reason: str
    converged: bool
    """Whether it may be: a stop decision can say that it is not (a plateau without agreement)."""
    status: str
    """finished | failed | cancelled"""
    exit_code: int
    """0 settled, or played as its protocol means it; 1 failed; 3 it ended, and nothing is settled; 130 interrupted."""
    words: str
    unless: str = ""
    """The words where it may be convergence and is none."""

    def exit_status(self, converged: bool) -> int:
        """Of the command that followed the session. What might have converged and did not is not settled."""
        return UNSETTLED if self.converged and not converged else self.exit_code

    def in_words(self, converged: bool) -> str:
        """The reason in words."""
        return self.unless or f"{self.words}; it did not converge" if self.converged and not converged else self.words


class ChannelRow(msgspec.Struct, frozen=True, kw_only=True):
    """A channel of a package, and which of the package's roles read it and write it."""

    name: str
    readers: tuple[str, ...]
    """Roles of the package; CLIENT: whoever may read the session, too."""
    writers: tuple[str, ...] = ()
    """Roles of the package: their seats may be asked for replies on it."""


class PackageRows(msgspec.Struct, frozen=True, kw_only=True):
    """What a package adds to the tables."""

    stops: tuple[StopRow, ...] = ()
    channels: tuple[ChannelRow, ...] = ()
    roles: tuple[str, ...] = ()
    """Each reads `public` and `control` and writes `public`, as every role does, and its package's channels."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of all rows."""
        return (*(s.reason for s in self.stops), *(c.name for c in self.channels), *self.roles)


def prefix_of(package: str) -> str:
    """How the names of a package's rows begin."""
    return f"x_{registry.normal(package).replace('-', '_')}_"


def shortened(name: str) -> str:
    """A name without what it begins with as a package's: as people read it."""
    if not name.startswith("x_"):
        return name
    return name.removeprefix(next((prefix for prefix in prefixes() if name.startswith(prefix)), "x_"))


def prefixes() -> tuple[str, ...]:
    """Those of the packages that are allowed here, the longest first: one may be the beginning of another."""
    return tuple(sorted(map(prefix_of, registry.allowed()), key=len, reverse=True))


def check(rows: PackageRows, _name: str, package: str) -> None:
    """Raises ValueError where a row cannot stand in its table."""
    prefix = prefix_of(package)
    for name in rows.names:
        if not name.startswith(prefix) or not _NAME.fullmatch(name) or name == prefix:
            raise ValueError(
                f"got the name {name!r}; names of its rows begin with {prefix} and have at most 48 of a-z, 0-9 and _"
            )
    if twice := sorted({name for name in rows.names if rows.names.count(name) > 1}):
        raise ValueError(f"two rows are named {twice[0]}")
    for row in rows.stops:
        _check_stop(row)
    for channel in rows.channels:
        for role in (*(r for r in channel.readers if r != CLIENT), *channel.writers):
            if role not in rows.roles:
                known = ", ".join(rows.roles) or "none"
                raise ValueError(f"channel {channel.name}: {role!r} is no role of the package; its roles: {known}")
        if not channel.readers:
            raise ValueError(f"channel {channel.name}: nobody reads it")


def _check_stop(row: StopRow) -> None:
    """What ends without a failure has exit status 0 or 3; what may converge is finished and settled."""
    codes = {"finished": (0, UNSETTLED), "failed": (1,)}.get(row.status, ())
    if not codes:
        raise ValueError(f"stop reason {row.reason}: status {row.status!r}, expected finished or failed")
    if row.exit_code not in codes:
        allowed = " or ".join(map(str, codes))
        raise ValueError(f"stop reason {row.reason}: exit status {row.exit_code} of {row.status}, expected {allowed}")
    if row.converged and (row.status != "finished" or row.exit_code):
        raise ValueError(f"stop reason {row.reason}: what converges is finished, with exit status 0")
    if not row.words or len(row.words) > _MOST_WORDS or len(row.unless) > _MOST_WORDS:
        raise ValueError(f"stop reason {row.reason}: expected words, at most {_MOST_WORDS} characters")


def brought() -> Iterable[PackageRows]:
    """The rows of all packages that are loaded here."""
    return [load() for load in registry.usable(registry.ROWS).values()]


def brought_stops() -> Mapping[str, StopRow]:
    """By reason."""
    return {row.reason: row for rows in brought() for row in rows.stops}


def brought_channels() -> Mapping[str, ChannelRow]:
    """By name."""
    return {row.name: row for rows in brought() for row in rows.channels}


def brought_accounts() -> Mapping[str, str]:
    """Role -> the account that its workers live in."""
    return {role: account_of(role) for rows in brought() for role in rows.roles}


def account_of(role: str) -> str:
    """The account of a package's role."""
    return role.upper()
