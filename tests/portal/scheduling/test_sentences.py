"""Every word becomes a sentence with its numbers, in which nothing is left to fill."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from portal.scheduling import sentences, wording
from portal.scheduling.models import Verb
from portal.scheduling.sentences import Names, Said
from scheduler_core import explain

NAMES = Names(teams={3: "Vision", 4: "Speech"}, pools={1: "h100"}, workloads={7: "asr-pretrain"})
SEOUL = ZoneInfo("Asia/Seoul")
SIX = int(datetime(2026, 11, 2, 9, 0, tzinfo=UTC).timestamp())

# word → detail as the engine gives it, and the very words a reader must find.
EXAMPLES: list[tuple[str, dict[str, object], str]] = [
    ("no_quota_in_pool", {"team": "t3", "pool": "p1"}, "Vision has no quota in h100."),
    ("no_quota_in_pool", {"team": "t3", "pool": None}, "Vision has no quota in any pool here."),
    ("fraction_on_dedicated_pool", {"gpu_milli": 500},
     "It asks for 0.5 of a GPU, but h100 hands out whole GPUs only."),
    ("gpu_model_absent", {"gpu_models": ["H200"]},
     "No node of h100 has the GPU it asks for (H200)."),
    ("gpu_memory_short", {"gpu_memory_mib": 81920, "largest_mib": 40960},
     "It needs 80 GiB on each GPU; the largest in h100 has 40 GiB."),
    ("never_fits", {"asks_gpu_milli": 16000, "needs_on_one_node": 16000,
                    "largest_node_gpu_milli": 8000, "tasks": 1, "tasks_that_fit": 0},
     "It needs 16 GPUs on one node, but no node of h100 has more than 8."),
    ("never_fits", {"asks_gpu_milli": 40000, "needs_on_one_node": 4000,
                    "largest_node_gpu_milli": 8000, "tasks": 10, "tasks_that_fit": 6},
     "It asks for 40 GPUs at once: of its 10 tasks only 6 fit in h100, even when it is empty."),
    ("zone", {"zone": "z1"}, "Zone z1 has too few nodes of h100 for it, even when they are empty."),
    ("taint", {"tolerations": []},
     "The nodes of h100 that could hold it are kept for other work; it may go to: nothing."),
    ("topology", {"level": "rack", "tasks": 4},
     "No single rack of h100 holds its 4 tasks together, even when empty."),
    ("quota_exceeded", {"team": "t3", "limit": 24000, "used": 18000, "asks": 16000},
     "The limit of Vision is 24 and 18 are in use; it asks for 16: 10 too many."),
    ("quota_exceeded", {"team": "t3", "guaranteed": 8000, "used_non_preemptible": 6000,
                        "asks": 4000},
     "It cannot be stopped once it runs, and Vision may use 8 for such work; 6 are in use and "
     "it asks for 4: 2 too many."),
    ("user_limit", {"limit": 4000, "asks": 2000},
     "One person may use 4 of h100; with the 2 it asks for it would be more."),
    ("borrowing_limit", {"available": 2000, "asks": 4000, "team": "t3", "limit": 6000},
     "It asks for 4 and 2 may be used now: Vision may borrow 6 at most."),
    ("borrowing_limit", {"available": -1000, "asks": 4000},
     "It asks for 4, beyond the guarantee, and 0 may be borrowed now; the rest is promised to "
     "others."),
    ("lent_out", {"guaranteed": 16000, "used": 10000, "asks": 4000},
     "10 of the 16 guaranteed are in use and it asks for 4, but the rest is lent out and comes "
     "back as those jobs end."),
    ("pool_full", {"free_gpu_milli": 3000, "needs_gpu_milli": 8000},
     "Only 3 GPUs of h100 are free; it needs 8."),
    ("pool_full", {"free_gpu_milli": 1000, "needs_gpu_milli": 8000},
     "Only 1 GPU of h100 is free; it needs 8."),
    ("pool_full", {"free_gpu_milli": 0, "needs_gpu_milli": 250},
     "No GPU of h100 is free; it needs 0.25."),
    ("cpu_short", {"free_cpu_milli": 12000, "needs": 64000},
     "It needs 64 CPU cores; 12 are free in h100, not all where they would help."),
    ("cpu_short", {"beside_free_gpus": True},
     "GPUs of h100 are free, but not enough CPU on the same nodes."),
    ("memory_short", {"free_memory_mib": 1536, "needs": 65536},
     "It needs 64 GiB of memory; 1.5 are free in h100, not all where they would help."),
    ("memory_short", {"beside_free_gpus": True},
     "GPUs of h100 are free, but not enough memory on the same nodes."),
    ("fragmented", {"free_gpu_milli": 9000, "largest_on_one_node": 3000,
                    "needs_on_one_node": 8000},
     "9 GPUs of h100 are free, but no node has more than 3; it needs 8 on one."),
    ("reservation_ahead", {"reservation": "r214", "starts_at": SIX},
     "It would still run at 18:00 KST, when reservation R-214 needs its GPUs."),
    ("behind", {"team": "t4", "workload": "w7"}, "It stands behind asr-pretrain (Speech)."),
    ("behind", {"team": "t4", "workload": "w8"}, "It stands behind a job of Speech."),
    ("behind", {}, "Others stand before it in the queue."),
    ("protected_by_min_runtime", {"until": SIX},
     "The jobs that would make room have only just begun; they may run until 18:00 KST."),
    ("not_worth_preempting", {"cost": 5400, "benefit": 600},
     "Making room would lose 90 min of GPU time to win 10 min, so the others run on."),
    ("evicted", {"team": "t4", "why": "reclaim_guaranteed"},
     "It made room for Speech and waits again."),
    ("cluster_gpu_short", {"nodes_short": 3, "nodes": 5},
     "The cluster finds too few GPUs on 3 of 5 nodes."),
    ("cluster_fragmented", {"free_gpu_milli": 9000, "largest_on_one_node": 3000,
                            "needs_on_one_node": 8000},
     "9 GPUs are free in the cluster, but no node has more than 3; it needs 8 on one."),
    ("cluster_gpu_short", {"largest_node": 8000, "needs_on_one_node": 16000, "resource": "g/gpu"},
     "It needs 16 GPUs on one node, and the largest it may use has 8."),
    ("cluster_gpu_short", {"largest_node": 0, "needs_on_one_node": 1000, "resource": "g/mig-3g"},
     "No node it may use offers g/mig-3g."),
    ("cluster_gpu_short", {"largest_node": 8000, "needs_on_one_node": 8000, "resource": "g/gpu"},
     "It needs 8 GPUs on one node, and the nodes it may use have too few free."),
    ("cluster_gpu_short", {"largest_node": 8000, "needs_on_one_node": 1000, "resource": "g/gpu"},
     "It needs 1 GPU, and the nodes it may use have too few free."),
    ("cluster_cpu_memory", {"lacks": "cpu", "needs": 200_000, "largest": 96_000},
     "It needs 200 CPU cores on one node; the largest has 96."),
    ("cluster_cpu_memory", {"lacks": "memory", "needs": 65536, "largest": 786432},
     "GPUs are free, but no such node has 64 GiB of memory left."),
    ("cluster_taint", {"nodes": 1, "cordoned": 0},
     "The 1 node with the labels it asks for is kept for other work (taint)."),
    ("cluster_taint", {"nodes": 3, "cordoned": 3},
     "All 3 nodes it may use take nothing new (cordoned or not ready)."),
    ("cluster_affinity", {"by": "labels"}, "No node has the labels its pods ask for."),
    ("cluster_affinity", {"by": "neighbours"},
     "Nodes are free, but its rules about other pods forbid them."),
    ("cluster_suspended", {"queue": "gpu"},
     "It is suspended in the cluster, in the queue gpu of Kueue."),
    ("cluster_gated", {"gates": ["evenshare.io/admission"]},
     "Its pods are held back until Evenshare lets them in."),
    ("cluster_gated", {"gates": ["a/b", "c/d"]},
     "Its pods are held back by a scheduling gate: a/b, c/d."),
    ("cluster_scheduler", {"scheduler": "volcano"},
     "No scheduler has looked at its pods yet; they name volcano."),
]  # fmt: skip


@pytest.mark.parametrize(("word", "detail", "text"), EXAMPLES)
def test_a_reason_reads_as_a_person_would_say_it(
    word: str, detail: dict[str, object], text: str
) -> None:
    found = sentences.reason_sentence(
        word, {"pool": "p1", **detail}, names=NAMES, zone=SEOUL,
        now=datetime(2026, 11, 2, tzinfo=UTC),
    )  # fmt: skip
    assert found.text == text
    assert found.strong
    assert "".join(found.split()) == text


def test_every_word_of_the_engine_and_of_the_cluster_has_a_sentence() -> None:
    cluster = {
        "quota", "policy", "suspended", "gated", "scheduler", "gpu_short", "fragmented",
        "cpu_memory", "taint", "affinity", "storage", "topology", "preempting", "image", "volume",
        "init", "unknown",
    }  # fmt: skip
    assert set(sentences.WORDS) == {*explain.REASONS, *(f"cluster_{word}" for word in cluster)}
    assert {word for word, _, _ in EXAMPLES} >= set(explain.REASONS)


@pytest.mark.parametrize("word", [*sentences.WORDS, "a_word_of_tomorrow", "100%_odd"])
def test_without_its_numbers_a_word_still_has_a_whole_sentence(word: str) -> None:
    found = sentences.reason_sentence(word, {}, names=Names())
    assert found.text.endswith(".")
    assert not any(mark in found.text for mark in ("%(", "**", "None"))


def test_names_with_signs_of_a_template_in_them_stay_as_they_are() -> None:
    names = Names(teams={3: "A**B %(team)s"}, pools={1: "100%"})
    found = sentences.reason_sentence("no_quota_in_pool", {"team": "t3", "pool": "p1"}, names=names)
    assert found.text == "A**B %(team)s has no quota in 100%."
    assert found.strong == "no quota in 100%"


def test_other_reasons_position_and_planned_start_follow() -> None:
    said = Said(
        Verb.WAIT, "pool_full",
        {"pool": "p1", "free_gpu_milli": 0, "needs_gpu_milli": 1000, "also": ["behind"]},
        position=3, planned_start=datetime(2026, 11, 3, 1, 30, tzinfo=UTC),
    )  # fmt: skip
    found = sentences.build(said, names=NAMES, zone=SEOUL, now=datetime(2026, 11, 2, tzinfo=UTC))
    assert found.also == (
        "Others stand before it in the queue.",
        "Planned to start at 2026-11-03 10:30 KST.",
        "Number 3 in the queue.",
    )


def test_while_it_waits_the_clusters_reason_stands_beside_the_engines() -> None:
    said = Said(
        Verb.WAIT, "pool_full", {"pool": "p1", "free_gpu_milli": 0, "needs_gpu_milli": 1000},
        cluster_reason="cluster_affinity", cluster_message="0/1 nodes are available",
        cluster_detail={"by": "labels"},
    )  # fmt: skip
    assert sentences.build(said, names=NAMES).also == (
        "In the cluster: No node has the labels its pods ask for.",
        "The cluster says: 0/1 nodes are available",
    )


def test_a_job_with_its_gpus_says_what_its_start_waits_for() -> None:
    said = Said(Verb.RUN, charged_to="guaranteed", cluster_reason="cluster_volume")
    assert sentences.build(said, names=NAMES).text == "A node is chosen; it waits for its volume."
    said = Said(Verb.RUN, charged_to="guaranteed", cluster_reason="cluster_gpu_short")
    assert sentences.build(said, names=NAMES).text == "It runs within the team's guarantee."


def test_once_started_the_cluster_has_the_word() -> None:
    said = Said(Verb.START, cluster_reason="cluster_image", cluster_message="pulling llm:2")
    found = sentences.build(said, names=NAMES)
    assert found.text == "A node is chosen; it waits for its image."
    assert found.also == ("The cluster says: pulling llm:2",)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (Said(), "Not yet looked at: the next tick decides."),
        (Said(Verb.START, detail={"after": ["w9"]}), "It starts as soon as others have made room."),
        (Said(Verb.START, detail={"after": [], "placements": [{"node": "n1"}, {"node": "n2"}]}),
         "It may start now, on n1, n2."),
        (Said(Verb.RUN, charged_to="borrowed"),
         "It runs on borrowed GPUs and is the first to make room."),
        (Said(Verb.PREEMPT, "reclaim_guaranteed", {"for": "w7"}),
         "It makes room for asr-pretrain."),
        (Said(Verb.PREEMPT, "reclaim_guaranteed", {"for": "w8"}),
         "It makes room for a job that has the better right."),
    ],
)  # fmt: skip
def test_each_verb_has_its_sentence(said: Said, text: str) -> None:
    assert sentences.build(said, names=NAMES).text == text


def test_amounts_read_as_whole_numbers_or_as_many_decimals_as_there_are() -> None:
    shown = [wording.thousandths(milli) for milli in (0, 250, 1000, 2500, 8125, 1_024_000)]
    assert shown == ["0", "0.25", "1", "2.5", "8.125", "1,024"]
