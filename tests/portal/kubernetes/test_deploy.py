"""The files of `deploy/kubernetes` hang together; what they do is shown on a real server."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from portal.inventory.models import ClusterMode
from portal.kubernetes import policies, rights

DEPLOY = Path(__file__).resolve().parents[3] / "deploy" / "kubernetes"
FILES = sorted(path for path in DEPLOY.rglob("*.yaml") if path.name != "kustomization.yaml")
FOLDERS = sorted(path.parent for path in DEPLOY.rglob("kustomization.yaml"))
OURS = {"group": "evenshare.io", "resource": "figures", "verb": "write"}


def manifests() -> list[dict[str, Any]]:
    """Every manifest of every file."""
    return [item for path in FILES for item in yaml.safe_load_all(path.read_text())]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_a_kustomization_lists_every_file_beside_it_and_nothing_that_is_not_there(
    folder: Path,
) -> None:
    listing = yaml.safe_load((folder / "kustomization.yaml").read_text())
    named = {(folder / name).resolve() for name in listing["resources"]}
    assert all(path.exists() for path in named)
    beside = {path for path in folder.glob("*.yaml") if path.name != "kustomization.yaml"}
    assert beside <= named


def test_every_policy_is_bound_so_that_it_denies_and_known_to_the_portal() -> None:
    found = manifests()
    there = {m["metadata"]["name"] for m in found if m["kind"] == policies.POLICY}
    bound = {
        m["spec"]["policyName"]
        for m in found
        if m["kind"] == policies.BINDING and m["spec"]["validationActions"] == ["Deny"]
    }
    assert there == bound == set(policies.names("admission"))


def test_a_policy_that_fails_lets_nothing_through() -> None:
    for item in manifests():
        if item["kind"] == policies.POLICY:
            assert item["spec"]["failurePolicy"] == "Fail", item["metadata"]["name"]
        if item["kind"] == policies.BINDING and "paramRef" in item["spec"]:
            assert item["spec"]["paramRef"]["parameterNotFoundAction"] == "Deny"


WRITES = {
    "evenshare-observe": {},
    "evenshare-quota": {
        "resourcequotas": {"create", "patch", "delete"},
        "priorityclasses": {"create", "patch", "delete"},
        "namespaces": {"patch"},
        "nodes": {"patch"},
        "figures": {"write"},
    },
    "evenshare-reclaim": {
        "jobs": {"patch"}, "rayclusters": {"patch"}, "rayjobs": {"patch"},
        "pods/eviction": {"create"}, "pods": {"delete"},
    },
    "evenshare-admission": {"pods": {"patch"}},
}  # fmt: skip


def test_the_account_may_read_no_secret_and_writes_in_each_mode_only_what_that_mode_needs() -> None:
    for item in manifests():
        writes: dict[str, set[str]] = {}
        for rule in item.get("rules", []):
            assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
            assert "secrets" not in rule["resources"]
            verbs = set(rule["verbs"]) - {"get", "list", "watch"}
            writes |= {resource: verbs for resource in rule["resources"] if verbs}
        if item["kind"] == "ClusterRole":
            assert writes == WRITES[item["metadata"]["name"]]


def granted(folder: Path) -> set[tuple[str, str, str, str]]:
    """Verb, group, resource and object of every rule that a kustomization brings with it."""
    found: set[tuple[str, str, str, str]] = set()
    for name in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
        path = (folder / name).resolve()
        if path.is_dir():
            found |= granted(path)
            continue
        for rule in (r for m in yaml.safe_load_all(path.read_text()) for r in m.get("rules", [])):
            found |= set(
                product(
                    rule["verbs"], rule["apiGroups"], rule["resources"],
                    rule.get("resourceNames", [""]),
                )
            )  # fmt: skip
    return found


@pytest.mark.parametrize("mode", list(ClusterMode))
def test_the_doctor_asks_for_just_the_rights_that_a_modes_folder_gives(mode: ClusterMode) -> None:
    asked = {(r.verb, r.group, r.resource, r.name) for r in rights.needed(mode)}
    assert asked == granted(DEPLOY / mode)


def test_the_right_the_policies_ask_for_is_the_one_the_account_has() -> None:
    rules = [rule for item in manifests() for rule in item.get("rules", [])]
    assert {
        "apiGroups": [OURS["group"]], "resources": [OURS["resource"]], "verbs": [OURS["verb"]],
    } in rules  # fmt: skip
    asked = f"authorizer.group('{OURS['group']}').resource('{OURS['resource']}')"
    text = "\n".join(path.read_text() for path in FILES)
    assert text.count("authorizer.") == text.count(f"{asked}.check('{OURS['verb']}')")
