"""What a second process brings to training, for every task; and what is lost when one is killed.

``one`` and ``two`` are sentences (actions' demonstrations, images, pairs, …) per second of one
process with ``--update-freq 2`` and of two processes that make the same updates, started by
torchrun with a thread each; ``ratio`` is two / one. Each is the median over the lines of the log,
of ten updates each, without the first.

``killed``: two processes, of which one is killed with SIGKILL soon after a checkpoint was written;
torchrun starts them again, and they go on from the checkpoint. ``lost_seconds`` is how much longer
the whole training took than without that, ``updates_repeated`` how many updates were made twice.

    python recipes/benchmarks/scale/several_processes.py [--append] [--only TASK]
"""

import argparse
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path
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
}  # fmt: skip
KILLED = "structured_masked_lm"
EVERY = 50  # updates from checkpoint to checkpoint
RESTARTED = 300  # updates of the training in which a process is killed


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
    if not data.exists():
        verb, *others = what.split()
        kind = [others.pop(0)] if others and not others[0].startswith("-") else []
        _run(["fairseq-struct", "prepare", verb, *kind, data, *others])
    return [str(data)]


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


def killed(data: list[str], folder: Path) -> dict[str, float]:
    """What a killed process costs."""
    took, repeated = [], 0
    for name, kill in (("whole", False), ("killed", True)):
        log = folder / name / "train.log"
        command = training(
            KILLED, data, folder / name, 2, f"--max-update={RESTARTED}", "--max-epoch=0",
            f"--save-interval-updates={EVERY}", "--keep-interval-updates=1",
        )  # fmt: skip
        began = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as one:
            while kill and one.poll() is None:
                update = _last_update(log)
                if update >= RESTARTED // 2:
                    os.kill(_children(one.pid)[-1], signal.SIGKILL)
                    repeated = update - update // EVERY * EVERY
                    break
                time.sleep(0.05)
        took.append(time.monotonic() - began)
        if one.returncode:
            raise SystemExit(f"{command} failed, see {log}")
    return {"whole_seconds": round(took[0], 1), "lost_seconds": round(took[1] - took[0], 1),
            "updates_repeated": repeated}  # fmt: skip


def _last_update(log: Path) -> int:
    found = re.findall(r'"num_updates": "(\d+)"', log.read_text()) if log.exists() else []
    return int(found[-1]) if found else 0


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
    options.add_argument("--only", choices=[*TASKS, "killed"], help="one of them (default: all)")
    setting = options.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    # Otherwise processes that torch 2.13 starts again look for those that have ended.
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for task in [setting.only] if setting.only else [*TASKS, "killed"]:
            if task == "killed":
                data = f"{RESTARTED} updates, a checkpoint every {EVERY}"
                metrics = killed(prepared(KILLED, folder), folder / "killed")
            else:
                data = f"generated data, {UPDATES} updates"
                given = prepared(task, folder)
                one, two = (speed(task, given, folder / f"{task}.{n}", n) for n in (1, 2))
                metrics = {"one": round(one, 1), "two": round(two, 1), "ratio": round(two / one, 2)}
            what = "killed_process" if task == "killed" else "several_processes"
            record(
                benchmark_name(what, 2), {task: metrics}, data,
                "python recipes/benchmarks/scale/several_processes.py --append", 2, setting.append,
            )  # fmt: skip


if __name__ == "__main__":
    main()
