"""The words and the kinds of number of the contract."""

from fractions import Fraction
from typing import Literal

SCHEMA = 1
"""Version of the JSON contract."""

Number = int | Fraction
"""An exact number: a weight, or a ratio given by people."""

ChargedTo = Literal["guaranteed", "reserved", "borrowed"]
Kind = Literal["training", "inference", "interactive", "batch"]
Sharing = Literal["dedicated", "shared"]
Source = Literal["pool", "guarantee"]
Mode = Literal["pack", "spread"]

CHARGES: tuple[ChargedTo, ...] = ("guaranteed", "reserved", "borrowed")
KINDS: tuple[Kind, ...] = ("training", "inference", "interactive", "batch")
SHARINGS: tuple[Sharing, ...] = ("dedicated", "shared")
SOURCES: tuple[Source, ...] = ("pool", "guarantee")
MODES: tuple[Mode, ...] = ("pack", "spread")
STRATEGIES = ("final", "initial")
BACKFILLS = ("off", "conservative", "easy")
ORDERS = (
    "fifo",
    "fifo_strict",
    "sjf",
    "priority",
    "fair_share",
    "fair_tree",
    "drf",
    "satisfaction",
    "sla",
)
PLACEMENT_NAMES = (
    "pack",
    "spread",
    "fgd",
    "best_fit",
    "dot_product",
    "gpu_packing",
    "gpu_clustering",
    "random",
)
NODE_LEVEL = "node"
"""The topology level every pool has, below its own `topology_levels`."""
