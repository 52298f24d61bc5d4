"""What a backup says of itself, and whether its files are as they were written."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from portal.common import sealing

FORMAT = 1
NAME = "manifest.json"
PURPOSE, WORDS = "backup", "the key that sealed what is in this backup"
CHUNK = 1 << 20


class Unfit(Exception):
    """A backup that is not whole, not ours, or not for this installation; says why."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """`tables` is app → newest migration, `audit_hash` the end of the chain, `rows` some counts.

    `seal` can be opened with the secret key of then, and only so.
    """

    made_at: str
    vendor: str
    tables: dict[str, str]
    audit_lines: int
    audit_hash: str
    rows: dict[str, int]
    seal: str
    files: dict[str, str]
    format: int = FORMAT


def write(folder: Path, manifest: Manifest) -> None:
    """Write it last: a folder without one is no backup."""
    text = json.dumps(asdict(manifest), indent=1, sort_keys=True)
    (folder / NAME).write_text(f"{text}\n")


def read(folder: Path) -> Manifest:
    """Read it and check every file against it. Raises `Unfit`."""
    try:
        found = json.loads((folder / NAME).read_text())
    except (OSError, ValueError) as error:
        raise Unfit(f"{folder} is no whole backup: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise Unfit(f"{folder} was written by another version of the backup command")
    try:
        manifest = Manifest(**found)
    except TypeError as error:
        raise Unfit(f"{folder / NAME} is not as it was written: {error}") from error
    for name, digest in manifest.files.items():
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise Unfit(f"{name} leads out of the backup")
        if not path.is_file() or checksum(path) != digest:
            raise Unfit(f"{name} is missing or not as it was written")
    return manifest


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def a_seal() -> str:
    """Something only the key of now, or a fallback later, opens."""
    return sealing.seal(WORDS, purpose=PURPOSE)


def opens(manifest: Manifest) -> bool:
    """Whether this installation's key opens what is sealed in the backup."""
    try:
        return sealing.unseal(manifest.seal, purpose=PURPOSE) == WORDS
    except sealing.Unreadable:
        return False
