"""Fairseq's command-line programs, run as a user runs them but without a new interpreter."""

import contextlib
import io
import logging
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
USER_DIR = ROOT / "user_dir"

SMALL = [
    "--encoder-layers=2",
    "--decoder-layers=2",
    "--encoder-embed-dim=32",
    "--encoder-ffn-embed-dim=64",
    "--encoder-attention-heads=2",
    "--decoder-attention-heads=2",
    "--share-all-embeddings",
    "--optimizer=adam",
    "--lr=0.003",
    "--criterion=label_smoothed_cross_entropy",
    "--label-smoothing=0.1",
    "--source-lang=src",
    "--target-lang=tgt",
    "--no-epoch-checkpoints",
    "--no-progress-bar",
    "--log-format=json",
]


def write_data_bin(folder: Path, train: int = 64, held_out: int = 8) -> Path:
    """A miniature corpus of numbers read backwards, binarised by fairseq-preprocess."""
    words = "zero one two three four five six seven eight nine".split()
    for number, (split, count) in enumerate((("train", train), ("valid", held_out))):
        sentences = []
        for index in range(count):
            digits = str((index + 7 * number + 3) ** 3 * 7919)[:7]
            sentences.append([words[int(digit)] for digit in digits[: 3 + index % 5]])
        (folder / f"{split}.src").write_text("".join(" ".join(s) + "\n" for s in sentences))
        (folder / f"{split}.tgt").write_text("".join(" ".join(s[::-1]) + "\n" for s in sentences))
    run("preprocess", "--source-lang=src", "--target-lang=tgt", f"--trainpref={folder}/train",
        f"--validpref={folder}/valid", f"--testpref={folder}/valid", "--joined-dictionary",
        f"--destdir={folder}/data-bin")  # fmt: skip
    return folder / "data-bin"


def run(program: str, *arguments: object) -> str:
    """Run ``fairseq-PROGRAM ARGUMENTS`` in this process; what it prints and logs comes back."""
    import fairseq_cli.generate
    import fairseq_cli.preprocess
    import fairseq_cli.train
    from fairseq.checkpoint_utils import save_checkpoint

    # A process of its own would know no best score yet; fairseq keeps it on the function.
    vars(save_checkpoint).pop("best", None)
    output, old_argv = io.StringIO(), sys.argv
    handler, root = logging.StreamHandler(output), logging.getLogger()
    # Other tests may have silenced fairseq's loggers; the command is to say what it says to users.
    levels = {logger: logger.level for logger in (root, logging.getLogger("fairseq"))}
    root.addHandler(handler)
    for logger in levels:
        logger.setLevel(logging.INFO)
    sys.argv = [f"fairseq-{program}", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            getattr(fairseq_cli, program).cli_main()
    except SystemExit as stop:  # from argparse, whose message would be lost
        raise SystemExit(output.getvalue()) from stop
    finally:
        sys.argv = old_argv
        root.removeHandler(handler)
        for logger, level in levels.items():
            logger.setLevel(level)
    return output.getvalue()


def train(data_bin: Path, save_dir: Path, *arguments: object, arch: str | None = None) -> str:
    """``fairseq-train`` with a small scheduled-sampling model and ``arguments``."""
    return run(
        "train",
        data_bin,
        f"--user-dir={USER_DIR}",
        f"--save-dir={save_dir}",
        f"--arch={arch or 'scheduled_sampling_transformer'}",
        *SMALL,
        *arguments,
    )


def start(*command: object, **environment: str) -> subprocess.Popen:
    """Start a program of its own in the checkout, with this interpreter's directory first."""
    variables = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        **environment,
    }
    return subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=variables,
    )
