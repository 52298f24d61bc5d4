"""A sentence for every reason of the engine, and what it means in few words.

A builder asks for the numbers its sentence needs and fails with `KeyError` when they are not
there; `sentences` then falls back on the few words.
"""

from collections.abc import Callable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from portal.scheduling import naming
from portal.scheduling.wording import Facts, Sentence, duration, gibibytes, is_one, say, thousandths

Builder = Callable[[Facts], Sentence]


def _no_quota_in_pool(facts: Facts) -> Sentence:
    if facts.detail.get("pool") is None:
        return say(_("%(team)s has **no quota in any pool** here."), team=facts.team())
    return say(_("%(team)s has **no quota in %(pool)s**."), team=facts.team(), pool=facts.pool())


def _fraction_on_dedicated_pool(facts: Facts) -> Sentence:
    return say(
        _("It asks for %(gpus)s of a GPU, but **%(pool)s hands out whole GPUs only**."),
        gpus=facts.gpus("gpu_milli"),
        pool=facts.pool(),
    )


def _gpu_model_absent(facts: Facts) -> Sentence:
    return say(
        _("**No node of %(pool)s has the GPU it asks for** (%(models)s)."),
        pool=facts.pool(),
        models=facts.words("gpu_models"),
    )


def _gpu_memory_short(facts: Facts) -> Sentence:
    return say(
        _("It needs %(needs)s GiB on each GPU; **the largest in %(pool)s has %(largest)s GiB**."),
        needs=gibibytes(facts.milli("gpu_memory_mib")),
        largest=gibibytes(facts.milli("largest_mib")),
        pool=facts.pool(),
    )


def _never_fits(facts: Facts) -> Sentence:
    needs, largest = facts.milli("needs_on_one_node"), facts.milli("largest_node_gpu_milli")
    if needs > largest:
        return say(
            _(
                "It needs %(needs)s GPUs on one node, but **no node of %(pool)s has more than "
                "%(largest)s**."
            ),
            needs=thousandths(needs),
            largest=thousandths(largest),
            pool=facts.pool(),
        )
    return say(
        _(
            "It asks for %(asks)s GPUs at once: of its %(tasks)s tasks **only %(fit)s fit in "
            "%(pool)s, even when it is empty**."
        ),
        asks=facts.gpus("asks_gpu_milli"),
        tasks=facts.text("tasks"),
        fit=facts.text("tasks_that_fit"),
        pool=facts.pool(),
    )


def _zone(facts: Facts) -> Sentence:
    return say(
        _("**Zone %(zone)s has too few nodes** of %(pool)s for it, even when they are empty."),
        zone=facts.text("zone"),
        pool=facts.pool(),
    )


def _taint(facts: Facts) -> Sentence:
    passes = [str(word) for word in facts.detail["tolerations"]]
    if naming.DOORS in passes and f"{naming.DOORS}:{facts.detail.get('pool')}" not in passes:
        return say(
            _("**The rules of %(pool)s close it to jobs of this class or size.**"),
            pool=facts.pool(),
        )
    others = [word for word in passes if word.partition(":")[0] != naming.DOORS]
    return say(
        _(
            "**The nodes of %(pool)s that could hold it are kept for other work**; it may go "
            "to: %(tolerations)s."
        ),
        pool=facts.pool(),
        tolerations=", ".join(others) or _("nothing"),
    )


def _topology(facts: Facts) -> Sentence:
    return say(
        _(
            "**No single %(level)s of %(pool)s holds its %(tasks)s tasks together**, even when "
            "empty."
        ),
        level=facts.text("level"),
        tasks=facts.text("tasks"),
        pool=facts.pool(),
    )


