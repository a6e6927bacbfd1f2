"""Shared parts of the prepare commands: options, progress, summary of a translation folder."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Callable
from pathlib import Path

from fairseq_struct.data.prepared.binarise import data_folders
from fairseq_struct.data.prepared.translation_folder import describe_split
from fairseq_struct.data.prepared.vocabulary.subwords import segmenter_options


def say(message: str) -> None:
    """Print a line of progress at once.

    Args:
        message: the line.
    """
    print(message, flush=True)


def add_folder_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that writes a folder.

    Args:
        parser: the command's parser.
    """
    parser.add_argument("out", metavar="OUT", type=Path, help="folder to write")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT")


def add_seed(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option for the seed, which is not negative: -1 would draw the same as 1.

    Args:
        parser: the command's parser.
        what: what it is the seed of.
    """
    parser.add_argument(
        "--seed", type=at_least(0), default=1, metavar="N", help=f"seed of {what} (default: 1)"
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add the option for the number of processes.

    Args:
        parser: the command's parser.
    """
    parser.add_argument(
        "--workers", type=at_least(1), default=1, help="number of processes (default: 1)"
    )


def add_stream_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that prepares text of any size.

    Args:
        parser: the command's parser.
    """
    parser.add_argument(
        "--shards", type=at_least(1), default=1, metavar="N",
        help="divide the training text among data-bin0, data-bin1, … for fairseq-train "
        "data-bin0:data-bin1:… (default: 1, data-bin)",
    )  # fmt: skip
    parser.add_argument(
        "--progress", action="store_true",
        help="print lines about progress on standard error, where a terminal has a bar",
    )


def at_least(least: float, kind: type = int) -> Callable[[str], float]:
    """Return an argparse type for numbers with a minimum.

    Args:
        least: the minimum.
        kind: ``int`` or ``float``; infinity is no number.
    """

    def convert(text: str) -> float:
        try:
            number = kind(text)
            if kind is float and not math.isfinite(number):
                raise ValueError
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
        if not number >= least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return number

    return convert


def shell_word(path: Path) -> str:
    """A path for a command line: quoted, and no option if it begins with a dash.

    Args:
        path: the path.
    """
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))


def how_to_train(out: Path, preset: str) -> str:
    """The line that tells what to type to train on a folder.

    Args:
        out: the folder.
        preset: a preset for it, and options after it.
    """
    folder = shell_word(out)
    return f"train:    fairseq-struct train {folder} --preset {preset}    # fairseq-struct presets"


def summary(manifest: dict, out: Path, preset: str) -> str:
    """Describe the contents of the folder and the commands that use it.

    Args:
        manifest: the folder's manifest.
        out: the folder.
        preset: a preset for it.
    """
    source, target = manifest["source_lang"], manifest["target_lang"]
    options = manifest["options"]
    folder = shell_word(out)
    # fairseq leaves out the last batch of a set unless its size is a multiple of this number.
    undo = f"--required-batch-size-multiple 1 {segmenter_options(options['segment'], folder)}"
    if options["tokenise"] == "moses" or manifest["tokenised_by_owner"]:
        undo = f"--tokenizer moses {undo}"
    sizes = ", ".join(f"{lang} {size}" for lang, size in manifest["vocabulary"].items())
    joined = options["joined_dictionary"]
    lines = [f"{split}: {describe_split(counts)}" for split, counts in manifest["splits"].items()]
    lines += [f"{name}: {value}" for name, value in manifest["provenance"].items()]
    shards = options.get("shards", 1)
    lines += [
        f"dictionary entries{' (joined)' if joined else ''}: {sizes}",
        how_to_train(out, preset),
        f"generate: fairseq-generate {folder}/{data_folders(shards)[0]} --task translation "
        f"--source-lang {source} --target-lang {target} --gen-subset test {undo}".rstrip()
        + " …",
        f"score:    sacrebleu {folder}/raw/test.{target} < detokenised output",
    ]
    return "\n".join(lines)
