"""Who may: a principal is a user of the bus, with its credentials. A token or a cookie shows who asks.

A folder of keys, which the gateway only reads, holds for each principal `NAME.json` (credentials, as `parley bus
config` writes them) and `NAME.token` (SHA-256 of its token, in hex). The token itself stands nowhere. What a principal
may do is what the broker lets its user do: an owner operates, a client asks, a viewer reads.

A cookie holds the principal's name, an end, a number of its own, and a fingerprint of its token, signed with the
gateway's key. So each copy of the gateway knows the cookie, and a token that is removed or replaced takes its cookies
with it. A cookie that is ended at a logout is taken no more by this copy; its number keeps it apart from others.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from parley.bus.accounts import CLIENT, OWNER, VIEWER, Credentials, load_credentials, write_private
from parley.bus.errors import BadKeyFile
from parley.client.errors import BadInput, bad_input

KEY_BYTES = 32
COOKIE_KEY = "web.key"
"""The file of the key that signs cookies, in a folder of keys."""
COOKIE_S = 7 * 86_400
LINK_S = 600.0
"""Seconds for which a one-time link is good."""
LOCAL = "local"
"""The principal of a gateway that has no folder of keys: whoever has the printed link."""
LOCAL_TOKEN = "parley-local-"
"""How its token begins."""
SERVED = (OWNER, CLIENT, VIEWER)
"""Kinds of users that a principal may be."""
_ENDED = 10_000
"""Cookies that were logged out and are remembered."""
_AGAIN_S = 2.0
"""The folder is read again at most so often."""


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """One who may use the gateway."""

    name: str
    credentials: Credentials
    fingerprint: str
    """Of its token; cookies are bound to it."""

    @property
    def operates(self) -> bool:
        """Whether it sees all sessions of the tenant, the agents and the logs."""
        return self.credentials.kind == OWNER


class Principals:
    """Knows tokens, cookies and one-time links.

    Parameters
    ----------
    key
        Signs cookies; the same in all copies, 32 bytes.
    local
        Credentials of the one principal that a link lets in; None: no links.
    folder
        Of the principals' keys; None: nobody but `local`.
    clock
        Seconds since the epoch.

    Raises
    ------
    BadInput
        The folder holds no principal, or a file that is none.
    """

    def __init__(
        self,
        key: bytes,
        *,
        local: Credentials | None = None,
        folder: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._key, self._clock, self._folder = key, clock, folder
        self._local = None if local is None else Principal(name=LOCAL, credentials=local, fingerprint=LOCAL)
        self._links: dict[str, float] = {}
        self._ended: dict[str, None] = {}
        self._read_at = 0.0
        self._by_token: Mapping[str, Principal] = {}
        if folder is not None:
            self._read(must=True)

    # -- tokens
    def of_token(self, token: str) -> Principal | None:
        """The principal whose token this is."""
        if self._local is not None and hmac.compare_digest(token.encode(), self.local_token().encode()):
            return self._local
        self._read()
        return self._by_token.get(digest(token)) if token else None

    def local_token(self) -> str:
        """The local principal's, for programs on this machine; empty: there is none. It is made of the key, so that it
        stays the same while the key does."""
        if self._local is None:
            return ""
        return LOCAL_TOKEN + hmac.new(self._key, b"the local principal's token", hashlib.sha256).hexdigest()

    # -- links
    def link(self) -> str:
        """A code that lets one browser in, once, within LINK_S seconds."""
        code = secrets.token_urlsafe(24)
        now = self._clock()
        self._links = {c: end for c, end in self._links.items() if end > now} | {digest(code): now + LINK_S}
        return code

    def redeem(self, code: str) -> Principal | None:
        """The local principal, the first time that a link's code comes."""
        end = self._links.pop(digest(code), 0.0)
        return self._local if end > self._clock() else None

    # -- cookies
    def cookie(self, principal: Principal) -> str:
        """A cookie's value for this principal."""
        payload = f"{principal.name.encode().hex()}.{int(self._clock() + COOKIE_S)}.{secrets.token_hex(8)}"
        return f"{payload}.{self._signature(payload, principal)}"

    def of_cookie(self, value: str) -> Principal | None:
        """The principal of a cookie that is valid now."""
        if digest(value) in self._ended:
            return None
        payload, _, signature = value.rpartition(".")
        name, _, rest = payload.partition(".")
        end = rest.partition(".")[0]
        try:
            principal = self.named(bytes.fromhex(name).decode())
            over = int(end) <= self._clock()
        except ValueError:
            return None
        if principal is None or over:
            return None
        same = hmac.compare_digest(signature.encode(), self._signature(payload, principal).encode())
        return principal if same else None

    def ends(self, value: str) -> None:
        """Take no such cookie any more. A token that is replaced takes its cookies with it everywhere."""
        if self.of_cookie(value) is None:
            return
        self._ended[digest(value)] = None
        if len(self._ended) > _ENDED:
            del self._ended[next(iter(self._ended))]

    def _signature(self, payload: str, principal: Principal) -> str:
        return hmac.new(self._key, f"{payload}.{principal.fingerprint}".encode(), hashlib.sha256).hexdigest()

    def named(self, name: str) -> Principal | None:
        """The principal of this name; None: there is none."""
        if self._local is not None and name == LOCAL:
            return self._local
        self._read()
        return next((p for p in self._by_token.values() if p.name == name), None)

    # -- the folder
    def _read(self, *, must: bool = False) -> None:
        """Read the folder again, after a while. `must`: raise where it cannot be used."""
        now = self._clock()
        if self._folder is None or (not must and now - self._read_at < _AGAIN_S):
            return
        self._read_at = now
        try:
            names = [path for path in sorted(self._folder.iterdir()) if path.suffix == ".token"]
        except OSError as error:
            if must:
                raise BadInput("keys", f"cannot read {self._folder}: {error.strerror}") from error
            return
        by_token = {}
        for path in names:
            try:
                principal = _principal(path)
            except BadInput:
                if must:
                    raise
                continue  # a file that is being written is read the next time
            by_token[principal.fingerprint] = principal
        if must and not by_token:
            raise BadInput("keys", f"{self._folder} holds no NAME.token; make one: parley bus token NAME --dir DIR")
        self._by_token = by_token


