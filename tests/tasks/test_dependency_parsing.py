"""Supervised parsers on fairseq's command line: training, parsing, known heads, pictures."""

import io
import json
import re

import pytest
import torch
from fairseq_commands import USER_DIR, run, warm_python
from small_masked_models import logged, weights
from small_treebanks import train, write_treebank

import fairseq_struct
from fairseq_struct.cli.main import main
from fairseq_struct.data.readers.conllu import read_conllu
from fairseq_struct.evaluation.dependencies import compare_dependencies
from fairseq_struct.metrics.attachment import AttachmentScores

EPOCHS, INTERVAL = 40, 10  # of training, and between validations
SCORES = ("uas", "modifier_list", "modifier_count", "exact_match")


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    return write_treebank(tmp_path_factory.mktemp("treebank") / "UD_Toy")


@pytest.fixture(scope="module")
def trained(treebank, tmp_path_factory):
    """A parser of two passes that has learned its treebank, and the output of its training."""
    folder = tmp_path_factory.mktemp("parser")
    said = train(treebank, folder, "--passes=2", f"--max-epoch={EPOCHS}", "--unknown-rate=0",
                 f"--validate-interval={INTERVAL}", f"--save-interval={INTERVAL}", "--seed=1",
                 "--dropout=0", "--encoder-dropout=0", "--encoder-size=32", "--lr=0.02",
                 "--embed-dim=24", "--hidden-size=24", "--least-count=1", "--clip-norm=1",
                 "--best-checkpoint-metric=uas", "--maximize-best-checkpoint-metric")  # fmt: skip
    return folder / "checkpoint_last.pt", said


@pytest.fixture
def command(monkeypatch, capsys):
    """A verb with these lines as standard input: its status, output and messages."""

    def called(*arguments, lines=()):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return main(list(map(str, arguments))), *capsys.readouterr()

    return called


def gold_of(treebank, split="dev"):
    return list(read_conllu(treebank / f"xx_toy-ud-{split}.conllu"))


def test_a_toy_treebank_is_learned(treebank, trained):
    checkpoint, _ = trained
    path = treebank / "xx_toy-ud-train.conllu"
    trivial = [
        compare_dependencies(path, name, keep_punctuation=True)[0]
        for name in ("left_chain", "right_chain")
    ]
    gold, scores = gold_of(treebank, "train"), AttachmentScores()
    parser = fairseq_struct.load(checkpoint)
    for heads, tree in zip(parser.parse([" ".join(t.words) for t in gold]), gold, strict=True):
        scores.add(heads, tree.heads)
    # Fewer than half of the errors of trivial trees are left; it learns nearly all trees.
    for name in ("uas", "modifier_list"):
        baseline = max(getattr(one, name) for one in trivial)
        assert 100 - getattr(scores, name) < (100 - baseline) / 2, name


def test_validation_logs_the_scores_of_the_best_trees(treebank, trained):
    checkpoint, said = trained
    gold, scores = gold_of(treebank), AttachmentScores()
    parser = fairseq_struct.load(checkpoint)
    for heads, tree in zip(parser.parse([" ".join(t.words) for t in gold]), gold, strict=True):
        scores.add(heads, tree.heads)
    for name in SCORES:
        values = logged(said, f"valid_{name}")
        assert len(values) == EPOCHS // INTERVAL
        assert values[-1] == pytest.approx(getattr(scores, name), abs=0.01)
    assert "train_uas" not in said and "passes_mean" not in said
    best = torch.load(checkpoint.with_name("checkpoint_best.pt"), weights_only=True)
    assert best["extra_state"]["best"] == max(logged(said, "valid_uas"))


def test_convergence_is_logged(treebank, trained, tmp_path):
    checkpoint, _ = trained
    said = train(treebank, tmp_path, "--passes=converge", "--most-passes=3", "--max-epoch=1",
                 "--tolerance=1e-9", "--no-save")  # fmt: skip
    assert logged(said, "valid_passes_mean") == [3.0] and len(logged(said, "valid_energy")) == 1
    loose = train(treebank, tmp_path, "--passes=converge", "--max-epoch=1", "--tolerance=1e9",
                  "--no-save")  # fmt: skip
    assert logged(loose, "valid_passes_mean") == [1.0]


