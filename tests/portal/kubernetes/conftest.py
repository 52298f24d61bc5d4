"""Clusters of a test live in a folder of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where clusters keep themselves."""
    with override_settings(VAR_DIR=tmp_path):
        yield tmp_path
