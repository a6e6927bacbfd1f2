"""Prepare labelled sentences or sentence pairs for fairseq: text, data-bin and a manifest.

    fairseq-struct prepare labelled_text sst PATH OUT           # train.tsv, dev.tsv, test.tsv
    fairseq-struct prepare labelled_text sst_trees PATH OUT     # train.txt, … with labels 0 to 4
    fairseq-struct prepare labelled_text sick PATH OUT
    fairseq-struct prepare labelled_text snli PATH OUT
    fairseq-struct prepare labelled_text plain OUT --train-file … --valid-file … --test-file …
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fairseq_struct.cli.shared.preparation import (
    add_folder_options,
    at_least,
    how_to_train,
    say,
)
from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.readers import labelled_text
from fairseq_struct.data.readers.labelled_text import SPLITS, LabelledCorpus, read_corpus
from fairseq_struct.errors import InputError

# Help, reader, and the names of the three splits' files.
LAYOUTS = {
    "sst": (
        "SST with two labels, sentence TAB label",
        labelled_text.read_tsv,
        ("train.tsv", "dev.tsv", "test.tsv"),
    ),
    "sst_trees": (
        "SST's trees with two labels; neutral sentences are left out",
        labelled_text.read_sentiment_trees,
        ("train.txt", "dev.txt", "test.txt"),
    ),
    "sst_fine": (
        "SST's trees with five labels",
        labelled_text.read_fine_sentiment_trees,
        ("train.txt", "dev.txt", "test.txt"),
    ),
    "sick": (
        "SICK, entailment labels",
        labelled_text.read_sick,
        ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"),
    ),
    "snli": (
        "SNLI as JSON lines; pairs without a label are left out",
        labelled_text.read_snli_jsonl,
        tuple(f"snli_1.0_{split}.jsonl" for split in ("train", "dev", "test")),
    ),
    "snli_tsv": (
        "SNLI as tab-separated text; pairs without a label are left out",
        labelled_text.read_snli_tsv,
        tuple(f"snli_1.0_{split}.txt" for split in ("train", "dev", "test")),
    ),
}
WITH_TREES = ("sst_trees", "sst_fine")


def run(args: argparse.Namespace) -> None:
    """Prepare the corpus that the command line names."""
    manifest = write_labelled_folder(
        read(args), args.out, lower=args.lower, least_count=args.least_count,
        words_of_all_splits=args.words_of_all_splits, trees=getattr(args, "trees", False),
        overwrite=args.overwrite, say=say,
    )  # fmt: skip
    for split in SPLITS:
        dropped = ", ".join(f"{n} {why}" for why, n in manifest["dropped"][split].items())
        print(f"{split}: {manifest['instances'][split]} instances (left out: {dropped or 'none'})")
    print(f"{manifest['words']} words; labels: {', '.join(manifest['labels'])}")
    pairs = any((args.out / "data-bin").glob("train.sentence2*"))
    system = "latent_tree_entailment" if pairs else "latent_tree_classifier"
    corpus = ("sick" if args.corpus == "sick" else "snli") if pairs else "sst"
    print(how_to_train(args.out, f"{system}_{corpus}_cpu"))


def read(args: argparse.Namespace) -> LabelledCorpus:
    """Read the corpus with the reader of its layout."""
    if args.corpus == "plain":
        files = {split: getattr(args, f"{split}_file") for split in SPLITS}
        return read_corpus("plain", labelled_text.read_tsv, files)
    _, reader, names = LAYOUTS[args.corpus]
    if not args.path.is_dir():
        raise InputError(f"{args.path}: no such folder")
    files = {split: args.path / name for split, name in zip(SPLITS, names, strict=True)}
    return read_corpus(args.corpus, reader, files)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command line."""
    commands = parser.add_subparsers(dest="corpus", metavar="CORPUS", required=True)
    for name, (summary, _, files) in LAYOUTS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        where = f"folder of {', '.join(files)}"
        command.add_argument("path", metavar="PATH", type=Path, help=where)
        if name in WITH_TREES:
            command.add_argument(
                "--trees", action="store_true",
                help="keep the gold trees, for models that need them",
            )  # fmt: skip
        add_options(command)
    summary = "files of your own: sentence TAB label, or sentence TAB sentence TAB label"
    command = commands.add_parser("plain", help=summary, description=summary)
    for split in SPLITS:
        command.add_argument(f"--{split}-file", type=Path, required=True, help=f"{split} split")
    add_options(command)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of every layout."""
    command.add_argument("--lower", action="store_true", help="lower-case the sentences")
    command.add_argument(
        "--least-count",
        type=at_least(1),
        default=1,
        help="words rarer than this in the training split are unknown (default: 1)",
    )
    command.add_argument(
        "--words-of-all-splits",
        action="store_true",
        help="put the words of all splits into the dictionary, for pretrained embeddings",
    )
    add_folder_options(command)
