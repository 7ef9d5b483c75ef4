"""What the Compose file and the Dockerfile promise: one command brings up a server with a key, without a GPU."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from app.cli import cli

DOCKERFILE = Path("Dockerfile").read_text()
CPU_TORCH = "https://download.pytorch.org/whl/cpu"


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = yaml.safe_load(Path("docker-compose.yml").read_text())["services"]
    return services


def test_one_command_starts_the_server_after_its_database_its_tables_and_its_key(services) -> None:
    started = {name for name, service in services.items() if "profiles" not in service}
    assert started == {"postgres", "migrate", "first-key", "api"}
    order = {
        name: {on: how["condition"] for on, how in services[name].get("depends_on", {}).items()} for name in started
    }
    assert order == {
        "postgres": {},
        "migrate": {"postgres": "service_healthy"},
        "first-key": {"migrate": "service_completed_successfully"},
        "api": {"first-key": "service_completed_successfully"},
    }
    assert "--if-none" in services["first-key"]["command"]
    assert all("restart" not in services[name] for name in ("migrate", "first-key"))


def test_no_variable_must_be_set() -> None:
    variables = re.findall(r"\$\{\w+(.)", Path("docker-compose.yml").read_text())
    assert variables
    assert set(variables) <= {":", "-"}
    assert ":?" not in Path("docker-compose.yml").read_text()


def test_only_the_api_is_published_and_on_loopback(services) -> None:
    assert {name: service["ports"] for name, service in services.items() if "ports" in service} == {
        "api": ["127.0.0.1:8000:8000"],
        "api-gpu": ["127.0.0.1:8001:8000"],
    }


def test_serving_and_indexing_need_no_gpu(services) -> None:
    for name in ("migrate", "first-key", "api", "indexer"):
        build = services[name]["build"]
        assert build["target"] == "serving", name
        assert build["args"]["TORCH_INDEX"].endswith(CPU_TORCH + "}"), name
        assert "deploy" not in services[name], name
    assert f"ARG TORCH_INDEX={CPU_TORCH}\n" in DOCKERFILE
    command = services["indexer"]["command"]
    assert command[command.index("--device") + 1] == "cpu"
    assert [name for name, service in services.items() if "deploy" in service] == ["indexer-gpu", "api-gpu"]


def test_a_gpu_serves_only_when_it_is_asked_for(services) -> None:
    api = services["api-gpu"]
    assert api["profiles"] == services["indexer-gpu"]["profiles"] == ["gpu"]
    assert api["build"]["target"] == "serving-gpu"
    assert api["build"]["args"] == services["indexer-gpu"]["build"]["args"]
    assert "SPANSEEK_ENGINE=faiss_gpu" in DOCKERFILE.split("AS serving-gpu")[1].split("FROM")[0]


def test_targets_are_stages_and_commands_exist(services) -> None:
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE))
    commands = get_command(cli).commands  # type: ignore[attr-defined]
    for service in services.values():
        if "build" in service:
            assert service["build"]["target"] in stages
            assert service["command"][0] in commands
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]


def test_every_service_has_a_limit_of_memory_and_processes(services) -> None:
    for name, service in services.items():
        assert service["mem_limit"], name
        assert service["pids_limit"] >= 512, name  # threads count


def test_the_dockerfile_copies_what_the_wheels_need_and_installs_extras_that_exist() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())
    extras = {name for found in re.findall(r'"\.\[([\w,]+)\]"', DOCKERFILE) for name in found.split(",")}
    assert {"cpu", "gpu"} < extras <= project["project"]["optional-dependencies"].keys()
    copied = {
        name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()
    }
    packages = {pattern.rstrip("*") for pattern in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert packages | {"client", "plugins", "pyproject.toml", "README.md", "LICENSE", "constraints.txt"} == copied
    assert all(Path(name).exists() for name in copied)
