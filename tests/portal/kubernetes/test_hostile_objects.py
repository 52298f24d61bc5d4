"""Whatever a tenant writes into objects of their own, the others' jobs are read and recorded.

Each object here is one that a Kubernetes API server takes as well formed.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from portal.inventory.models import Pool
from portal.kubernetes import quantities
from portal.kubernetes.port import Manifest
from portal.workloads import services
from portal.workloads.models import Pod, Workload
from tests import builders
from tests.portal.kubernetes.test_owning import GPU, pod, see, template, thing

NOW = datetime(2026, 11, 2, 1, tzinfo=UTC)
HUGE = "9223372036854775807"


def job(name: str, devices: int = 1, **metadata: Any) -> dict[str, Any]:
    return thing("Job", name, {"template": template(devices)}, **metadata)


def annotated(**values: str) -> Manifest:
    said = {f"evenshare.io/{name.replace('_', '-')}": value for name, value in values.items()}
    return job("odd", annotations=said)


def asking(**limits: object) -> Manifest:
    found = job("odd")
    found["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] |= limits
    return found


def of_devices(amount: str, parallelism: int = 1) -> Manifest:
    found = asking(**{GPU: amount})
    found["spec"]["parallelism"] = parallelism
    return found


def ray(**group: object) -> Manifest:
    worker = {"template": template(8), **group}
    return thing("RayCluster", "odd", {"workerGroupSpecs": [worker]})


ODD_OWNERS = {
    "negative duration": annotated(duration="-5"),
    "negative seconds to save": annotated(save_seconds="-1", restore_seconds="-1"),
    "negative least": annotated(min_tasks="-3"),
    "saved before time began": annotated(saved_at="0001-01-01T00:00:00+14:00"),
    "saved at no time": annotated(saved_at="yesterday"),
    "a reservation nobody has": annotated(reservation="R-999999999"),
    "a reservation that is no number": annotated(reservation="R-²"),
    "priority beyond a column": annotated(priority="9" * 40),
    "a long person": annotated(user="x" * 5000),
    "a person with a NUL": annotated(user="a\x00b"),
    "an unknown class": annotated(**{"class": "<script>"}),
    "more devices than a column holds": of_devices(HUGE),
    "devices and pods without end": of_devices(HUGE, 2**31 - 1),
    "pods without end": of_devices("1", 2**31 - 1),
    "exa of cpu": asking(cpu="9E", memory="9Ei"),
    "an exponent": asking(cpu="1e999999999", memory="1E999999999"),
    "a negative exponent": asking(cpu="1e-999999999"),
    "hosts without end": ray(replicas=2**31 - 1, numOfHosts=2**31 - 1),
    "nothing said of resources": thing(
        "RayCluster", "odd",
        {"headGroupSpec": {"template": {"spec": {"containers": [{"resources": None}]}}},
         "workerGroupSpecs": [{"template": template(1), "replicas": 1}]},
    ),
}  # fmt: skip


def stopping(grace: int, at: str) -> Manifest:
    return pod("odd", 1, deletionTimestamp=at, deletionGracePeriodSeconds=grace)


ODD_PODS = {
    "a device that only looks like a number": pod("odd", 1, annotations={"evenshare.io/devices": "²"}),
    "a device beyond counting": pod("odd", 1, annotations={"evenshare.io/devices": "9" * 5000}),
    "a grace longer than time": stopping(10**15, "2026-11-02T00:30:00Z"),
    "gone after the end of time": stopping(10**14, "3170843-11-07T00:00:00Z"),
}  # fmt: skip


@pytest.fixture
def pool(db: None) -> Pool:
    pool = builders.a_pool("h100", nodes=1)
    builders.a_team("vision")
    return pool


def observed(pool: Pool, *owners: Manifest, pods: tuple[Manifest, ...] = ()) -> Workload:
    """Record a look at these and at one plain job; returns what became of the odd one."""
    seen = see(job("plain", 2), *owners, pods=pods)
    services.observe(cluster_id=pool.cluster_id, seen=seen, now=NOW)
    assert Workload.objects.get(name="plain").gpu_milli == 2000
    odd = Workload.objects.get(name="odd")
    for field in Workload._meta.concrete_fields:
        field.run_validators(getattr(odd, field.attname))
    return odd


@pytest.mark.parametrize("owner", ODD_OWNERS.values(), ids=ODD_OWNERS)
def test_an_odd_job_is_recorded_beside_the_others(pool: Pool, owner: Manifest) -> None:
    odd = observed(pool, owner)
    assert 1 <= odd.tasks <= 10**6
    assert 0 < odd.gpu_milli <= 10**9
    assert 0 <= odd.cpu_milli <= 10**15 >= odd.memory_mib >= 0
    assert "\x00" not in odd.person


@pytest.mark.parametrize("one", ODD_PODS.values(), ids=ODD_PODS)
def test_an_odd_pod_is_recorded_beside_the_others(pool: Pool, one: Manifest) -> None:
    observed(pool, pods=(one,))
    assert Pod.objects.get(name="odd").devices == []


def test_a_device_named_twice_is_one(pool: Pool) -> None:
    observed(pool, pods=(pod("odd", 2, annotations={"evenshare.io/devices": "3,3,0"}),))
    assert Pod.objects.get(name="odd").devices == [[3, 1000], [0, 1000]]


def test_words_of_a_forged_event_are_kept_without_what_no_column_holds() -> None:
    owner = job("odd")
    event = {
        "involvedObject": {"uid": owner["metadata"]["uid"]}, "message": "exceeded quota\x00",
        "lastTimestamp": None,
    }  # fmt: skip
    assert see(owner, events=(event,))[0].cluster_message == "exceeded quota"


@pytest.mark.parametrize(
    ("text", "milli"),
    [("1500m", 1500), ("2", 2000), ("2e3", 2_000_000), ("1E3", 1_000_000), (".5", 500),
     ("1E", 10**15), ("0.1u", 1), ("-1", 0), ("NaN", 0), ("1e", 0), ("٣", 0), ("1/0", 0), (None, 0),
     (3, 3000)],
)  # fmt: skip
def test_an_amount_is_read_as_kubernetes_writes_it(text: object, milli: int) -> None:
    assert quantities.milli(text) == milli
