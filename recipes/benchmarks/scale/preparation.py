"""Preparation of parallel text of growing size: pairs per second and peak memory.

The pairs are generated: sentences of 4 to 30 words of a vocabulary of 50,000 that are drawn by
Zipf's law, on the target side in reverse. Each size is prepared with one worker and with two;
``sentencepiece`` is its own trainer (byte pairs, of as many symbols, on at most a million lines)
and encoder over both sides, and ``fairseq_preprocess`` makes binarised data alone, of the segmented
text. Time is by the clock, memory the sum over all processes.

    python recipes/benchmarks/scale/preparation.py [--sizes 10000 100000] [--alone] [--append]

``--alone`` leaves out ``sentencepiece`` and ``fairseq_preprocess``.
"""

import sys
from functools import partial
from pathlib import Path

from measuring import by_size, measured, rates_and_peaks, record, sentences, sizes_of

from fairseq_struct.records.results import benchmark_name

SUBWORDS, SAMPLE = 8000, 1_000_000
HELD_OUT = 500


def write_pairs(folder: Path, pairs: int) -> None:
    """Generated parallel text, with small validation and test parts."""
    made = sentences(pairs + 2 * HELD_OUT)
    for split, count in (("train", pairs), ("valid", HELD_OUT), ("test", HELD_OUT)):
        sides = folder / f"{split}.aa", folder / f"{split}.bb"
        with open(sides[0], "w") as source, open(sides[1], "w") as target:
            for _, sentence in zip(range(count), made, strict=False):
                source.write(" ".join(sentence) + " .\n")
                target.write(" ".join(reversed(sentence)) + " .\n")


def of_size(pairs: int, folder: Path, alone: bool) -> dict[str, tuple[float, float]]:
    """Seconds and peak memory of each way."""
    text = folder / "text"
    text.mkdir()
    write_pairs(text, pairs)
    found = {}
    for workers in (1, 2):
        out = folder / f"workers_{workers}"
        found[f"workers_{workers}"] = measured([
            "fairseq-struct", "prepare", "parallel", "plain", out,
            *[f"--{split}-pref={text / split}" for split in ("train", "valid", "test")],
            "--source-lang=aa", "--target-lang=bb", f"--subwords={SUBWORDS}",
            f"--workers={workers}", f"--learn-on={SAMPLE}",
        ])  # fmt: skip
    if alone:
        return found
    segmented = sorted((folder / "workers_1").rglob("train*.aa"))
    if segmented:
        prefix = str(segmented[-1])[: -len(".aa")]
        found["fairseq_preprocess"] = measured([
            "fairseq-preprocess", f"--trainpref={prefix}", "--source-lang=aa", "--target-lang=bb",
            f"--destdir={folder / 'binarised'}", "--joined-dictionary", "--workers=2",
        ])  # fmt: skip
    found["sentencepiece"] = measured([sys.executable, "-c", _SENTENCEPIECE, text, folder / "sp"])
    return found


_SENTENCEPIECE = f"""
import sys, sentencepiece
text, model = sys.argv[1:]
sides = [text + "/train.aa", text + "/train.bb"]
sentencepiece.SentencePieceTrainer.train(
    input=",".join(sides), model_prefix=model, vocab_size={SUBWORDS}, model_type="bpe",
    input_sentence_size={SAMPLE}, num_threads=2)
segmenter = sentencepiece.SentencePieceProcessor(model_file=model + ".model")
for side in sides:
    with open(side) as lines, open(side + ".segmented", "w") as out:
        for line in lines:
            out.write(" ".join(segmenter.encode(line.strip(), out_type=str)) + chr(10))
"""


def main():
    flags = {"alone": "leave out the other programs"}
    setting = sizes_of(__doc__, "pairs", 1, [10_000, 100_000, 1_000_000], flags)
    points = by_size(setting.sizes, partial(of_size, alone=setting.alone))
    speed, memory = rates_and_peaks("pairs", setting.sizes, points)
    sizes = " ".join(map(str, setting.sizes))
    alone = "--alone " if setting.alone else ""
    command = f"python recipes/benchmarks/scale/preparation.py --sizes {sizes} {alone}--append"
    data = f"generated pairs of 4 to 30 words, {SUBWORDS} merges"
    for name, rows in (("preparation", speed), ("preparation_memory", memory)):
        record(benchmark_name(name, 2), rows, data, command, 2, setting.append)


if __name__ == "__main__":
    main()
