"""What has no second-order gradients says so, where autograd would leave them out."""

import pytest
import torch

from fairseq_struct.modules.latent_tree.arc_scorer import ArcScorer
from fairseq_struct.structure.categorical import Categorical
from fairseq_struct.structure.pullback import latent


def test_scores_of_arcs():
    torch.manual_seed(3)
    words = torch.randn(2, 3, 4, requires_grad=True)
    scores = ArcScorer(4, 5)(words, torch.randn(4))
    torch.autograd.grad(scores.sum(), words, retain_graph=True)
    with pytest.raises(RuntimeError, match="ArcScorer has no second-order gradients"):
        torch.autograd.grad(scores.square().sum(), words, create_graph=True)


def test_surrogates():
    given = torch.randn(2, 3, generator=torch.Generator().manual_seed(3)).requires_grad_()
    value = latent(given, Categorical, "spigot").value
    torch.autograd.grad(value.square().sum(), given, retain_graph=True)
    with pytest.raises(RuntimeError, match="surrogate gradient cannot be differentiated again"):
        torch.autograd.grad(value.square().sum(), given, create_graph=True)
