"""Small networks with options: hardly trained ones, and skills taught by the bot."""

import numpy as np
import torch
from fairseq_commands import USER_DIR, run

from fairseq_struct.cli.main import main
from fairseq_struct.environments.craft_bot import best_actions, draw_actions
from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_worlds import CraftWorlds
from fairseq_struct.modules.option_controller import CellSizes, OptionPool


def imitate(folder, name, *options):
    """A checkpoint of a network with options, hardly trained."""
    out = folder / "demonstrations"
    if not out.exists():
        given = ["AC,CA", str(out), "--number=10", "--size=6", "--kinds=AC"]
        assert main(["prepare", "craft_demonstrations", *given]) == 0
    run(
        "train", out / "data-bin", f"--user-dir={USER_DIR}", "--task=craft_imitation",
        "--criterion=craft_imitation", "--optimizer=adam", "--batch-size=20", "--max-update=1",
        "--mlp-size=10", f"--save-dir={folder / name}", "--no-epoch-checkpoints",
        "--hidden-size=6", "--lr=0.01", *options,
    )  # fmt: skip
    return folder / name / "checkpoint_last.pt"


def skills_of(craft: CraftOptions, seed: int = 1) -> OptionPool:
    """Options that each take one kind of object, taught by the bot, and end when they have it."""
    torch.manual_seed(seed)
    draw = np.random.default_rng(seed)
    worlds = CraftWorlds(craft, 500)
    worlds.reset(np.arange(worlds.count), [draw] * worlds.count)
    kinds = range(len(craft.kinds))
    seen, taken, best = [], [], []
    for step in range(12):
        ways = [best_actions(worlds, np.full(worlds.count, kind)) for kind in kinds]
        seen.append(worlds.observe())
        taken.append(worlds.arrays.inventory > 0)
        best.append(np.stack(ways, 1))
        some = np.stack(ways)[draw.integers(len(kinds), size=worlds.count), np.arange(worlds.count)]
        strays = draw.integers(craft.action_count, size=worlds.count)
        worlds.step(np.where(step % 3 == 0, strays, draw_actions(some, draw)))
    seen, taken, best = (torch.tensor(np.concatenate(each)).float() for each in (seen, taken, best))
    pool = OptionPool.of(len(kinds), CellSizes(craft.observation_size, craft.action_count, 4, 48))
    for kind, cell in enumerate(pool):
        torch.nn.init.zeros_(cell.recurrent.weight).requires_grad_(False)
        optimizer = torch.optim.Adam([w for w in cell.parameters() if w.requires_grad], 0.01)
        for _ in range(400):
            rows = torch.randint(len(seen), (256,))
            found = cell(seen[rows])
            chances = (found.probabilities * best[rows, kind]).sum(-1)
            ends = torch.nn.functional.binary_cross_entropy(found.ends, taken[rows, kind])
            loss = ends - (chances + (best[rows, kind].sum(-1) == 0)).clamp(1e-6).log().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return pool.requires_grad_(False)
