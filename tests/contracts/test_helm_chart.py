"""The Helm chart is linted and rendered by Helm's own engine, and what it renders stands in golden files.

``python -m tests.contracts.test_helm_chart`` writes them anew.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from app import __version__
from app.cli import cli
from app.settings import settings_classes

helm = pytest.importorskip("helm_python.chart", reason="the extra dev of Linux installs helm-python-sdk")
errors = pytest.importorskip("helm_python.errors")
ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm"
GOLDEN = ROOT / "tests" / "golden" / "helm"
INDEXER = {"enabled": True, "collection": "calls", "sourceClaim": "files", "path": "calls/2026"}
EVERYTHING = {
    "replicas": 3,
    "data": {"accessMode": "ReadWriteMany", "storageClassName": "shared", "size": "200Gi"},
    "settings": {"SPANSEEK_LOG_FORMAT": "json", "SPANSEEK_QUEUE_LIMIT": 64},
    "indexer": INDEXER | {"arguments": ["--max-span", "12"]},
    "serviceMonitor": {"enabled": True, "keySecret": "spanseek-metrics"},
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
}
CASES: dict[str, dict[str, Any]] = {"default": {}, "everything": EVERYTHING}


def rendered(values: dict[str, Any]) -> str:
    """All manifests of the chart, by file."""
    chart = helm.Chart.load(CHART)
    chart.validate_schema(chart.merge_values(values))
    files = chart.render(values, name="calls", namespace="search")
    shown = {path: text for path, text in files.items() if text.strip() and path.endswith(".yaml")}
    return "".join(f"---\n# {path}\n{shown[path].strip()}\n" for path in sorted(shown))


def manifests(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(rendered(values)) if each]


def containers(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    pod = manifest.get("spec", {}).get("template", {}).get("spec", {})
    return [*pod.get("initContainers", ()), *pod.get("containers", ())]


@pytest.mark.parametrize("case", CASES)
def test_the_chart_has_no_lint(case: str) -> None:
    report = helm.lint(CHART, CASES[case], strict=True)
    assert [each for each in report["messages"] if each["severity"] > 1] == []


@pytest.mark.parametrize("case", CASES)
def test_what_is_rendered_is_what_the_golden_file_shows(case: str) -> None:
    assert rendered(CASES[case]) == (GOLDEN / f"{case}.yaml").read_text("utf-8")


def test_every_container_is_limited_and_runs_a_command_that_exists_without_root() -> None:
    commands = get_command(cli).commands  # type: ignore[attr-defined]
    seen = []
    for manifest in manifests(EVERYTHING):
        for container in containers(manifest):
            seen.append(container["args"][0])
            assert container["args"][0] in commands
            assert container["resources"]["limits"].keys() == {"cpu", "memory"}
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            pod = manifest["spec"]["template"]["spec"]
            assert pod["securityContext"]["runAsNonRoot"] is True
            assert pod["enableServiceLinks"] is False  # SPANSEEK_PORT would be a service's address
    assert seen == ["init-db", "keys", "serve", "init-db", "index"]


def test_probes_ask_routes_of_health_and_settings_are_settings() -> None:
    (deployment,) = (each for each in manifests(EVERYTHING) if each["kind"] == "Deployment")
    (server,) = deployment["spec"]["template"]["spec"]["containers"]
    probes = {name: server[name]["httpGet"]["path"] for name in server if name.endswith("Probe")}
    assert probes == {
        "startupProbe": "/health/live",
        "livenessProbe": "/health/live",
        "readinessProbe": "/health/ready",
    }
    known = {f"SPANSEEK_{name.upper()}" for kind in settings_classes() for name in kind.model_fields}
    assert {each["name"] for each in server["env"]} <= known


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"replicas": 2}, "data.accessMode to ReadWriteMany"),
        ({"settings": {"log_format": "json"}}, "log_format"),
        ({"indexer": {"enabled": True}}, "collection"),
    ],
)
def test_values_that_cannot_work_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(errors.HelmError, match=said):
        rendered(values)


def test_the_chart_has_the_version_of_the_product() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, values in CASES.items():
        (GOLDEN / f"{name}.yaml").write_text(rendered(values), "utf-8")