@pytest.mark.parametrize("options", [["--random-passes", "--passes=3"], ["--order=simultaneous"]])
def test_a_resumed_training_is_the_uninterrupted_one(treebank, tmp_path, options):
    options = [*options, "--seed=3", "--disable-validation"]
    train(treebank, tmp_path / "parts", *options, "--max-epoch=1")
    train(treebank, tmp_path / "parts", *options, "--max-epoch=2")
    train(treebank, tmp_path / "whole", *options, "--max-epoch=2")
    parts, whole = (weights(tmp_path / name / "checkpoint_last.pt") for name in ("parts", "whole"))
    assert parts.keys() == whole.keys()
    assert all(torch.equal(parts[name], whole[name]) for name in whole)


def test_parse_and_evaluate(treebank, trained, command, tmp_path):
    checkpoint, _ = trained
    gold = gold_of(treebank, "test")
    lines = [" ".join(tree.words) for tree in gold]
    status, out, said = command("parse", checkpoint, lines=lines)
    assert status == 0 and f"{len(gold)} trees" in said
    (tmp_path / "out.conllu").write_text(out)
    found = list(read_conllu(tmp_path / "out.conllu"))
    assert [tree.words for tree in found] == [tree.words for tree in gold]
    parser = fairseq_struct.load(checkpoint)
    assert [tree.heads for tree in found] == parser.parse(lines)
    test = treebank / "xx_toy-ud-test.conllu"
    status, out, _ = command("evaluate", test, tmp_path / "out.conllu", "--json")
    scores = AttachmentScores()
    for ours, theirs in zip(found, gold, strict=True):
        scores.add(ours.heads, theirs.heads)
    values = json.loads(out)
    for name in (*SCORES, "uuas"):
        assert values[name] == round(getattr(scores, name), 2)
    status, out, _ = command("evaluate", test, test)
    assert status == 0 and re.search(r"modifier_list\s+100", out) and "exact_match" in out
    status, page, _ = command("parse", checkpoint, "--format=html", lines=lines[:2])
    assert status == 0 and page.count("<svg") == 2
    # Roots, and passes at parse time.
    single = fairseq_struct.load(checkpoint, roots="single").parse(lines)
    assert all(heads.count(0) == 1 for heads in single)
    marginals = {}
    for passes in ("1", "2", "converge"):
        tool = fairseq_struct.load(checkpoint, test_passes=passes)
        marginals[passes] = next(tool.marginals(lines[:1])).marginals
        assert marginals[passes].sum(0).numpy() == pytest.approx(1, abs=1e-5)
    own = next(parser.marginals(lines[:1])).marginals
    assert torch.equal(marginals["2"], own) and not torch.equal(marginals["1"], own)


def partial_of(tree, known, line="{place}\t{word}\t_\t_\t_\t_\t{head}\t_\t_\t_\n"):
    rows = enumerate(zip(tree.words, tree.heads, strict=True), 1)
    return "".join(
        line.format(place=place, word=word, head=head if place in known else "_")
        for place, (word, head) in rows
    ) + "\n"  # fmt: skip


