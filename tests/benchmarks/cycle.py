"""Times one cycle of the engine from parsed JSON: `python tests/benchmarks/cycle.py [--profile]`.

Prints seconds of one core; a benchmark, never a test. The goals stand in the scheduler's rules:
10,000 waiting of 300 shapes, 1,300 nodes, 200 teams, 3,000 running under half a second; 50,000
waiting and 1,000 teams under two seconds.
"""

import argparse
import cProfile
import json
import pstats
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scheduler_core import document, planner, testing

NOW = 1_767_225_600
GPUS = 8


def build(
    waiting: int,
    teams: int,
    nodes: int = 1300,
    running: int = 3000,
    shapes: int = 300,
    endless: float = 0.05,
) -> dict[str, Any]:
    """Return a busy cluster as a document."""
    draw = Random(7)
    team_names = [f"team-{number}" for number in range(teams)]
    branches = [f"branch-{number}" for number in range(max(1, teams // 20))]
    kinds = [
        {
            "tasks": draw.choice([1] * 12 + [2, 2, 4, 8]),
            "per_task": {
                "gpu_milli": draw.choice([1000, 1000, 1000, 2000, 2000, 4000, 8000]),
                "cpu_milli": draw.choice([4000, 8000, 16_000]),
                "memory_mib": draw.choice([32_768, 65_536]),
            },
            "duration_seconds": draw.choice([600, 3600, 7200, 14_400, 43_200, 86_400])
            + draw.randrange(600),
            "preemptible": draw.random() < 0.8,
        }
        for _ in range(shapes)
    ]
    free = [list(range(GPUS)) for _ in range(nodes)]
    busy = []
    for number in range(running):
        count = draw.choice([1, 2, 2, 4, 4, 8])
        for _ in range(20):
            node = draw.randrange(nodes)
            if len(free[node]) >= count:
                break
        else:
            node = max(range(nodes), key=lambda one: len(free[one]))
            count = min(count, len(free[node]))
            if not count:
                break
        devices, free[node] = free[node][:count], free[node][count:]
        busy.append(
            {
                "id": f"r{number}",
                "team": draw.choice(team_names),
                "user": f"{draw.randrange(500)}",
                "submitted_at": NOW - 9000,
                "tasks": 1,
                "per_task": {"gpu_milli": count * 1000, "cpu_milli": 1000, "memory_mib": 1024},
                "duration_seconds": None
                if draw.random() < endless
                else draw.randrange(4000, 90_000),
                "preemptible": draw.random() < 0.8,
                "checkpoint": {"save_seconds": 30, "restore_seconds": 60},
                "running": {
                    "started_at": NOW - draw.randrange(60, 4000),
                    "placements": [
                        {
                            "node": f"n{node}",
                            "tasks": 1,
                            "gpus": [[device, 1000] for device in devices],
                        }
                    ],
                },
            }
        )
    queue = [
        {
            "id": f"w{number}",
            "team": draw.choice(team_names),
            "user": f"{draw.randrange(500)}",
            "submitted_at": NOW - draw.randrange(86_400),
            "priority": draw.randrange(3),
            "running": None,
            **draw.choice(kinds),
        }
        for number in range(waiting)
    ]
    per_team = nodes * GPUS * 800 // teams
    return {
        "schema": 1,
        "now": NOW,
        "policy": {
            "order": "fair_share",
            "placement": "pack",
            "backfill": "conservative",
            "preemption": {"enabled": True, "min_runtime_seconds": 600},
        },
        "teams": [{"name": name} for name in branches]
        + [
            {
                "name": name,
                "parent": draw.choice(branches),
                "weight": draw.randrange(1, 4),
                "used_gpu_seconds": draw.randrange(10**7),
            }
            for name in team_names
        ],
        "pools": [{"name": "p", "topology_levels": ["rack"]}],
        "quotas": [
            {
                "team": name,
                "pool": "p",
                "guaranteed": per_team // 1000 * 1000,
                "limit": draw.choice([None, per_team // 1000 * 3000]),
            }
            for name in team_names
        ],
        "nodes": [
            {
                "name": f"n{number}",
                "pool": "p",
                "gpu_model": "H100-80GB",
                "gpus": GPUS,
                "cpu_milli": 192_000,
                "memory_mib": 2_097_152,
                "topology": [f"rack-{number // 16}"],
            }
            for number in range(nodes)
        ],
        "workloads": busy + queue,
    }


def main() -> None:
    """Build, plan, and print what it took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--waiting", type=int, default=10_000)
    parser.add_argument("--teams", type=int, default=200)
    parser.add_argument("--endless", type=float, default=0.05)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--settled", type=int, default=0, help="cycles to carry out before timing")
    parser.add_argument("--no-preemption", action="store_true")
    arguments = parser.parse_args()
    parsed = json.loads(
        json.dumps(build(arguments.waiting, arguments.teams, endless=arguments.endless))
    )
    if arguments.no_preemption:
        parsed["policy"]["preemption"]["enabled"] = False
    for _ in range(arguments.settled):
        before = document.parse_snapshot(parsed)
        parsed = document.snapshot_to_json(testing.after(before, planner.plan(before)))
        parsed = json.loads(json.dumps(parsed))
    profile = cProfile.Profile() if arguments.profile else None
    for _ in range(1 if profile else arguments.repeat):
        start = time.process_time()
        if profile:
            profile.enable()
        snapshot = document.parse_snapshot(parsed)
        read = time.process_time()
        plan = planner.plan(snapshot)
        if profile:
            profile.disable()
        done = time.process_time()
        print(
            f"read {read - start:.3f} s, plan {done - read:.3f} s, total {done - start:.3f} s:"
            f" {len(plan.starts)} starts, {len(plan.preemptions)} preemptions,"
            f" {len(plan.waiting)} waiting,"
            f" {sum(one.planned_start is not None for one in plan.waiting)} planned"
        )
    if profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    main()
