"""The chart, as Helm renders it and as Kubernetes would take it."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.environment import python

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm"
EXAMPLES = sorted((CHART / "examples").glob("*.yaml"))
HELM = python()
pytestmark = pytest.mark.skipif(
    HELM is None, reason="NOT CHECKED: Helm's library is not installed (python -m tests.deploy.environment --install)"
)


def render(*files: Path) -> dict[str, Any]:
    """By values file, what Helm makes of it."""
    done = subprocess.run(
        [str(HELM), "-m", "tests.deploy.render", str(CHART), *map(str, files)],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    out: dict[str, Any] = json.loads(done.stdout)
    return out


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return render(*EXAMPLES)


def refused(folder: Path, values: Mapping[str, Any]) -> str:
    """What the chart says of these values."""
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(dict(values)))
    return str(render(file)["values.yaml"].get("refused", ""))


def of(made: Mapping[str, Any], example: str, kind: str) -> dict[str, Any]:
    """Documents of one kind, by name."""
    return {d["metadata"]["name"]: d for d in made[f"{example}.yaml"]["documents"] if d["kind"] == kind}


def pod(document: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["spec"]["template"]["spec"]
    return found


def test_kubernetes_takes_what_each_example_makes(made: Mapping[str, Any]) -> None:
    assert len(EXAMPLES) >= 6 and len(made) == len(EXAMPLES)
    for name, result in made.items():
        assert "refused" not in result, (name, result)
        assert result["faults"] == [], name
        assert result["lint"]["errors"] == [], name
        assert all(m["severity"] < 2 for m in result["lint"]["messages"]), (name, result["lint"])


def test_a_pod_is_shown_its_own_key_alone(made: Mapping[str, Any]) -> None:
    for name, deployment in of(made, "models", "Deployment").items():
        secrets = [v["secret"] for v in pod(deployment)["volumes"] if "secret" in v]
        (secret,) = secrets
        (item,) = secret["items"]
        queue = name.removeprefix("parley-").replace("-", "_")
        assert item["key"] == ("metrics.json" if queue == "metrics" else f"{queue}.json")
        assert pod(deployment)["automountServiceAccountToken"] is False
    (moderators,) = of(made, "models", "StatefulSet").values()
    (secret,) = [v["secret"] for v in pod(moderators)["volumes"] if "secret" in v]
    assert [i["key"] for i in secret["items"]] == ["token.key", "limits.conf", "moderator-1.json", "moderator-2.json"]
    assert moderators["spec"]["ordinals"] == {"start": 1}, "a pod's number is its key's"


def test_keys_of_models_reach_agents_alone(made: Mapping[str, Any]) -> None:
    deployments = of(made, "models", "Deployment")
    (second,) = pod(deployments["parley-panelist-2"])["containers"]
    assert [e["secretRef"]["name"] for e in second["envFrom"]] == ["llm-keys", "openai-key"]
    variables = {e["name"]: e["value"] for e in second["env"]}
    assert (variables["LLM_PROVIDER"], variables["LLM_CONCURRENCY"]) == ("openai", "8")
    (moderators,) = of(made, "models", "StatefulSet").values()
    for document in (moderators, deployments["parley-metrics"]):
        (container,) = pod(document)["containers"]
        assert "envFrom" not in container
        assert not [e for e in container["env"] if e["name"].startswith("LLM_")]


def test_every_container_is_confined_and_probed(made: Mapping[str, Any]) -> None:
    seen = 0
    for result in made.values():
        for document in result["documents"]:
            if document["kind"] not in ("Deployment", "StatefulSet", "Job"):
                continue
            seen += 1
            assert pod(document)["securityContext"]["runAsNonRoot"] is True
            for container in pod(document)["containers"]:
                confined = container["securityContext"]
                assert confined["readOnlyRootFilesystem"] is True and confined["capabilities"] == {"drop": ["ALL"]}
                assert container["resources"]["limits"]["memory"]
                if document["kind"] != "Job":
                    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
                    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert seen > 30


def test_commands_are_those_of_the_command_line(made: Mapping[str, Any]) -> None:
    """Each service's arguments are accepted, up to the point where the bus would be asked."""
    commands = []
    for document in [*of(made, "specialists", "Deployment").values(), *of(made, "specialists", "StatefulSet").values()]:
        commands.append([str(a) for a in pod(document)["containers"][0]["args"]])
    assert any(c[0] == "moderator" and "--queue=expert_sre" in c for c in commands)
    assert any("--room=2" in c for c in commands)
    for command in commands:
        given = {word.partition("=")[0] for word in command if word.startswith("--")}
        help_text = subprocess.run(
            [sys.executable, "-m", "parley", command[0], "--help"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        assert all(option in help_text for option in given), (command, given)


def test_a_queue_scales_on_turns_that_wait_and_are_served(made: Mapping[str, Any]) -> None:
    scaled = of(made, "specialists", "ScaledObject")
    assert set(scaled) == {"parley-expert-sre", "parley-expert-database-engineer"}
    trigger = scaled["parley-expert-sre"]["spec"]["triggers"][0]
    assert trigger["type"] == "nats-jetstream"
    assert trigger["metadata"]["consumer"] == "expert_sre" and trigger["metadata"]["stream"] == "WORK"
    assert trigger["metadata"]["natsServerMonitoringEndpoint"] == "nats-headless:8222"
    assert scaled["parley-expert-sre"]["spec"]["minReplicaCount"] == 1
    assert "fallback" not in scaled["parley-expert-sre"]["spec"], "a monitor that is away takes no copies away"
    deployments = of(made, "specialists", "Deployment")
    assert "--drain=55" in pod(deployments["parley-expert-sre"])["containers"][0]["args"]
    assert "replicas" not in deployments["parley-expert-sre"]["spec"], "the scaler decides"
    assert deployments["parley-expert-generalist"]["spec"]["replicas"] == 1


def test_policies_mirror_the_accounts(made: Mapping[str, Any]) -> None:
    policies = of(made, "locked-down", "NetworkPolicy")
    ports = {p["port"] for rule in policies["parley-all"]["spec"]["egress"] for p in rule["ports"]}
    assert ports == {4222, 53}
    (bus,) = policies["parley-all"]["spec"]["egress"][0]["to"]
    assert bus["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "bus"}, "where its address is"
    assert "namespaceSelector" not in of(made, "keys", "NetworkPolicy")["parley-all"]["spec"]["egress"][0]["to"][0]
    models = policies["parley-models"]["spec"]
    assert models["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "agent"
    assert [r["to"][0]["ipBlock"]["cidr"] for r in models["egress"]] == ["203.0.113.7/32", "10.20.0.0/16"]
    assert set(of(made, "minimal", "NetworkPolicy")) == set()
    webhooks = policies["parley-webhooks"]["spec"]
    assert webhooks["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "gateway"
    (rule,) = webhooks["egress"]
    assert (rule["to"][0]["ipBlock"]["cidr"], rule["ports"][0]["port"]) == ("203.0.113.20/32", 443)


def test_the_gateway_is_shown_its_own_key_and_those_of_who_may(made: Mapping[str, Any]) -> None:
    gateway = of(made, "gateway", "Deployment")["parley-gateway"]
    (volume,) = [v["projected"] for v in pod(gateway)["volumes"] if "projected" in v]
    files = {item["path"] for source in volume["sources"] for item in source["secret"]["items"]}
    people = {f"web/{name}.{kind}" for name in ("owner", "alice", "wall") for kind in ("json", "token")}
    assert files == {"gateway.json", "web/web.key", "web/alice.seats/panelist_1.json", *people}
    args = pod(gateway)["containers"][0]["args"]
    assert {"--creds=/run/parley/gateway.json", "--keys=/run/parley/web", "--secure"} <= set(args)
    assert [p["name"] for p in pod(gateway)["containers"][0]["ports"]] == ["metrics", "http"]
    help_text = subprocess.run(
        [sys.executable, "-m", "parley", "serve", "--help"], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert all(option.partition("=")[0] in help_text for option in args[1:] if "metrics" not in option)
    assert of(made, "gateway", "Service")["parley-gateway"]["spec"]["ports"][0]["targetPort"] == "http"
    entry = of(made, "gateway", "NetworkPolicy")["parley-gateway"]["spec"]["ingress"]
    assert entry[0]["ports"] == [{"port": "http", "protocol": "TCP"}]


def test_rules_and_dashboards_are_the_committed_ones(made: Mapping[str, Any]) -> None:
    (rule,) = of(made, "watched", "PrometheusRule").values()
    assert rule["spec"] == yaml.safe_load((ROOT / "deploy/observability/rules.yml").read_text())
    assert rule["metadata"]["labels"]["release"] == "prometheus"
    boards = of(made, "watched", "ConfigMap")
    for file in (ROOT / "deploy/observability/dashboards").glob("*.json"):
        assert json.loads(boards[f"parley-{file.stem}"]["data"][file.name]) == json.loads(file.read_text())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"queues": {"expert_sre": {"scale": {"enabled": True, "min": 0}}}}, "minimum"),
        ({"nats": {"monitor": ""}, "queues": {"expert_sre": {"scale": {"enabled": True}}}}, "nats.monitor is empty"),
        ({"queues": {"a_b": {}, "a-b": {}}}, "in Kubernetes it has the name a-b"),
        ({"queues": {"metrics": {}}}, "the name of a service of the chart"),
        ({"moderators": {"copies": 17}}, "copies"),
        ({"gateway": {"enabled": True}}, "principals"),
        ({"queus": {}}, "queus"),
        ({"queues": {"analyst": {"copys": 2}}}, "copys"),
        ({"nats": {"url": "http://nats"}}, "url"),
    ],
)
def test_values_that_cannot_work_are_refused_by_name(values: dict[str, Any], said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path, values)


def test_a_command_on_the_keys_is_a_job_of_its_own_and_a_restore_sends_moderators_away(tmp_path: Path) -> None:
    """The first is rendered alone and created; the second is an upgrade, and the next upgrade ends it."""
    job = {"enabled": True}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump({"keys": {"job": {**job, "run": ["user", "add", "alice"]}}}))
    (tmp_path / "back.yaml").write_text(yaml.safe_dump({"keys": {"job": {**job, "backup": "last-night"}}}))
    made = render(tmp_path / "run.yaml", tmp_path / "back.yaml")
    assert all(result["faults"] == [] for result in made.values())
    (run,) = (d for d in made["run.yaml"]["documents"] if d["kind"] == "Job")
    assert run["metadata"]["generateName"] == "parley-keys-" and "annotations" not in run["metadata"]
    assert pod(run)["containers"][0]["args"][2:] == ["--run", "user", "add", "alice"]
    (back,) = (d for d in made["back.yaml"]["documents"] if d["kind"] == "Job")
    assert back["metadata"]["name"] == "parley-restore" and "annotations" not in back["metadata"]
    assert pod(back)["containers"][0]["args"][2:] == ["--run", "restore", "/backup", "--yes"]
    assert {"name": "backup", "persistentVolumeClaim": {"claimName": "last-night"}} in pod(back)["volumes"]
    (moderators,) = of(made, "back", "StatefulSet").values()
    assert moderators["spec"]["replicas"] == 0