def test_known_heads_are_kept(treebank, trained, command, tmp_path):
    checkpoint, _ = trained
    gold, path = gold_of(treebank, "test"), tmp_path / "partial.conllu"
    known = [range(1, len(tree.words) + 1, 2) for tree in gold]
    text = "".join(partial_of(tree, own) for tree, own in zip(gold, known, strict=True))
    left_out = "".join("\t".join([place, "ab", *"_" * 8]) + "\n" for place in ("0.1", "1-2"))
    path.write_text("# a comment\n" + left_out + text)
    for passes in ("1", "3"):
        status, out, _ = command("parse", checkpoint, "--known", path, "--test-passes", passes)
        assert status == 0
        (tmp_path / "out.conllu").write_text(out)
        found = list(read_conllu(tmp_path / "out.conllu"))  # refuses what is no tree
        assert [tree.words for tree in found] == [tree.words for tree in gold]
        for ours, theirs, own in zip(found, gold, known, strict=True):
            assert all(ours.heads[place - 1] == theirs.heads[place - 1] for place in own)
    # Without a known head, the trees are those of the sentences.
    path.write_text("".join(partial_of(tree, ()) for tree in gold))
    _, out, _ = command("parse", checkpoint, "--known", path)
    assert out == command("parse", checkpoint, lines=[" ".join(t.words) for t in gold])[1]


@pytest.mark.parametrize(
    ("heads", "options", "message"),
    [
        ("2 3 1 _", [], "partial:1: the heads of this sentence form a cycle"),
        ("2 1 _ _", [], "partial:1: the heads of this sentence form a cycle"),
        ("0 _ 0 _", [], "but the parser was trained with --roots single"),
        ("1 _ _ _", [], "partial:1: '1' is not a valid head of word 1"),
        ("5 _ _ _", [], "partial:1: '5' is not a valid head of word 1"),
        ("x _ _ _", [], "partial:1: 'x' is not a valid head of word 1"),
        ("", [], "partial: contains no sentence"),
        ("0 _ _ _", ["--roots=many"], "invalid choice: 'many'"),
        ("0 _ _ _", ["--test-passes=0"], "--test-passes must be 1, 2, … or converge, not 0"),
        ("0 _ _ _", ["--test-passes=x"], "--test-passes must be 1, 2, … or converge, not x"),
    ],
)
def test_known_heads_that_no_tree_has(trained, command, tmp_path, heads, options, message, capsys):
    path = tmp_path / "partial"
    some = "".join(
        f"{place}\tw\t_\t_\t_\t_\t{head}\t_\t_\t_\n" for place, head in enumerate(heads.split(), 1)
    )
    # Nothing is written before all sentences are known to be good.
    path.write_text(some and some + "\n" + "1\tw\t_\t_\t_\t_\t0\t_\t_\t_\n\n" * 600)
    last = tmp_path / "last"
    last.write_text("1\tw\t_\t_\t_\t_\t0\t_\t_\t_\n\n" * 600 + some)
    if some and not options:
        assert command("parse", trained[0], "--known", last)[:2] == (2, "")
    try:
        status, out, said = command("parse", trained[0], "--known", path, *options)
    except SystemExit as stop:  # argparse
        status, (out, said) = stop.code, capsys.readouterr()
    assert status == 2 and message in said and not out
    assert "Traceback" not in said


def test_known_heads_are_for_parsers_that_can_use_them(command, trained, tmp_path):
    from stored_models import STORED

    path = tmp_path / "partial"
    path.write_text("1\tw\t_\t_\t_\t_\t_\t_\t_\t_\n")
    data = STORED / "language" / "data-bin"
    status, _, said = command("parse", STORED / "udgn.pt", "--data", data, "--known", path)
    assert status == 2 and "--known is for supervised dependency parsers" in said
    status, _, said = command("parse", trained[0], "--known", tmp_path / "none")
    assert status == 2 and "none: no such file" in said


