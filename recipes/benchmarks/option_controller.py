"""Speed of what Option-Controller networks learn in and from.

``environment``: steps per second of 256 worlds of Craft with random actions, observations and new
episodes included: those of the arrays alone, of the vectorised environment, and of gymnasium's
``SyncVectorEnv`` of the single one. The kinds alternate; each number is a median of stretches that
follow an untimed one.

    python recipes/benchmarks/option_controller.py [--threads 1] [--append]
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch
from gymnasium.vector import SyncVectorEnv, VectorEnv

from fairseq_struct.environments.craft import CraftEnv
from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_vector import CraftVectorEnv
from fairseq_struct.environments.craft_worlds import CraftWorlds
from fairseq_struct.records.results import Result, append_result, benchmark_name, device_name

RESULTS = Path(__file__).with_name("results.jsonl")
WORLDS, TASK = 256, "DCA"
# Steps of all worlds in a stretch; the slowest kind takes fewer.
STEPS, STEPS_OF_SINGLE_ONES = 2000, 40


def environment(repeats: int) -> dict[str, float]:
    """Steps per second by the kind of environment, and the ratio of the vectorised ones."""
    single = SyncVectorEnv([lambda: CraftEnv(task=TASK)] * WORLDS)
    kinds = {
        "arrays": (_arrays(), STEPS),
        "vectorised": (_gymnasium(CraftVectorEnv(WORLDS, task=TASK)), STEPS),
        "sync_vector_env": (_gymnasium(single), STEPS_OF_SINGLE_ONES),
    }
    speeds: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(repeats + 1):
        for kind, (walk, steps) in kinds.items():
            actions = np.random.default_rng(number).integers(0, 5, (steps, WORLDS))
            start = time.perf_counter()
            walk(actions)
            speeds[kind].append(actions.size / (time.perf_counter() - start))
    found = {kind: median(values[1:]) for kind, values in speeds.items()}
    metrics = {f"steps_per_second_{kind}": round(speed) for kind, speed in found.items()}
    return metrics | {"ratio_to_sync": round(found["vectorised"] / found["sync_vector_env"], 1)}


def _arrays() -> Callable[[np.ndarray], None]:
    worlds = CraftWorlds(CraftOptions(TASK), WORLDS)
    generators = [np.random.default_rng(seed) for seed in range(WORLDS)]
    worlds.reset(np.arange(WORLDS), generators)
    seen = worlds.observe()

    def walk(actions: np.ndarray):
        for step in actions:
            _, terminated, truncated = worlds.step(step)
            ended = np.flatnonzero(terminated | truncated)
            worlds.reset(ended, [generators[index] for index in ended])
            worlds.observe(seen)

    return walk


def _gymnasium(worlds: VectorEnv) -> Callable[[np.ndarray], None]:
    worlds.reset(seed=1)

    def walk(actions: np.ndarray):
        for step in actions:
            worlds.step(step)

    return walk


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--repeats", type=int, default=9, help="timed stretches of each")
    options.add_argument("--threads", type=int, default=1, help="CPU threads")
    options.add_argument("--append", action="store_true", help=f"append to {RESULTS.name}")
    setting = options.parse_args()
    if min(setting.repeats, setting.threads) < 1:
        options.error("all numbers must be 1 or more")
    torch.set_num_threads(setting.threads)
    metrics = environment(setting.repeats)
    print("environment", metrics, flush=True)
    if setting.append:
        append_result(RESULTS, Result(
            experiment=benchmark_name("option_controller", setting.threads), variant="environment",
            metrics=metrics, device=device_name(setting.threads, on_cpu=True),
            data=f"{WORLDS} worlds of Craft, task {TASK}, {setting.repeats} repeats",
            command="python recipes/benchmarks/option_controller.py "
            f"--threads {setting.threads} --repeats {setting.repeats} --append",
        ))  # fmt: skip


if __name__ == "__main__":
    main()
