"""What pods held becomes rows of five minutes, once, and corrections are further rows."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import F, Sum

from portal.inventory.models import Pool
from portal.usage import selectors, services
from portal.usage.appending import Row
from portal.usage.cells import cells
from portal.usage.models import LedgerEntry
from portal.workloads.models import ChargedTo, Pod
from tests import builders

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)


def at(minute: int, second: int = 0) -> datetime:
    """So many minutes after noon."""
    return NOON + timedelta(minutes=minute, seconds=second)


@pytest.fixture
def pool(db: None) -> Pool:
    return builders.a_pool(nodes=2)


def a_pod(pool: Pool, gpus: int = 2, **columns: object) -> Pod:
    """A pod of vision's that holds GPUs since 12:02, last seen at 13:00."""
    team = builders.a_team("vision")
    work = builders.a_workload(team, pool, gpu_milli=1000 * gpus)
    pod = builders.a_pod(work, pool.nodes.first(), scheduled_at=at(2))
    given = {"charged_to": ChargedTo.GUARANTEED, "seen_at": at(60), **columns}
    Pod.objects.filter(pk=pod.pk).update(**given)
    pod.refresh_from_db()
    return pod


def spans() -> list[tuple[int, int, int, int]]:
    """(from, to, revision, sign) of every row, seconds after noon, as written."""
    return [
        (
            int((row.from_at - NOON).total_seconds()),
            int((row.to_at - NOON).total_seconds()),
            row.revision,
            row.sign,
        )
        for row in LedgerEntry.objects.order_by("id")
    ]


def device_seconds() -> int:
    """All that stands in the ledger."""
    total = LedgerEntry.objects.aggregate(t=Sum(F("sign") * F("seconds") * F("gpu_milli")))["t"]
    return (total or 0) // 1000


def test_an_interval_is_cut_at_every_fifth_minute() -> None:
    cut = list(cells(at(2), at(11, 30)))
    assert cut == [(at(2), at(5)), (at(5), at(10)), (at(10), at(11, 30))]
    assert list(cells(at(5), at(5))) == []


def test_an_open_pod_is_closed_up_to_the_last_grid_line(pool: Pool) -> None:
    a_pod(pool)
    services.close_cells(cluster_id=pool.cluster_id, now=at(13, 59))
    assert spans() == [(120, 300, 0, 1), (300, 600, 0, 1)]


def test_closing_twice_adds_nothing(pool: Pool) -> None:
    a_pod(pool)
    assert services.close_cells(cluster_id=pool.cluster_id, now=at(20)) == 4
    assert services.close_cells(cluster_id=pool.cluster_id, now=at(20)) == 0
    assert services.close_cells(cluster_id=pool.cluster_id, now=at(24)) == 0
    assert services.close_cells(cluster_id=pool.cluster_id, now=at(25)) == 1


def test_a_crash_before_the_pod_was_marked_adds_nothing_twice(pool: Pool) -> None:
    pod = a_pod(pool)
    services.close_cells(cluster_id=pool.cluster_id, now=at(20))
    Pod.objects.filter(pk=pod.pk).update(ledger_until=None)
    services.close_cells(cluster_id=pool.cluster_id, now=at(20))
    assert device_seconds() == 18 * 60 * 2


def test_a_closed_pod_is_in_the_ledger_to_its_last_second(pool: Pool) -> None:
    a_pod(pool, closed_at=at(7, 13))
    services.close_cells(cluster_id=pool.cluster_id, now=at(8))
    assert spans() == [(120, 300, 0, 1), (300, 433, 0, 1)]
    assert services.close_cells(cluster_id=pool.cluster_id, now=at(60)) == 0


def test_nothing_is_closed_beyond_the_last_sight(pool: Pool) -> None:
    pod = a_pod(pool)
    Pod.objects.filter(pk=pod.pk).update(seen_at=at(14))
    services.close_cells(cluster_id=pool.cluster_id, now=at(60))
    assert spans()[-1][:2] == (300, 600)


def test_a_row_names_everything_the_bill_asks_for(pool: Pool) -> None:
    pod = a_pod(pool, closed_at=at(4))
    services.close_cells(cluster_id=pool.cluster_id, now=at(5))
    row = LedgerEntry.objects.get()
    assert (row.team, row.pool_id, row.node_id) == (pod.workload.team, pool.pk, pod.node_id)
    assert (row.gpu_model, row.gpu_milli, row.seconds) == ("H100", 2000, 120)
    assert (row.workload_id, row.charged_to) == (pod.workload_id, "guaranteed")


