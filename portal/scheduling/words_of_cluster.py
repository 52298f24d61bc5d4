"""A sentence for every `cluster_*` word: what only the cluster knows of a job that does not run.

Numbers come from the detail where the collector counted some; the cluster's own message follows as
a further sentence, word for word.
"""

from collections.abc import Callable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from portal.scheduling.wording import Facts, Sentence, gibibytes, is_one, say, thousandths

OUR_GATE = "evenshare.io/admission"
Builder = Callable[[Facts], Sentence]


def _gpu_short(facts: Facts) -> Sentence:
    """Too few GPUs: more than any node has, or too few free on nodes it may use."""
    detail = facts.detail
    if "largest_node" not in detail:
        return _short_on_nodes(facts)
    if facts.milli("largest_node") == 0:
        return say(
            _("**No node it may use offers %(resource)s**."), resource=facts.text("resource")
        )
    needs = facts.gpus("needs_on_one_node")
    if facts.milli("largest_node") < facts.milli("needs_on_one_node"):
        return say(
            _(
                "It needs %(needs)s GPUs on one node, and **the largest it may use has %(largest)s**."
            ),
            needs=needs,
            largest=facts.gpus("largest_node"),
        )
    return say(
        ngettext(
            "It needs %(needs)s GPU, and **the nodes it may use have too few free**.",
            "It needs %(needs)s GPUs on one node, and **the nodes it may use have too few free**.",
            is_one(facts.milli("needs_on_one_node")),
        ),
        needs=needs,
    )


def _short_on_nodes(facts: Facts) -> Sentence:
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


def _cpu_memory(facts: Facts) -> Sentence:
    needs, largest = facts.milli("needs"), facts.milli("largest")
    if facts.text("lacks") == "memory":
        if needs > largest:
            return say(
                _("It needs %(needs)s GiB of memory on one node; **the largest has %(largest)s**."),
                needs=gibibytes(needs),
                largest=gibibytes(largest),
            )
        return say(
            _("GPUs are free, but **no such node has %(needs)s GiB of memory left**."),
            needs=gibibytes(needs),
        )
    if needs > largest:
        return say(
            _("It needs %(needs)s CPU cores on one node; **the largest has %(largest)s**."),
            needs=thousandths(needs),
            largest=thousandths(largest),
        )
    return say(
        _("GPUs are free, but **no such node has %(needs)s CPU cores left**."),
        needs=thousandths(needs),
    )


def _taint(facts: Facts) -> Sentence:
    nodes, cordoned = facts.milli("nodes"), facts.milli("cordoned")
    if cordoned == nodes:
        return say(
            ngettext(
                "The %(nodes)s node it may use **takes nothing new** (cordoned or not ready).",
                "All %(nodes)s nodes it may use **take nothing new** (cordoned or not ready).",
                nodes,
            ),
            nodes=str(nodes),
        )
    return say(
        ngettext(
            "The %(nodes)s node with the labels it asks for is **kept for other work** (taint).",
            "The %(nodes)s nodes with the labels it asks for are **kept for other work** (taints).",
            nodes,
        ),
        nodes=str(nodes),
    )


def _affinity(facts: Facts) -> Sentence:
    if facts.text("by") == "neighbours":
        return say(_("Nodes are free, but **its rules about other pods** forbid them."))
    return say(_("**No node has the labels** its pods ask for."))


def _suspended(facts: Facts) -> Sentence:
    return say(
        _("It is **suspended in the cluster**, in the queue %(queue)s of Kueue."),
        queue=facts.text("queue"),
    )


def _gated(facts: Facts) -> Sentence:
    gates = [str(gate) for gate in facts.detail["gates"]]
    if gates == [OUR_GATE]:
        return say(_("Its pods are **held back until Evenshare lets them in**."))
    return say(
        _("Its pods are **held back by a scheduling gate**: %(gates)s."), gates=", ".join(gates)
    )


def _scheduler(facts: Facts) -> Sentence:
    return say(
        _("**No scheduler has looked at its pods** yet; they name %(scheduler)s."),
        scheduler=facts.text("scheduler"),
    )


BUILDERS: dict[str, Builder] = {
    "cluster_gpu_short": _gpu_short,
    "cluster_fragmented": _fragmented,
    "cluster_cpu_memory": _cpu_memory,
    "cluster_taint": _taint,
    "cluster_affinity": _affinity,
    "cluster_suspended": _suspended,
    "cluster_gated": _gated,
    "cluster_scheduler": _scheduler,
}

IN_SHORT: dict[str, str] = {
    "cluster_quota": gettext_noop("The cluster refuses its pods: **its quota there is used up**."),
    "cluster_policy": gettext_noop("**An admission rule of the cluster refuses** its pods."),
    "cluster_suspended": gettext_noop("It is **suspended in the cluster**."),
    "cluster_gated": gettext_noop("Its pods are **held back by a scheduling gate**."),
    "cluster_scheduler": gettext_noop("**No scheduler has looked at its pods** yet."),
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

AFTER_PLACING = ("cluster_image", "cluster_volume", "cluster_init", "cluster_unknown")
"""What a job with its node and GPUs may still wait for."""
