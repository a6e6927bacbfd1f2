"""The pages of the documentation, their blocks of code, and the folder of somebody who reads them.

Programs get further arguments at the end (:data:`SMALLER`), which override those of the text: a
training takes two updates of a small model, and generated corpora are small. Lines that install
(:data:`INSTALLS`) are left out; the tests of the installation cover them.
"""

import pickle
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from fairseq_commands import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "recipes" / "README.md",
         *sorted((ROOT / "recipes").glob("*/RESULTS.md")),
         *sorted((ROOT / "docs").glob("**/*.md"))]  # fmt: skip
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALLS = re.compile(r"(make|pip|source|apt|git|python3 -m venv|fairseq-struct doctor)\b")

_TRANSLATION = (
    "--encoder-layers 1 --decoder-layers 1 --encoder-embed-dim 16 --decoder-embed-dim 16"
    " --encoder-ffn-embed-dim 16 --decoder-ffn-embed-dim 16 --encoder-attention-heads 2"
    " --decoder-attention-heads 2"
)
MASKED = "--embed-dim 16 --layers 1 --channels 2 --channel-size 8 --parser-size 8"
_TRAIN = r"fairseq-(struct )?train.*"
_OF = rf"{_TRAIN} --(arch|preset) "
# Pattern in a command's line: arguments that are added. All patterns that match apply.
SMALLER = {
    _TRAIN: "--max-update 2 --max-epoch 1 --num-workers 0 --validate-interval 1 --save-interval 1",
    rf"{_OF}(scheduled_sampling|latent_tree)_transformer": _TRANSLATION,
    rf"{_OF}scheduled_sampling_transformer": "--schedule-warmup-updates 0",
    rf"{_OF}latent_tree_classifier": "--embed-dim 16 --hidden-size 16",
    rf"{_OF}on_lstm_lm": "--embed-dim 16 --hidden-size 16 --chunk-size 4"
    " --batch-size 2 --batch-size-valid 2 --tokens-per-sample 8",
    rf"{_OF}udgn": MASKED,
    rf"{_OF}ordered_memory": "--hidden-size 16",
    rf"{_OF}undirected_convnet": "--first-channels 4 --second-channels 6",
    rf"{_OF}undirected_(attention|parser)": "--hidden-size 16",
    rf"{_OF}undirected_parser": "--embed-dim 8 --encoder-size 8",
    rf"{_OF}option_(controller|policy)": "--hidden-size 8",
    rf"{_OF}option_policy": "--valid-episodes 9",
    rf"{_OF}rim_": "--embed-dim 16",
    rf"{_OF}latent_clusters": "--train-size 50 --batches-per-epoch 1",
    "fairseq-generate": "--beam 1 --max-len-b 9",
    "fairseq-struct translate": "--beam 1",
    "fairseq-struct prepare parallel": "--subwords 9",
    "fairseq-struct prepare (synthetic_translation|dependency_treebank generated)":
        "--sentences 40 8 8",
    "fairseq-struct prepare listops": "--instances 60",
    "fairseq-struct prepare image_classification": "--images 40 10",
    "fairseq-struct prepare sequence_completion": "--share 0.002",
    "fairseq-struct prepare transformation_lists": "--sentences 40",
    "fairseq-struct prepare craft_demonstrations": "--number 10",
}  # fmt: skip
_WRAPPER = """
set -euo pipefail
wrapped() {
    local line="$*" arguments=("$@")
SMALLER
    command "${arguments[@]}"
}
for program in fairseq-train fairseq-generate fairseq-struct torchrun; do
    eval "$program() { wrapped $program \\"\\$@\\"; }"
done
"""


