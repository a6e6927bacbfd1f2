"""What memories of slots do with raw text: in Python, ``draw``, and ``--slots``."""

import io
import re
import sys

import pytest
import torch
from fairseq_commands import USER_DIR, in_this_process, run
from formula_models import write_formulas
from stored_models import STORED

from fairseq_struct import load
from fairseq_struct.cli.main import main
from fairseq_struct.cli.pictures.names import short_names
from fairseq_struct.data.readers.bracket_trees import spans_of
from fairseq_struct.data.readers.formulas.formula_trees import constituents, leaves
from fairseq_struct.errors import InputError
from fairseq_struct.inference import MemoryClassifier
from fairseq_struct.structure.spans import tree_of_stack, without_words

FORMULAS = ["( d ( and ( not e ) ) )", "a", "( not ( b ( or unheard ) ) )", "b a"]
LANGUAGE = STORED / "language" / "data-bin"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A classifier of pairs with three slots, after two updates."""
    folder = tmp_path_factory.mktemp("memory")
    _, data = write_formulas(folder)
    with in_this_process():
        run("train", data, "--arch=ordered_memory_classifier", "--task=structured_classification",
            "--criterion=structured_classification", "--embed-dim=6", "--hidden-size=8",
            "--slots=3", "--batch-size=2", "--optimizer=adam", "--lr=0.1", "--max-update=2",
            "--num-workers=0", "--disable-validation", "--no-epoch-checkpoints", "--seed=1",
            "--no-progress-bar", f"--user-dir={USER_DIR}", f"--save-dir={folder}")  # fmt: skip
    return folder / "checkpoint_last.pt"


@pytest.fixture
def draw(monkeypatch, capsys):
    """``fairseq-struct draw`` with these lines as standard input: its status, output, messages."""

    def command(*arguments, lines=FORMULAS, verb="draw"):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        status = main([verb, *map(str, arguments)])
        return status, *capsys.readouterr()

    return command


@torch.no_grad()
def pointers_of(tool, sentence, slots):
    """p_t of one sentence, by the network itself."""
    network = tool.model.network
    tokens = torch.tensor([tool.words.index(word) for word in sentence.split()])
    return network.memory(network.embedding(tokens)[:, None], slots=slots).pointers[:, 0]


@pytest.mark.parametrize(("slots", "used"), [(None, 3), (2, 2), (40, 40), (0, 12)])
def test_the_steps_are_those_of_the_network(checkpoint, slots, used):
    tool = load(checkpoint, ability="draw", slots=slots)
    assert isinstance(tool, MemoryClassifier)
    found, trees = list(tool.memories(FORMULAS)), tool.parse(FORMULAS)
    for sentence, steps, tree in zip(FORMULAS, found, trees, strict=True):
        words = sentence.split()
        reached = max(1, min(used, len(words) - 1))
        assert steps.words == tuple(words) and steps.pointers.shape == (len(words), reached)
        expected = pointers_of(tool, sentence, used)
        torch.testing.assert_close(steps.pointers, expected[:, -reached:], rtol=1e-5, atol=1e-6)
        assert expected[:, :-reached].sum() == 0
        torch.testing.assert_close(steps.pointers[1:].sum(1), torch.ones(len(words) - 1))
        heads = [reached - 1, *steps.pointers.argmax(1).tolist()[1:]]
        assert steps.spans == tuple(tree_of_stack(heads))
        assert set(steps.spans) == {span for _, span in spans_of(tree)}


def test_a_page_of_memories(checkpoint, draw):
    status, page, said = draw(checkpoint)
    assert status == 0 and "error" not in said and page.count("<svg ") == len(FORMULAS)
    cells = sum(len(line.split()) * max(1, min(3, len(line.split()) - 1)) for line in FORMULAS)
    assert page.count("<rect ") == cells
    steps = next(load(checkpoint).memories(FORMULAS))
    in_use = steps.pointers.cumsum(1).flip(1).T.flatten().clamp(max=1).tolist()
    told = re.findall(r"in use ([\d.]+), p ([\d.]+)", page)[: len(in_use)]
    assert [float(one) for one, _ in told] == pytest.approx(in_use, abs=6e-4)
    pointers = steps.pointers.flip(1).T.flatten().tolist()
    assert [float(one) for _, one in told] == pytest.approx(pointers, abs=6e-4)
    more = draw(checkpoint, "--what=memory", "--slots=0")[1]
    assert more.count("<rect ") > cells and draw(checkpoint, checkpoint)[1].count("<svg ") == 8


def test_trees_side_by_side(checkpoint, draw, tmp_path):
    """Of models with different words, after the gold tree, without round brackets."""
    other, lines = STORED / "on_lstm_lm.pt", FORMULAS[:2]
    data = [f"--data={checkpoint.parent / 'logic' / 'data-bin'}", f"--data={LANGUAGE}"]
    status, page, said = draw(checkpoint, other, "--gold-trees=proplogic", *data, lines=lines)
    assert status == 0 and "error" not in said
    captions = re.findall("<figcaption>(.*)</figcaption>", page)
    assert captions == ["gold", *short_names([checkpoint, other])] * 2
    # Smaller numbers belong to the scale of distances.
    texts = re.findall(r"<text (?![^>]*font-size)[^>]*>(.*?)</text>", page)
    assert texts == ["d", "and", "not", "e"] * 3 + ["a"] * 3
    # A line to every child, one above the children of each constituent, and one above the root.
    words = lines[0].split()
    trees = [constituents(words, "proplogic"),
             next(load(checkpoint).memories(lines)).spans,
             next(load(other, LANGUAGE).trees(lines)).spans]  # fmt: skip
    for tree, picture in zip(trees, page.split("<svg ")[1:4], strict=True):
        spans = without_words(tree, leaves(words))
        lines_of_scale = picture.count('stroke-width="0.6"')
        assert picture.count("<path ") - lines_of_scale == (len(spans) + 4 - 1) + len(spans) + 1
    # By default trees, because not every model has a memory; other sentences keep their brackets.
    page = draw(checkpoint, other, *data, lines=["( a ) b"])[1]
    assert page.count("<text ") - page.count('font-size="11"') == 8 and page.count("<rect ") == 4


def test_trees_below_bracketed_gold_trees(draw, tmp_path):
    """Words come from the file; what differs is counted."""
    model, gold = STORED / "on_lstm_lm.pt", tmp_path / "gold.txt"
    gold.write_text("(S (NP (D a) (N b)) (VP (V c) (N d)))\n(S (NP a) (VP b))\n")
    status, page, said = draw(model, "--gold", gold, f"--data={LANGUAGE}", lines=[])
    assert status == 0, said
    first, second = page.split("<article")[1:3]
    assert first.count("<svg ") == 2 and ">VP</text>" in first
    found = next(load(model, LANGUAGE).trees(["a b c d"])).spans
    own = {span for span in found if span != (0, 4)}
    differ = len(own ^ {(0, 2), (2, 4)})
    assert (f">{differ} differ<" in first) == (differ > 0) and "differ<" not in second
    gold.write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n")
    said = draw(model, "--gold", gold, f"--data={LANGUAGE}", lines=[])[2]
    assert "infers constituents; the gold trees are dependencies" in said


def test_a_file_of_either_kind(checkpoint, draw, tmp_path):
    lines = FORMULAS[:1]
    page = draw(checkpoint, "--what=trees", lines=lines)[1]
    text = tmp_path / "text"
    text.write_text("".join(f"{line}\n" for line in lines))
    assert draw(checkpoint, "--what=trees", f"--input={text}", lines=[]) == (0, page, "")
    text.unlink()
    for what, name, start in (("trees", "x.html", page.encode()), ("memory", "x.PNG", b"\x89PNG")):
        options = [f"--what={what}", f"--output={tmp_path / name}"]
        assert draw(checkpoint, *options, lines=lines) == (0, "", "")
        assert (tmp_path / name).read_bytes().startswith(start)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.PNG", "x.html"]


@pytest.mark.parametrize(
    ("options", "lines", "message"),
    [
        ([], [], "there is no sentence to draw"),
        ([], ["a", " "], "line 2: empty sentence"),
        ([], ["a\tb"], "line 1: a sentence pair; trees are for single sentences"),
        (["--slots=-1"], ["a"], "--slots must be 0 or more, not -1"),
        (["--layer=1"], ["a"], "--layer does not apply to this model"),
        (["--gold-trees=proplogic"], ["a", "( a"], "line 2: no formula of the kind proplogic: "),
        (["--gold-trees=proplogic", "--what=memory"], ["a"], "does not apply to --what memory"),
        (["--output=nowhere/x.html"], ["a"], "nowhere: no such folder"),
        (["--output=x.pdf"], ["a"], "x.pdf: --output ends in .html, .svg, .png, .tex"),
        (["--data=x", "--data=y"], ["a"], "--data is given 2 times for 1 checkpoint"),
        (["--data=nowhere"], ["a"], "nowhere: no such folder"),
        (["--input=nowhere"], ["a"], "nowhere: no such file"),
        (["--output=x.png"], ["a"] * 200, "x.png: the pictures are too large for one PNG"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn(checkpoint, draw, monkeypatch, tmp_path, options, lines, message):
    monkeypatch.chdir(tmp_path)
    status, output, said = draw(checkpoint, *options, lines=lines)
    assert (status, output) == (2, "") and message in said and said.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arch", "data", "options", "message"),
    [
        ("on_lstm_lm", "language", ["--what=memory"], "has no memory, attention or steps"),
        ("recurrent_classifier", "pairs", ["--slots=3"], "classifiers with memory slots"),
        ("recurrent_classifier", "pairs", [], "infers no trees"),
    ],
)
def test_models_that_cannot_be_drawn(draw, arch, data, options, message):
    place = f"--data={STORED / data / 'data-bin'}"
    status, output, said = draw(STORED / f"{arch}.pt", place, *options, lines=["a b"])
    assert (status, output) == (2, "") and message in said and said.count("\n") == 1


@pytest.mark.parametrize("verb", ["parse", "classify"])
def test_slots_of_the_other_verbs(checkpoint, draw, verb):
    lines = [f"{FORMULAS[0]}\t{FORMULAS[2]}"] if verb == "classify" else FORMULAS
    outputs = [draw(checkpoint, f"--slots={n}", lines=lines, verb=verb)[1] for n in (1, 30)]
    assert outputs[0] != outputs[1] == draw(checkpoint, "--slots=0", lines=lines, verb=verb)[1]
    status, _, said = draw(checkpoint, "--slots=-1", lines=lines, verb=verb)
    assert status == 2 and "--slots must be 0 or more, not -1" in said
    place = ["--data", STORED / "pairs" / "data-bin", "--slots=2"]
    status, _, said = draw(STORED / "recurrent_classifier.pt", *place, lines=lines, verb=verb)
    assert status == 2 and "--slots does not apply to this model" in said


@pytest.mark.parametrize("slots", [True, 1.5, "2"])
def test_slots_are_whole_numbers(checkpoint, slots):
    with pytest.raises(InputError, match=f"^--slots must be a whole number, not {slots!r}$"):
        load(checkpoint, slots=slots)


def test_abilities_of_which_any_will_do(checkpoint):
    assert isinstance(load(checkpoint, ability=["score", "draw"]), MemoryClassifier)
    with pytest.raises(InputError, match="unknown ability 'drow'"):
        load(checkpoint, ability=["parse", "drow"])
