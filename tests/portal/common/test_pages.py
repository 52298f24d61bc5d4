"""What a page reads twice it reads once; what writes always reads anew."""

import pytest

from portal.common.pages import answering, known, once_a_page


@pytest.fixture
def counter() -> list[int]:
    return [0]


def a_reader(counter: list[int]):  # type: ignore[no-untyped-def] # decorated: its type is the test's
    @once_a_page
    def read(what: str = "tree", *, at: int = 0) -> tuple[str, int, int]:
        counter[0] += 1
        return what, at, counter[0]

    return read


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_page_reads_the_same_once(counter: list[int], method: str) -> None:
    read = a_reader(counter)
    with answering(method):
        assert read("tree", at=1) == read("tree", at=1) == ("tree", 1, 1)
        assert read("tree", at=2) == ("tree", 2, 2)


def test_the_next_page_reads_anew(counter: list[int]) -> None:
    read = a_reader(counter)
    for expected in (1, 2):
        with answering("GET"):
            assert read()[2] == expected


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", None])
def test_what_may_write_reads_anew_each_time(counter: list[int], method: str | None) -> None:
    read = a_reader(counter)
    with answering(method):
        assert [read()[2], read()[2]] == [1, 2]


def test_a_worker_reads_anew_each_time(counter: list[int]) -> None:
    read = a_reader(counter)
    assert [read()[2], read()[2]] == [1, 2]


def test_a_read_that_fails_is_tried_again() -> None:
    tried: list[int] = []

    @once_a_page
    def read() -> int:
        tried.append(1)
        if len(tried) == 1:
            raise LookupError
        return 7

    with answering("GET"):
        with pytest.raises(LookupError):
            read()
        assert read() == 7


def test_an_empty_answer_is_kept_too() -> None:
    asked: list[int] = []

    @once_a_page
    def read() -> None:
        asked.append(1)

    with answering("GET"):
        read()
        read()
    assert asked == [1]


def test_what_came_along_with_another_read_is_not_read_again(counter: list[int]) -> None:
    read = a_reader(counter)
    with answering("GET"):
        known(read, ("tree", 0, 70))
        known(read, ("team", 0, 71), "team")
        assert read() == ("tree", 0, 70)
        assert read("team") == ("team", 0, 71)
        assert read("pool") == ("pool", 0, 1)
    known(read, ("tree", 0, 72))
    assert read() == ("tree", 0, 2)
