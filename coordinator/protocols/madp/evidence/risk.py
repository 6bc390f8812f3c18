"""madp: which fields of harm a task touches, by its words and by the diff of its folder, and who guards each.

The size of a task says nothing of the harm that it may do: what touches one of these fields is reviewed by that field's
expert at every depth. The words are meant to find too much rather than too little, since a field that is found costs
one review; of a diff only what names a field plainly counts. Words of English are known, and the usual ones of German.
"""

import re
from collections.abc import Iterable, Iterator

from parley.coordinator.protocols.madp.evidence.diffs import paths_of
from parley.coordinator.protocols.madp.state import announced_experts, degraded, room
from parley.coordinator.table import View

SECURITY = "security"
"""The category of experts that make a task security-critical (9.3)."""
CRITICAL = frozenset({SECURITY, "identity", "permissions", "secrets", "personal data"})
"""Fields that make a task security-critical where nobody is there who could say so."""
MOST_GUARDS = 3
# Patterns, of which white space is no part.
_TASK = {
    SECURITY: r"""
        secur\w*|vulnerab\w*|exploit\w*|attack\w*|xss|csrf|ssrf|inject\w*|saniti[sz]\w*|cve\S*|harden\w*|
        rate[-\s]?limit\w*|brute[-\s]forc\w*|untrusted|malicious|(?<!memory\s)leak(?:s|ed|ing)?|expos(?:e[sd]?|
        ing|ure)|spoof\w*|tamper\w*|sicherheit\w*|cors|public(?:ly)?\s(?:accessible|reachable)|strangers?|
        outsiders?
    """,
    "identity": r"""
        auth|authn|authz|authenti\w*|oauth\w*|jwts?|sso|saml|oidc|log[-\s]?ins?|log(?:s|ged)?[-\s]in|sign(?:s|
        ed)?[-\s]?(?:ins?|ups?)|passwords?|passphrases?|passwort\w*|credentials?|2fa|mfa|otp|
        sessions?\s(?:cookies?|tokens?|fixation|id)|cookies?|identit\w*|impersonat\w*|anmeld\w*|who\s(?:is|a|
        the)\s(?:calling|caller|user)\w*|captcha\w*
    """,
    "permissions": r"""
        permissions?|authori[sz]\w*|access\s(?:control|rights?|rules?|levels?|to)|rbac|acls?|roles?|admins?|
        privileg\w*|(?:may|can|allowed\sto)\s(?:see|read|edit|view|call|open)|only\s(?:the\s)?(?:owners?|
        admins?|members?|staff)|restrict\w*|forbid\w*|unauthori[sz]ed|berechtig\w*|zugriff\w*|chmod
    """,
    "secrets": r"""
        secrets?|api[-\s]?keys?|private\skeys?|signing\skeys?|(?:access|refresh|bearer|api|auth)\s?tokens?|
        tokens?|encrypt\w*|decrypt\w*|cipher\w*|tls|ssl|certificates?|vault|hash(?:es|ed|ing)?|hmac|signatures?|
        \.env|verschlüssel\w*
    """,
    "money": r"""
        payments?|pay(?:s|ing)?|paid|billing|invoic\w*|refunds?|charg(?:e[sd]?|ing)|pric(?:es?|ing)|
        credit\scards?|checkout|currenc\w*|money|payouts?|taxes|vat|salar\w*|discounts?|rechnung\w*|zahlung\w*
    """,
    "personal data": r"""
        personal\s(?:data|information)|pii|gdpr|dsgvo|privacy|e-?mail\saddresses|phone\snumbers?|
        dates?\sof\sbirth|birth\s?dates?|ssns?|passports?|patients?|medical|(?:customer|user)s?'?s?\s(?:data|
        records?|details)|anonymi\w*|consent|personenbezogen\w*|datenschutz\w*
    """,
    "deletion": r"""
        delet\w*|purg(?:e[sd]?|ing)|truncat\w*|drop\s(?:the\s)?(?:tables?|columns?|databases?)|wip(?:e[sd]?|
        ing)|eras(?:e[sd]?|ing|ure)|destroy\w*|retention|lösch\w*|remove\s(?:all|old|stale)\s\w+
    """,
    "deployment": r"""
        deploy\w*|roll(?:s|ed|ing)?[-\s]?outs?|ci/cd|kubernetes|helm|terraform|docker\w*|production|
        infrastructure|nginx|dns|firewalls?|systemd
    """,
    "dependencies": r"""
        dependenc\w*|upgrad\w*|bump\w*|requirements\.txt|package(?:-lock)?\.json|lock\s?files?|third[-\s]party|
        npm\saudit|(?:library|package)\sversions?
    """,
}
_PATHS = {
    "identity": r"""
        (?:^|[/_.-])(?:auth\w*|login|logout|sessions?|oauth\w*|sso|passwords?|identit\w*)(?=[/_.-])
    """,
    "permissions": r"""
        (?:^|[/_.-])(?:permissions?|acl|rbac|polic(?:y|ies)|access)(?=[/_.-])|codeowners
    """,
    "secrets": r"""
        (?:^|[/_.-])(?:secrets?|credentials?|crypto\w*|vault)(?=[/_.-])|(?:^|/)\.env|\.(?:pem|key|crt)$
    """,
    "money": r"""
        (?:^|[/_.-])(?:billing|payments?|invoic\w*|checkout|refunds?|pricing)(?=[/_.-])
    """,
    "personal data": r"""
        (?:^|[/_.-])(?:privacy|gdpr|pii|patients?)(?=[/_.-])
    """,
    "deletion": r"""
        (?:^|/)migrations?/
    """,
    "deployment": r"""
        dockerfile|compose[\w.-]*\.ya?ml|(?:^|/)\.github/workflows/|\.gitlab-ci|(?:^|/)(?:k8s|helm|deploy\w*)/|
        \.tf$|jenkinsfile
    """,
    "dependencies": r"""
        requirements[\w.-]*\.(?:txt|in)$|pyproject\.toml|setup\.(?:py|cfg)$|package(?:-lock)?\.json|(?:yarn|
        poetry|uv|cargo)\.lock|pnpm-lock|go\.(?:mod|sum)$|cargo\.toml|gemfile|pom\.xml|build\.gradle
    """,
}
_LINES = {
    SECURITY: r"""
        \beval\(|\bexec\(|shell\s?=\s?true|pickle\.loads?\(|yaml\.load\(|innerhtml|verify\s?=\s?false|
        allow_origin
    """,
    "identity": r"""
        passwords?\b|\bjwt|oauth|authenticat|\blog_?in\(|session_?id|set_?cookie
    """,
    "permissions": r"""
        is_?admin|permission|has_?role|chmod|setuid|authori[sz]e|\b0?o?777\b
    """,
    "secrets": r"""
        secret|api_?key|private_?key|encrypt|decrypt|hmac|begin\s[a-z\s]*key
    """,
    "money": r"""
        \brefund|\bcharge\(|\bpayments?\b|\bstripe\b
    """,
    "personal data": r"""
        \bssn\b|date_?of_?birth|passport|\biban\b
    """,
    "deletion": r"""
        delete\sfrom|drop\s(?:table|column|database)|\btruncate\b|rmtree|\bunlink\(|os\.remove|rm\s-rf
    """,
    "deployment": r"""
        kubectl|terraform|docker\s(?:run|push)
    """,
}
_IDS = {
    "money": ("implementation-auditor",),
    "deletion": ("database-engineer",),
    "deployment": ("build-release-engineer", "sre"),
    "dependencies": ("build-release-engineer",),
}
"""Shipped experts of a field, where it is not security's."""


