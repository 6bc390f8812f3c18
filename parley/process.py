"""The command line as a process: its arguments, its streams, and its exit status."""

import json
import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

INTERRUPTED = 130
PATHS = (
    "--config",
    "--cookie-key",
    "--creds",
    "--dir",
    "--evidence",
    "--experts",
    "--keys",
    "--output",
    "--panel-file",
    "--panels",
    "--root",
    "--state",
    "--token-key",
)
"""Options that take a path: an empty one would be the working folder."""
NOBODY_READS = 141
"""As a process that SIGPIPE ended."""


def main(app: "typer.Typer") -> None:
    """Run the command line and end with its status. What a terminal cannot show is written out; a standard stream
    that is closed is `/dev/null`."""
    open_streams()
    arguments = sys.argv[1:]
    code = _run(app, arguments)
    try:
        sys.stdout.flush()
    except OSError as error:
        code = unwritable(error)
    sys.exit(code)


@cache
def command(app: "typer.Typer") -> Any:
    """The command line as typer calls it; made once a process."""
    from typer.main import get_command

    return get_command(app)


def _run(app: "typer.Typer", arguments: Sequence[str]) -> int:
    from typer import Abort
    from typer._click.exceptions import ClickException, NoSuchOption

    from parley.schemas.wire import model_fault

    as_json = "--json" in arguments
    for number, text in enumerate(arguments):
        if any("\udc80" <= c <= "\udcff" for c in text):
            name = _name(arguments, number)
            return report_error(f"{name}: got {text!r}, which is not UTF-8", name, 2, json=as_json, value=text)
        if (not text and _name(arguments, number) in PATHS) or text in [f"{name}=" for name in PATHS]:
            name = _name(arguments, number)
            return report_error(f"{name}: got '', expected a path", name, 2, json=as_json, value="")
    try:
        return int(command(app)(args=arguments, prog_name="parley", standalone_mode=False) or 0)
    except ClickException as error:
        from pydantic import ValidationError  # for who is refused alone

        if isinstance(cause := error.__cause__, ValidationError):
            first = cause.errors()[0]
            low, high = (getattr(getattr(error, "param", None), name, None) for name in ("min", "max"))
            error.message = model_fault(first)[1]
            if None not in (low, high) and {"ge", "le"} & set(first.get("ctx", ())):
                error.message = f"got {first['input']!r}, allowed is {low:,} to {high:,}"
        if not as_json:
            error.show()
            return error.exit_code
        field = _field(error)
        value = field if isinstance(error, NoSuchOption) else _value(arguments, field)
        return report_error(error.format_message(), field, error.exit_code, json=True, value=value)
    except (KeyboardInterrupt, Abort):
        return report_error("interrupted", "interrupted", INTERRUPTED, json=as_json)
    except OSError as error:
        return unwritable(error)


def one_thread() -> None:
    """Have numpy's libraries use one thread, where nobody says otherwise: several take longer for what is small. To be
    called before they are imported; processes that are started inherit it."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def report_error(message: str, field: str, code: int, *, json: bool, value: str | None = None) -> int:
    """Say what is wrong: a line on stderr, and with `json` the one document. The exit status."""
    from parley.client.text import clean, hung

    _write(sys.stderr, hung(f"parley: {message}"))
    if json:
        error = {"field": field, "message": clean(message)}
        if value is not None:
            error["value"] = clean(value)
        _write(sys.stdout, _encoded({"error": error, "exit_code": code}))
    return code


def unwritable(error: OSError) -> int:
    """What was printed could not be written: quietly where nobody reads any more. The exit status."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())  # what is still buffered goes there
    if isinstance(error, BrokenPipeError):
        return NOBODY_READS
    _write(sys.stderr, f"parley: {error.filename or 'standard output'}: {error.strerror or error}")
    return 1


def _write(stream: Any, text: str) -> None:
    try:
        stream.write(f"{text}\n")
        stream.flush()
    except OSError:  # there is nobody left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _encoded(value: object) -> str:
    return json.dumps(value)


def open_streams() -> None:
    """A closed standard stream is taken by the next file that is opened, if nothing is done about it. What a stream
    cannot show is written out."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            while os.open(os.devnull, os.O_RDWR) < number:
                pass
        if getattr(sys, name) is None:
            mode = "r" if number == 0 else "w"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _name(arguments: Sequence[str], number: int) -> str:
    """What an argument is called: its option, or its place."""
    text = arguments[number]
    if text.startswith("--") and "=" in text:
        return text.partition("=")[0]
    before = arguments[number - 1] if number else ""
    return before if before.startswith("--") else f"argument {number + 1}"


def _field(error: Any) -> str:
    """The option or argument that a usage error is about; empty where it is about none."""
    param = getattr(error, "param", None)
    if param is not None:
        return str(max(param.opts, key=len) if param.param_type_name == "option" else param.name)
    return str(getattr(error, "option_name", None) or "")


def _value(arguments: Sequence[str], field: str) -> str | None:
    for i, text in enumerate(arguments):
        if field and text.startswith(f"{field}="):
            return text.partition("=")[2]
        if field and text == field:
            return arguments[i + 1] if i + 1 < len(arguments) else None
    return None
