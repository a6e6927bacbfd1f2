"""Classifiers with an Ordered Memory: what they read, learn and infer."""

import io
import re

import pytest
import torch
from fairseq_commands import USER_DIR, run
from torch import nn

import fairseq_struct
from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError
from fairseq_struct.modules.classification import pair_features
from fairseq_struct.modules.ordered_memory import (
    OrderedMemory,
    OrderedMemoryClassifier,
    read_growing,
)
from fairseq_struct.structure.spans import pointer_entropy


def classifier_of(sides=1, slots=4, labels=3, **options):
    torch.manual_seed(2)
    memory = OrderedMemory(5, 6, slots)
    return OrderedMemoryClassifier(nn.Embedding(9, 5), memory, labels, sides, **options).double()


def batch_of(sides=1, size=4):
    generator = torch.Generator().manual_seed(4)
    lengths = torch.randint(1, 8, (size, sides), generator=generator)
    tokens = torch.randint(1, 9, (size, sides, int(lengths.max())), generator=generator)
    return tokens, lengths


@pytest.mark.parametrize("sides", [1, 2])
def test_it_classifies_the_last_slot_of_the_last_word(sides):
    classifier, (tokens, lengths) = classifier_of(sides).eval(), batch_of(sides)
    result = classifier(tokens, lengths, torch.tensor([0, 2, 1, 1]))
    vectors = []
    for row, sizes in zip(tokens, lengths, strict=True):
        read = [
            classifier.memory(classifier.embedding(side[:size])[:, None]).output[-1, 0]
            for side, size in zip(row, sizes, strict=True)
        ]
        vectors.append(torch.stack(read))
    logits = classifier.output(pair_features(torch.stack(vectors)))
    torch.testing.assert_close(result.logits, logits)
    expected = nn.functional.cross_entropy(logits, torch.tensor([0, 2, 1, 1]), reduction="none")
    torch.testing.assert_close(result.losses, expected)
    assert result.trees.kind == classifier.tree_kind == "constituents"
    spans = result.trees.spans()
    assert [len(tree) for tree in spans] == (lengths.flatten() - 1).tolist()


def test_slots_of_the_test_are_for_the_test():
    tokens, lengths = torch.randint(1, 9, (3, 1, 7)), torch.full((3, 1), 7)
    own, more = classifier_of(slots=3), classifier_of(slots=3, test_slots=6)
    growing = classifier_of(slots=3, test_slots=0)
    assert torch.equal(own(tokens, lengths).logits, more(tokens, lengths).logits)
    for one in (own, more, growing):
        one.eval()
    assert own(tokens, lengths).trees.pointers.size(2) == 3
    found = more(tokens, lengths)
    assert found.trees.pointers.size(2) == 6
    words = own.embedding(tokens[:, 0]).transpose(0, 1)
    torch.testing.assert_close(
        found.logits, own.output(own.memory(words, slots=6).last).detach()
    )
    last, pointers = read_growing(own.memory, words, lengths[:, 0])
    grown = growing(tokens, lengths)
    torch.testing.assert_close(grown.logits, own.output(last).detach())
    assert torch.equal(grown.trees.pointers, pointers)


def test_the_sharpness_joins_the_loss_of_training():
    (tokens, lengths), targets = batch_of(2), torch.zeros(4, dtype=torch.long)
    plain, sharp = classifier_of(2), classifier_of(2, sharpness_weight=0.5)
    without, result = plain(tokens, lengths, targets), sharp(tokens, lengths, targets)
    entropy = pointer_entropy(result.trees.pointers, lengths.flatten()).view(4, 2)
    expected = without.losses + 0.5 * entropy.nan_to_num().mean(1)
    torch.testing.assert_close(result.losses.double(), expected, rtol=1e-5, atol=1e-5)
    result.losses.sum().backward()
    assert sharp.memory.attention.key.weight.grad.isfinite().all()
    for one in (plain, sharp):
        one.eval()
    assert torch.equal(
        plain(tokens, lengths, targets).losses, sharp(tokens, lengths, targets).losses
    )


@pytest.mark.parametrize("attention", ["paper", "published"])
def test_pointers_so_sharp_that_slots_have_no_probability_have_gradients(attention):
    torch.manual_seed(0)
    memory = OrderedMemory(4, 8, 6, attention)
    with torch.no_grad():
        memory.attention.score.weight.mul_(10_000)
    classifier = OrderedMemoryClassifier(nn.Embedding(10, 4), memory, 3, sharpness_weight=0.1)
    lengths = torch.tensor([[9], [5], [1]])
    result = classifier(torch.randint(0, 10, (3, 1, 9)), lengths, torch.tensor([0, 1, 2]))
    assert (result.trees.pointers[6:, 0] == 0).any()  # where all six slots are in reach
    result.losses.sum().backward()
    assert all(one.grad.isfinite().all() for one in classifier.parameters())


