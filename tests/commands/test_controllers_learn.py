"""A new controller over options that do their subtasks learns to put them in order."""

import json
import re

import torch
from fairseq_commands import USER_DIR, run
from small_options import skills_of

import fairseq_struct
from fairseq_struct import compat
from fairseq_struct.cli.main import main
from fairseq_struct.environments.craft_rules import CraftOptions

COMMON = [f"--user-dir={USER_DIR}", "--optimizer=adam", "--lr=0.01", "--no-epoch-checkpoints",
          "--no-progress-bar", "--log-format=json"]  # fmt: skip
SIZES = ["--options=2", "--hidden-size=4", "--mlp-size=48"]  # those of skills_of


def test_the_only_reward_is_at_the_end_of_the_task(tmp_path):
    """On a map of 5 x 5 with two kinds, more than nine in ten episodes end well."""
    data = tmp_path / "data"
    assert main(["prepare", "craft_demonstrations", "AC,CA", str(data), "--number=10",
                 "--size=5", "--kinds=AC"]) == 0  # fmt: skip
    run("train", data / "data-bin", *COMMON, "--task=craft_imitation", *SIZES, "--max-update=1",
        "--criterion=craft_imitation", "--arch=option_controller", "--batch-size=20",
        f"--save-dir={tmp_path}")  # fmt: skip
    state = compat.load_state(tmp_path / "checkpoint_last.pt")
    skills = skills_of(CraftOptions("CA", 5, "AC", time_limit=1000)).state_dict()
    taught = {f"network.options.{name}": value for name, value in skills.items()}
    own = {name for name in state["model"] if name.startswith("network.options.")}
    assert own == set(taught)
    state["model"] |= taught
    torch.save(state, tmp_path / "taught.pt")
    # Table 13: rows are options, columns the subtasks as they are asked for.
    tool = fairseq_struct.load(tmp_path / "taught.pt", ability="rollout")
    (takes_c, takes_a), (does_c, does_a) = tool.option_success("CA", 200)
    assert takes_a >= 0.9 and does_c >= 0.9 and takes_c <= 0.3 and does_a <= 0.3
    assert tool.option_success("A", 200).tolist() == [[takes_a], [does_a]]
    log = run("train", *COMMON, "--task=craft_reinforcement", "--criterion=craft_reinforcement",
              "--arch=option_policy", "--hidden-size=8", "--mlp-size=12", "--temperature=1",
              "--subtasks=CA", "--reward=sparse", "--map-size=5", "--kinds=AC", "--time-limit=20",
              "--decisions=4", "--actors=32", "--rollout-epochs=2", "--batch-size=64", "--no-save",
              f"--options-from={tmp_path}/taught.pt", "--max-update=60", "--valid-episodes=200",
              f"--save-dir={tmp_path}/run", "--iterations-per-epoch=30")  # fmt: skip
    last = [json.loads(line) for line in re.findall(r"^\{.*valid_return.*\}$", log, re.M)][-1]
    assert float(last["valid_return"]) >= 0.9
