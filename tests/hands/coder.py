"""What the played model says to real coding agents: look at a file, write it whole, run the tests, say what was done.
How far it is shows in how many results of tools a request holds; which tools there are, the request says."""

from typing import Any

FILE = "app.py"
FIXED = "def greet():\n    return 'hello'\n"
RUN = "python3 -m unittest -q"
_READ = ("read", "read_file", "read_text_file")
_WRITE = ("write", "write_file", "write_text_file", "create_file")
_SHELL = ("bash", "shell", "run_shell_command", "execute", "exec_command", "run", "local_shell")


def say(body: dict[str, Any], _number: int) -> dict[str, Any]:
    """The next step."""
    tools, done = _tools(body), _results(body)
    if not tools:
        return {"text": "Fix the greeting"}
    read, write, shell = (_pick(tools, names) for names in (_READ, _WRITE, _SHELL))
    steps: list[dict[str, Any]] = []
    if read:
        steps.append({"text": "A look.", "tool": read[0], "args": _filled(read[1], path=f"/task/{FILE}")})
    if write:
        arguments = _filled(write[1], path=f"/task/{FILE}", content=FIXED)
        steps.append({"text": "I write it.", "tool": write[0], "args": arguments})
    elif shell:
        steps.append(_ran(shell, f"printf \"def greet():\\n    return 'hello'\\n\" > {FILE}"))
    if shell:
        steps.append(_ran(shell, RUN))
    return steps[done] if done < len(steps) else {"text": "It greets with hello now."}


def _ran(shell: tuple[str, Any], command: str) -> dict[str, Any]:
    return {"text": "I run it.", "tool": shell[0], "args": _filled(shell[1], command=command)}


def _tools(body: dict[str, Any]) -> list[tuple[str, Any]]:
    """Name and schema of each."""
    found = []
    for tool in body.get("tools") or []:
        of = tool.get("function", tool)
        found.append((str(of.get("name") or of.get("type")), of.get("parameters") or of.get("input_schema") or {}))
    return found


def _results(body: dict[str, Any]) -> int:
    """Results of tools in the request."""
    n = 0
    for message in (*body.get("messages", []), *(body["input"] if isinstance(body.get("input"), list) else [])):
        content = message.get("content")
        n += message.get("role") == "tool" or str(message.get("type", "")).endswith("call_output")
        n += sum(p.get("type") == "tool_result" for p in content) if isinstance(content, list) else 0
    return n


def _pick(tools: list[tuple[str, Any]], names: tuple[str, ...]) -> tuple[str, Any] | None:
    return next((tool for name in names for tool in tools if tool[0].lower() == name), None)


def _filled(schema: Any, **known: str) -> dict[str, Any]:
    """Arguments of a tool, by what its schema calls them."""
    filled: dict[str, Any] = {}
    for name, of in schema.get("properties", {}).items():
        plain = name.lower().replace("_", "")
        if plain in ("filepath", "path", "file", "filename"):
            filled[name] = known.get("path", "")
        elif plain in ("content", "contents", "text", "filetext"):
            filled[name] = known.get("content", "")
        elif plain in ("command", "cmd"):
            command = known.get("command", "")
            filled[name] = ["bash", "-lc", command] if of.get("type") == "array" else command
        elif name in (schema.get("required") or []):
            filled[name] = {"string": "as asked", "boolean": False, "array": []}.get(of.get("type"), 1)
    return filled
