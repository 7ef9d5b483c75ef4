"""What the manifest for KubeRay promises: one version of Ray and of Spanseek, settings that exist, one data folder."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from app import __version__
from app.cli import cli
from app.settings import settings_classes

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "deploy" / "kuberay" / "cluster.yaml").read_text("utf-8")


@pytest.fixture(scope="module")
def manifests() -> dict[str, Any]:
    return {manifest["kind"]: manifest for manifest in yaml.safe_load_all(TEXT)}


@pytest.fixture(scope="module")
def templates(manifests) -> dict[str, Any]:
    """The pods of the head, of the nodes that hold segments, and of the servers."""
    cluster = manifests["RayCluster"]["spec"]
    (nodes,) = cluster["workerGroupSpecs"]
    return {
        "head": cluster["headGroupSpec"]["template"]["spec"],
        "nodes": nodes["template"]["spec"],
        "servers": manifests["Deployment"]["spec"]["template"]["spec"],
    }


def container(template: dict[str, Any]) -> dict[str, Any]:
    (only,) = template["containers"]
    return only


def environment(template: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container(template)["env"]}


def test_all_run_one_image_with_the_ray_that_is_tested(manifests, templates) -> None:
    assert {container(template)["image"] for template in templates.values()} == {f"spanseek:{__version__}-ray"}
    pinned = re.search(r"^ray==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
    assert manifests["RayCluster"]["spec"]["rayVersion"] == pinned[1]
    assert "ARG EXTRAS=\n" in (ROOT / "Dockerfile").read_text("utf-8")


def test_every_setting_exists_and_the_engine_is_ray(templates) -> None:
    settings = {f"SPANSEEK_{name.upper()}" for kind in settings_classes() for name in kind.model_fields}
    names = set(environment(templates["servers"]))
    assert {name for name in names if name.startswith("SPANSEEK_")} <= settings
    assert environment(templates["servers"])["SPANSEEK_ENGINE"] == "ray"
    assert "serve" in get_command(cli).commands
    assert container(templates["servers"])["args"][0].endswith("exec spanseek serve")


def test_servers_join_by_the_heads_service_and_the_clusters_token(manifests, templates) -> None:
    cluster = manifests["RayCluster"]
    assert f"--address={cluster['metadata']['name']}-head-svc:6379" in container(templates["servers"])["args"][0]
    secret = environment(templates["servers"])["RAY_AUTH_TOKEN"]["secretKeyRef"]
    assert cluster["spec"]["authOptions"] == {"mode": "token", "secretName": secret["name"]}
    assert all(environment(template)["RAY_USAGE_STATS_ENABLED"] == "0" for template in templates.values())


def test_actors_run_on_nodes_alone_which_read_what_servers_write(manifests, templates) -> None:
    cluster = manifests["RayCluster"]["spec"]
    assert cluster["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    assert "--num-cpus=0" in container(templates["servers"])["args"][0]
    (read,) = container(templates["nodes"])["volumeMounts"]
    (written,) = container(templates["servers"])["volumeMounts"]
    assert read == written | {"readOnly": True}
    assert templates["nodes"]["volumes"] == templates["servers"]["volumes"]
    assert cluster["workerGroupSpecs"][0]["minReplicas"] >= int(
        environment(templates["servers"])["SPANSEEK_RAY_REPLICAS"]
    )


def test_only_pods_of_the_cluster_reach_rays_ports(manifests, templates) -> None:
    policies = {
        each["metadata"]["name"]: each["spec"] for each in yaml.safe_load_all(TEXT) if each["kind"] == "NetworkPolicy"
    }
    cluster, http = policies["spanseek-ray"], policies["spanseek-http"]
    (own,) = cluster["podSelector"]["matchExpressions"]
    cluster_spec = manifests["RayCluster"]["spec"]
    (nodes,) = cluster_spec["workerGroupSpecs"]
    pods = [cluster_spec["headGroupSpec"]["template"], nodes["template"], manifests["Deployment"]["spec"]["template"]]
    assert {pod["metadata"]["labels"][own["key"]] for pod in pods} == set(own["values"])
    (rule,) = cluster["ingress"]
    assert rule["from"][0]["podSelector"]["matchExpressions"] == [own]
    assert "ports" not in rule
    assert http["podSelector"]["matchLabels"].items() <= pods[-1]["metadata"]["labels"].items()
    assert http["ingress"] == [{"ports": [{"port": container(templates["servers"])["ports"][0]["name"]}]}]
