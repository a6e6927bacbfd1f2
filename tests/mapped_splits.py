"""Splits in fairseq's binary formats, written line by line, and tasks that read them."""

import numpy as np
import torch
from fairseq.data import indexed_dataset

from fairseq_struct import plugin

END, WORDS = 2, 60


def write_split(path, lines, words=WORDS, implementation="mmap"):
    """Lines of integers as fairseq's builder writes them."""
    kind = indexed_dataset.make_builder(f"{path}.bin", implementation, vocab_size=words)
    for line in lines:
        kind.add_item(torch.tensor(line, dtype=torch.long))
    kind.finalize(f"{path}.idx")
    return path


def drawn_lines(count, seed=0, ended=True):
    """Lines of 1 to 12 words, with fairseq's end symbol."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 13, count)
    return [[*random.integers(4, WORDS, n).tolist(), *[END] * ended] for n in sizes]


def write_folder(folder, train, labels=None, valid=None):
    """A folder of a language model or, with labels and pairs of lines, of a classifier."""
    folder.mkdir(parents=True)
    (folder / "dict.txt").write_text("".join(f"w{n} {WORDS}\n" for n in range(4, WORDS)))
    (folder / "dict.label.txt").write_text("a 2\nb 1\n")
    for split, lines in (("train", train), ("valid", valid or train[:5])):
        if labels is None:
            write_split(folder / split, lines)
            continue
        for side in (0, 1):
            write_split(folder / f"{split}.sentence{side + 1}", [pair[side] for pair in lines])
        write_split(folder / f"{split}.label", [[label] for label in labels[: len(lines)]])
    return folder


def task(name, data, **options):
    """A task of fairseq's registry, with its defaults."""
    plugin.load()
    from fairseq.tasks import TASK_DATACLASS_REGISTRY, TASK_REGISTRY

    cfg = TASK_DATACLASS_REGISTRY[name]()
    own = {"data": str(data), "seed": 3, "dataset_impl": None, "output_dictionary_size": -1}
    for option, value in (own | options).items():
        setattr(cfg, option, value)
    return TASK_REGISTRY[name].setup_task(cfg)
