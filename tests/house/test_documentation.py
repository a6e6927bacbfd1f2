"""All code blocks of the documentation run unchanged, each page in a folder of its own.

What a page shows as the output of commands has the form of what they print here, where models are
smaller (see ``reader.py``).
"""

import os
import re
import subprocess

import pytest
from fairseq_commands import ROOT, start
from reader import MASKED, PAGES, SMALLER, Block, blocks, command_of, make_folder

from fairseq_struct.data.readers.conllu import UNKNOWN_HEAD, read_conllu

WITH_CODE = [page for page in PAGES if blocks(page)]
SYSTEMS = ROOT / "docs" / "systems"


def name_of(page) -> str:
    return str(page.relative_to(ROOT))


def run_page(page, folder) -> str:
    """Run all blocks of a page, in order; what they print."""
    said = []
    for block in blocks(page):
        if command := command_of(block, folder):
            process = start(*command)
            output = process.communicate()[0]
            assert process.returncode == 0, f"{block.place}\n{block.text}\n{output}"
            assert "Traceback" not in output, f"{block.place}\n{output}"
            missing = [line for line in block.shown.splitlines() if not shows(line, output)]
            assert not missing, f"{block.place} shows {missing}, but it prints\n{output}"
            said.append(output)
    return "\n".join(said)


def shows(line: str, output: str) -> bool:
    """Whether an output has a line of this form: other numbers, and anything in place of ….

    The root of a tree may be another word.
    """
    pattern = re.escape(" ".join(line.split())).replace("…", ".*").replace("\\ ", r"\s+")
    pattern = re.sub(r"\b(dep|root)\b", "(dep|root)", pattern)
    pattern = re.sub(r"\d+(\\\.\d+)?", r"[\\d.]+", pattern)
    return re.search(rf"^\s*{pattern}\s*$", output, re.MULTILINE) is not None


# What the text of a page promises beside the output that it shows: of what is printed, and files.
def promised_by_latent_tree(said, folder):
    assert re.search(r"^[01]\t", said, re.M)
    assert "<svg" in (folder / "trees.html").read_text()
    assert "Generate test with beam=1: BLEU4" in said
    assert len(list(read_conllu(folder / "source_trees.conllu"))) == 8


def promised_by_scheduled_sampling(said, folder):
    assert said.count("Generate test with beam=1: BLEU4") == 2


def promised_by_on_lstm(said, folder):
    assert re.search(r"^f1_sentence +[\d.]+", said, re.M) and re.search(r"^\(X ", said, re.M)


def promised_by_udgn(said, folder):
    assert re.search(r"^uas +[\d.]+", said, re.M)
    assert (folder / "channels.png").read_bytes().startswith(b"\x89PNG")


def promised_by_undirected(said, folder):
    (partial,) = read_conllu(folder / "partial.conllu", partial=True)
    assert partial.heads[0] != UNKNOWN_HEAD and set(partial.heads[1:]) == {UNKNOWN_HEAD}


def promised_by_option_controller(said, folder):
    assert re.search(r"^AC: success [\d.]+ %, return", said, re.M)
    assert (folder / "episode.gif").read_bytes().startswith(b"GIF89a")


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_every_block_runs_as_it_is_written(page, tmp_path):
    if re.search(r"^import gymnasium$", page.read_text(), re.M):
        pytest.importorskip("gymnasium")
    said = run_page(page, make_folder(tmp_path))
    if page.parent == SYSTEMS:
        globals().get(f"promised_by_{page.stem}", lambda *given: None)(said, tmp_path)


def test_what_is_promised_is_of_pages_that_exist():
    promised = {name for name in globals() if name.startswith("promised_by_")}
    assert promised and promised <= {f"promised_by_{page.stem}" for page in SYSTEMS.glob("*.md")}


def test_what_a_page_shows_is_compared_with_what_is_printed():
    output = "uas   7.5\n  3 sentences in out/x\n"
    assert shows("uas 75.18", output) and shows("12 sentences in …", output)
    assert not shows("uuas 75.18", output) and not shows("3 sentences", output)


def test_every_block_has_a_known_language():
    for page in PAGES:
        found = re.findall(r"^```(\w*)\n.*?^```$", page.read_text(), re.M | re.S)
        assert set(found) <= {"sh", "python", "text"}
        assert page.read_text().count("```") == 2 * len(found)


def test_each_training_of_a_page_has_a_folder_of_its_own():
    for page in WITH_CODE:
        lines = [line for block in blocks(page) for line in block.lines
                 if re.match("fairseq-(struct )?train", line)]  # fmt: skip
        folders = [re.search(r"--save-dir (\S+)", line) for line in lines]
        assert all(folders) and len({found[1] for found in folders}) == len(lines), page


def test_the_first_training_is_small():
    first = re.search(r"^fairseq-struct train.*", (ROOT / "README.md").read_text(), re.M)[0]
    assert "_tiny" in first


def test_the_first_page_is_short():
    assert (ROOT / "README.md").read_text().count("\n") <= 120


def test_the_rule_reaches_each_command(tmp_path):
    """A command gets the arguments of its patterns; a line that installs is left out."""
    block = Block("here", "sh", "fairseq-train x --arch udgn_ptb --max-update 5\nmake demo\n")
    source = subprocess.run(
        ["bash", "-c", f"command() {{ echo \"$@\"; }}; {command_of(block, tmp_path)[2]}"],
        capture_output=True, text=True, env=os.environ,
    )  # fmt: skip
    everything = next(iter(SMALLER.values()))
    assert source.stdout == (
        f"fairseq-train x --arch udgn_ptb --max-update 5 {everything} {MASKED}\n"
    )
