"""``--gold-trees``: formulas' own trees for models that read constituents, and for scores."""

import json
import math
import re

import pytest
import torch
from fairseq_commands import run
from formula_models import PAIRS, write_formulas
from torch import tensor

import fairseq_struct
from fairseq_struct.criterions.structured_classification import (
    StructuredClassificationCriterion,
    statistics_of_trees,
)
from fairseq_struct.data.datasets.gold_trees import formula_tree
from fairseq_struct.data.datasets.labelled_sentences import LabelledSentences, side_by_side
from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.readers.formulas.formula_trees import constituents
from fairseq_struct.data.readers.labelled_text import Instance, LabelledCorpus
from fairseq_struct.errors import InputError
from fairseq_struct.metrics.bracketing import bracket_counts, f1_of_counts
from fairseq_struct.structure.inferred_trees import ConstituentSpans
from fairseq_struct.structure.spans import left_branching, right_branching, without_words

OPTIONS = ["--task=structured_classification", "--criterion=structured_classification",
           "--optimizer=adam", "--lr=0.05", "--no-progress-bar", "--log-format=json",
           "--num-workers=0", "--max-epoch=1", "--batch-size=2", "--no-epoch-checkpoints",
           "--required-batch-size-multiple=1"]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formulas")
    write_formulas(folder)
    plain, formulas = Instance(("a b", "a"), "<"), Instance(("a", "b"), "=")
    splits = {"train": [formulas, plain], "valid": [formulas], "test": [formulas]}
    write_labelled_folder(LabelledCorpus("plain", splits), folder / "plain")
    return folder


def train(folder, out, data, arch, *options):
    return run("train", folder / data / "data-bin", f"--arch={arch}", *OPTIONS, *options,
               f"--user-dir={folder / 'formula_plugin'}", f"--save-dir={out}")  # fmt: skip


def last(log):
    return json.loads(re.findall(r"(\{.*valid_loss.*\})", log)[-1])


def f1_of_right_branching(pairs):
    """The published F1 by sets of words, computed apart from the code under test."""
    matched = total = 0
    for pair in pairs:
        for words in (formula.split() for formula in pair[:2]):
            found = []
            for spans in (right_branching(len(words)), constituents(words, "proplogic")):
                sets = (
                    frozenset(i for i in range(start, end) if words[i] not in "()")
                    for start, end in spans
                )
                found.append({each for each in sets if len(each) > 1})
            matched += len(found[0] & found[1])
            total += len(found[0]) + len(found[1])
    return round(200 * matched / total, 2)


def test_words_are_taken_out_of_trees():
    words = "( ( not a ) ( or b ) )".split()
    kept = [i for i, word in enumerate(words) if word not in "()"]
    tree = without_words(constituents(words, "proplogic"), kept)
    assert tree == [(0, 4), (0, 2), (2, 4)]
    # "( (" and ") )" are no words; "( or b", "or b" and "or b )" are one bracket
    spans = [(0, 10), (0, 2), (5, 8), (6, 8), (6, 9), (2, 8)]
    assert without_words(spans, kept) == [(0, 4), (2, 4)]
    assert without_words(left_branching(4), range(4)) == left_branching(4)
    assert without_words([(0, 3)], []) == []


def test_counts_of_brackets_are_those_of_every_sentence():
    words = [formula.split() for pair in PAIRS for formula in pair[:2]]
    gold = side_by_side([[formula_tree(each, "proplogic")] for each in words], 12, (3,))[:, 0]
    counts = bracket_counts([right_branching(len(each)) for each in words], gold)
    assert round(f1_of_counts(*counts), 2) == f1_of_right_branching(PAIRS)
    alone = [bracket_counts([right_branching(len(each))], one[None, : 2 * len(each)])
             for each, one in zip(words, gold, strict=True)]  # fmt: skip
    assert counts == tuple(map(sum, zip(*alone, strict=True)))
    exact = [constituents(each, "proplogic") for each in words]
    assert f1_of_counts(*bracket_counts(exact, gold)) == 100
    assert bracket_counts([[(0, 1)]], tensor([[[0, 1, -1], [-1, -1, -1]]])) == (0, 0, 0)
    assert f1_of_counts(0, 0, 0) == 100


