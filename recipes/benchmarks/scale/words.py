"""Preparation of plain text of growing size for language models: words per second, peak memory.

The text is generated: sentences of 4 to 30 words of a vocabulary of 50,000, drawn by Zipf's law.
Each size is prepared by ``fairseq-struct prepare plain_text`` with one worker and with two;
``fairseq_preprocess`` is fairseq's own command on the same text with two workers, which makes
binarised data of the training text alone and checks nothing. Time is by the clock, memory the sum
over all processes.

    python recipes/benchmarks/scale/words.py [--sizes 1000000 10000000] [--append]
"""

from pathlib import Path

from measuring import by_size, measured, rates_and_peaks, record, sentences, sizes_of

from fairseq_struct.records.results import benchmark_name

MEAN = 17  # words a sentence


def of_size(words: int, folder: Path) -> dict[str, tuple[float, float]]:
    """Seconds and peak memory of each way."""
    text = {split: folder / f"{split}.txt" for split in ("train", "valid", "test")}
    made = sentences(words // MEAN + 1000)
    for split, count in (("valid", 500), ("test", 500), ("train", words // MEAN)):
        with open(text[split], "w") as out:
            for _, sentence in zip(range(count), made, strict=False):
                out.write(" ".join(sentence) + "\n")
    found = {
        f"workers_{workers}": measured([
            "fairseq-struct", "prepare", "plain_text", text["train"], text["valid"], text["test"],
            folder / f"workers_{workers}", f"--workers={workers}",
        ])
        for workers in (1, 2)
    }  # fmt: skip
    found["fairseq_preprocess"] = measured([
        "fairseq-preprocess", "--only-source", f"--trainpref={text['train']}",
        f"--destdir={folder / 'binarised'}", "--workers=2",
    ])  # fmt: skip
    return found


def main():
    setting = sizes_of(__doc__, "words", MEAN, [1_000_000, 10_000_000])
    points = by_size(setting.sizes, of_size)
    speed, memory = rates_and_peaks("words", setting.sizes, points)
    rows = {way: speed[way] | memory[way] for way in points}
    sizes = " ".join(map(str, setting.sizes))
    record(
        benchmark_name("preparation_of_words", 2), rows, "generated sentences of 4 to 30 words",
        f"python recipes/benchmarks/scale/words.py --sizes {sizes} --append", 2, setting.append,
    )  # fmt: skip


if __name__ == "__main__":
    main()
