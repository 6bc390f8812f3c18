"""Render the chart with Helm's own library and have Kubernetes' schemas look at what comes out.

    python -m tests.deploy.render CHART VALUES...

It runs in an environment of its own (`helm-python-sdk`, `kubernetes-validate`), and prints one JSON document: by values
file what was rendered, what is wrong with it, and what the linter says.
"""

import json
import sys
from pathlib import Path
from typing import Any

KUBERNETES = "1.31"
FOREIGN = ("keda.sh/", "monitoring.coreos.com/")
"""Kinds of others, for which Kubernetes itself has no schema."""


def rendered(chart: Path, values: dict[str, Any], name: str = "parley") -> list[dict[str, Any]]:
    """All documents. Raises helm_python.HelmError, with the chart's own words, where the values are refused."""
    import yaml  # type: ignore[import-untyped,unused-ignore]
    from helm_python import Chart  # type: ignore[import-not-found,unused-ignore]

    with Chart.load(chart) as loaded:
        texts = loaded.render(values, name=name, namespace="debates", is_install=True)
    documents = []
    for path, text in sorted(texts.items()):
        if path.endswith(".yaml"):
            documents += [d for d in yaml.safe_load_all(text) if d]
    return documents


def faults(documents: list[dict[str, Any]]) -> list[str]:
    """What Kubernetes would refuse."""
    import kubernetes_validate  # type: ignore[import-not-found,unused-ignore]

    found = []
    for document in documents:
        if document["apiVersion"].startswith(FOREIGN):
            continue
        try:
            kubernetes_validate.validate(document, KUBERNETES, strict=True)
        except Exception as error:
            found.append(f"{document['kind']} {document['metadata']['name']}: {error}")
    return found


def main(chart: Path, files: list[Path]) -> None:
    """Print what comes of each values file."""
    import helm_python  # type: ignore[import-not-found,unused-ignore]
    import yaml

    out: dict[str, Any] = {}
    for file in files:
        values = yaml.safe_load(file.read_text()) or {}
        try:
            documents = rendered(chart, values)
        except helm_python.HelmError as error:
            out[file.name] = {"refused": str(error)}
            continue
        said = helm_python.lint(str(chart), values, strict=True, namespace="debates")
        out[file.name] = {"documents": documents, "faults": faults(documents), "lint": said}
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