class Block(NamedTuple):
    """A block of code: its page and line, its language, its text, and the output shown below."""

    place: str
    language: str
    text: str
    shown: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines of a shell block that do not install."""
        return [line for line in self.text.splitlines() if line and not INSTALLS.match(line)]


def blocks(page: Path) -> list[Block]:
    """All blocks of a page; a block of text below a block of commands is their output."""
    text, found = page.read_text(), []
    for match in BLOCK.finditer(text):
        language, content = match.groups()
        if language == "text" and found and found[-1].language == "sh":
            found[-1] = found[-1]._replace(shown=content)
        elif language != "text":
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(f"{page.name}:{line}", language, content))
    return found


def command_of(block: Block, folder: Path) -> list[str]:
    """The command that runs a block; empty if the block only installs."""
    there = f"cd {shlex.quote(str(folder))}"
    if block.language == "python":
        snippet = folder / "snippet.py"
        snippet.write_text(block.text)
        return ["bash", "-c", f"{there} && python snippet.py"]
    cases = "\n".join(
        f"    [[ ! $line =~ {shlex.quote(pattern).strip(chr(39)).replace(' ', chr(92) + ' ')} ]]"
        f" || arguments+=({added})"
        for pattern, added in SMALLER.items()
    )
    script = folder / "block.sh"
    script.write_text("\n".join([_WRAPPER.replace("SMALLER", cases), *block.lines, ""]))
    return ["bash", "-c", f"{there} && source ./block.sh"] if block.lines else []


def make_folder(folder: Path) -> Path:
    """Make a reader's folder with the corpora that the documentation names."""
    for name in ("recipes", "docs"):
        (folder / name).symlink_to(ROOT / name)
    write = _writer(folder)
    words = ["the cat sleeps", "a dog in the house sings", "birds sing", "the dogs run"]
    for split, count in (("train", 12), ("valid", 3), ("test", 3)):
        for language in ("de", "en"):
            write(f"my/{split}.{language}", words * count)
            name = {"valid": "val", "test": "test_2016_flickr"}.get(split, split)
            write(f"MULTI30K/{name}.{language}", words * count)
        write(f"PTB/ptb.{split}.txt", words * count)
        rows = [f"{text}\t{label}" for text, label in zip(words, "1010", strict=True)] * count
        write(f"my/{split}.tsv", rows)
        write(f"SST/{'dev' if split == 'valid' else split}.tsv", rows)
        write(f"UD/{'dev' if split == 'valid' else split}.conllu", _SENTENCES * count)
    _write_formulas(write)
    _write_trees(write)
    _write_similarity(write)
    pairs = {"sing": [("the cat sleeps", "the cat sleep")]}
    templates = folder / "EMNLP2018" / "templates"
    templates.mkdir(parents=True)
    (templates / "simple_agrmt.pickle").write_bytes(pickle.dumps(pairs, protocol=0))
    return folder


def _conllu(*words: tuple[str, str, int, str]) -> list[str]:
    rows = [f"{number}\t{word}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_"
            for number, (word, tag, head, relation) in enumerate(words, 1)]  # fmt: skip
    return [*rows, ""]


_SENTENCES = [
    *_conllu(("The", "DET", 2, "det"), ("cat", "NOUN", 3, "nsubj"), ("sleeps", "VERB", 0, "root"),
             (".", "PUNCT", 3, "punct")),
    *_conllu(("Birds", "NOUN", 2, "nsubj"), ("sing", "VERB", 0, "root")),
]  # fmt: skip


def _write_formulas(write):
    for number in range(13):
        for split in ("train", "test"):
            write(f"LOGIC/{split}{number}",
                  ["#\ta\tb", "=\tb\tb", "v\t( not a )\t( a ( or b ) )"])  # fmt: skip


def _write_trees(write):
    write("WSJ/wsj_2301.mrg", ["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"] * 2)
    write("WSJ/wsj_2301.dp", ["the\tDT\t2", "cat\tNN\t3", "sleeps\tVBZ\t0", ""])


def _write_similarity(write):
    row = "main-captions\tMSRvid\t2012\t{:04}\t{}\tthe cat sleeps .\tthe dogs run ."
    numbered = [row.format(number, number % 5) for number in range(5)]
    for split in ("train", "dev", "test"):
        write(f"STS/STSBenchmark/sts-{split}.csv", numbered)
    columns = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    write("STS/SICK/SICK_test_annotated.txt",
          [columns, "1\tthe cat\tthe dogs\t3.3\tNEUTRAL", "2\tcats\tcats\t5\tNEUTRAL"])  # fmt: skip
    write("STS/STS12-en-test/STS.input.a.txt", ["the cat\tthe dog", "birds\tbirds"])
    write("STS/STS12-en-test/STS.gs.a.txt", ["2", "5"])


def _writer(folder: Path):
    def write(name: str, lines: list[str]):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))

    return write