def _compiled(words: dict[str, str], whole: bool) -> dict[str, re.Pattern[str]]:
    """Of fields. `whole`: what is found ends where a word ends."""
    plain = {field: re.sub(r"\s+", "", text) for field, text in words.items()}
    return {field: re.compile(rf"(?<![\w-])(?:{x})(?!\w)" if whole else x, re.I) for field, x in plain.items()}


_OF_TASK, _OF_PATHS, _OF_LINES = _compiled(_TASK, True), _compiled(_PATHS, False), _compiled(_LINES, False)


def of_task(text: str) -> tuple[str, ...]:
    """The fields that a task's words name."""
    return tuple(field for field, pattern in _OF_TASK.items() if pattern.search(text))


def of_diff(diff: str) -> tuple[str, ...]:
    """The fields that the paths of a folder's diff name, and the lines that it changes."""
    paths = paths_of(diff)
    lines = "\n".join(x for x in diff.split("\n") if x[:1] in ("+", "-") and x[:4] not in ("+++ ", "--- "))
    found = {field for field, pattern in _OF_PATHS.items() if any(pattern.search(path) for path in paths)}
    found |= {field for field, pattern in _OF_LINES.items() if pattern.search(lines)}
    return tuple(field for field in _TASK if field in found)


def guards(v: View, fields: Iterable[str], lead: str) -> tuple[str, ...]:
    """Who reviews these fields, security first; nobody for what the lead owns, or nobody there does."""
    found = dict.fromkeys(x for field in fields if (x := _guard(v, field, lead)))
    return tuple(found)[:MOST_GUARDS]


def unguarded(v: View, fields: Iterable[str]) -> tuple[str, ...]:
    """The fields that nobody who is there owns."""
    return tuple(field for field in fields if not next(_owners(v, field), ""))


def _guard(v: View, field: str, lead: str) -> str:
    """One who owns the field; empty: the lead does, or nobody."""
    owners = list(_owners(v, field))
    return "" if not owners or lead in owners else next((x for x in owners if room(v, x)), "")


def _owners(v: View, field: str) -> Iterator[str]:
    experts = announced_experts(v)
    named = [x for x in _IDS.get(field, ()) if x in experts] + [x for x, k in experts.items() if k.category == field]
    yield from named or sorted(x for x, k in experts.items() if k.category == SECURITY)


def must_ask(v: View, security: bool, unmatched: bool) -> bool:
    """Whether a task is security-critical while nobody can say how sure its lead is: the helper is away, or the
    coordination degraded."""
    return (unmatched or degraded(v)) and (security or not CRITICAL.isdisjoint(of_task(v.opened.question)))