def test_a_pod_of_no_team_is_in_the_ledger_too(pool: Pool) -> None:
    pod = a_pod(pool, closed_at=at(5))
    pod.workload.team = None
    pod.workload.save()
    services.close_cells(cluster_id=pool.cluster_id, now=at(5))
    assert LedgerEntry.objects.get().team_id is None


def test_a_new_charge_holds_from_the_instant_it_was_made(pool: Pool) -> None:
    pod = a_pod(pool)
    services.close_cells(cluster_id=pool.cluster_id, now=at(10))
    assert services.charge(charges={pod.pk: ChargedTo.BORROWED}, now=at(12, 30)) == 1
    assert services.charge(charges={pod.pk: ChargedTo.BORROWED}, now=at(12, 30)) == 0
    services.close_cells(cluster_id=pool.cluster_id, now=at(15))
    charged = [(row.from_at, row.charged_to) for row in LedgerEntry.objects.order_by("from_at")]
    assert charged[-2:] == [(at(10), "guaranteed"), (at(12, 30), "borrowed")]
    assert device_seconds() == 13 * 60 * 2


def test_a_charge_made_later_than_the_last_sight_holds_from_that_sight(pool: Pool) -> None:
    pod = a_pod(pool)
    Pod.objects.filter(pk=pod.pk).update(seen_at=at(9))
    services.charge(charges={pod.pk: ChargedTo.BORROWED}, now=at(12))
    pod.refresh_from_db()
    assert pod.ledger_until == at(9)


def test_a_pod_that_ended_earlier_than_the_ledger_says_is_corrected(pool: Pool) -> None:
    pod = a_pod(pool)
    services.close_cells(cluster_id=pool.cluster_id, now=at(20))
    Pod.objects.filter(pk=pod.pk).update(closed_at=at(12))
    assert services.close_cells(cluster_id=pool.cluster_id, now=at(25)) == 3
    assert spans()[4:] == [(600, 900, 1, -1), (600, 720, 2, 1), (900, 1200, 1, -1)]
    assert device_seconds() == 10 * 60 * 2
    assert services.close_cells(cluster_id=pool.cluster_id, now=at(25)) == 0


def test_a_correction_seen_twice_is_made_once_and_can_be_corrected_again(pool: Pool) -> None:
    pod = a_pod(pool, closed_at=at(5))
    services.close_cells(cluster_id=pool.cluster_id, now=at(5))
    row = LedgerEntry.objects.get()
    first = Row(**{name: getattr(row, name) for name in Row._fields})
    other = first._replace(charged_to=ChargedTo.BORROWED)

    def correct(seen: list[Row]) -> int:
        return services.correct(cluster_id=pool.cluster_id, pod_uid=pod.uid, seen=seen)

    assert correct([other]) == 2
    assert correct([other]) == 0
    assert correct([]) == 1
    assert device_seconds() == 0
    assert correct([first]) == 1
    assert device_seconds() == 180 * 2
    assert [(row[2], row[3]) for row in spans()] == [(0, 1), (1, -1), (2, 1), (3, -1), (4, 1)]


def test_sums_are_exact_where_a_period_cuts_a_cell(pool: Pool) -> None:
    a_pod(pool, closed_at=at(20))
    services.close_cells(cluster_id=pool.cluster_id, now=at(20))
    (row,) = selectors.sum_usage(from_at=at(3, 20), to_at=at(16, 40))
    assert row.gpu_milli_seconds == (13 * 60 + 20) * 2000
    (inside,) = selectors.sum_usage(from_at=at(6), to_at=at(8))
    assert inside.gpu_milli_seconds == 120 * 2000
    assert selectors.sum_usage(from_at=at(20), to_at=at(60)) == []


def test_less_than_a_second_is_nothing(pool: Pool) -> None:
    closed_at = at(2) + timedelta(milliseconds=480)
    a_pod(pool, closed_at=closed_at, estimated=True)
    assert services.close_cells(cluster_id=pool.cluster_id, now=at(30)) == 0
    assert spans() == []
