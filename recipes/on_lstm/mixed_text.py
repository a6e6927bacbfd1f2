"""Text for language models from several English corpora, which knows the words of the test sets.

The ON-LSTM paper's models of table 3 were trained on 90 million words of Wikipedia. This text has
1.8 million, of the Penn Treebank, Multi30k, SNLI's small sets, the Tanaka corpus and UD
English-ParTUT. It looks like Mikolov's text of the Penn Treebank: lower-cased, without punctuation,
numbers are ``N``, and words that the training text has only once are ``<unk>``. As in the text of
Marvin and Linzen (2018), the order of the sentences is random.
"""

import argparse
import random
from collections import Counter
from pathlib import Path

from fairseq_struct.data.readers.dependency_treebank import (
    as_language_model_text,
    read_treebank,
    without_punctuation,
)
from fairseq_struct.data.readers.scored_pairs import as_language_model_words
from fairseq_struct.errors import InputError, report_plainly
from fairseq_struct.files.text_files import read_lines
from fairseq_struct.files.whole_files import whole_file

# A word with this count or less is unknown.
RARE = 1
# Files of each split, below the folder of the corpora.
ENGLISH = {
    "train": [
        "ptb_lm/train.txt", "multi30k/train.en", "tanaka_enja/train.en",
        "ud/UD_English-ParTUT/en_partut-ud-train.conllu",
        *(f"snli/esnli_tok/{side}.{part}" for part in ("dev", "test") for side in ("s1", "s2")),
    ],
    "valid": [
        "ptb_lm/valid.txt", "multi30k/val.en", "tanaka_enja/dev.en",
        "ud/UD_English-ParTUT/en_partut-ud-dev.conllu",
    ],
    "test": [
        "ptb_lm/test.txt", "multi30k/test_2016_flickr.en",
        "ud/UD_English-ParTUT/en_partut-ud-test.conllu",
    ],
}  # fmt: skip


def sentences(path: Path) -> list[str]:
    """The sentences of a file, each once; an already prepared text keeps its words."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if path.suffix == ".conllu":
        trees = filter(None, map(without_punctuation, read_treebank(path)))
        found = [list(as_language_model_text(tree).words) for tree in trees]
    else:
        prepared = path.parent.name == "ptb_lm"
        words_of = str.split if prepared else as_language_model_words
        found = [words_of(line) for line in read_lines(path)]
    return list(dict.fromkeys(" ".join(words) for words in found if words))


def mixed(folder: Path) -> dict[str, list[str]]:
    """The sentences of each split, in random order, with rare words replaced."""
    splits = {
        split: list(dict.fromkeys(one for file in files for one in sentences(folder / file)))
        for split, files in ENGLISH.items()
    }
    counts = Counter(word for sentence in splits["train"] for word in sentence.split())
    known = {word for word, count in counts.items() if count > RARE}
    order = random.Random(1)
    for split, lines in splits.items():
        order.shuffle(lines)
        splits[split] = [
            " ".join(word if word in known else "<unk>" for word in line.split()) for line in lines
        ]
    return splits


def main():
    report_plainly()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", type=Path, help="folder of the corpora's folders")
    parser.add_argument("out", type=Path, help="folder for train.txt, valid.txt and test.txt")
    args = parser.parse_args()
    splits = mixed(args.corpora)
    args.out.mkdir(parents=True, exist_ok=True)
    for split, lines in splits.items():
        with whole_file(args.out / f"{split}.txt") as file:
            file.write(("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    main()
