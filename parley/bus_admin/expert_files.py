"""`parley experts check`: specifications of experts, before anything runs with them. No bus."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from parley.agents import experts
from parley.agents.experts import ExpertError
from parley.client.text import line
from parley.schemas.expert import ExpertSpec, pin


def check(paths: Sequence[Path]) -> dict[str, Any]:
    """What is right and wrong with these files and folders, as JSON values: experts, errors, warnings.

    Warned of are experts to whom somebody defers and who are neither here nor among the shipped ones.
    """
    errors: list[str] = []
    specs: dict[str, tuple[ExpertSpec, Path]] = {}
    for path in _files(paths, errors):
        try:
            spec = experts.load_spec(path)
        except ExpertError as error:
            errors.append(str(error))
            continue
        if spec.id in specs and specs[spec.id][1].resolve() != path.resolve():
            errors.append(f"{path}: id: got {spec.id!r}, which {specs[spec.id][1]} has already")
        specs.setdefault(spec.id, (spec, path))
    shipped = [spec for spec in experts.builtin() if spec.id not in specs]
    said = experts.warnings([*(spec for spec, _ in specs.values()), *shipped])
    return {
        "ok": not errors,
        "experts": [row(spec) | {"file": str(path), **_model(spec)} for spec, path in specs.values()],
        "errors": errors,
        "warnings": [text for text in said if text.partition(":")[0] in specs],
    }


def check_words(report: dict[str, Any]) -> Iterator[str]:
    """A line for each."""
    for known in report["experts"]:
        yield f"{known['id']:24} {line(known['version']):10} {known['pin']}  {line(known['file'])}"
        if wish := known.get("wish"):
            yield f"{'':24} wishes the model {line(wish)}: here {line(known['model'], 300)}"
    yield from (f"error    {line(text, 400)}" for text in report["errors"])
    yield from (f"warning  {line(text, 400)}" for text in report["warnings"])
    yield ", ".join(_counted(len(report[what]), what) for what in ("experts", "errors", "warnings"))


def _counted(n: int, what: str) -> str:
    return f"{n} {what.removesuffix('s') if n == 1 else what}"


def _files(paths: Iterable[Path], errors: list[str]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        inside = experts.files_in(path)
        if not inside:
            errors.append(f"{path}: {experts.NO_FILES}")
        yield from inside


def _model(spec: ExpertSpec) -> dict[str, str]:
    """What an expert's wish comes to with the variables of this process and `.env`; nothing: it has none."""
    if not spec.model:
        return {}
    from parley.agents.config import environment, resolve, unmet_wish
    from parley.agents.models import ModelError
    from parley.agents.specs import of_expert

    try:
        agent, environ = of_expert(spec), environment()
        resolved, variable = resolve(agent, environ), unmet_wish(agent, environ)
    except ModelError as error:
        return {"wish": spec.model, "model": f"none ({error})"}
    model = str(resolved.options.get("model") or resolved.model)
    return {"wish": spec.model, "model": f"the default, {model}: set {variable}" if variable else model}


def row(spec: ExpertSpec) -> dict[str, Any]:
    """Who an expert is, as JSON values."""
    return {"id": spec.id, "name": spec.name, "version": spec.version, "pin": pin(spec)}
