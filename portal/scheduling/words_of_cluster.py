"""A sentence for every `cluster_*` word: what only the cluster knows of a job that does not run.

Numbers come from the detail where the collector found some in the cluster's own message; that
message follows as a further sentence, word for word.
"""

from collections.abc import Callable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from portal.scheduling.wording import Facts, Sentence, say

Builder = Callable[[Facts], Sentence]


def _gpu_short(facts: Facts) -> Sentence:
    short, nodes = facts.detail["nodes_short"], facts.detail["nodes"]
    template = ngettext(
        "The cluster finds **too few GPUs on %(short)s of %(nodes)s node**.",
        "The cluster finds **too few GPUs on %(short)s of %(nodes)s nodes**.",
        int(nodes),
    )
    return say(template, short=str(short), nodes=str(nodes))


def _fragmented(facts: Facts) -> Sentence:
    return say(
        _(
            "%(free)s GPUs are free in the cluster, but **no node has more than %(largest)s**; "
            "it needs %(needs)s on one."
        ),
        free=facts.gpus("free_gpu_milli"),
        largest=facts.gpus("largest_on_one_node"),
        needs=facts.gpus("needs_on_one_node"),
    )


BUILDERS: dict[str, Builder] = {
    "cluster_gpu_short": _gpu_short,
    "cluster_fragmented": _fragmented,
}

IN_SHORT: dict[str, str] = {
    "cluster_quota": gettext_noop("The cluster refuses its pods: **its quota there is used up**."),
    "cluster_policy": gettext_noop("**An admission rule of the cluster refuses** its pods."),
    "cluster_suspended": gettext_noop("It is **suspended in the cluster**."),
    "cluster_gated": gettext_noop("Its pods are **held back by a scheduling gate**."),
    "cluster_scheduler": gettext_noop("Its pods name **a scheduler the cluster does not run**."),
    "cluster_gpu_short": gettext_noop("The cluster finds **too few free GPUs**."),
    "cluster_fragmented": gettext_noop(
        "The cluster has enough free GPUs, but **not enough on one node**."
    ),
    "cluster_cpu_memory": gettext_noop("The cluster finds **too little CPU or memory**."),
    "cluster_taint": gettext_noop("The cluster's **free nodes are kept for other work** (taints)."),
    "cluster_affinity": gettext_noop("**No node has the labels** its pods ask for."),
    "cluster_storage": gettext_noop("It waits for **a volume that no fitting node can reach**."),
    "cluster_topology": gettext_noop("The cluster cannot **spread its pods** as they ask."),
    "cluster_preempting": gettext_noop("The cluster is **stopping other pods to make room**."),
    "cluster_image": gettext_noop("A node is chosen; it **waits for its image**."),
    "cluster_volume": gettext_noop("A node is chosen; it **waits for its volume**."),
    "cluster_init": gettext_noop("A node is chosen; its **init containers are still at work**."),
    "cluster_unknown": gettext_noop("**The cluster does not run it**, for a reason of its own."),
}