def _quota_exceeded(facts: Facts) -> Sentence:
    asks = facts.milli("asks")
    if "guaranteed" in facts.detail:
        used, most = facts.milli("used_non_preemptible"), facts.milli("guaranteed")
        return say(
            _(
                "It cannot be stopped once it runs, and %(team)s may use %(most)s for such work; "
                "%(used)s are in use and it asks for %(asks)s: **%(over)s too many**."
            ),
            team=facts.team(),
            most=thousandths(most),
            used=thousandths(used),
            asks=thousandths(asks),
            over=thousandths(max(0, used + asks - most)),
        )
    used, limit = facts.milli("used"), facts.milli("limit")
    return say(
        _(
            "The limit of %(team)s is %(limit)s and %(used)s are in use; it asks for %(asks)s: "
            "**%(over)s too many**."
        ),
        team=facts.team(),
        limit=thousandths(limit),
        used=thousandths(used),
        asks=thousandths(asks),
        over=thousandths(max(0, used + asks - limit)),
    )


def _user_limit(facts: Facts) -> Sentence:
    return say(
        _(
            "**One person may use %(limit)s** of %(pool)s; with the %(asks)s it asks for it "
            "would be more."
        ),
        limit=facts.gpus("limit"),
        asks=facts.gpus("asks"),
        pool=facts.pool(),
    )


def _borrowing_limit(facts: Facts) -> Sentence:
    values = {
        "asks": facts.gpus("asks"),
        "available": thousandths(max(0, facts.milli("available"))),
    }
    if facts.detail.get("limit") is not None:
        return say(
            _(
                "It asks for %(asks)s and **%(available)s may be used now**: %(team)s may borrow "
                "%(limit)s at most."
            ),
            team=facts.team(),
            limit=facts.gpus("limit"),
            **values,
        )
    return say(
        _(
            "It asks for %(asks)s, beyond the guarantee, and **%(available)s may be borrowed "
            "now**; "
            "the rest is promised to others."
        ),
        **values,
    )


def _lent_out(facts: Facts) -> Sentence:
    return say(
        _(
            "%(used)s of the %(guaranteed)s guaranteed are in use and it asks for %(asks)s, but "
            "**the rest is lent out** and comes back as those jobs end."
        ),
        used=facts.gpus("used"),
        guaranteed=facts.gpus("guaranteed"),
        asks=facts.gpus("asks"),
    )


def _pool_full(facts: Facts) -> Sentence:
    free = facts.milli("free_gpu_milli")
    if free == 0:
        return say(
            _("**No GPU of %(pool)s is free**; it needs %(needs)s."),
            pool=facts.pool(),
            needs=facts.gpus("needs_gpu_milli"),
        )
    template = ngettext(
        "**Only %(free)s GPU of %(pool)s is free**; it needs %(needs)s.",
        "**Only %(free)s GPUs of %(pool)s are free**; it needs %(needs)s.",
        is_one(free),
    )
    return say(
        template,
        free=thousandths(free),
        pool=facts.pool(),
        needs=facts.gpus("needs_gpu_milli"),
    )


def _cpu_short(facts: Facts) -> Sentence:
    if facts.detail.get("beside_free_gpus"):
        return say(
            _("GPUs of %(pool)s are free, but **not enough CPU on the same nodes**."),
            pool=facts.pool(),
        )
    return say(
        _(
            "It needs %(needs)s CPU cores; **%(free)s are free in %(pool)s**, not all where "
            "they would help."
        ),
        needs=thousandths(facts.milli("needs")),
        free=thousandths(facts.milli("free_cpu_milli")),
        pool=facts.pool(),
    )


def _memory_short(facts: Facts) -> Sentence:
    if facts.detail.get("beside_free_gpus"):
        return say(
            _("GPUs of %(pool)s are free, but **not enough memory on the same nodes**."),
            pool=facts.pool(),
        )
    return say(
        _(
            "It needs %(needs)s GiB of memory; **%(free)s are free in %(pool)s**, not all "
            "where they would help."
        ),
        needs=gibibytes(facts.milli("needs")),
        free=gibibytes(facts.milli("free_memory_mib")),
        pool=facts.pool(),
    )


def _fragmented(facts: Facts) -> Sentence:
    free = facts.milli("free_gpu_milli")
    template = ngettext(
        "%(free)s GPU of %(pool)s is free, but **no node has more than %(largest)s**; it "
        "needs %(needs)s on one.",
        "%(free)s GPUs of %(pool)s are free, but **no node has more than %(largest)s**; it "
        "needs %(needs)s on one.",
        is_one(free),
    )
    return say(
        template,
        free=thousandths(free),
        pool=facts.pool(),
        largest=facts.gpus("largest_on_one_node"),
        needs=facts.gpus("needs_on_one_node"),
    )


