"""Prepare a parallel corpus for fairseq: clean text, subwords, data-bin and a manifest.

    fairseq-struct prepare parallel multi30k PATH OUT
    fairseq-struct prepare parallel iwslt17_de_en PATH OUT
    fairseq-struct prepare parallel plain OUT --train-pref … --valid-pref … --test-pref … \\
        --source-lang … --target-lang …
    zcat part*.tsv.gz | fairseq-struct prepare parallel plain OUT --train-pref - …

Files may be compressed: train.en.gz, .xz or .zst is read where there is no train.en. One split may
be standard input (-), lines of a sentence, a tab and its translation, which is kept in the folder
of temporary files until the end. A run that was killed goes on when the same command is given
again.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from fairseq_struct.cli.shared.preparation import (
    add_folder_options,
    add_stream_options,
    add_workers,
    at_least,
    say,
    summary,
)
from fairseq_struct.cli.shared.preparation_progress import progress_on
from fairseq_struct.data.prepared.binarise import SPLITS
from fairseq_struct.data.prepared.translation_folder import write_translation_folder
from fairseq_struct.data.prepared.vocabulary.subwords import SEGMENTATIONS
from fairseq_struct.data.readers import translation_corpora as corpora
from fairseq_struct.data.readers.parallel_text import (
    NORMALISATIONS,
    TOKENISATIONS,
    ParallelCorpus,
    TextOptions,
)
from fairseq_struct.errors import InputError
from fairseq_struct.option_checks import option_name

# Presets by corpus, and that of any other.
PRESETS = {
    "multi30k": "scheduled_sampling_transformer_cpu",
    "iwslt17_de_en": "scheduled_sampling_transformer_iwslt_de_en",
}
PRESET = "scheduled_sampling_transformer"


def run(args: argparse.Namespace) -> None:
    """Prepare the corpus that the command line names."""
    if args.source_lang == args.target_lang:
        raise InputError(f"source and target language are both {args.source_lang!r}")
    corpus = read_corpus(args)
    options = choose_options(args)
    manifest = write_translation_folder(
        corpus, options, args.out, workers=args.workers, shards=args.shards,
        overwrite=args.overwrite, say=say, progress=progress_on(wanted=args.progress),
    )  # fmt: skip
    print(summary(manifest, args.out, PRESETS.get(args.corpus, PRESET)))


def read_corpus(args: argparse.Namespace) -> ParallelCorpus:
    """Read the corpus with the reader of its layout."""
    languages = (args.source_lang, args.target_lang)
    if args.corpus == "plain":
        prefixes = {split: getattr(args, f"{split}_pref") for split in SPLITS}
        return corpora.read_plain(prefixes, *languages, tokenised=args.tokenised)
    extra = {}
    if args.corpus == "iwslt17_de_en":
        extra = {"valid_sets": tuple(args.valid_sets), "test_sets": tuple(args.test_sets)}
    return corpora.LAYOUTS[args.corpus].read(args.path, *languages, **extra)


def choose_options(args: argparse.Namespace) -> TextOptions:
    """Return the preparation of the layout, changed by the options of the command line."""
    layout = corpora.LAYOUTS.get(args.corpus)
    options = layout.options if layout else TextOptions()
    names = {field.name for field in dataclasses.fields(TextOptions)}
    given = {k: v for k, v in vars(args).items() if k in names and v is not None}
    options = dataclasses.replace(options, **given)
    if args.vocabulary_threshold and options.segment != "bpe":
        raise InputError("--vocabulary-threshold works only with --segment bpe")
    for name in ("subwords", "learn_on"):
        if name in given and options.segment == "none":
            raise InputError(f"{option_name(name)} does not apply to --segment none")
    if args.tokenise is None and (
        options.segment.startswith("sentencepiece") or getattr(args, "tokenised", False)
    ):
        options = dataclasses.replace(options, tokenise="none")
    return options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command line."""
    commands = parser.add_subparsers(dest="corpus", metavar="CORPUS", required=True)
    for layout in corpora.LAYOUTS.values():
        command = commands.add_parser(layout.name, help=layout.summary, description=layout.summary)
        command.add_argument(
            "path", metavar="PATH", type=Path, help=f"folder of the corpus, with {layout.files}"
        )
        source, target = layout.languages[:2]
        for side, default in (("source", source), ("target", target)):
            command.add_argument(
                f"--{side}-lang",
                choices=layout.languages,
                default=default,
                help=f"language of the {side} (default: {default})",
            )
        if layout.name == "iwslt17_de_en":
            add_iwslt_options(command)
        add_text_options(command, layout.options)
    add_text_options(add_plain(commands), TextOptions())


