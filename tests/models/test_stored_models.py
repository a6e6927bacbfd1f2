"""Checkpoints of an earlier version, one per architecture, load and give the same outputs."""

import json
import re

import pytest
import torch
from stored_models import MODELS, OUTPUTS, STORED, outputs_of
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_struct import plugin
from fairseq_struct.inference.restoring import restore

NUMBER = re.compile(r"-?\d+\.\d+")


@pytest.mark.parametrize("arch", MODELS)
def test_an_older_checkpoint_gives_the_same_numbers(arch):
    expected, found = json.loads(OUTPUTS.read_text())[arch], outputs_of(arch)
    assert found["validation"] == pytest.approx(expected["validation"], abs=0.0011)  # of 3 digits
    assert found.keys() == expected.keys()
    for verb in expected.keys() - {"validation"}:
        ours, theirs = "\n".join(found[verb]), "\n".join(expected[verb])
        assert NUMBER.sub("#", ours) == NUMBER.sub("#", theirs)
        numbers = [list(map(float, NUMBER.findall(text))) for text in (ours, theirs)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.00011)  # of 4 digits


def test_every_model_of_this_package_has_one():
    plugin.load()
    from fairseq.models import MODEL_REGISTRY

    own = {n for n, model in MODEL_REGISTRY.items() if model.__module__.startswith("fairseq_str")}
    assert own <= set(MODELS)
    assert all((STORED / f"{arch}.pt").is_file() for arch in MODELS)


class Draws(TorchDispatchMode):
    """Notes which random numbers PyTorch is asked for in tensors without memory."""

    def __init__(self):
        super().__init__()
        self.noted = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        drawn = torch.Tag.nondeterministic_seeded in function.tags
        if drawn and isinstance(found, torch.Tensor) and found.is_meta:
            self.noted.add(str(function))
        return found


@pytest.mark.parametrize("arch", MODELS)
def test_nothing_is_drawn_while_a_checkpoint_is_looked_at(arch):
    """PyTorch imports its compiler, for seconds, to draw in a tensor without memory."""
    data = MODELS[arch][0]
    with Draws() as draws:
        restore(STORED / f"{arch}.pt", STORED / data / "data-bin" if data else None)
    assert not draws.noted
