"""All code blocks of the documentation run unchanged, one after the other.

The blocks run in a reader's folder. It has the checkout's ``preprocess``, ``recipes`` and
``user_dir``, and small files with the names that the text gives to corpora. Blocks run in order.
Programs get further arguments at the end (:data:`SMALLER`), which override those of the text: a
training takes two updates of a small model, and generated corpora are small. Lines that install
(:data:`INSTALLS`) are left out; the tests of the installation cover them.
"""

import os
import pickle
import re
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from fairseq_commands import ROOT, start

from fairseq_struct.data.readers.conllu import UNKNOWN_HEAD, read_conllu
from fairseq_struct.models.undirected.undirected_convnet import UndirectedConvnetConfig

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "recipes" / "README.md",
         *sorted((ROOT / "recipes").glob("*/RESULTS.md")),
         *sorted((ROOT / "docs").glob("**/*.md"))]  # fmt: skip
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALLS = re.compile(r"(make|pip|source|apt|git) ")

TRANSLATION = (
    "--encoder-layers 1 --decoder-layers 1 --encoder-embed-dim 16 --decoder-embed-dim 16"
    " --encoder-ffn-embed-dim 16 --decoder-ffn-embed-dim 16 --encoder-attention-heads 2"
    " --decoder-attention-heads 2"
)
MASKED = "--embed-dim 16 --layers 1 --channels 2 --channel-size 8 --parser-size 8"
# Pattern in a command's line: arguments that are added. All patterns that match apply.
SMALLER = {
    r"fairseq-train": "--max-update 2 --max-epoch 1 --num-workers 0 --no-progress-bar",
    r"fairseq-train.* --arch (scheduled_sampling|latent_tree)_transformer": TRANSLATION,
    r"fairseq-train.* --arch latent_tree_classifier": "--embed-dim 16 --hidden-size 16",
    r"fairseq-train.* --arch on_lstm_lm": "--embed-dim 16 --hidden-size 16 --chunk-size 4"
    " --batch-size 2 --batch-size-valid 2 --tokens-per-sample 8",
    r"fairseq-train.* --arch udgn": MASKED,
    r"fairseq-train.* --arch ordered_memory": "--embed-dim 16 --hidden-size 16",
    r"fairseq-train.* --arch undirected_convnet": "--first-channels 4 --second-channels 6",
    r"fairseq-train.* --arch undirected_(attention|parser)": "--hidden-size 16",
    r"fairseq-train.* --arch option_(controller|policy)": "--hidden-size 8 --mlp-size 12",
    r"fairseq-train.* --arch option_policy": "--valid-episodes 9",
    r"fairseq-train.* --arch rim_composer": "--embed-dim 16",
    r"fairseq-generate": "--beam 1 --max-len-b 9",
    r"python preprocess/parallel": "--subwords 9",
    r"python preprocess/(synthetic_translation|dependency_treebank)": "--sentences 40 8 8",
    r"python preprocess/listops": "--instances 60",
    r"python preprocess/image_classification": "--images 40 10",
    r"python preprocess/sequence_completion": "--share 0.002",
    r"python preprocess/transformation_lists": "--sentences 40",
    r"python preprocess/craft_demonstrations": "--number 10",
}
WRAPPER = """
set -euo pipefail
wrapped() {
    local line="$*" arguments=("$@")
SMALLER
    command "${arguments[@]}"
}
for program in fairseq-train fairseq-generate python; do
    eval "$program() { wrapped $program \\"\\$@\\"; }"
done
"""


class Block(NamedTuple):
    """A block of code: its page and line, its language, its text."""

    place: str
    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(f"{page.name}:{text.count(chr(10), 0, found.start()) + 1}", *found.groups())
        for found in BLOCK.finditer(text)
    ]


def command_of(block: Block, folder: Path) -> list[str]:
    """The command that runs a block; empty if the block only installs."""
    if block.language == "python":
        snippet = folder / "snippet.py"
        snippet.write_text(block.text)
        return ["bash", "-c", f"cd {folder} && python snippet.py"]
    lines = [line for line in block.text.splitlines() if line and not INSTALLS.match(line)]
    cases = "\n".join(
        f"    [[ ! $line =~ {shlex.quote(pattern).strip(chr(39)).replace(' ', chr(92) + ' ')} ]]"
        f" || arguments+=({added})"
        for pattern, added in SMALLER.items()
    )
    script = folder / "block.sh"
    script.write_text("\n".join([WRAPPER.replace("SMALLER", cases), *lines, ""]))
    return ["bash", "-c", f"cd {folder} && source ./block.sh"] if lines else []