def add_plain(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    """Add the subcommand for files that follow no known layout."""
    command = commands.add_parser("plain", help="any aligned text files PREFIX.LANG")
    for split in SPLITS:
        command.add_argument(
            f"--{split}-pref", required=True, metavar="PREFIX",
            help="aligned text files, a sentence a line, without their .LANG; or - once: standard "
            "input, a tab between the sentences",
        )  # fmt: skip
    for side in ("source", "target"):
        command.add_argument(f"--{side}-lang", required=True, metavar="LANG", help="file suffix")
    command.add_argument(
        "--tokenised", action="store_true", help="the files hold space-separated tokens"
    )
    return command


def add_iwslt_options(command: argparse.ArgumentParser) -> None:
    """Add the choice of the held-out sets."""
    for split, sets in (
        ("valid", corpora.IWSLT17_VALID_SETS),
        ("test", corpora.IWSLT17_TEST_SETS),
    ):
        command.add_argument(
            f"--{split}-sets",
            nargs="+",
            default=sets,
            metavar="SET",
            help=f"joined in this order (default: {' '.join(sets)})",
        )


def add_text_options(command: argparse.ArgumentParser, defaults: TextOptions) -> None:
    """Add the options of the preparation; None stands for the layout's default."""
    add_folder_options(command)
    add_workers(command)
    add_stream_options(command)
    add = command.add_argument
    add(
        "--normalise", choices=NORMALISATIONS,
        help="none: white space becomes single spaces; unicode: also NFC, and no invisible "
        "characters; moses: also Moses' rules for punctuation, but for Japanese, Korean and "
        f"Chinese (default: {defaults.normalise})",
    )  # fmt: skip
    add(
        "--tokenise", choices=TOKENISATIONS,
        help="moses: punctuation marks become tokens; none: tokens are what spaces separate "
        f"(default: {defaults.tokenise}; none with sentencepiece and for tokenised text)",
    )  # fmt: skip
    add(
        "--segment", choices=SEGMENTATIONS,
        help="what tokens are split into: none: nothing; bpe: merges of subword-nmt; or pieces of "
        f"sentencepiece, by either of its models (default: {defaults.segment})",
    )  # fmt: skip
    add(
        "--subwords",
        type=at_least(1),
        help=f"merges of bpe, pieces of sentencepiece (default: {defaults.subwords})",
    )
    add(
        "--learn-on",
        type=at_least(1),
        metavar="PAIRS",
        help="learn subwords on so many training pairs, drawn at random, if there are more "
        f"(default: {defaults.learn_on})",
    )
    add(
        "--seed", type=at_least(0), metavar="N",
        help=f"seed of that draw (default: {defaults.seed})",
    )  # fmt: skip
    add(
        "--vocabulary-threshold",
        type=at_least(0),
        help="split pieces rarer than this in their language (bpe; default: 0, never)",
    )
    add(
        "--max-length",
        type=at_least(1),
        help=f"maximum number of symbols of a training sentence (default: {defaults.max_length})",
    )
    add(
        "--max-ratio",
        type=at_least(1, float),
        help="maximum number of symbols of one side per symbol of the other (default: "
        f"{defaults.max_ratio})",
    )
    add(
        "--separate-dictionaries",
        dest="joined_dictionary",
        action="store_const",
        const=False,
        help="make one dictionary per language instead of a joined dictionary",
    )
