"""Specifications in Markdown: keys between two lines `---`, and below them how the expert works.

    ---
    id: gardener
    name: Gardener
    triggers: {primary: [hedge, lawn]}
    domain: {owns: [plants and beds]}
    description: I look after whatever grows.
    tools: Read, Grep
    ---
    Look at the soil before you plant.

    ## Checklist
    - Is something planted in the shade that needs sun?

The keys are those of `agent` in a YAML specification, and those that agent files of coding assistants have: `name` is
the id too if there is none, `description` the claim, `color` means nothing here.
"""

import re
from typing import Any

_EDIT, _RUN = ("replace_in_file", "apply_patch"), ("run", "read_output")
_CALLED: dict[tuple[str, ...], str] = {
    ("read_file",): "read notebookread view readfile fetchfile",
    ("search",): "grep search textsearch usages searchresults",
    ("search", "read_file", "list_files"): "codebase",
    ("list_files",): "glob ls list find listdirectory filesearch",
    _EDIT: "edit multiedit editfiles replacestringinfile inserteditintofile",
    ("write_file",): "write createfile new",
    _RUN: "bash shell execute runcommands runinterminal runtasks runtests terminal",
}
TOOLS = {name: ours for ours, names in _CALLED.items() for name in names.split()}
"""What coding assistants call a tool, in lower case -> what it is in the allow list that ships."""
_OURS = frozenset(tool for ours in TOOLS.values() for tool in ours)
_CHECKLIST = re.compile(r"(#{1,6})\s+(?:review\s+)?checklist\s*:?\s*#*\s*", re.I)
_HEADING = re.compile(r"(#{1,6})\s")
_ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]?\]\s+)?(.+)")
_FENCE = re.compile(r"\s*(```|~~~)")
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_CLAIM = 400


def parted(text: str) -> tuple[str | None, str]:
    """The front matter, None if there is none, and what stands below it."""
    lines = text.removeprefix("\ufeff").splitlines(keepends=True)
    if not lines or lines[0].rstrip() != "---":
        return None, text
    for i, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return "".join(lines[1:i]), "".join(lines[i + 1 :])
    return None, text


def body_of(text: str) -> tuple[str, list[str]]:
    """How the expert works, and the items of the section `Checklist`, if there is one with items."""
    prose: list[str] = []
    section: list[str] = []
    items: list[str] = []
    depth, fenced = 0, False
    for line in text.splitlines():
        fenced ^= bool(_FENCE.match(line))
        head = None if fenced else _HEADING.match(line)
        if head and depth and len(head[1]) <= depth:
            depth = 0
        begins = None if fenced or items or depth else _CHECKLIST.fullmatch(line)
        if begins:
            depth = len(begins[1])
        (section if depth else prose).append(line)
        if depth and not begins:
            item = _ITEM.match(line.strip())
            if item and not head:
                items.append(item[1].strip())
            elif items and line.startswith((" ", "\t")) and line.strip():
                items[-1] += f" {line.strip()}"
    return ("\n".join(prose) if items else text).strip(), items


def agent_of(front: dict[Any, Any]) -> dict[Any, Any]:
    """The keys of a specification from a front matter: with those that agent files of coding assistants have."""
    agent = {key: value for key, value in front.items() if key not in ("color", "description")}
    name = agent.get("name")
    if "id" not in agent and isinstance(name, str) and _ID.fullmatch(name):
        agent |= {"id": name, "name": titled(name)}
    if "tools" in agent:
        agent["tools"] = tools_of(agent["tools"])
    described = front.get("description")
    if isinstance(described, str) and described.strip():
        deliberation = agent.get("deliberation", {})
        if isinstance(deliberation, dict) and "claim" not in deliberation:
            agent["deliberation"] = {**deliberation, "claim": " ".join(described.split())[:_CLAIM].strip()}
    return agent


def titled(name: str) -> str:
    """An id as a name: `api-designer` is `Api designer`."""
    words = " ".join(re.split(r"[-_\s]+", name)).strip()
    return (words[:1].upper() + words[1:])[:80]


def tools_of(value: Any, *, foreign: bool = False) -> Any:
    """A list of tools, also one that is written with commas, in the names of the allow list that ships, each once.
    Tools of coding assistants that have none there are left out. What is no list stays as it is; `*`, or nothing, is
    all: None. `foreign`: they are a coding assistant's: a name that is not known is of no tool here, since it would
    only narrow the list."""
    if isinstance(value, str):
        value = [] if value.strip() in ("", "*") else _commas(value)
        if not value:
            return None
    if not isinstance(value, list):
        return value
    tools: dict[Any, None] = {}
    for tool in value:
        if not isinstance(tool, str):
            return value
        plain = tool.partition("(")[0].strip()
        ours = TOOLS.get(plain.rpartition("/")[2].lower())
        stays = plain in _OURS or not (foreign or plain.startswith("mcp__") or plain[:1].isupper())
        if ours is not None or stays:
            tools |= dict.fromkeys(ours or (plain,))
    return list(tools)


def _commas(text: str) -> list[str]:
    """Split at commas outside parentheses: `Read, Bash(git diff, git log)`."""
    return [part for part in (p.strip(" []\"'`") for p in re.split(r",(?![^()]*\))", text)) if part]
