"""How a GPU model is cut: profiles, the starts each may take, and instances that have one.

An instance covers the interval [start, start + size) of the model's memory-slice axis (NVIDIA MIG
User Guide, "Supported MIG Profiles"; NVML's possible placements). Units are slices of that axis.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """One kind of instance: its name as NVML spells it, and where on the axis it may begin.

    `limit` is how many a whole GPU may hold; `compute` its compute slices. `media` profiles carry
    the media engines, of which a GPU gives away one set.
    """

    name: str
    compute: int
    size: int
    starts: tuple[int, ...]
    limit: int
    media: bool = False

    def mask(self, start: int) -> int:
        """Return the slices covered from `start`, as bits: bit i is slice i."""
        return ((1 << self.size) - 1) << start


@dataclass(frozen=True, slots=True)
class Instance:
    """A profile at its place on one GPU."""

    profile: str
    start: int


class MigError(ValueError):
    """A profile, a place or a GPU model that does not exist, or instances that collide."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """The profiles of one GPU model on an axis of `slices` memory slices.

    `derived` tells that the starts were concluded from an equal model and not read from a device;
    names may differ between firmware versions too, so what a node reports wins over this table.
    """

    model: str
    slices: int
    compute: int
    profiles: tuple[Profile, ...]
    source: str
    derived: bool = False

    def profile(self, name: str) -> Profile:
        """Return the profile of this name. Raises `MigError` when the model has none such."""
        for profile in self.profiles:
            if profile.name == name:
                return profile
        raise MigError(f"{self.model} has no profile {name}")

    def occupied(self, instances: Iterable[Instance]) -> int:
        """Return the covered slices as bits.

        Raises `MigError` for an unknown profile, a start it may not take, or an overlap.
        """
        taken = 0
        for instance in instances:
            profile = self.profile(instance.profile)
            if instance.start not in profile.starts:
                raise MigError(f"{profile.name} cannot begin at slice {instance.start}")
            mask = profile.mask(instance.start)
            if taken & mask:
                raise MigError(f"{profile.name} at slice {instance.start} overlaps another")
            taken |= mask
        return taken


def resource_name(profile: str) -> str:
    """Return the Kubernetes resource of a profile under the device plugin's `mixed` strategy."""
    return "nvidia.com/mig-" + profile.replace("+", ".")