def test_probable_arcs_in_svg_and_tikz(trained, command, tmp_path):
    """A tree alone, as faint as its arcs are unlikely by their marginals."""
    svg, tikz = tmp_path / "a.svg", tmp_path / "a.tex"
    for output in (svg, tikz):
        status, _, said = command("draw", trained[0], "--probabilities", "--output", output,
                                  lines=["noun1 verb2"])  # fmt: skip
        assert status == 0, said
    tool = fairseq_struct.load(trained[0])
    (heads,) = next(iter(tool.trees(["noun1 verb2"]))).heads
    marginals = next(iter(tool.marginals(["noun1 verb2"]))).marginals
    told = [f"{marginals[head - 1 if head else place][place]:.3f}"
            for place, head in enumerate(heads)]  # fmt: skip
    drawn = svg.read_text()
    assert sorted(re.findall(r"→ [^:<]+: (\d\.\d{3})<", drawn)) == sorted(told)
    assert re.findall(r"<text [^>]*>(.*?)</text>", drawn) == ["noun1", "verb2"]
    assert tikz.read_text().count(r"\fill[") == 2
    status, _, said = command("draw", trained[0], "--what=marginals", "--probabilities", lines="a")
    assert status == 2 and "--probabilities is for --what trees" in said


@pytest.mark.parametrize("suffix", [".png", ".html"])
@pytest.mark.parametrize("what", ["trees", "marginals"])
def test_trees_and_marginals_side_by_side_with_the_gold_tree(
    treebank, trained, command, tmp_path, what, suffix
):
    first, _ = trained
    output, gold = tmp_path / f"out{suffix}", tmp_path / "gold.conllu"
    trees = gold_of(treebank, "test")[:2]
    gold.write_text("".join(partial_of(tree, range(1, 99)) for tree in trees))
    last = first.with_name("checkpoint_best.pt")
    # Beside gold trees, trees are drawn if nothing else is asked for.
    which = [] if what == "trees" else [f"--what={what}"]
    status, _, said = command("draw", first, last, *which, "--gold", gold, "--output", output)
    assert status == 0, said
    if suffix == ".png":
        assert output.read_bytes()[:4] == b"\x89PNG"
        return
    page = output.read_text()
    assert page.count("<svg") == 6 and page.count("<figcaption>gold<") == 2
    if what == "trees":
        words = sum(len(tree.words) for tree in trees)
        assert page.count("<polygon") == 3 * words + page.count("<title>gold: ")
        heads = [[one.heads[0] for one in fairseq_struct.load(path).trees(
            [" ".join(tree.words) for tree in trees])] for path in (first, last)]  # fmt: skip
        right = [tree.heads for tree in trees]
        differ = sum(a != b for own in heads for one, gold in zip(own, right, strict=True)
                     for a, b in zip(one, gold, strict=True))  # fmt: skip
        assert page.count("<title>gold: ") == differ
    else:
        marginals = list(fairseq_struct.load(first).marginals([" ".join(trees[0].words)]))[0]
        cells = re.findall(r"→ [^:<]+: (\d\.\d{3})<", page)
        n = len(trees[0].words)
        own = list(map(float, cells[n * n : 2 * n * n]))
        # Of three digits; the page's batch is another one.
        assert own == pytest.approx(marginals.marginals.flatten().tolist(), abs=0.00051)


def test_a_prepared_folder_serves_as_well(trained, tmp_path, treebank):
    files = [treebank / f"xx_toy-ud-{name}.conllu" for name in ("train", "dev", "test")]
    command = ["prepare", "dependency_treebank", "conllu", *files, tmp_path / "out", "--as-is"]
    with warm_python():
        assert main(list(map(str, command))) == 0
    straight = train(treebank, tmp_path / "a", "--max-epoch=1")
    prepared = train(tmp_path / "out" / "data-bin", tmp_path / "b", "--max-epoch=1")
    for name in ("valid_loss", *(f"valid_{name}" for name in SCORES)):
        assert len(logged(straight, name)) == 1 == len(logged(prepared, name))
    parser = fairseq_struct.load(tmp_path / "b" / "checkpoint_last.pt")
    assert len(parser.parse(["det1 noun1"])) == 1
    said = run("validate", treebank, f"--path={trained[0]}", "--task=dependency_parsing",
               "--batch-size=3", "--num-workers=0", "--no-progress-bar", "--log-format=json",
               f"--user-dir={USER_DIR}")  # fmt: skip
    assert logged(said, "valid_uas")[0] == logged(trained[1], "valid_uas")[-1]
