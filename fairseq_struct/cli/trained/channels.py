"""``fairseq-struct channels``: correlates channels of masked language models with arc types."""

import argparse
from pathlib import Path
from typing import BinaryIO

from fairseq_struct.cli.shared.output import WrittenFile, require_standard_output
from fairseq_struct.cli.shared.paths import require, require_ending, require_room
from fairseq_struct.cli.shared.trained_models import add_data_option, add_tool_options, load_tool
from fairseq_struct.errors import InputError
from fairseq_struct.option_checks import require_at_least

NAME = "channels"
HELP = "correlate the channels of a masked language model with the types of gold dependencies"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``channels``."""
    parser.add_argument(
        "checkpoint", type=Path, help="a masked language model with channels or attention heads"
    )
    parser.add_argument("treebank", type=Path, help="a CoNLL-U file with relations")
    add_data_option(parser, "with the dictionary")
    parser.add_argument(
        "--types", type=int, default=6, metavar="N",
        help="number of the most frequent arc types to show (default: 6, as in Shen's thesis)",
    )  # fmt: skip
    parser.add_argument(
        "--subtypes", action="store_true", help="distinguish nsubj:pass from nsubj (default: no)"
    )
    parser.add_argument(
        "--keep-punctuation", action="store_true", help="keep punctuation in the sentences"
    )
    parser.add_argument(
        "--table", action=WrittenFile, metavar="TSV",
        help="write the correlations of all channels to TSV",
    )  # fmt: skip
    parser.add_argument(
        "--png", type=Path, metavar="FILE",
        help="draw them to this file, whose name ends in .png: blue above 0, red below",
    )  # fmt: skip
    add_tool_options(parser, NAME)


def run(args: argparse.Namespace) -> int:
    """Print the channel with the highest correlation for each frequent arc type.

    The source is table 8 of Shen's thesis, chapter 4.

    Raises:
        InputError: the checkpoint, the treebank or an option cannot be used.
    """
    require_at_least(args, 1, "types")
    require_room(args.table, args.png, inputs=[args.checkpoint, args.treebank])
    require_ending(args.png, "--png", [".png"])
    require(models=[args.checkpoint], folders=[args.data], either=[args.treebank])
    require_standard_output()
    from fairseq_struct.data.readers.dependency_treebank import read_treebank, without_punctuation
    from fairseq_struct.files.whole_files import whole_file
    from fairseq_struct.metrics.channel_correlation import ChannelCorrelation

    trees = read_treebank(args.treebank)
    for tree in trees:
        if not tree.relations:
            raise InputError(f"{args.treebank}:{tree.line}: no relations, so arcs have no types")
    if not args.keep_punctuation:
        trees = [tree for tree in map(without_punctuation, trees) if tree]
    found, correlation = load_tool(args, NAME), None
    for shares, relations in found.arcs(trees):
        if not args.subtypes:
            relations = [name.split(":")[0] for name in relations]
        correlation = correlation or ChannelCorrelation(len(found.names))
        correlation.add(shares.numpy(), relations)
    if correlation is None:
        raise InputError(f"{args.treebank}: contains no arc between two words")
    channels = found.names
    types = correlation.types(args.types)
    values = correlation.correlations(types)
    print(f"{'type':12} {'arcs':>6}  channel  correlation")
    for name, row in zip(types, values, strict=True):
        best = row.argmax()
        print(f"{name:12} {correlation.counts[name]:6}  {channels[best]:7}  {row[best]:11.2f}")
    if args.table:
        rows = ["\t".join(["type", "arcs", *channels])]
        for name, row in zip(types, values, strict=True):
            numbers = (f"{value:.4f}" for value in row)
            rows.append("\t".join([name, str(correlation.counts[name]), *numbers]))
        with whole_file(args.table) as file:
            file.write(("\n".join(rows) + "\n").encode())
    if args.png:
        with whole_file(args.png) as file:
            _draw(file, types, channels, values, args.checkpoint.name)
    return 0


def _draw(file: BinaryIO, types: list[str], channels: list[str], values, title: str):
    """Draw a heat map with one column per channel and lines between the layers."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        figsize=(2 + 0.22 * len(channels), 1.5 + 0.3 * len(types)), layout="constrained"
    )
    bound = max(abs(values).max(), 0.01)
    image = axes.imshow(values, cmap="RdBu", vmin=-bound, vmax=bound, aspect="auto")
    layers = [name.split(".")[0] for name in channels]
    for place in range(1, len(channels)):
        if layers[place] != layers[place - 1]:
            axes.axvline(place - 0.5, color="black", linewidth=0.8)
    axes.set_xticks(range(len(channels)), channels, rotation=90, fontsize=7)
    axes.set_yticks(range(len(types)), types)
    axes.set_xlabel("channel (layer.number)")
    axes.set_title(title)
    figure.colorbar(image, label="Pearson correlation")
    figure.savefig(file, dpi=150, format="png")
    plt.close(figure)