def _reservation_ahead(facts: Facts) -> Sentence:
    return say(
        _("It would still run at %(moment)s, when **reservation %(reservation)s** needs its GPUs."),
        moment=facts.moment("starts_at"),
        reservation=facts.reservation(),
    )


def _behind(facts: Facts) -> Sentence:
    if "team" not in facts.detail:
        return say(_("**Others stand before it** in the queue."))
    job = facts.job("workload")
    if job is None:
        return say(_("It stands **behind a job of %(team)s**."), team=facts.team())
    return say(_("It stands **behind %(job)s** (%(team)s)."), job=job, team=facts.team())


def _protected_by_min_runtime(facts: Facts) -> Sentence:
    return say(
        _("The jobs that would make room **have only just begun**; they may run until %(moment)s."),
        moment=facts.moment("until"),
    )


def _not_worth_preempting(facts: Facts) -> Sentence:
    return say(
        _(
            "Making room would **lose %(cost)s of GPU time to win %(benefit)s**, so the others "
            "run on."
        ),
        cost=duration(facts.milli("cost")),
        benefit=duration(facts.milli("benefit")),
    )


def _evicted(facts: Facts) -> Sentence:
    return say(_("It **made room for %(team)s** and waits again."), team=facts.team())


BUILDERS: dict[str, Builder] = {
    "no_quota_in_pool": _no_quota_in_pool,
    "fraction_on_dedicated_pool": _fraction_on_dedicated_pool,
    "gpu_model_absent": _gpu_model_absent,
    "gpu_memory_short": _gpu_memory_short,
    "never_fits": _never_fits,
    "zone": _zone,
    "taint": _taint,
    "topology": _topology,
    "quota_exceeded": _quota_exceeded,
    "user_limit": _user_limit,
    "borrowing_limit": _borrowing_limit,
    "lent_out": _lent_out,
    "pool_full": _pool_full,
    "cpu_short": _cpu_short,
    "memory_short": _memory_short,
    "fragmented": _fragmented,
    "reservation_ahead": _reservation_ahead,
    "behind": _behind,
    "protected_by_min_runtime": _protected_by_min_runtime,
    "not_worth_preempting": _not_worth_preempting,
    "evicted": _evicted,
}

IN_SHORT: dict[str, str] = {
    "no_quota_in_pool": gettext_noop("The team has no quota in the pool."),
    "fraction_on_dedicated_pool": gettext_noop("The pool hands out whole GPUs only."),
    "gpu_model_absent": gettext_noop("No node has the GPU model it asks for."),
    "gpu_memory_short": gettext_noop("No GPU has as much memory as it asks for."),
    "never_fits": gettext_noop("It asks for more than the pool could ever give."),
    "zone": gettext_noop("Its zone has too few nodes."),
    "taint": gettext_noop("The nodes that could hold it are kept for other work."),
    "topology": gettext_noop("Its tasks do not fit as close together as it asks."),
    "quota_exceeded": gettext_noop("The team's quota does not allow as much."),
    "user_limit": gettext_noop("One person may not use as much."),
    "borrowing_limit": gettext_noop("The team may not borrow as much now."),
    "lent_out": gettext_noop("What the team is guaranteed is lent out."),
    "pool_full": gettext_noop("Too few GPUs are free."),
    "cpu_short": gettext_noop("Too little CPU is free beside the GPUs."),
    "memory_short": gettext_noop("Too little memory is free beside the GPUs."),
    "fragmented": gettext_noop("Free GPUs are scattered over too many nodes."),
    "reservation_ahead": gettext_noop("A reservation needs the GPUs before it would end."),
    "behind": gettext_noop("Others stand before it in the queue."),
    "protected_by_min_runtime": gettext_noop("The jobs that would make room have only just begun."),
    "not_worth_preempting": gettext_noop("Making room would lose more than it wins."),
    "evicted": gettext_noop("It made room for another team."),
}
