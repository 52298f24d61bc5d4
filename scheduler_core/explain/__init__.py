"""Why a workload waits: one word from `REASONS`, with numbers, and every other word in `also`.

Inside: the words, in order from the most permanent down, and what is measured for each. Never
inside: a change to the state, a sentence for people. Pages, API and replay show the same words.
"""

from scheduler_core.explain.notes import Note
from scheduler_core.explain.reasons import REASONS, Explainer

__all__ = ["REASONS", "Explainer", "Note"]
