"""Checkpoints: how large, how long to write, how often, and what a preemption then costs.

Pure formulas; nothing here decides. Symbols of the literature: δ the time a save blocks the job, M
the mean time between interruptions of the whole job, R the time to restart, τ the compute time
between saves. Any unit of time will do as long as all arguments share it; interruptions are taken
as exponential. Young, CACM 17(9), 1974; Daly, Future Generation Computer Systems 22(3), 2006.
"""

import math

# bf16 weights 2, fp32 master copy 4, two Adam moments 4 each; gradients need not be saved.
RESUMABLE_BYTES_PER_PARAMETER = 14
# A pod that is told to stop is killed after this long unless its specification says otherwise.
DEFAULT_GRACE_SECONDS = 30


def size_bytes(parameters: int, bytes_per_parameter: float = RESUMABLE_BYTES_PER_PARAMETER) -> int:
    """Return the size of a checkpoint that training can resume from.

    Mixed-precision Adam saves 12 bytes a parameter when the weights are rebuilt from the master
    copy, 14 when they are saved too, 16 with gradients (Rajbhandari et al., ZeRO, SC'20).
    """
    return math.ceil(parameters * bytes_per_parameter)


def save_seconds(size: int, bytes_per_second: float) -> float:
    """Return how long a checkpoint of `size` bytes takes to write.

    `bytes_per_second` is the slowest of client, network and storage, sustained. Raises
    `ValueError` unless it is above 0.
    """
    return size / _positive("bytes_per_second", bytes_per_second)


def fits_grace(save: float, grace: float = DEFAULT_GRACE_SECONDS) -> bool:
    """Tell whether a save begun on notice is done before the job is killed."""
    return save < grace


def mean_time_to_interruption(device_mtbf: float, devices: int) -> float:
    """Return M of a job on `devices` devices, each failing once in `device_mtbf` on average."""
    return _positive("device_mtbf", device_mtbf) / _positive("devices", devices)


def young_interval(save: float, mtti: float) -> float:
    """Return Young's interval √(2δM)."""
    return math.sqrt(2 * _positive("save", save) * _positive("mtti", mtti))


def daly_interval(save: float, mtti: float) -> float:
    """Return Daly's higher-order interval; M itself where a save takes 2M or longer."""
    young = young_interval(save, mtti)
    if save >= 2 * mtti:
        return mtti
    ratio = save / (2 * mtti)
    return young * (1 + math.sqrt(ratio) / 3 + ratio / 9) - save


def exact_interval(save: float, mtti: float) -> float:
    """Return the interval M·(1 + W₀(−e^(−1−δ/M))) that minimises `slowdown`."""
    _positive("save", save)
    delta = save / _positive("mtti", mtti)
    return mtti * (1 + lambert_w0(-math.exp(-1 - delta)))


def slowdown(interval: float, save: float, restart: float, mtti: float) -> float:
    """Return expected wall time over useful work, M·e^(R/M)·(e^((τ+δ)/M) − 1)/τ, above 1."""
    _positive("mtti", mtti)
    growth = math.expm1((interval + save) / mtti)
    return mtti * math.exp(restart / mtti) * growth / _positive("interval", interval)


def overhead(save: float, restart: float, mtti: float) -> float:
    """Return the share of time lost at the best interval, to first order: √(2δ/M) + R/M."""
    return math.sqrt(2 * save / _positive("mtti", mtti)) + restart / mtti


def work_at_risk(interval: float, save: float) -> float:
    """Return the work since the last save that a kill at an unknown moment loses on average.

    Half an interval, and while a save is being written (δ of every τ + δ) all that it holds.
    """
    return interval / 2 + save * save / (_positive("interval", interval) + save)


def kill_cost(gpus: float, since_save: float, restart: float) -> float:
    """Return the GPU time lost when a job is killed: g·(w + R).

    For a job that cannot save, `since_save` is all its work so far.
    """
    return gpus * (since_save + restart)


def notice_cost(gpus: float, save: float, restart: float) -> float:
    """Return the GPU time lost when a job saves on notice before it goes: g·(δ + R)."""
    return gpus * (save + restart)


def preemption_cost(
    gpus: float, since_save: float, save: float, restart: float, grace: float
) -> float:
    """Return the GPU time a preemption loses: saved on notice where that fits the grace period."""
    if fits_grace(save, grace):
        return notice_cost(gpus, save, restart)
    return kill_cost(gpus, since_save, restart)


def goodput_factor(age: float, restarts: int, restart: float) -> float:
    """Return what is left of a job's goodput if moved once more: (T − N·S)/(T + S).

    T is its age and S its restart cost (Jayaram Subramanya et al., Sia, SOSP'23). Never below 0.
    """
    return max(0.0, (age - restarts * restart) / _positive("age + restart", age + restart))


def lambert_w0(x: float) -> float:
    """Return the principal branch of Lambert's W, the w ≥ −1 with w·e^w = x.

    Halley's steps from a series about the branch point −1/e for x < 0, or from ln(1 + x). Raises
    `ValueError` below −1/e.
    """
    if x < -1 / math.e:
        raise ValueError(f"Lambert's W has no real value at {x}")
    if x < 0:
        p = math.sqrt(max(0.0, 2 * (1 + math.e * x)))
        w = -1 + p - p * p / 3 + 11 * p**3 / 72
        if p < 1e-4:
            # So near the branch point a further step would divide by nothing.
            return w
    else:
        w = math.log1p(x)
    for _ in range(50):
        excess = w * math.exp(w) - x
        slope = math.exp(w) * (w + 1) - (w + 2) * excess / (2 * w + 2)
        step = excess / slope
        w -= step
        if abs(step) <= 1e-15 * (1 + abs(w)):
            break
    return w


def _positive(name: str, value: float) -> float:
    if not value > 0:
        raise ValueError(f"{name} must be above 0, not {value}")
    return value
