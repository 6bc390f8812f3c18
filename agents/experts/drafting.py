"""A specification drafted from an agent file of a coding assistant: Markdown with name, description, tools and model;
or from a rule, with the files that it is for (`globs`, `applyTo`).

Such a file says when the agent is used in one description, often with dialogues, and often in a front matter that is
no YAML. What can be drawn from it is drawn; what lacks is said, for a person to add. Nothing in it is run or obeyed.
"""

import re
from typing import Any

import msgspec
import yaml

from parley.agents import strict_yaml
from parley.agents.experts import markdown
from parley.agents.text.sentences import sentences
from parley.schemas.expert import MAX_INSTRUCTIONS, MAX_ITEMS, RESERVED, ExpertSpec

_GLOBS = ("globs", "applyTo")
_KNOWN = ("name", "description", "tools", "allowed-tools", "allowed_tools", "model", "color", "version", *_GLOBS)
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
_LISTED = re.compile(
    r"\b(?:including|such as|speciali[sz](?:es|ing) in|expert in|triggers on|covers|focus(?:es|ing) on|excels at"
    r"|handles)\s+([^.;:]{3,400})",
    re.I,
)
_ROLES = re.compile(
    r"a|agent|ai|an|and|architect|assistant|consultant|designer|dev|developer|engineer|expert|for|guru|lead|manager"
    r"|master|of|officer|pro|professional|reviewer|senior|specialist|sub|subagent|the|writer"
)
"""Words of a name that say nothing of the field."""
_PHRASE = 200
_VERSION = re.compile(r"[\w.+-]{1,40}")


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one file."""

    spec: ExpertSpec | None = None
    """None: nothing could be drafted."""
    text: str = ""
    """As a file that `read_markdown` reads."""
    notes: tuple[str, ...] = ()
    """What was not taken over, what was guessed, and what a person should add."""


def drafted(text: str, stem: str) -> Draft:
    """A specification's text from an agent file; `stem` is its file's name without the suffix, for one that has no
    name."""
    front, body = markdown.parted(text)
    if front is None:
        return Draft(notes=("it has no front matter: it is no agent file",))
    notes: list[str] = []
    data = _front(front, notes)
    globs = _globs(data)
    stem = _KIND.sub("", stem)
    described = _description(data.get("description")) or (globs and _description(_first_line(body)))
    if not described:
        return Draft(notes=("it has no description: nobody could tell which tasks are its own",))
    name = data.get("name") if isinstance(data.get("name"), str) else ""
    id_ = _id(str(name)) or _id(stem)
    if not id_:
        return Draft(notes=(f"neither its name nor its file's name makes an id (a-z, 0-9, -): {_shown(name or stem)}",))
    if not name:
        notes.append(f"it has no name: the id {id_} is from the file's name")
    elif id_ != name:
        notes.append(f"id: {_shown(name)} became {id_}")
    agent = _agent(id_, str(described), data, notes)
    if globs:
        agent["triggers"]["files"] = globs
    _left_out(data, notes)
    body = _bounded_body(_printable(body), notes)
    front = yaml.safe_dump(agent, sort_keys=False, allow_unicode=True, width=120)
    return Draft(text=f"---\n{front}---\n\n{body}\n", notes=tuple(notes))


def _globs(data: dict[Any, Any]) -> list[str]:
    """The files that a rule is for: a list, or a text with commas; `**/` is any folder, as everywhere here."""
    found: Any = next((data[k] for k in _GLOBS if data.get(k)), [])
    parts = found if isinstance(found, list) else re.split(r",(?![^{]*\})", str(found))
    named = (str(part).strip(" []\"'").removeprefix("**/").replace("/**/", "/*/") for part in parts)
    return _few(name for name in named if name.strip("*/."))[:30]


def _first_line(body: str) -> str:
    return next((line.strip("#*- ") for line in body.splitlines() if line.strip("#*- ")), "")


def _front(text: str, notes: list[str]) -> dict[Any, Any]:
    """The front matter as YAML, or where it is none, key by key."""
    try:
        data = strict_yaml.load(text)
    except strict_yaml.BadYaml:
        data = None
    if isinstance(data, dict):
        return data
    notes.append("its front matter is no YAML: it was read line by line")
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


def _agent(id_: str, described: str, data: dict[Any, Any], notes: list[str]) -> dict[str, Any]:
    examples = _few(next(filter(None, matches)) for matches in _USER.findall(described))[:20]
    prose = " ".join(re.sub(r"</?\w+>", " ", _DIALOGUE.sub(" ", described)).split())
    if not prose:
        prose = " ".join(re.sub(r"</?\w+>", " ", described).split())
    said = [s.strip(" -*") for s in sentences(prose) if s.strip(" -*")]
    owns = _few(_WHEN.sub("", s).rstrip(".:") for s in said)[:8] or [id_]
    listed = _few(
        re.sub(r"^(?:and|or)\s+", "", part.strip()).strip(" .")
        for matches in _LISTED.findall(prose)
        for part in matches.split(",")
    )
    words = [w for w in id_.split("-") if not _ROLES.fullmatch(w) and len(w) > 1]
    primary = _few([" ".join(words), *words]) or [id_.replace("-", " ")]
    secondary = [p for p in listed if len(p.split()) <= 4 and p.lower() not in primary][:30]
    notes.append(f"triggers.primary was guessed from the name ({', '.join(primary)}): add the words that tasks use")
    if not examples:
        notes.append("triggers.examples is empty: add tasks as people put them")
    notes.append("domain.defers is empty: add to whom it leaves what")
    notes.append("reviews is not set: add which work it reviews (`reviews: {of: [...]}`), if any")
    triggers: dict[str, Any] = {"primary": primary}
    triggers |= {k: v for k, v in (("secondary", secondary), ("examples", examples)) if v}
    agent: dict[str, Any] = {
        "id": id_,
        "name": markdown.titled(id_),
        "triggers": triggers,
        "domain": {"owns": owns},
        "deliberation": {"claim": _cut(said[0] if said else prose, 400)},
    }
    version = str(data.get("version", ""))
    if _VERSION.fullmatch(version):
        agent["version"] = version
    return agent | _tools_and_model(data, notes)


def _tools_and_model(data: dict[Any, Any], notes: list[str]) -> dict[str, Any]:
    agent: dict[str, Any] = {}
    named = next((data[k] for k in ("tools", "allowed-tools", "allowed_tools") if data.get(k)), None)
    if named is not None:
        tools, unknown = markdown.tools_of(named, foreign=True)
        if isinstance(tools, list):
            tools = [t for t in tools if isinstance(t, str) and 0 < len(t) <= _PHRASE and t.isprintable()][:60]
            agent["tools"] = tools
            if not tools:
                notes.append("tools: none of them is had here, so it has none: name those that it may use")
        elif tools is not None:
            notes.append("tools: it is no list of names, and is left out")
        if "(" in str(named):
            notes.append("tools: what stands in parentheses is not held; the operator's allow list decides")
        if unknown:
            notes.append(f"tools that are not had here: {', '.join(_shown(t) for t in unknown[:20])}")
    model = data.get("model")
    if isinstance(model, str) and model.strip() and model != "inherit":
        agent["model"] = _cut(_printable(model), 80)
        notes.append(f"model: {_shown(agent['model'])} is kept as a wish: choose the model where its worker is started")
    return agent


def _left_out(data: dict[Any, Any], notes: list[str]) -> None:
    gone = [_shown(key) for key in data if key not in _KNOWN]
    if gone:
        notes.append(f"keys without a meaning here: {', '.join(gone[:20])}")


def _bounded_body(body: str, notes: list[str]) -> str:
    instructions, items = markdown.body_of(body)
    if not instructions and not items:
        notes.append("it has no body: add how it works")
    if not items:
        notes.append("it has no section `## Checklist`: add what its review demands")
    if len(instructions) <= MAX_INSTRUCTIONS and len(items) <= MAX_ITEMS and all(len(i) <= 300 for i in items):
        return body.strip()
    if len(instructions) > MAX_INSTRUCTIONS:
        notes.append(
            f"its body was cut from {len(instructions):,} characters to {MAX_INSTRUCTIONS:,} at most: shorten it"
        )
        short = instructions[: MAX_INSTRUCTIONS - 10]
        instructions = short[: short.rfind("\n") if "\n" in short else None].strip()
        if instructions.count("```") % 2:
            instructions += "\n```"
    shortened = [_cut(item, 300) for item in items[:MAX_ITEMS]]
    if shortened != items:
        notes.append("its checklist was cut: 40 items of 300 characters are the most")
    return instructions + ("\n\n## Checklist\n\n" + "\n".join(f"- {item}" for item in shortened) if shortened else "")


def _id(name: str) -> str:
    id_ = re.sub(r"[^a-z0-9]+", "-", name.strip().lower()).strip("-")[:40].strip("-")
    return f"{id_}-expert"[:40] if id_ in RESERVED else id_


def _few(texts: Any) -> list[str]:
    """Each once, on one line, no longer than a phrase may be."""
    phrases = (_cut(" ".join(text.split()), _PHRASE) for text in texts)
    return list(dict.fromkeys(text for text in phrases if len(text) > 1))


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split())
    return (
        text
        if len(text) <= most
        else text[: text.rfind(" ", 1, most - 3) if " " in text[1 : most - 3] else most - 3] + "..."
    )


def _shown(value: Any) -> str:
    text = str(value)[:80]
    return text if text.isprintable() else ascii(text)
