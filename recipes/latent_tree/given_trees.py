"""Draw the sentences of a parsed text whose trees a latent-tree classifier is given.

Trees with crossing arcs, which it cannot build, are left out before the draw.
"""

import argparse
import random
from pathlib import Path

import torch

from fairseq_struct.data.readers.conllu import read_conllu, to_conllu
from fairseq_struct.errors import report_plainly
from fairseq_struct.files.whole_files import whole_file
from fairseq_struct.structure.dependency import is_tree


def drawn(trees: dict[tuple[str, ...], tuple[int, ...]], share: float, seed: int) -> list:
    """Some of the sentences whose arcs do not cross, in their order.

    Args:
        trees: the heads of each sentence.
        share: how many, as a percentage of all sentences; fewer if too many have crossing arcs.
        seed: of the draw.
    """
    known = [
        words for words, heads in trees.items()
        if bool(is_tree(torch.tensor([heads]), torch.tensor([len(heads)]), projective=True))
    ]  # fmt: skip
    count = min(len(known), round(share / 100 * len(trees)))
    chosen = set(random.Random(seed).sample(range(len(known)), count))
    return [words for number, words in enumerate(known) if number in chosen]


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parsed", type=Path, help="trees of all sentences, CoNLL-U")
    parser.add_argument("share", type=float, help="percentage of the sentences")
    parser.add_argument("given", type=Path, help="file to write, CoNLL-U")
    args = parser.parse_args()
    trees = {tuple(one.words): tuple(one.heads) for one in read_conllu(args.parsed)}
    found = drawn(trees, args.share, seed=1)
    with whole_file(args.given) as file:
        for words in found:
            file.write(to_conllu(words, trees[words]).encode())
    print(f"{len(found)} of {len(trees)} sentences have a tree")


if __name__ == "__main__":
    main()
