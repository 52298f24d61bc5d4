"""The tables of GPU models that can be cut, and where each was read.

All seven-slice models share one map of starts; A30 and RTX PRO 6000 have their own. The figures
after the dot are nominal gigabytes; what a job can really use is a little less.
"""

from scheduler_core.mig.geometry import Geometry, Profile

GUIDE = "NVIDIA MIG User Guide, Supported MIG Profiles; placements seen with nvidia-smi mig -lgipp"
DERIVED = "names seen with nvidia-smi mig -lgip; starts derived from the equal fractions of H100"


def _seven_slices(model: str, names: str, source: str, derived: bool = False) -> Geometry:
    """Build a model of 8 memory and 7 compute slices from its six profile names.

    The order of `names` is single, single with double memory, 2g, 3g, 4g, full.
    """
    one, double, two, three, four, full = names.split()
    profiles = (
        Profile(full, 7, 8, (0,), 1),
        Profile(four, 4, 4, (0,), 1),
        Profile(three, 3, 4, (0, 4), 2),
        Profile(two, 2, 2, (0, 2, 4), 3),
        Profile(double, 1, 2, (0, 2, 4, 6), 4),
        Profile(one, 1, 1, (0, 1, 2, 3, 4, 5, 6), 7),
        Profile(one + "+me", 1, 1, (0, 1, 2, 3, 4, 5, 6), 1, media=True),
    )
    return Geometry(model, 8, 7, profiles, source, derived)


A30 = Geometry(
    model="A30-24GB",
    slices=4,
    compute=4,
    profiles=(
        Profile("4g.24gb", 4, 4, (0,), 1),
        Profile("2g.12gb", 2, 2, (0, 2), 2),
        Profile("2g.12gb+me", 2, 2, (0, 2), 1, media=True),
        Profile("1g.6gb", 1, 1, (0, 1, 2, 3), 4),
        Profile("1g.6gb+me", 1, 1, (0, 1, 2, 3), 1, media=True),
    ),
    source="NVIDIA MIG User Guide; NVIDIA/go-nvml pkg/nvml/mock/gpus/a30.go",
)

# An axis of 12 units, 3 to a compute slice. Variants without any media engine ("-me") and with
# graphics ("+gfx") stand at the same places as the plain profile.
RTX_PRO_6000 = Geometry(
    model="RTX-PRO-6000-96GB",
    slices=12,
    compute=4,
    profiles=(
        Profile("4g.96gb", 4, 12, (0,), 1),
        Profile("4g.96gb+gfx", 4, 12, (0,), 1),
        Profile("2g.48gb", 2, 6, (0, 6), 2),
        Profile("2g.48gb+gfx", 2, 6, (0, 6), 2),
        Profile("2g.48gb-me", 2, 6, (0, 6), 2),
        Profile("2g.48gb+me.all", 2, 6, (0, 6), 1, media=True),
        Profile("1g.24gb", 1, 3, (0, 3, 6, 9), 4),
        Profile("1g.24gb+gfx", 1, 3, (0, 3, 6, 9), 4),
        Profile("1g.24gb-me", 1, 3, (0, 3, 6, 9), 4),
        Profile("1g.24gb+me", 1, 3, (0, 3, 6, 9), 1, media=True),
        Profile("1g.24gb+me.all", 1, 3, (0, 3, 6, 9), 1, media=True),
    ),
    source="nvidia-smi mig -lgipp as posted in bigstack-oss/cubecos#312",
)

MODELS: dict[str, Geometry] = {
    geometry.model: geometry
    for geometry in (
        A30,
        _seven_slices("A100-40GB", "1g.5gb 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb", GUIDE),
        _seven_slices("A100-80GB", "1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb", GUIDE),
        _seven_slices("H100-80GB", "1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb", GUIDE),
        _seven_slices("H100-94GB", "1g.12gb 1g.24gb 2g.24gb 3g.47gb 4g.47gb 7g.94gb", GUIDE),
        _seven_slices("H100-96GB", "1g.12gb 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb", GUIDE),
        _seven_slices(
            "H200-141GB", "1g.18gb 1g.35gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb", DERIVED, derived=True
        ),
        _seven_slices(
            "B200-180GB", "1g.23gb 1g.45gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb", DERIVED, derived=True
        ),
        _seven_slices(
            "GH200-144GB", "1g.18gb 1g.36gb 2g.36gb 3g.72gb 4g.72gb 7g.144gb", DERIVED, derived=True
        ),
        _seven_slices(
            "GB200-186GB", "1g.23gb 1g.47gb 2g.47gb 3g.93gb 4g.93gb 7g.186gb", DERIVED, derived=True
        ),
        _seven_slices(
            "B300-269GB",
            "1g.34gb 1g.67gb 2g.67gb 3g.135gb 4g.135gb 7g.269gb",
            DERIVED,
            derived=True,
        ),
        RTX_PRO_6000,
    )
}