@pytest.mark.parametrize("reads", [True, False])
def test_trees_stand_in_the_input_only_of_models_that_read_them(reads):
    words = [formula.split() for formula, _, _ in PAIRS]
    sentences = [torch.arange(len(each)) for each in words]
    trees = [formula_tree(each, "proplogic") for each in words]
    data = LabelledSentences([sentences], None, 1, [trees], reads)
    batch = data.collater([data[i] for i in (1, 0)])
    where, other = (batch["net_input"], batch) if reads else (batch, batch["net_input"])
    assert "gold_trees" not in other
    gold = where["gold_trees"]
    assert gold.shape == (2, 1, 7, 3) and (gold[0, 0, 1:] == -1).all()
    assert gold[1, 0, :5, :2].tolist() == [[0, 7], [1, 2], [2, 6], [3, 4], [4, 5]]


def test_validation_logs_f1_and_pointer_entropy_over_all_batches(folder, tmp_path):
    common = folder, tmp_path, "logic", "toy_right", "--no-save"
    logs = [
        last(train(*common, "--gold-trees=proplogic", f"--batch-size={size}")) for size in (1, 3)
    ]
    lengths = [len(formula.split()) for pair in PAIRS for formula in pair[:2]]
    mean = sum(n for n in lengths if n > 1) / sum(n > 1 for n in lengths)
    for log in logs:
        assert float(log["valid_f1"]) == f1_of_right_branching(PAIRS)
        assert float(log["valid_pointer_entropy"]) == pytest.approx(mean, abs=1e-4)
    plain = last(train(*common, "--batch-size=2"))
    assert "valid_f1" not in plain and "valid_pointer_entropy" in plain


def test_sums_can_be_added_and_unknown_pointer_entropy_is_left_out():
    assert StructuredClassificationCriterion.logging_outputs_can_be_summed()
    logs = []
    for pointer_entropy in ([1.0, math.nan], [3.0, 2.0]):
        trees = ConstituentSpans([[(0, 2)], [(0, 2)]], tensor([2, 2]))
        trees.pointer_entropy = lambda pointer_entropy=pointer_entropy: tensor(pointer_entropy)
        logs.append(statistics_of_trees(trees, None))
    assert sum(float(log["pointer_entropy"]) for log in logs) == 6
    assert sum(log["pointed_trees"] for log in logs) == 3
    assert "brackets" not in logs[0]


def test_a_model_that_reads_gold_trees_gets_them_in_training_and_for_raw_text(folder, tmp_path):
    options = ["--gold-trees=proplogic", "--batch-size=4", "--max-epoch=60"]
    train(folder, tmp_path, "logic", "toy_shape", *options, "--disable-validation")
    model = fairseq_struct.load(tmp_path / "checkpoint_last.pt", user_dir=folder / "formula_plugin")
    lines = [f"{one}\t{other}" for one, other, _ in PAIRS]
    # The widths of the second rows tell these apart: (1, 1), (-, 4), (4, -), (1, 1).
    assert [found.label for found in model.analyse(lines[1:3])] == ["<", "="]
    alone = [next(iter(model.analyse([line]))).probabilities for line in lines]
    for single, found in zip(alone, model.analyse(lines), strict=True):
        assert single == pytest.approx(found.probabilities, abs=1e-5)
    with pytest.raises(InputError, match=r"line 2: no formula of the kind proplogic: 'the' \(tok"):
        model.classify(["a\tb", "a\tthe cat"])


@pytest.mark.parametrize(
    ("data", "arch", "options", "message"),
    [
        ("logic", "toy_right", ["--gold-trees=listops"],
         r"valid\.sentence1: sentence 1: no formula of the kind listops: '\(' \(token 1\)"),
        ("plain", "toy_shape", ["--gold-trees=proplogic"],
         r"train\.sentence1: sentence 2: no formula of the kind proplogic: 'b' \(token 2\)"),
        ("logic", "toy_shape", [], r"valid\.trees1: no such file, .*--gold-trees for formulas"),
        ("logic", "toy_right", ["--gold-trees=lisp"], "unknown --gold-trees 'lisp'; choose one of"),
        ("logic", "toy_right", ["--gold-trees=proplogic", "--longest-sentence=9", "--truncate"],
         "--truncate cannot cut the trees of --gold-trees"),
    ],
)  # fmt: skip
def test_what_has_no_gold_trees_is_refused_before_training(
    folder, tmp_path, data, arch, options, message
):
    with pytest.raises(InputError, match=message):
        train(folder, tmp_path, data, arch, *options)
    assert not list(tmp_path.glob("*.pt"))
