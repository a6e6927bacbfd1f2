"""What a second process brings to training, for every task; and what is lost when one is killed.

``one`` and ``two`` are sentences (actions' demonstrations, images, pairs, …) per second of one
process with ``--update-freq 2`` and of two processes that make the same updates, started by
torchrun with a thread each; ``ratio`` is two / one. Each is the median over the lines of the log,
of ten updates each, without the first.

With ``--killed``, one of two processes is killed with SIGKILL after the sixtieth update, where
the last checkpoint is of the fiftieth; torchrun starts both again, and they go on from there.
``lost_seconds`` is the time until an update is finished that is later than the last one before,
``start_seconds`` the part of it until the first update. ``repeated`` are the updates that are made
twice.

    python recipes/benchmarks/scale/several_processes.py [--killed] [--append] [--only TASK]
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median

from measuring import record

from fairseq_struct.records.results import benchmark_name

UPDATES = 60
# Task: its preset, how its data are generated, and options of its own.
TASKS = {
    "translation": (
        "scheduled_sampling_transformer_tiny", "synthetic_translation",
        ["--schedule-warmup-updates=0"],
    ),
    "latent_tree_translation": ("latent_tree_transformer_tiny", "synthetic_translation", []),
    "structured_masked_lm": ("udgn_tiny", "dependency_treebank generated", []),
    "recurrent_language_modeling": ("on_lstm_lm_cpu", "", []),
    "structured_classification": (
        "ordered_memory_classifier_listops_cpu",
        "listops generate --instances 4000 --most-tokens 30",
        ["--slots=8"],
    ),
    "grammar_induction": ("rim_composer_cpu", "transformation_lists generated", []),
    "craft_imitation": (
        "option_controller_craft_cpu", "craft_demonstrations AC,CD,DA --number 300",
        ["--batch-size=128"],
    ),
    "sequence_completion": (
        "undirected_attention_completion_cpu", "sequence_completion --share 0.02", [],
    ),
    "image_classification": ("undirected_convnet_mnist_cpu", "image_classification generate", []),
    "dependency_parsing": ("undirected_parser_ud_cpu", "dependency_treebank generated", []),
    "latent_clusters": ("latent_clusters", None, []),
    "semantic_similarity": ("udgn_sts_cpu", "dependency_treebank generated", []),
    "craft_reinforcement": (
        "option_policy_craft_cpu", None,
        ["--no-options-from", "--temperature=1", "--subtasks=DCA", "--reward=dense"],
    ),
}  # fmt: skip
EVERY = 50  # updates from checkpoint to checkpoint, where a process is killed
KILLED_AT = 60  # updates


def prepared(task: str, folder: Path) -> list[str]:
    """The data of a task, generated, as the first argument of its training."""
    what = TASKS[task][1]
    if what is None:
        return []
    data = folder / (what or "text").replace(" ", "_").replace(",", "_")
    if what == "":
        data.mkdir(exist_ok=True)
        _run(["fairseq-struct", "prepare", "dependency_treebank", "generated", data / "trees"])
        for split in ("train", "valid", "test"):
            text = (data / "trees" / "text" / f"{split}.txt").read_text()
            (data / f"ptb.{split}.txt").write_text(text)
        _run(["fairseq-struct", "prepare", "penn_treebank", "lm", data, data / "lm"])
        return [str(data / "lm")]
    if task == "semantic_similarity":
        return _similar(folder)
    if not data.exists():
        verb, *others = what.split()
        kind = [others.pop(0)] if others and not others[0].startswith("-") else []
        _run(["fairseq-struct", "prepare", verb, *kind, data, *others])
    return [str(data)]


def _similar(folder: Path) -> list[str]:
    """Pairs of generated sentences with scores by chance, and a model to begin with."""
    data = folder / "similarity"
    [trees] = prepared("structured_masked_lm", folder)
    data.mkdir()
    shutil.copy(Path(trees) / "data-bin" / "dict.txt", data)
    lines = (Path(trees) / "text" / "train.txt").read_text().splitlines()
    random = Random(1)
    for split, count in (("train", 4000), ("valid", 100)):
        rows = ([f"{random.uniform(0, 5):.1f}", *random.choices(lines, k=2)] for _ in range(count))
        (data / f"{split}.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    _run(["fairseq-struct", "train", trees, "--preset=udgn_cpu", "--cpu", "--max-update=1",
          "--max-epoch=0", "--disable-validation", f"--save-dir={folder / 'masked'}"])  # fmt: skip
    return [str(data), f"--finetune-from-model={folder / 'masked' / 'checkpoint_last.pt'}"]


def training(task: str, data: list[str], folder: Path, processes: int, *further: str) -> list[str]:
    """The command of a training."""
    preset, _, own = TASKS[task]
    start = [] if processes == 1 else [
        "torchrun", "--standalone", "--nproc-per-node", str(processes), "--max-restarts=1",
        "--no-python",
    ]  # fmt: skip
    return [
        *start, "fairseq-struct", "train", *data, "--preset", preset, *own, "--cpu",
        f"--save-dir={folder}", f"--update-freq={1 if processes > 1 else 2}", "--num-workers=0",
        *further,
    ]  # fmt: skip


def speed(task: str, data: list[str], folder: Path, processes: int) -> float:
    """Sentences per second."""
    _run(training(task, data, folder, processes, f"--max-update={UPDATES}", "--max-epoch=0",
                  "--disable-validation", "--no-save"))  # fmt: skip
    lines = re.findall(r'\{[^{}]*"ups"[^{}]*\}', (folder / "train.log").read_text())
    found = [json.loads(line) for line in lines]
    return median(float(one["ups"]) * float(one["bsz"]) for one in found[1:] if "loss" in one)


def killed(task: str, data: list[str], folder: Path) -> dict[str, float]:
    """What a killed process costs."""
    log = folder / "train.log"
    command = training(
        task, data, folder, 2, "--max-update=1000000", "--max-epoch=0", "--log-interval=1",
        "--disable-validation", f"--save-interval-updates={EVERY}", "--keep-interval-updates=1",
        "--save-interval=1000000",  # not at the end of an epoch besides
    )  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as one:
        try:
            _wait(one, log, lambda updates: updates[-1] >= KILLED_AT)
            os.kill(_children(one.pid)[-1], signal.SIGKILL)
            began = time.monotonic()
            _wait(one, log, _again)
            first = time.monotonic()
            _wait(one, log, lambda updates: updates[-1] > max(updates[: _again(updates)]))
            last = time.monotonic()
        finally:
            one.terminate()
    updates = _updates(log)
    repeated = max(updates[: _again(updates)]) - updates[_again(updates)] + 1
    return {"lost_seconds": round(last - began, 1), "start_seconds": round(first - began, 1),
            "repeated": repeated}  # fmt: skip


def _again(updates: list[int]) -> int:
    """The place of the first update after the new start, whose number falls back; 0 before."""
    pairs = enumerate(pairwise(updates), 1)
    return next((place for place, (one, next_one) in pairs if next_one <= one), 0)


def _wait(process: subprocess.Popen, log: Path, reached: Callable[[list[int]], int]) -> None:
    """Wait until the updates in a log are such."""
    while not ((updates := _updates(log)) and reached(updates)):
        if process.poll() is not None:
            said = log.read_text()[-2000:] if log.exists() else "nothing in the log"
            raise SystemExit(f"{' '.join(process.args)} failed: {said}")
        time.sleep(0.05)


def _updates(log: Path) -> list[int]:
    """The numbers of the updates in a log."""
    found = re.findall(r'"num_updates": "(\d+)"', log.read_text()) if log.exists() else []
    return list(map(int, found))


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _run(command: list) -> None:
    words = list(map(str, command))
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        said = (done.stdout + done.stderr)[-2000:]
        raise SystemExit(f"{' '.join(words)} failed: {said}")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--append", action="store_true", help="append to results.jsonl")
    options.add_argument("--killed", action="store_true", help="kill a process of each")
    options.add_argument("--only", choices=TASKS, help="one of them (default: all)")
    setting = options.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    what, data = "several_processes", f"generated data, {UPDATES} updates"
    command = "python recipes/benchmarks/scale/several_processes.py"
    if setting.killed:
        what, data = "killed_process", f"a checkpoint every {EVERY} updates"
        command += " --killed"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for task in [setting.only] if setting.only else TASKS:
            given = prepared(task, folder)
            if setting.killed:
                metrics = killed(task, given, folder / task)
            else:
                one, two = (speed(task, given, folder / f"{task}.{n}", n) for n in (1, 2))
                metrics = {"one": round(one, 1), "two": round(two, 1), "ratio": round(two / one, 2)}
            record(
                benchmark_name(what, 2), {task: metrics}, data, f"{command} --append", 2,
                setting.append,
            )  # fmt: skip


if __name__ == "__main__":
    main()
