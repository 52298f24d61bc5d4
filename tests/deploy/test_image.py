"""Image, compose file and server configuration agree with each other and give nobody too much."""

import re
import tomllib
from typing import Any

import yaml

from portal.celery import QUEUES
from tests.production import ROOT

DEPLOY = ROOT / "deploy"
OURS = {"migrate", "web", "worker-clusters", "worker-chores", "worker-studies", "beat", "watcher"}


def _compose() -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())[
        "services"
    ]
    return services


def test_every_service_is_read_only_without_privileges_and_bounded() -> None:
    services = _compose()
    assert services.keys() == OURS | {"postgres", "redis"}
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "privileged" not in service, name
        assert name == "migrate" or "memory" in service["deploy"]["resources"]["limits"], name
        assert (
            name in ("migrate", "watcher", "beat")
            or service["healthcheck" if name != "web" else "ports"]
        )


def test_ours_run_as_nobody_in_particular_and_wait_for_the_tables() -> None:
    for name, service in _compose().items():
        if name in OURS:
            assert service["user"] == "10001:10001", name
        if name in OURS - {"migrate"}:
            assert service["depends_on"]["migrate"] == {
                "condition": "service_completed_successfully"
            }


def test_only_a_proxy_on_this_machine_reaches_the_web_and_nobody_the_stores() -> None:
    services = _compose()
    assert services["web"]["ports"] == ["127.0.0.1:8000:8000"]
    assert [name for name, service in services.items() if "ports" in service] == ["web"]
    assert services["postgres"]["networks"] == services["redis"]["networks"] == ["inside"]


def test_every_queue_has_a_worker_in_compose_and_in_kubernetes() -> None:
    asked = re.findall(r"--queues, (\w+)", (DEPLOY / "compose.yaml").read_text())
    assert sorted(asked) == sorted(QUEUES)
    base = DEPLOY / "kubernetes/portal/base"
    asked = re.findall(r"--queues, (\w+)", "".join(p.read_text() for p in base.glob("*.yaml")))
    assert sorted(asked) == sorted(QUEUES)


def test_every_setting_named_anywhere_is_one_the_portal_reads() -> None:
    read = (ROOT / "portal/settings.py").read_text()
    for path in (*DEPLOY.rglob("*.yaml"), *DEPLOY.rglob("*.env"), DEPLOY / "Dockerfile"):
        for name in re.findall(r"\bEVENSHARE_[A-Z_]+", path.read_text()):
            assert f'"{name}"' in read, f"{path.name}: {name}"


def test_images_are_pinned_by_version_and_the_portals_is_that_of_the_package() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    services = _compose()
    for name, service in services.items():
        tag = service["image"].rpartition(":")[2]
        assert re.fullmatch(r"\d+\.\d+\.\d+|\d+\.\d+(\.\d+)?-bookworm", tag), name
    assert services["web"]["image"] == f"evenshare:{version}"
    kustomization = yaml.safe_load(
        (DEPLOY / "kubernetes/portal/base/kustomization.yaml").read_text()
    )
    assert kustomization["images"][0]["newTag"] == version


def test_the_image_takes_only_files_there_are_and_does_not_run_as_root() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--" not in line]
    allowed = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    for name in (name for names in copied for name in names):
        assert (ROOT / name).exists(), name
        assert f"!{name}" in allowed, name
    assert [line for line in lines if line.startswith("USER ")] == ["USER 10001:10001"]
    assert any(line.startswith("HEALTHCHECK") for line in lines)
    (base,) = [line.partition("=")[2] for line in lines if line.startswith("ARG PYTHON=")]
    assert re.fullmatch(r"docker\.io/library/python:\d+\.\d+\.\d+-slim-bookworm", base)