def _principal(path: Path) -> Principal:
    """The principal of a NAME.token. Raises BadInput."""
    with bad_input("keys", OSError, ValueError, BadKeyFile, what=str(path)):
        fingerprint = path.read_text("ascii").strip()
        credentials = load_credentials(path.with_suffix(".json"))
    if len(fingerprint) != 64 or set(fingerprint) - set("0123456789abcdef"):
        raise BadInput("keys", f"{path} holds no SHA-256 in hex; make it with parley bus token")
    if credentials.kind not in SERVED:
        raise BadInput("keys", f"{path}: its user is of kind {credentials.kind}; wanted is {' or '.join(SERVED)}")
    return Principal(name=path.stem, credentials=credentials, fingerprint=fingerprint)


def digest(secret: str) -> str:
    """SHA-256 in hex: what is kept in place of a token or a code."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_token(path: Path) -> str:
    """Make a token for the credentials `NAME.json` in a folder of keys, and keep its digest in `NAME.token`.

    The key that signs cookies is made there, too, where there is none.

    Parameters
    ----------
    path
        The credentials file.

    Raises
    ------
    BadInput
        It is no credentials file, or of a user that the gateway does not serve.
    """
    token = secrets.token_urlsafe(32)
    kept = path.with_suffix(".token")
    with bad_input("name", BadKeyFile):
        credentials = load_credentials(path)
    if credentials.kind not in SERVED:
        raise BadInput("name", f"{path} is of kind {credentials.kind}; wanted is {' or '.join(SERVED)}")
    cookie_key(path.with_name(COOKIE_KEY))
    write_private(kept, digest(token).encode() + b"\n")
    return token


def cookie_key(path: Path) -> bytes:
    """The key that signs cookies; made where there is none. Raises BadInput."""
    try:
        if not path.exists():
            write_private(path, secrets.token_bytes(KEY_BYTES).hex().encode() + b"\n")
        key = bytes.fromhex(path.read_text("ascii"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no key in hex"
        raise BadInput("cookie-key", f"{path}: {why}") from error
    if len(key) != KEY_BYTES:
        raise BadInput("cookie-key", f"{path} holds {len(key)} bytes, wanted are {KEY_BYTES} in hex")
    return key


def carried_key(key: bytes) -> bytes:
    """The key that seals what clients carry between two requests: it follows from the cookies', so that every copy of
    the gateway has the same."""
    return hmac.digest(key, b"what MCP clients carry", "sha256")
