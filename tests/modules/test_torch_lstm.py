"""LSTMs in half precision, on processors with and without instructions for it."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from fairseq_struct.modules.masked_lm.head_parser import HeadParser
from fairseq_struct.modules.recurrent.lstm_layers import LSTMLayers
from fairseq_struct.modules.recurrent.torch_lstm import has_lstm

OLD_PROCESSOR = {"ONEDNN_MAX_CPU_ISA": "AVX2"}


def parser_scores(lengths):
    torch.manual_seed(1)
    parser = HeadParser(nn.Embedding(9, 8), 8, 8, 2).train()
    tokens = torch.randint(9, (3, 5))
    return parser, lambda: parser(tokens, lengths)


def language_model_states(lengths):
    torch.manual_seed(1)
    layers = LSTMLayers(8, [12, 8], 0.0).train()
    words = torch.randn(5, 3, 8)
    return layers, lambda: layers.run(words, None, lengths).output


def with_gradients(make, lengths, dtype):
    """The outputs, and the gradients of all weights; under autocast if a type is given."""
    module, run = make(lengths)
    with torch.autocast("cpu", dtype or torch.bfloat16, enabled=dtype is not None):
        found = run()
    (found.float() ** 2).sum().backward()
    return found, [leaf.grad for leaf in module.parameters()]


LENGTHS = torch.tensor([5, 3, 1])
CASES = [(parser_scores, LENGTHS), (language_model_states, None), (language_model_states, LENGTHS)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("make", "lengths"), CASES)
def test_autocast_is_near_float32(make, lengths, dtype):
    exact, gradients = with_gradients(make, lengths, None)
    rough, others = with_gradients(make, lengths, dtype)
    assert exact.dtype == torch.float32
    assert rough.dtype == (dtype if lengths is None or make is parser_scores else torch.float32)
    torch.testing.assert_close(rough.float(), exact, atol=0.03, rtol=0.03)
    scale = max(gradient.abs().max().item() for gradient in gradients)
    for one, other in zip(gradients, others, strict=True):
        torch.testing.assert_close(other, one, atol=0.03 * scale, rtol=0.05)


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the variable is for x86-64"
)
def test_a_processor_without_half_precision_does_the_same():
    if all(os.environ.get(name) == value for name, value in OLD_PROCESSOR.items()):
        assert not has_lstm(torch.bfloat16) and not has_lstm(torch.float16)
        return
    # OneDNN reads its variable when torch starts, so this needs a separate process.
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", __file__],
        env=os.environ | OLD_PROCESSOR, cwd=Path(__file__).parents[2], capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert f"{2 * len(CASES) + 1} passed" in done.stdout
