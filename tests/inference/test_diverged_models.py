"""A model whose weights are NaN gives no answer that looks like one."""

import pytest
import torch
from stored_models import STORED

from fairseq_struct import load
from fairseq_struct.errors import NotFiniteScores


def diverged(name, data, verb, *given, **options):
    tool = load(STORED / f"{name}.pt", *([STORED / data / "data-bin"] if data else []))
    before = getattr(tool, verb)(*given, **options)
    with torch.no_grad():
        for weight in tool.model.parameters():
            weight.fill_(float("nan"))
    return before, lambda: getattr(tool, verb)(*given, **options)


@pytest.mark.parametrize("name", ["ordered_memory_classifier", "beam_tree_classifier"])
def test_trees(name):
    before, again = diverged(name, "pairs", "parse", ["one two three"])
    assert before
    with pytest.raises(NotFiniteScores, match="NaN"):
        again()


@pytest.mark.parametrize("name", ["recurrent_classifier", "transformer_classifier"])
def test_labels(name):
    before, again = diverged(name, "pairs", "classify", [("one two", "two")])
    assert before
    with pytest.raises(NotFiniteScores, match="NaN"):
        again()


@pytest.mark.parametrize("name", ["option_controller", "compile_policy"])
def test_actions(name):
    before, again = diverged(name, "demonstrations", "rollout", episodes=2)
    assert before
    with pytest.raises(NotFiniteScores, match="NaN"):
        again()
