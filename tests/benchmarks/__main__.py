"""`python -m tests.benchmarks`: print how fast the engine is here, beside its goals."""

from tests.benchmarks import replay

# A further subject is one more module with a `measure` that yields (what, how fast).
for subject in (replay,):
    for what, found in subject.measure():
        print(f"{what}: {found}", flush=True)