def test_less_entropy_is_learned_from_its_weight_alone():
    classifier = classifier_of(sharpness_weight=1.0).float()  # sets the seed
    tokens, lengths = torch.randint(1, 9, (8, 1, 6)), torch.full((8, 1), 6)
    targets = torch.zeros(8, dtype=torch.long)
    optimizer = torch.optim.Adam(classifier.memory.attention.parameters(), 0.05)
    first = classifier(tokens, lengths).trees.pointer_entropy().mean()
    for _ in range(30):
        optimizer.zero_grad()
        classifier(tokens, lengths, targets).losses.sum().backward()
        optimizer.step()
    assert classifier(tokens, lengths).trees.pointer_entropy().mean() < 0.5 * first


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sides": 3}, "one sentence or two, not 3"),
        ({"test_slots": -1}, "test slots must be 0 or more, not -1"),
        ({"sharpness_weight": -0.1}, "negative: -0.1"),
    ],
)
def test_impossible_classifiers_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        classifier_of(**options)


OPTIONS = ["--task=structured_classification", "--criterion=structured_classification",
           "--gold-trees=listops", "--arch=ordered_memory_classifier_listops", "--embed-dim=12",
           "--hidden-size=12", "--slots=5", "--optimizer=adam", "--adam-betas=(0, 0.999)",
           "--lr=0.02", "--batch-size=16", "--no-progress-bar", "--num-workers=0",
           "--no-epoch-checkpoints", f"--user-dir={USER_DIR}"]  # fmt: skip


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lists")
    command = ["prepare", "listops", "generate", str(folder / "lists"), "--instances=80",
               "--most-tokens=12", "--depth=3"]  # fmt: skip
    assert main(command) == 0
    return folder / "lists"


def train(lists, save_dir, *options):
    return run("train", lists / "data-bin", *OPTIONS, f"--save-dir={save_dir}", *options)


def weights(folder):
    return torch.load(folder / "checkpoint_last.pt", weights_only=True)["model"]


def test_training_resumes_and_the_tools_serve_the_model(lists, tmp_path, capsys, monkeypatch):
    train(lists, tmp_path / "parts", "--max-update=2", "--sharpness-weight=0.1")
    train(lists, tmp_path / "parts", "--max-update=4", "--sharpness-weight=0.1")
    log = train(lists, tmp_path / "whole", "--max-update=4", "--sharpness-weight=0.1")
    parts, whole = weights(tmp_path / "parts"), weights(tmp_path / "whole")
    assert all(torch.equal(parts[name], whole[name]) for name in whole)
    assert not any("slot" in name for name in whole)
    assert re.search(r"valid .*\| accuracy [\d.]+.*\| f1 [\d.]+", log)
    assert re.search(r"\| pointer_entropy [\d.]+", log)
    checkpoint = str(tmp_path / "whole" / "checkpoint_last.pt")
    sentence = "[MAX 2 9 [MIN 4 7 ] 0 ]"
    model = fairseq_struct.load(checkpoint)
    (found,) = model.analyse([sentence])
    assert found.label in "0123456789" and len(found.spans[0]) == 8
    (tree,) = model.parse([sentence])
    assert tree.leaves() == sentence.split()
    for verb, said in (("classify", found.label), ("parse", "(X"), ("draw", "<svg")):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{sentence}\n"))
        assert main([verb, checkpoint, "--slots=0"]) == 0
        assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--slots=0"], "--slots must be 1 or more, not 0"),
        (["--memory-dropout=1"], r"--memory-dropout must be 0 or more and below 1, not 1\.0"),
        (["--attention=hard"], "unknown attention 'hard'"),
        (["--least-mask=2"], "least mask must be from 0 to below 1"),
        (["--test-slots=-1"], "test slots must be 0 or more, not -1"),
        (["--sharpness-weight=-1"], "is negative: -1"),
        (["--sides=2"], r"reads 2 sentence\(s\) per instance, but the data have 1"),
        (["--gold-trees=proplogic"], "no formula of the kind proplogic"),
        (["--gold-trees=lists"], "unknown --gold-trees 'lists'"),
    ],
)
def test_impossible_options_are_refused_before_training(lists, tmp_path, options, message):
    with pytest.raises((InputError, ValueError), match=message):
        train(lists, tmp_path / "run", *options, "--max-update=1")
    assert not (tmp_path / "run" / "checkpoint_last.pt").exists()
