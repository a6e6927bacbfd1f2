"""The Transformer classifiers: what they read, padding, and shared weights."""

import math

import pytest
import torch
from small_lists import WORDS, batch_of_lists
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_struct.modules.transformer_classifier import TransformerClassifier
from fairseq_struct.modules.transformer_parts import (
    plain_attention,
    sinusoids,
    sinusoids_in_float32,
)

SIZE = 8


def network(sides=1, universal=False, layers=3):
    torch.manual_seed(1)
    words = nn.Embedding(len(WORDS), SIZE, 0)
    return TransformerClassifier(words, 4, layers, 2, 12, 0.0, sides, universal).double()


def position(number):
    angles = [number / 10_000 ** (j / SIZE) for j in range(0, SIZE, 2)]
    pairs = [(math.sin(angle), math.cos(angle)) for angle in angles]
    return torch.tensor(pairs, dtype=torch.float64).flatten()


def logits_of(classifier, tokens, lengths):
    """Scores of one instance without padding, step by step."""
    sentences = [classifier.embedding(own[:n]) for own, n in zip(tokens, lengths, strict=True)]
    start, *delimiters, extract = classifier.symbols
    parts = [start[None], sentences[0]]
    for delimiter, sentence in zip(delimiters, sentences[1:], strict=True):
        parts += [delimiter[None], sentence]
    states = torch.cat([*parts, extract[None]])
    positions = torch.stack([position(number) for number in range(len(states))])
    for step in range(1, 4):
        if classifier.universal:
            states = states + positions + position(step)
        elif step == 1:
            states = states + positions
        layer = classifier.layers[0 if classifier.universal else step - 1]
        normed = layer.norm1(states)[None]
        states = states + layer.self_attn(normed, normed, normed, need_weights=False)[0][0]
        hidden = nn.functional.gelu(layer.linear1(layer.norm2(states)))
        states = states + layer.linear2(hidden)
    return classifier.output(classifier.norm(states[-1]))


class Operations(TorchDispatchMode):
    """Names of all operations."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.add(function.overloadpacket.__name__)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("enabled", [True, False])
def test_torchs_slow_kernel_for_evaluation_is_left_out(enabled, monkeypatch):
    """And the program's own choice stays as it is."""
    monkeypatch.setattr(torch.backends.mha, "_is_fastpath_enabled", enabled)
    classifier, data = network().eval(), batch_of_lists(3)
    with torch.inference_mode(), Operations() as operations:
        classifier(data.tokens, data.lengths)
    assert not any("multi_head" in name or "encoder_layer" in name for name in operations.names)
    assert torch.backends.mha.get_fastpath_enabled() is enabled


@pytest.mark.parametrize("training", [True, False])  # torch has a second path for evaluation
@pytest.mark.parametrize("universal", [False, True])
@pytest.mark.parametrize("sides", [1, 2])
def test_instances_are_read_one_by_one_whatever_the_padding(sides, universal, training):
    classifier, data = network(sides, universal).train(training), batch_of_lists(5, sides)
    tokens = nn.functional.pad(data.tokens, (0, 3), value=7)
    with torch.set_grad_enabled(training):
        found = classifier(tokens, data.lengths, data.targets % 4)
    expected = [logits_of(classifier, *one) for one in zip(tokens, data.lengths, strict=True)]
    torch.testing.assert_close(found.logits, torch.stack(expected))
    losses = nn.functional.cross_entropy(found.logits, data.targets % 4, reduction="none")
    torch.testing.assert_close(found.losses.double(), losses, rtol=1e-5, atol=1e-6)


def test_padding_changes_no_gradient():
    data = batch_of_lists(3, 2)
    gradients = []
    for width in (0, 4):
        classifier = network(2)
        tokens = nn.functional.pad(data.tokens, (0, width), value=5)
        classifier(tokens, data.lengths, data.targets).losses.sum().backward()
        gradients.append([own.grad for own in classifier.parameters()])
    torch.testing.assert_close(*gradients)


def test_a_universal_transformer_has_the_weights_of_one_layer():
    def count(**options):
        return sum(own.numel() for own in network(**options).parameters())

    assert count(universal=True, layers=7) == count(universal=True) == count(layers=1)
    assert count(layers=3) > count(layers=1)


def test_positions_have_no_longest_length():
    found = sinusoids(torch.tensor([0, 5, 10_000]), torch.zeros(SIZE, dtype=torch.float64))
    torch.testing.assert_close(found, torch.stack([position(n) for n in (0, 5, 10_000)]))


def test_positions_in_float32_are_the_same_ones():
    numbers = torch.arange(90)
    for size in (2, 8):
        found = sinusoids_in_float32(90, size)
        torch.testing.assert_close(found, sinusoids(numbers, found), atol=1e-5, rtol=0)
    assert torch.equal(sinusoids_in_float32(3, 1)[:, 0], numbers[:3].sin())


@pytest.mark.parametrize(
    ("size", "options", "message"),
    [
        (8, {"heads": 3}, "the size 8 must be even and a multiple of the 3 heads"),
        (9, {"heads": 3}, "the size 9 must be even"),
        (8, {"sides": 3}, "reads one sentence or two, not 3"),
    ],
)
def test_impossible_classifiers_are_refused(size, options, message):
    with pytest.raises(ValueError, match=message):
        TransformerClassifier(nn.Embedding(5, size), 2, 1, **options)


def test_threads_leave_the_programs_choice_as_it_was(monkeypatch):
    """The second thread enters while the first is inside, and leaves last."""
    monkeypatch.setattr(torch.backends.mha, "_is_fastpath_enabled", True)
    first, second = plain_attention(), plain_attention()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not torch.backends.mha.get_fastpath_enabled()
    second.__exit__(None, None, None)
    assert torch.backends.mha.get_fastpath_enabled()
