"""The certificates by which the servers of a cluster know each other.

A server shows its certificate on every route, and takes none that its cluster's authority did not sign: whoever has no
such certificate cannot join, and hears nothing. The authority's key signs servers and nothing else; it is needed again
only to renew certificates, so it may lie elsewhere.
"""

import ipaddress
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from parley.bus.accounts import rewrite_private, write_private
from parley.bus.errors import BadKeyFile

AUTHORITY, AUTHORITY_KEY = "routes-ca.pem", "routes-ca.key"
CERTIFICATE, KEY = "route.pem", "route.key"
AUTHORITY_DAYS = 3_650
SERVER_DAYS = 825
_BEFORE = timedelta(hours=1)
"""Clocks of machines need not agree."""


RENEWED_BY = "parley bus certificates"
"""The command that makes an authority where there is none, and certificates of it for every server."""


def authority(folder: Path, made_by: str = RENEWED_BY) -> tuple[Path, bool]:
    """The authority in a folder, made if there is none: its certificate, and whether it is new.

    Parameters
    ----------
    made_by
        What makes a new one, in words for an error.

    Raises
    ------
    BadKeyFile
        One of its two files is missing or cannot be used, or they do not belong together.
    """
    path = folder / AUTHORITY
    if path.exists() or (folder / AUTHORITY_KEY).exists():
        _load(folder, made_by)
        return path, False
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Parley routes")])
    certificate = (
        _begun(name, name, key.public_key(), AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    write_private(folder / AUTHORITY_KEY, _pem(key))
    write_private(path, certificate.public_bytes(serialization.Encoding.PEM))
    return path, True


def issue(folder: Path, into: Path, name: str, hosts: Iterable[str], days: int = SERVER_DAYS) -> datetime:
    """Give one server a fresh key and certificate, and the authority's certificate beside them; when it ends.

    Parameters
    ----------
    folder
        Where the authority lies.
    into
        The server's folder.
    hosts
        Names and addresses by which the other servers reach it.

    Raises
    ------
    BadKeyFile
        The authority cannot be used.
    """
    signer, by = _load(folder, RENEWED_BY)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]  # a route has two ends
    certificate = (
        _begun(subject, signer.subject, key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(x509.SubjectAlternativeName([_named(h) for h in dict.fromkeys((name, *hosts))]), critical=False)
        .sign(by, hashes.SHA256())
    )
    rewrite_private(into / AUTHORITY, (folder / AUTHORITY).read_bytes())
    rewrite_private(into / KEY, _pem(key))
    rewrite_private(into / CERTIFICATE, certificate.public_bytes(serialization.Encoding.PEM))
    return certificate.not_valid_after_utc


def _load(folder: Path, made_by: str) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """The authority's certificate and key. Raises BadKeyFile, with what to do."""
    mend = (
        f"Bring it back from a backup. Or move {AUTHORITY} and {AUTHORITY_KEY} away: {made_by} then makes new ones, "
        "and every server needs its new files"
    )

    def bad(name: str, why: str) -> BadKeyFile:
        return BadKeyFile(str(folder / name), f"{why}. {mend}")

    def content(name: str) -> bytes:
        try:
            return (folder / name).read_bytes()
        except FileNotFoundError:
            raise bad(name, "there is no such file") from None
        except OSError as error:
            raise bad(name, f"it cannot be read ({error.strerror})") from None

    try:
        signer = x509.load_pem_x509_certificate(content(AUTHORITY))
    except ValueError:
        raise bad(AUTHORITY, "it is no certificate in PEM form") from None
    try:
        key = serialization.load_pem_private_key(content(AUTHORITY_KEY), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise bad(AUTHORITY_KEY, "it is no private key in PEM form without a password") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise bad(AUTHORITY_KEY, "it is not the key of an authority that Parley made")
    if key.public_key() != signer.public_key():
        raise bad(AUTHORITY_KEY, f"it does not belong to {AUTHORITY}")
    return signer, key


def ends(certificate: Path) -> datetime:
    """When a certificate ends. Raises BadKeyFile."""
    try:
        return x509.load_pem_x509_certificate(certificate.read_bytes()).not_valid_after_utc
    except (OSError, ValueError) as error:
        raise BadKeyFile(str(certificate), str(error)) from None


def _begun(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + timedelta(days=days))
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _named(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
