"""MIG: which instances a GPU can be cut into, also while others stay in use.

Belongs here: the tables of GPU models (defaults; what a node reports wins) and the arithmetic of
places on them. Does not belong here: when a GPU is re-cut, and who gets an instance.
"""

from scheduler_core.mig.geometry import Geometry, Instance, MigError, Profile, resource_name
from scheduler_core.mig.layouts import (
    Layout,
    arrange,
    best_layout,
    fits,
    layouts,
    maximal_layouts,
    per_gpu,
    serve,
)
from scheduler_core.mig.models import MODELS

__all__ = [
    "MODELS",
    "Geometry",
    "Instance",
    "Layout",
    "MigError",
    "Profile",
    "arrange",
    "best_layout",
    "fits",
    "layouts",
    "maximal_layouts",
    "per_gpu",
    "resource_name",
    "serve",
]