@pytest.fixture
def folder(tmp_path):
    """A reader's folder with the corpora that the documentation names."""
    for name in ("preprocess", "recipes", "user_dir"):
        (tmp_path / name).symlink_to(ROOT / name)
    words = ["the cat sleeps", "a dog in the house sings", "birds sing", "the dogs run"]
    write = _writer(tmp_path)
    for split, count in (("train", 12), ("valid", 3), ("test", 3)):
        for language in ("de", "en"):
            write(f"my/{split}.{language}", words * count)
        write(f"PTB/ptb.{split}.txt", words * count)
        rows = [f"{text}\t{label}" for text, label in zip(words, "pnpn", strict=True)] * count
        write(f"SST/{'dev' if split == 'valid' else split}.tsv", rows)
        row = "main-captions\tMSRvid\t2012\t{:04}\t{}\tthe cat sleeps .\tthe dogs run ."
        numbered = [row.format(number, number % 5) for number in range(5)]
        write(f"STS/STSBenchmark/sts-{'dev' if split == 'valid' else split}.csv", numbered)
    formulas = ["#\ta\tb", "=\tb\tb", "v\t( not a )\t( a ( or b ) )"]
    for number in range(13):
        for split in ("train", "test"):
            write(f"LOGIC/{split}{number}", formulas)
    write("WSJ/wsj_2301.mrg", ["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"] * 2)
    write("WSJ/wsj_2301.dp", ["the\tDT\t2", "cat\tNN\t3", "sleeps\tVBZ\t0", ""])
    columns = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    write("STS/SICK/SICK_test_annotated.txt",
          [columns, "1\tthe cat\tthe dogs\t3.3\tNEUTRAL", "2\tcats\tcats\t5\tNEUTRAL"])  # fmt: skip
    write("STS/STS12-en-test/STS.input.a.txt", ["the cat\tthe dog", "birds\tbirds"])
    write("STS/STS12-en-test/STS.gs.a.txt", ["2", "5"])
    pairs = {"sing": [("the cat sleeps", "the cat sleep")]}
    templates = tmp_path / "EMNLP2018" / "templates"
    templates.mkdir(parents=True)
    (templates / "simple_agrmt.pickle").write_bytes(pickle.dumps(pairs, protocol=0))
    return tmp_path


def _writer(folder):
    def write(name, lines):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))

    return write


def test_every_block_runs_as_it_is_written(folder):
    said = {}
    for page in PAGES:
        for block in blocks(page):
            if command := command_of(block, folder):
                process = start(*command)
                said[block.place] = process.communicate()[0]
                assert process.returncode == 0, f"{block.place}\n{block.text}\n{said[block.place]}"
    everything = "\n".join(said.values())
    assert "Traceback" not in everything
    # The results that the text promises.
    assert everything.count("Generate test with beam=1: BLEU4") == 3
    assert re.search(r"^uas +[\d.]+", everything, re.M)
    assert re.search(r"^f1_sentence +[\d.]+", everything, re.M)
    assert re.search(r"^\(X ", everything, re.M) and re.search(r"^[pn]\t", everything, re.M)
    assert len(list(read_conllu(folder / "trees.conllu"))) == 8
    (partial,) = read_conllu(folder / "partial.conllu", partial=True)
    assert partial.heads[0] != UNKNOWN_HEAD and set(partial.heads[1:]) == {UNKNOWN_HEAD}
    assert (folder / "channels.png").read_bytes().startswith(b"\x89PNG")
    assert re.search(r"^AC: success [\d.]+ %, return", everything, re.M)
    assert (folder / "episode.gif").read_bytes().startswith(b"GIF89a")
    assert "<svg" in (folder / "trees.html").read_text()


def test_the_table_of_undirected_networks_has_the_defaults():
    text = (ROOT / "README.md").read_text().partition("### Undirected neural networks")[2]
    text = text.partition("### ")[0]
    rows = re.findall(r"^\| `--([\w-]+)` \|.*\| ([\d.]+) \|$", text, re.M)
    defaults = vars(UndirectedConvnetConfig())
    assert dict(rows) == {name: str(defaults[name]) for name in ("passes", "gamma")}


def test_every_block_has_a_known_language():
    found = [block for page in PAGES for block in blocks(page)]
    assert {block.language for block in found} == {"sh", "python"}
    fences = sum(page.read_text().count("```") for page in PAGES)
    assert fences == 2 * len(found)


def test_each_training_has_a_folder_of_its_own():
    lines = [line for page in PAGES for block in blocks(page) for line in block.text.splitlines()
             if line.startswith("fairseq-train")]  # fmt: skip
    folders = [re.search(r"--save-dir (\S+)", line) for line in lines]
    assert all(folders) and len({found[1] for found in folders}) == len(lines) > 5


def test_the_first_training_is_small_and_soon_says_something():
    first = re.search(r"^fairseq-train.*", (ROOT / "README.md").read_text(), re.M)[0]
    assert "_tiny" in first and "--log-interval 10" in first


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_links_that_are_named_exist(page):
    text = page.read_text()
    links = [link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
    named = re.findall(r"(?<![\w/.])(?:recipes|preprocess|tests|fairseq_struct)/[\w/]+\.\w+", text)
    missing = [name for name in links if not (page.parent / name).exists()]
    named = [name for name in named if not re.search(r"/(SYSTEM|NAME)\b", name)]  # any of them
    missing += [name for name in named if not (ROOT / name).exists()]
    assert links + named and not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_headings_that_links_point_to_exist(page):
    links = re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", page.read_text())
    missing = [f"{name}#{anchor}" for name, anchor in links
               if anchor not in anchors_of(page.parent / name if name else page)]  # fmt: skip
    assert not missing


def anchors_of(page: Path) -> set[str]:
    """The names by which links point to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}


def test_the_rule_reaches_each_command(folder):
    """A command gets the arguments of its patterns; a line that installs is left out."""
    block = Block("here", "sh", "fairseq-train x --arch udgn_ptb --max-update 5\nmake demo\n")
    source = subprocess.run(
        ["bash", "-c", f"command() {{ echo \"$@\"; }}; {command_of(block, folder)[2]}"],
        capture_output=True, text=True, env=os.environ,
    )  # fmt: skip
    assert source.stdout == (
        f"fairseq-train x --arch udgn_ptb --max-update 5 {SMALLER['fairseq-train']} {MASKED}\n"
    )
