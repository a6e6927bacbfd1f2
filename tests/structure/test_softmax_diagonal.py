"""The straight-through gradient by the diagonal of softmax's Jacobian."""

import torch

from fairseq_struct.structure.categorical import Categorical
from fairseq_struct.structure.pullback import latent
from fairseq_struct.structure.softmax_diagonal import SoftmaxDiagonal

SCORES = torch.tensor([[0.3, -1.0, 2.0], [0.0, -torch.inf, 0.5]], dtype=torch.float64)
WEIGHTS = torch.tensor([[1.0, 2.0, -3.0], [0.5, 7.0, 4.0]], dtype=torch.float64)


def gradient(structure, method):
    scores = SCORES.clone().requires_grad_()
    result = latent(scores, structure, method, lambda z: (z * WEIGHTS).sum(1))
    result.losses.sum().backward()
    return result.value.detach(), scores.grad


def test_gradient_is_that_of_the_diagonal():
    def softmax(scores):
        return scores.softmax(1)

    jacobian = torch.stack(
        [torch.autograd.functional.jacobian(softmax, row[None])[0, :, 0] for row in SCORES]
    )
    value, found = gradient(SoftmaxDiagonal, "ste_softmax")
    assert torch.equal(value, Categorical(SCORES).argmax)
    torch.testing.assert_close(found, jacobian.diagonal(dim1=1, dim2=2) * WEIGHTS)
    _, whole = gradient(Categorical, "ste_softmax")
    torch.testing.assert_close(whole, torch.einsum("bij,bi->bj", jacobian, WEIGHTS))
    assert not torch.allclose(found, whole)


def test_everything_else_is_that_of_one_choice():
    value, _ = gradient(SoftmaxDiagonal, "marginals")
    assert torch.equal(value, Categorical(SCORES).marginals)
    half = SoftmaxDiagonal(SCORES.half())
    assert half.marginals.dtype == torch.float16
    assert torch.equal(half.entropy, Categorical(SCORES.half()).entropy)
