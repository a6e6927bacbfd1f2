"""Small masked language models, shared by several tests."""

import re

import torch
from fairseq_commands import USER_DIR, run

MODELS = ("udgn", "structformer", "masked_transformer")
SMALL = ["--task=structured_masked_lm", "--criterion=structured_masked_lm", "--optimizer=adam",
         "--embed-dim=16", "--layers=2", "--no-progress-bar", "--num-workers=0", "--lr=0.01",
         "--log-format=json", "--max-tokens=120", "--required-batch-size-multiple=1",
         "--valid-draws=2", f"--user-dir={USER_DIR}"]  # fmt: skip
OF_MODEL = {
    "udgn": ["--parser-size=8", "--parser-layers=1", "--parser-tags=3", "--channels=2",
             "--channel-size=8"],
    "structformer": ["--heads=2", "--feedforward-dim=16", "--longest-sentence=20",
                     "--parser-layers=2", "--parser-window=3"],
    "masked_transformer": ["--heads=2", "--feedforward-dim=16", "--longest-sentence=20"],
}  # fmt: skip


def train(folder, save_dir, *options, arch="udgn"):
    return run("train", folder / "data-bin", f"--arch={arch}", f"--save-dir={save_dir}", *SMALL,
               *OF_MODEL[arch], *options)  # fmt: skip


def logged(output, name):
    return [float(value) for value in re.findall(rf'"{name}": "(-?[\d.]+)"', output)]


def weights(path):
    return torch.load(path, weights_only=True)["model"]
