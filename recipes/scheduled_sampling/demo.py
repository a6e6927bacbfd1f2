#!/usr/bin/env python
"""Two-minute demo: a Transformer with two-pass scheduled sampling learns to translate.

    python recipes/scheduled_sampling/demo.py [--out runs/demo] [--seed 1]

It generates a parallel corpus, binarises it, trains, translates the test set, and prints three
translations and the BLEU of the test set. Each command is printed before it runs; it can be copied.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from fairseq_struct.errors import InputError, run_plainly
from fairseq_struct.metrics.bleu import corpus_bleu
from fairseq_struct.records.training_log import read_log
from fairseq_struct.records.training_progress import show_progress

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SENTENCES = (12_000, 200, 500)
DEPTH = 1
UPDATES = 800

# A range around the records of this experiment in results.jsonl: seeds 1 to 3, 1 and 2 threads.
EXPECTED = (97, 100)


@dataclass(frozen=True)
class Translation:
    """A sentence of the test set: source, reference, and the model's translation."""

    source: str
    reference: str
    hypothesis: str


def training_options(updates: int) -> list[str]:
    """Options of fairseq-train: 2+2 layers of 128; the gold words' probability falls to 0.7."""
    return [
        *("--arch", "scheduled_sampling_transformer_tiny"),
        *("--encoder-layers", "2", "--decoder-layers", "2", "--dropout", "0"),
        *("--mix", "top_k", "--schedule-warmup-updates", str(updates // 2)),
        *("--schedule-end-update", str(updates // 2 + 5 * updates // 3)),
        *("--criterion", "label_smoothed_cross_entropy", "--label-smoothing", "0.1"),
        *("--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--clip-norm", "1"),
        *("--lr", "3e-3", "--lr-scheduler", "polynomial_decay", "--warmup-updates"),
        *(str(updates // 5), "--total-num-update", str(updates), "--max-update", str(updates)),
        *("--max-tokens", "700", "--num-workers", "0"),
        *("--disable-validation", "--no-epoch-checkpoints"),
    ]


def train(data: Path, folder: Path, updates: int, seed: int):
    """Train in ``folder``, from the start, and show the progress.

    Raises:
        InputError: fairseq-train failed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [
        "fairseq-train", str(data / "data-bin"), "--user-dir", str(ROOT / "user_dir"),
        "--source-lang", "src", "--target-lang", "tgt", "--save-dir", str(folder),
        *training_options(updates), "--seed", str(seed),
    ]  # fmt: skip
    announce(command)
    command += ["--no-progress-bar", "--log-format", "json", "--log-interval", "10"]
    log = folder / "train.log"
    with log.open("w", encoding="utf-8") as copy, subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        encoding="utf-8", errors="replace",
    ) as process:  # fmt: skip
        show_progress(copied(process.stdout, copy), updates, ("loss", "teacher_forcing"))
    check(process.returncode, "training", log)


def copied(lines: Iterable[str], copy: TextIO) -> Iterator[str]:
    """Yield lines, and write each to a file immediately."""
    for line in lines:
        copy.write(line)
        copy.flush()
        yield line


def translate(data: Path, checkpoint: Path, log: Path) -> list[Translation]:
    """Translate the test set with beam 5.

    Raises:
        InputError: fairseq-generate failed.
    """
    command = [
        "fairseq-generate", str(data / "data-bin"), "--user-dir", str(ROOT / "user_dir"),
        "--source-lang", "src", "--target-lang", "tgt", "--path", str(checkpoint),
        "--beam", "5", "--max-len-a", "1.2", "--max-len-b", "10",
        "--required-batch-size-multiple", "1",
    ]  # fmt: skip
    announce(command)
    with log.open("w", encoding="utf-8") as file:
        status = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT).returncode
    check(status, "translation", log)
    return translations_in(log.read_text(encoding="utf-8"))


def translations_in(text: str) -> list[Translation]:
    """Parse the output of fairseq-generate; returns translations in the order of the test set.

    Raises:
        InputError: the output has no translation, or one without source or reference.
    """
    found: dict[str, dict[int, str]] = {"S": {}, "T": {}, "D": {}}
    for kind, number, rest in re.findall(r"^([STD])-(\d+)\t(.*)$", text, re.M):
        found[kind][int(number)] = rest.rpartition("\t")[2]
    numbers = sorted(found["D"])
    if not numbers or any(found[kind].keys() != found["D"].keys() for kind in "ST"):
        raise InputError("fairseq-generate printed no sources, references and translations")
    return [Translation(*(found[kind][number] for kind in "STD")) for number in numbers]


def announce(command: Sequence[str]):
    """Print a command as it is typed in a shell."""
    print(f"$ {shlex.join(command)}", flush=True)


def check(status: int, what: str, log: Path):
    """Raise InputError with the last line of the log if a command failed."""
    if status < 0:
        raise InputError(f"the {what} was killed by signal {-status}, see {log}")
    if status:
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), f"status {status}")
        raise InputError(f"the {what} failed, see {log}: {last}")


def examples(translations: Sequence[Translation], count: int = 3) -> str:
    """Source, reference and translation of a few sentences of medium length."""
    middle = sorted(translations, key=lambda one: len(one.source.split()))
    first = max(0, (len(middle) - count) // 2)
    return "\n\n".join(
        f"source       {one.source}\nreference    {one.reference}\ntranslation  {one.hypothesis}"
        for one in middle[first : first + count]
    )


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the options; the defaults are those for which the expected BLEU was recorded."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "runs/demo", help="folder to work in")
    parser.add_argument("--seed", type=int, default=1, help="training seed (default: 1)")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads (default: 2)")
    parser.add_argument("--updates", type=int, default=UPDATES, help=f"default: {UPDATES}")
    parser.add_argument(
        "--sentences", type=int, nargs=3, default=SENTENCES, metavar=("TRAIN", "VALID", "TEST"),
        help="size of the corpus (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--results", type=Path, help="file of records to append to")
    args = parser.parse_args(argv)
    if min(args.threads, args.updates, *args.sentences) < 1:
        parser.error("threads, updates and sentences must be above 0")
    return args


def record(path: Path, bleu: float, run: Path, args: argparse.Namespace):
    """Append the result of this run to a file of records."""
    # Imported here because it imports torch, which nothing else in this script needs.
    from fairseq_struct.processor import device_name
    from fairseq_struct.records.results import Result, append_result

    command = ["recipes/scheduled_sampling/demo.py"]
    if args.updates != UPDATES:
        command += ["--updates", args.updates]
    if tuple(args.sentences) != SENTENCES:
        command += ["--sentences", *args.sentences]
    command += ["--seed", args.seed, "--threads", args.threads]
    append_result(path, Result(
        experiment="demo", variant=f"top_k, {args.threads} thread{'s' * (args.threads > 1)}",
        metrics={"bleu_test": round(bleu, 2)}, seed=args.seed, updates=args.updates,
        data=f"generated corpus of depth {DEPTH}, {args.sentences[0]:,} training pairs",
        device=device_name(args.threads), minutes=round(read_log(run / "train.log").minutes, 1),
        command=" ".join(map(str, command)),
    ))  # fmt: skip


def main(argv: Sequence[str] | None = None):
    args = parse_arguments(argv)
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    # If cores are shared, threads that spin while waiting take time from working threads.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # By default glibc returns large blocks to the system after every step; zeroing them takes time.
    os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", "4000000000")
    os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", "8000000000")
    os.environ["PATH"] += os.pathsep + str(Path(sys.executable).parent)
    if shutil.which("fairseq-train") is None:
        raise InputError("fairseq-struct is not installed: make install")
    data = args.out / "_".join(map(str, ("data", *args.sentences)))
    prepare = [
        "fairseq-struct", "prepare", "synthetic_translation", str(data),
        "--sentences", *map(str, args.sentences), "--max-depth", str(DEPTH),
    ]  # fmt: skip
    announce(prepare)
    if subprocess.run(prepare).returncode:
        raise InputError("the corpus could not be made: see above")
    run = args.out / "run"
    train(data, run, args.updates, args.seed)
    translations = translate(data, run / "checkpoint_last.pt", run / "generate.log")
    bleu = corpus_bleu(
        [one.hypothesis for one in translations], [one.reference for one in translations]
    ).score
    own = args.updates == UPDATES and tuple(args.sentences) == SENTENCES
    if args.results:
        record(args.results, bleu, run, args)
    print(f"\n{examples(translations)}\n")
    expected = f"expected {EXPECTED[0]} to {EXPECTED[1]}" if own else "not the demo's own size"
    print(f"BLEU {bleu:.1f} ({expected})")


if __name__ == "__main__":
    sys.exit(run_plainly(main))
