"""Several people at once: a thread and a connection each, and a seed for who is how quick."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from django.db import connection

from portal.common.errors import Refusal

PATIENCE_SECONDS = 60
SLOWEST_SECONDS = 0.006


@dataclass(frozen=True, slots=True)
class Ending:
    """How an act ended: "done" with what it gave, or the code of its refusal."""

    word: str
    value: Any = None


class Crowd:
    """Lets acts run at once, each pausing a little before every statement as the seed has it."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def at_once(self, *acts: Callable[[], object]) -> list[Ending]:
        """Run all, and say how each ended; what is no refusal is raised here."""
        endings: list[Ending | BaseException | None] = [None] * len(acts)
        start = threading.Barrier(len(acts))

        def run(number: int, act: Callable[[], object], pace: Random) -> None:
            try:
                start.wait(PATIENCE_SECONDS)
                with connection.execute_wrapper(_pausing(pace)):
                    endings[number] = Ending("done", act())
            except Refusal as refusal:
                endings[number] = Ending(refusal.code)
            except BaseException as fault:  # noqa: BLE001 -- raised again below
                endings[number] = fault
            finally:
                connection.close()

        threads = [
            threading.Thread(target=run, args=(n, act, Random(self._random.random())), daemon=True)
            for n, act in enumerate(acts)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
        return [_told(ending) for ending in endings]


def words(endings: list[Ending]) -> list[str]:
    """How they ended, in no order."""
    return sorted(ending.word for ending in endings)


def _told(ending: Ending | BaseException | None) -> Ending:
    if isinstance(ending, BaseException):
        raise ending
    assert ending is not None, "somebody waits without end"
    return ending


def _pausing(pace: Random) -> Callable[..., Any]:
    """Before each statement, no pause or one of up to a few milliseconds."""

    def pause(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if pace.random() < 0.5:
            time.sleep(pace.random() * SLOWEST_SECONDS)
        return execute(sql, params, many, context)

    return pause
