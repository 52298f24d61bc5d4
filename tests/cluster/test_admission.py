"""Jobs let start and stopped on a real server, with its own scheduler and job controller."""

from portal.kubernetes.models import Stop, StopState
from portal.workloads.models import Admission, Workload, WorkloadState
from tests.cluster.kit import wait_for
from tests.cluster.labs import Lab


def test_a_job_is_let_start_where_the_tick_placed_it_and_gives_way_to_a_guarantee(lab: Lab) -> None:
    lab.submit(lab.speech, "promised", gpus=8)
    lab.submit(lab.speech, "borrows", gpus=8)
    lab.turn()
    for name, klass in (("promised", "guaranteed"), ("borrows", "burst")):
        asked = lab.job(lab.speech, name)
        assert asked["spec"]["suspend"] is False
        (pod,) = lab.runs(lab.speech, name)
        ((node, _tasks),) = Admission.objects.get(workload=lab.row(name)).placements
        # The class was told by the template's mark: a Job's template takes none while it waits.
        assert pod["spec"]["priorityClassName"] == f"evenshare-{klass}-h100"
        assert pod["spec"]["nodeName"] == node
    lab.turn()
    assert {row.state for row in Workload.objects.all()} == {WorkloadState.RUNNING}

    lab.submit(lab.vision, "owner", gpus=8)
    stop = lab.until(lambda: Stop.objects.first(), "somebody to make room")
    victim = stop.workload.name
    assert stop.made_for == lab.row("owner")
    assert lab.job(lab.speech, victim)["spec"]["suspend"] is True
    (pod,) = wait_for(
        lambda: [p for p in lab.pods(lab.speech, victim) if "deletionTimestamp" in p["metadata"]]
    )

    # While the pod is there its devices are kept, and given to nobody.
    lab.turn()
    lab.turn()
    assert lab.row(victim).state == WorkloadState.STOPPING
    assert lab.job(lab.vision, "owner")["spec"]["suspend"] is True
    lab.gone(lab.speech, pod)
    lab.until(lambda: not lab.job(lab.vision, "owner")["spec"]["suspend"], "the owner to start")
    lab.runs(lab.vision, "owner")
    lab.turn()
    assert Stop.objects.get().state == StopState.GONE
    assert (lab.row(victim).state, lab.row(victim).preemptions) == (WorkloadState.WAITING, 1)
    assert lab.row("owner").state == WorkloadState.RUNNING
    assert lab.row("owner").charged_to == "guaranteed"
