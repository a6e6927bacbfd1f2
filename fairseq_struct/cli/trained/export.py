"""``fairseq-struct export``: a trained model as one folder to keep or to share."""

import argparse
import sys
from pathlib import Path

from fairseq_struct.cli.shared.paths import require
from fairseq_struct.cli.shared.trained_models import add_data_option
from fairseq_struct.inference.export.layout import FORMATS

NAME = "export"
HELP = "write a trained model as one folder to share: safetensors, JSON, dictionaries, model card"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``export``."""
    parser.add_argument("checkpoint", type=Path, help="a trained model")
    parser.add_argument("folder", type=Path, help="the folder to make")
    parser.add_argument(
        "--format", choices=FORMATS, default=FORMATS[0],
        help="transformers: a model of Hugging Face's library, for Transformers of translation "
        "(default: the format that load and all verbs of this package read)",
    )  # fmt: skip
    add_data_option(parser)
    parser.add_argument(
        "--half", action="store_true", help="store the parameters with 16 bits: half the size"
    )
    parser.add_argument(
        "--records", type=Path, metavar="FILE",
        help="results.jsonl of the recipe, with data, command and scores for the model card "
        "(default: results.jsonl beside the checkpoint, if there is one)",
    )  # fmt: skip
    for name in ("variant", "experiment"):
        parser.add_argument(
            f"--{name}", help=f"{name} of the record, if --records has several of the model's seed"
        )
    parser.add_argument(
        "--overwrite", action="store_true",
        help="replace an earlier export in this folder, but for an edited model card",
    )  # fmt: skip
    parser.add_argument(
        "--user-dir", type=Path, metavar="FOLDER",
        help="import this folder first, as fairseq-train does, for its models and tasks",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Write a trained model as one folder in the layout of Hugging Face's hub.

    All verbs for a trained model take this folder, and so does fairseq_struct.load, with the
    same outputs. It has no state of the optimizer, no corpus, and nothing that is run when it is
    loaded. README.md in it is the model card; state the licence of the weights there. fairseq's
    own commands still need the checkpoint.

    Raises:
        InputError: the checkpoint, its data or the folder cannot be used.
    """
    require([args.records], [args.data, args.user_dir], models=[args.checkpoint])
    from fairseq_struct.inference import export_model

    out = export_model(
        args.checkpoint, args.folder, format=args.format, data=args.data, half=args.half,
        records=args.records, variant=args.variant, experiment=args.experiment,
        overwrite=args.overwrite, user_dir=args.user_dir,
        say=lambda message: print(message, file=sys.stderr),
    )  # fmt: skip
    sizes = [path.stat().st_size for path in out.rglob("*") if path.is_file()]
    print(f"{out}: {len(sizes)} files, {sum(sizes) / 1e6:,.1f} MB{_before(args.checkpoint)}")
    return 0


def _before(checkpoint: Path) -> str:
    if checkpoint.is_dir():
        return ""
    return f" (the checkpoint has {checkpoint.stat().st_size / 1e6:,.1f} MB)"
