"""The main job in two minutes: a Transformer with two-pass scheduled sampling learns to translate.

    python recipes/scheduled_sampling/demo.py [--out runs/demo] [--seed 1]

Generates a parallel corpus, binarises it, trains, translates the test set, and prints three
translations and the BLEU of all. Every command is printed before it runs and can be pasted.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_struct.errors import InputError, report_plainly
from fairseq_struct.metrics.bleu import corpus_bleu
from fairseq_struct.metrics.results import Result, append_result, device_name
from fairseq_struct.metrics.training_progress import show_progress

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SENTENCES = (12_000, 200, 200)
DEPTH = 2
UPDATES = 400

# From the records of this experiment in results.jsonl: seeds 1 to 3, one thread and two.
EXPECTED = (0, 100)


@dataclass(frozen=True)
class Translation:
    """A sentence of the test set: the source, its reference, and what the model made of it."""

    source: str
    reference: str
    hypothesis: str


def training_options(updates: int) -> list[str]:
    """fairseq-train's options: 2+2 layers of 128; the gold words' probability falls to 0.7."""
    return [
        *("--arch", "scheduled_sampling_transformer_tiny"),
        *("--encoder-layers", "2", "--decoder-layers", "2", "--dropout", "0"),
        *("--mix", "top_k", "--schedule-warmup-updates", str(updates // 2)),
        *("--schedule-end-update", str(updates // 2 + 5 * updates // 3)),
        *("--criterion", "label_smoothed_cross_entropy", "--label-smoothing", "0.1"),
        *("--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--clip-norm", "1"),
        *("--lr", "4e-3", "--lr-scheduler", "polynomial_decay", "--warmup-updates"),
        *(str(updates // 5), "--total-num-update", str(updates), "--max-update", str(updates)),
        *("--max-tokens", "2000", "--num-workers", "0"),
        *("--disable-validation", "--no-epoch-checkpoints"),
    ]


def train(data: Path, folder: Path, updates: int, seed: int):
    """Train in ``folder``, from the start, with a bar of what is left.

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
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:

        def lines():
            for line in process.stdout:
                copy.write(line)
                yield line

        show_progress(lines(), updates, ("loss", "teacher_forcing"))
    check(process.returncode, "training", log)


def translate(data: Path, checkpoint: Path, log: Path) -> list[Translation]:
    """Translate the test set with beam 5.

    Raises:
        InputError: fairseq-generate failed.
    """
    command = [
        "fairseq-generate", str(data / "data-bin"), "--user-dir", str(ROOT / "user_dir"),
        "--source-lang", "src", "--target-lang", "tgt", "--path", str(checkpoint),
        "--beam", "5", "--required-batch-size-multiple", "1",
    ]  # fmt: skip
    announce(command)
    with log.open("w", encoding="utf-8") as file:
        status = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT).returncode
    check(status, "translation", log)
    return translations_in(log.read_text(encoding="utf-8"))


def translations_in(text: str) -> list[Translation]:
    """What fairseq-generate printed, in the order of the test set.

    Raises:
        InputError: there is no translation in it, or one without source or reference.
    """
    found: dict[str, dict[int, str]] = {"S": {}, "T": {}, "D": {}}
    for kind, number, rest in re.findall(r"^([STD])-(\d+)\t(.*)$", text, re.M):
        found[kind][int(number)] = rest.rpartition("\t")[2]
    numbers = sorted(found["D"])
    if not numbers or any(found[kind].keys() != found["D"].keys() for kind in "ST"):
        raise InputError("fairseq-generate printed no sources, references and translations")
    return [Translation(*(found[kind][number] for kind in "STD")) for number in numbers]


def announce(command: Sequence[str]):
    """Print a command as it can be typed."""
    print(f"$ {shlex.join(command)}", flush=True)


def check(status: int, what: str, log: Path):
    """Raise InputError with the end of the log if a command failed."""
    if status:
        tail = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        raise InputError(f"the {what} failed, see {log}: {''.join(tail)}")


def examples(translations: Sequence[Translation], count: int = 3) -> str:
    """Source, reference and translation of a few sentences, those of middling length."""
    middle = sorted(translations, key=lambda one: len(one.source.split()))
    first = max(0, (len(middle) - count) // 2)
    return "\n\n".join(
        f"source       {one.source}\nreference    {one.reference}\ntranslation  {one.hypothesis}"
        for one in middle[first : first + count]
    )


def main(argv: Sequence[str] | None = None):
    report_plainly()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "runs/demo", help="folder to work in")
    parser.add_argument("--seed", type=int, default=1, help="of the training (default: 1)")
    parser.add_argument("--updates", type=int, default=UPDATES, help=f"default: {UPDATES}")
    parser.add_argument(
        "--sentences", type=int, nargs=3, default=SENTENCES, metavar=("TRAIN", "VALID", "TEST"),
        help="size of the corpus (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--results", type=Path, help="file of records to append to")
    args = parser.parse_args(argv)
    if shutil.which("fairseq-train") is None:
        raise InputError("fairseq-struct is not installed: make install")
    data = args.out / "_".join(map(str, ("data", *args.sentences)))
    prepare = [
        "python", str(ROOT / "preprocess/synthetic_translation.py"), str(data),
        "--sentences", *map(str, args.sentences), "--max-depth", str(DEPTH),
    ]  # fmt: skip
    announce(prepare)
    if subprocess.run([sys.executable, *prepare[1:]]).returncode:
        raise InputError("the corpus could not be made, for the reason above")
    run = args.out / "run"
    train(data, run, args.updates, args.seed)
    translations = translate(data, run / "checkpoint_last.pt", run / "generate.log")
    bleu = corpus_bleu(
        [one.hypothesis for one in translations], [one.reference for one in translations]
    )
    print(f"\n{examples(translations)}\n")
    own = args.updates == UPDATES and tuple(args.sentences) == SENTENCES
    beside = f"expected {EXPECTED[0]} to {EXPECTED[1]}" if own else "not the demo's own size"
    print(f"BLEU {bleu.score:.1f} ({beside})")
    if args.results and own:
        append_result(args.results, Result(
            experiment="demo", variant="top_k", seed=args.seed, updates=args.updates,
            metrics={"bleu_test": round(bleu.score, 2)}, device=device_name(),
            data=f"generated corpus of depth {DEPTH}, {SENTENCES[0]} training pairs",
            command=f"python recipes/scheduled_sampling/demo.py --seed {args.seed}",
        ))  # fmt: skip


if __name__ == "__main__":
    main()
