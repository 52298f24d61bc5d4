"""Finds or installs what the tests need besides Python packages; run by `make test`.

On Debian and Ubuntu as root missing programs are installed with apt. Elsewhere what is missing is
named: with CI=true that is a failure, else the tests that need it are skipped by name.
"""

import os
import shutil
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

# program or library → the Debian packages that bring it
NEEDED = {
    "chromium": ["chromium"],
    "postgres": ["postgresql"],
    "redis-server": ["redis-server"],
    "libpangoft2-1.0.so": ["libpangoft2-1.0-0"],
    "prometheus": ["prometheus"],
}
OTHER_NAMES = {"chromium": ["chromium-browser", "google-chrome"]}


def found(program: str) -> bool:
    """Whether the program or library is there, under one of its names."""
    if program.endswith(".so"):
        return find_library(program.removeprefix("lib").removesuffix(".so")) is not None
    return where(program, *OTHER_NAMES.get(program, [])) is not None


def where(*names: str) -> str | None:
    """The first of these programs there is, also where Debian keeps PostgreSQL's."""
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    path = os.pathsep.join([os.environ["PATH"], *map(str, homes)])
    return next((found for name in names if (found := shutil.which(name, path=path))), None)


def install(packages: list[str]) -> None:
    """Install Debian packages, quietly."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], check=False, env=environment)
    subprocess.run(
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages],
        check=False, env=environment, stdout=subprocess.DEVNULL,
    )  # fmt: skip


def main() -> int:
    """Return 0 when all is there, or when a missing thing may be skipped."""
    missing = [program for program in NEEDED if not found(program)]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        install([package for program in missing for package in NEEDED[program]])
        missing = [program for program in NEEDED if not found(program)]
    for program in missing:
        how = f"apt-get install {' '.join(NEEDED[program])}"
        sys.stderr.write(f"missing: {program} (on Debian: {how})\n")
    return 1 if missing and os.environ.get("CI") == "true" else 0


if __name__ == "__main__":
    sys.exit(main())
