"""The house keeps its shape: small files, signed packages, strict pages, no foreign hosts."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = sorted(
    path
    for top in ("portal", "scheduler_core")
    for path in (ROOT / top).rglob("*.py")
    if "migrations" not in path.parts
)
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
OURS = sorted(
    path
    for path in (ROOT / "static").rglob("*")
    if path.suffix in {".css", ".js", ".svg"} and "vendor" not in path.parts
)
# Names of XML and problem types are not fetched by anybody.
NOT_FETCHED = ("http://www.w3.org/", "https://www.w3.org/")


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCE, ids=_name)
def test_a_module_has_at_most_400_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", [p for p in SOURCE if p.name == "__init__.py"], ids=_name)
def test_a_package_says_what_belongs_in_it(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


@pytest.mark.parametrize("path", TEMPLATES, ids=_name)
def test_a_template_holds_no_inline_script_style_or_handler(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>", text)
    assert not re.search(r"<style\b", text)
    assert not re.search(r"\s(style|on[a-z]+)=[\"']", text)


@pytest.mark.parametrize("path", [*TEMPLATES, *OURS], ids=_name)
def test_no_page_part_names_another_host(path: Path) -> None:
    urls = re.findall(r"(?:https?:)?//[a-z0-9][a-z0-9.-]+\.[a-z]{2,}[^\s\"')]*", path.read_text())
    assert [u for u in urls if not u.startswith(NOT_FETCHED)] == []


def test_the_engine_reads_no_clock_and_opens_no_socket() -> None:
    allowed = {"cli.py", "__main__.py"}
    for path in (ROOT / "scheduler_core").rglob("*.py"):
        if path.name in allowed or "traces" in path.parts:
            continue
        imported = {
            alias.name.partition(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert not imported & {"time", "socket", "urllib", "random", "subprocess"}, path


def test_a_lock_never_stands_in_the_way_of_rows_that_only_point_at_the_locked_one() -> None:
    """A plain FOR UPDATE does on PostgreSQL, and two writers then wait for each other."""
    for path in SOURCE:
        assert "select_for_update()" not in path.read_text(), path
