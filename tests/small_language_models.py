"""Small language models of a generated corpus, shared by several tests."""

import random

from fairseq_commands import USER_DIR, run, warm_python

from fairseq_struct.data.prepared.language_folder import write_language_folder

MODELS = ("on_lstm_lm", "awd_lstm_lm")
SMALL = ["--embed-dim=16", "--hidden-size=20", "--layers=2", "--no-progress-bar", "--num-workers=0",
         "--log-format=json", "--batch-size=4", "--batch-size-valid=1", "--tokens-per-sample=12",
         "--required-batch-size-multiple=1", "--task=recurrent_language_modeling",
         "--criterion=recurrent_language_modeling", f"--user-dir={USER_DIR}"]  # fmt: skip
LENGTHS = {"train": 150, "valid": 30, "test": 20}


def sentences(count, seed):
    draw = random.Random(seed)
    nouns = {"cat": "cats", "dog": "dogs", "bird": "birds"}
    for _ in range(count):
        noun = draw.choice(list(nouns))
        many = draw.random() < 0.5
        rest = ["in", "the", draw.choice(["house", "tree"])] if draw.random() < 0.5 else []
        verb = draw.choice(["sing", "run"]) + ("" if many else "s")
        yield " ".join(["the", nouns[noun] if many else noun, *rest, verb])


def train(folder, save_dir, *options, arch="on_lstm_lm"):
    chunk = ["--chunk-size=4"] if arch == "on_lstm_lm" else []
    return run("train", folder / "data-bin", f"--arch={arch}", f"--save-dir={save_dir}", *SMALL,
               *chunk, *options)  # fmt: skip


def make_folder(path):
    """The corpus, prepared."""
    files = {}
    for seed, (split, count) in enumerate(LENGTHS.items()):
        files[split] = path / f"{split}.txt"
        files[split].write_text("\n".join(sentences(count, seed)) + "\n")
    with warm_python():
        write_language_folder(files, path / "data")
    return path / "data"


def train_all(folder, path):
    """A folder with a trained model for each architecture, and its log."""
    made = {}
    for arch in MODELS:
        made[arch] = path / arch
        log = train(folder, made[arch], "--optimizer=adam", "--lr=0.02", "--max-epoch=4",
                    "--dropout-embedding=0", "--dropout-output=0", "--dropout-weights=0.1",
                    arch=arch)  # fmt: skip
        (made[arch] / "log").write_text(log)
    return made
