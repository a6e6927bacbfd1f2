"""Speed of Option-Controller networks, and of what they learn in and from.

``environment``: steps per second of 256 worlds of Craft with random actions, observations and new
episodes included: those of the arrays alone, of the vectorised environment, and of gymnasium's
``SyncVectorEnv`` of the single one. The kinds alternate; each number is a median of stretches that
follow an untimed one.

``imitation``: one update's forward and backward pass over 512 demonstrations of 16 steps, in one
recurrent pass of 3 options of size 128, against an ``nn.LSTM(128)`` that reads the same batch. The
ratio is also given per option.

    python recipes/benchmarks/option_controller.py [--threads 1] [--append] [--only imitation]
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import timing
import torch
from gymnasium.vector import SyncVectorEnv, VectorEnv

from fairseq_struct.environments.craft import CraftEnv
from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_vector import CraftVectorEnv
from fairseq_struct.environments.craft_worlds import CraftWorlds
from fairseq_struct.modules.option_controller import (
    CellSizes,
    Controller,
    OptionController,
    OptionPool,
)

WORLDS, TASK = 256, "DCA"
# Steps of all worlds in a stretch; the slowest kind takes fewer.
STEPS, STEPS_OF_SINGLE_ONES = 2000, 40
DEMONSTRATIONS, LENGTH, OPTIONS = 512, 16, 3
rounds = partial(timing.milliseconds, untimed=False, dropped=1)


def environment(repeats: int) -> dict[str, float]:
    """Steps per second by the kind of environment, and the ratio of the vectorised ones."""
    single = SyncVectorEnv([lambda: CraftEnv(task=TASK)] * WORLDS)
    kinds = {
        "arrays": (_arrays(), STEPS),
        "vectorised": (_gymnasium(CraftVectorEnv(WORLDS, task=TASK)), STEPS),
        "sync_vector_env": (_gymnasium(single), STEPS_OF_SINGLE_ONES),
    }
    stretches = {}
    for kind, (walk, steps) in kinds.items():
        drawn = iter([
            np.random.default_rng(number).integers(0, 5, (steps, WORLDS))
            for number in range(repeats + 1)
        ])  # fmt: skip
        stretches[kind] = lambda walk=walk, drawn=drawn: walk(next(drawn))
    times = rounds(stretches, repeats)
    found = {kind: 1000 * steps * WORLDS / times[kind] for kind, (_, steps) in kinds.items()}
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


def imitation(repeats: int) -> dict[str, float]:
    """Milliseconds of the network and of an LSTM, and their ratio, whole and per option."""
    torch.manual_seed(1)
    craft = CraftOptions(TASK)
    seen = torch.rand(DEMONSTRATIONS, LENGTH, craft.observation_size)
    actions = torch.randint(craft.action_count, (DEMONSTRATIONS, LENGTH))
    lengths, tasks = torch.full((DEMONSTRATIONS,), LENGTH), torch.randint(3, (DEMONSTRATIONS,))
    sizes = CellSizes(craft.observation_size, craft.action_count)
    over = CellSizes(craft.observation_size, OPTIONS, ends=False)
    network = OptionController(OptionPool.of(OPTIONS, sizes), Controller(over, 3))
    lstm = torch.nn.LSTM(craft.observation_size, sizes.hidden, batch_first=True)

    def imitate():
        logs = network(seen, lengths, tasks).log_probabilities
        torch.nn.functional.nll_loss(logs.flatten(0, 1), actions.flatten()).backward()

    kinds = {"network": imitate, "lstm": lambda: lstm(seen)[0].sum().backward()}
    found = rounds(kinds, repeats)
    ratio = found["network"] / found["lstm"]
    return {f"milliseconds_{kind}": round(value, 1) for kind, value in found.items()} | {
        "ratio_to_lstm": round(ratio, 2), "ratio_per_option": round(ratio / OPTIONS, 2)
    }  # fmt: skip


BENCHMARKS = {
    "environment": (environment, f"{WORLDS} worlds of Craft, task {TASK}"),
    "imitation": (
        imitation, f"{DEMONSTRATIONS} demonstrations of {LENGTH} steps, {OPTIONS} options of 128",
    ),
}  # fmt: skip


def main():
    options = timing.options_of(__doc__, 9, "timed stretches of each")
    options.add_argument("--only", choices=BENCHMARKS, help="run one of them (default: all)")
    setting = timing.parsed(options)
    for variant in [setting.only] if setting.only else BENCHMARKS:
        measure, data = BENCHMARKS[variant]
        timing.report(
            setting, "option_controller", variant, measure(setting.repeats),
            f"{data}, {setting.repeats} repeats",
        )  # fmt: skip


if __name__ == "__main__":
    main()
