"""The specification that an agent file of a coding assistant stands for: Markdown with name, description, tools and
model; or a rule, with the files that it is for (`globs`, `applyTo`).

Such a file says when the agent is used in one description, often with dialogues, and often in a front matter that is
no YAML. What can be drawn from it is drawn, within the bounds of a specification. Nothing in it is run or obeyed.
"""

import re
from collections.abc import Iterable
from typing import Any

from parley.agents import strict_yaml
from parley.agents.experts import markdown
from parley.agents.text.sentences import sentences
from parley.schemas.expert import MAX_INSTRUCTIONS, MAX_ITEMS, RESERVED

GLOBS = ("globs", "applyTo")
_TOOLS = ("tools", "allowed-tools", "allowed_tools")
_KNOWN = ("name", "description", "model", "color", "version", *_TOOLS, *GLOBS)
_KIND = re.compile(r"\.(?:agent|chatmode|prompt|instructions|mode)\Z")
"""What stands between a file's name and its suffix."""
_KEY = re.compile(r"([A-Za-z][\w-]{0,40}):(?:\s+(.*)|\s*)$")
_DIALOGUE = re.compile(
    r"<example>.*|(?:^|(?<=[.!?\s]))(?:Examples?|For example)\s*:.*|(?:^|\s)Example\s+\d+\s*:.*", re.S | re.I
)
_USER = re.compile(
    r"\buser(?: says| asks)?\s*:\s*(?:\"([^\"\n]{4,400})\"|'(.{4,400}?)'(?=\s|<|$)|“([^”]{4,400})”)", re.I
)
_WHEN = re.compile(
    r"^(?:please\s+)?(?:use|invoke|call|launch)\s+(?:this|the)\s+(?:[\w-]+\s+)?(?:sub-?)?agent\s*"
    r"(?:proactively\s*)?(?:whenever|when|for|to|if|after|before)?\s*"
    r"(?:you|the user|users?|someone)?\s*(?:needs?|wants?|asks?)?\s*(?:to|for|help with)?\s*:?\s*",
    re.I,
)
_ROLES = re.compile(
    r"a|agent|ai|an|and|architect|assistant|consultant|designer|dev|developer|engineer|expert|for|guru|lead|manager"
    r"|master|of|officer|pro|professional|reviewer|senior|specialist|sub|subagent|the|writer"
)
"""Words of a name that say nothing of the field."""
_PHRASE = 200
_VERSION = re.compile(r"[\w.+-]{1,40}")


class NoAgent(ValueError):
    """The file is no agent, and why."""


def agent_values(text: str, stem: str) -> dict[str, Any]:
    """A specification's plain values; `stem` is its file's name without the suffix, for one that has no name. Raises
    NoAgent."""
    front, body = markdown.parted(text)
    if front is None:
        raise NoAgent("it has no front matter: it is no agent file")
    data = _front(front)
    files = _globs(data)
    described = _description(data.get("description")) or (files and _description(_first_line(body)))
    if not described:
        raise NoAgent("it has no description: nobody could tell which tasks are its own")
    name = data.get("name") if isinstance(data.get("name"), str) else ""
    id_ = _id(str(name)) or _id(_KIND.sub("", stem))
    if not id_:
        raise NoAgent(f"neither its name nor its file's name makes an id (a-z, 0-9, -): {str(name or stem)[:80]!a}")
    instructions, items = markdown.body_of(_printable(body))
    prose = " ".join(re.sub(r"</?\w+>", " ", _DIALOGUE.sub(" ", described) or described).split())
    said = [s.strip(" -*") for s in sentences(prose) if s.strip(" -*")]
    words = [w for w in id_.split("-") if not _ROLES.fullmatch(w) and len(w) > 1]
    triggers = {
        "primary": _phrases([" ".join(words), *words]) or [id_.replace("-", " ")],
        "examples": _phrases(next(filter(None, found)) for found in _USER.findall(described))[:20],
        "files": files,
    }
    agent: dict[str, Any] = {
        "id": id_,
        "name": markdown.titled(id_),
        "triggers": {key: value for key, value in triggers.items() if value},
        "domain": {"owns": _phrases(_WHEN.sub("", s).rstrip(".:") for s in said)[:8] or [id_]},
        "deliberation": {"claim": _cut(said[0] if said else prose, 400)},
        "instructions": instructions[:MAX_INSTRUCTIONS],
        "checklist": [_cut(item, 300) for item in items[:MAX_ITEMS]],
    }
    version, model = str(data.get("version", "")), data.get("model")
    if _VERSION.fullmatch(version):
        agent["version"] = version
    if isinstance(model, str) and model.strip() and model != "inherit":
        agent["model"] = _cut(_printable(model), 80)
    tools = markdown.tools_of(next((data[k] for k in _TOOLS if data.get(k)), None), foreign=True)
    if isinstance(tools, list):
        agent["tools"] = [t for t in tools if isinstance(t, str) and 0 < len(t) <= _PHRASE and t.isprintable()][:60]
    return agent


def _globs(data: dict[Any, Any]) -> list[str]:
    """The files that a rule is for: a list, or a text with commas; `**/` is any folder, as everywhere here."""
    found: Any = next((data[k] for k in GLOBS if data.get(k)), [])
    parts = found if isinstance(found, list) else re.split(r",(?![^{]*\})", str(found))
    named = (str(part).strip(" []\"'").removeprefix("**/").replace("/**/", "/*/") for part in parts)
    return _phrases(name for name in named if name.strip("*/."))[:30]


def _first_line(body: str) -> str:
    return next((line.strip("#*- ") for line in body.splitlines() if line.strip("#*- ")), "")


def _front(text: str) -> dict[Any, Any]:
    """The front matter as YAML, or where it is none, key by key."""
    try:
        data = strict_yaml.load(text)
    except strict_yaml.BadYaml:
        data = None
    if isinstance(data, dict):
        return data
    front: dict[Any, Any] = {}
    last = ""
    for line in text.splitlines():
        key = _KEY.fullmatch(line)
        if key and (key[1] in _KNOWN or key[1] not in front):
            last = key[1]
            front.setdefault(last, (key[2] or "").strip())
        elif last:
            front[last] += f"\n{line.strip()}"
    return {k: v.strip().strip("\"'") if k != "description" else v.lstrip(">|-+ ").strip() for k, v in front.items()}


def _description(value: Any) -> str:
    """Its text, with line ends that were written as two characters."""
    if not isinstance(value, str):
        return ""
    return _printable(value.replace("\\n", "\n").replace('\\"', '"')).strip().strip('"')[:20_000]


def _printable(text: str) -> str:
    """Without what a terminal obeys."""
    text = text.replace("\r\n", "\n").expandtabs(4)
    return "".join(c for c in text if c == "\n" or c.isprintable())


def _id(name: str) -> str:
    id_ = re.sub(r"[^a-z0-9]+", "-", name.strip().lower()).strip("-")[:40].strip("-")
    return f"{id_}-expert"[:40] if id_ in RESERVED else id_


def _phrases(texts: Iterable[str]) -> list[str]:
    """Each once, on one line, no longer than a phrase may be."""
    phrases = (_cut(text, _PHRASE) for text in texts)
    return list(dict.fromkeys(text for text in phrases if len(text) > 1))


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    return f"{text[: most - 3].rsplit(' ', 1)[0]}..."
