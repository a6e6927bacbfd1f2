"""The adaptive softmax against torch's, against sums written out, and in a language model."""

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_struct.modules.recurrent.adaptive_softmax import AdaptiveSoftmax
from fairseq_struct.modules.recurrent.language_model import RecurrentLanguageModel

SIZE, WORDS, CUTOFFS, PADDING = 8, 23, (5, 11), 1
TARGETS = torch.tensor([0, 4, 5, 10, 11, 22, 7, 3])


def softmax(dtype=torch.float64, words=WORDS, cutoffs=CUTOFFS):
    torch.manual_seed(1)
    return AdaptiveSoftmax(SIZE, words, cutoffs, 2.0).to(dtype)


def states(count=8, dtype=torch.float64):
    return torch.randn(count, SIZE, generator=torch.Generator().manual_seed(2)).to(dtype)


def language_model(cell="on_lstm", cutoffs=CUTOFFS, **options):
    torch.manual_seed(3)
    given = dict(words=WORDS, padding=PADDING, embedding_size=6, hidden_sizes=(8, SIZE), cell=cell,
                 chunk_size=4, tied=False, cutoffs=cutoffs, factor=2.0)  # fmt: skip
    return RecurrentLanguageModel(**given | options)


def test_both_ways_are_torchs_own():
    own, hidden = softmax(), states()
    scores = own.of_targets(hidden, TARGETS)
    torch.testing.assert_close(scores, own(hidden, TARGETS).output)
    torch.testing.assert_close(own.of_all_words(hidden), own.log_prob(hidden))
    every = own.of_all_words(hidden)
    torch.testing.assert_close(scores, every.gather(1, TARGETS[:, None]).squeeze(1))


def test_a_words_probability_is_that_of_its_cluster_times_its_own_there():
    own, hidden = softmax(), states(1)
    head = [math.exp(x) for x in (own.head.weight @ hidden[0]).tolist()]
    first, second = own.tail[1]
    cluster = [math.exp(x) for x in (second.weight @ (first.weight @ hidden[0])).tolist()]
    assert len(head) == 5 + 2 and len(cluster) == WORDS - 11 and first.out_features == SIZE // 4
    expected = math.log(head[6] / sum(head) * cluster[20 - 11] / sum(cluster))
    assert own.of_targets(hidden, torch.tensor([20])).item() == pytest.approx(expected)


def test_probabilities_sum_to_one():
    sums = softmax().of_all_words(states().view(2, 4, SIZE)).exp().sum(-1)
    torch.testing.assert_close(sums, torch.ones(2, 4, dtype=torch.float64))


def test_gradients_are_those_of_finite_differences():
    own, hidden = softmax(), states().requires_grad_()
    weights = list(own.parameters())
    again = dict(own.named_parameters())

    def of_targets(hidden, *weights):
        given = dict(zip(again, weights, strict=True))
        return torch.func.functional_call(Scores(own), _within(given), (hidden, TARGETS))

    assert torch.autograd.gradcheck(of_targets, (hidden, *weights))


class Scores(torch.nn.Module):
    """The scores of targets as a module's forward pass."""

    def __init__(self, own):
        super().__init__()
        self.own = own

    def forward(self, hidden, targets):
        return self.own.of_targets(hidden, targets)


def _within(weights):
    return {f"own.{name}": value for name, value in weights.items()}


def test_every_weight_has_a_gradient_whatever_the_targets():
    for targets in ([0, 1], [6, 6], [12, 22], []):
        own, words = softmax(), torch.tensor(targets, dtype=torch.long)
        own.of_targets(states(len(targets)), words).sum().backward()
        used = {name: weight.grad.any().item() for name, weight in own.named_parameters()}
        assert used["head.weight"] == bool(targets)
        assert used["tail.0.1.weight"] == (6 in targets)
        assert used["tail.1.1.weight"] == (12 in targets)


class LargestResult(TorchDispatchMode):
    """The number of elements of the largest tensor that is made."""

    largest = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **kwargs or {})
        if isinstance(result, torch.Tensor) and function is not torch.ops.aten.t.default:
            self.largest = max(self.largest, result.numel())
        return result


def test_training_computes_what_its_targets_need():
    count, words = 64, 40_000
    own = softmax(torch.float32, words, (100, 2000))
    with LargestResult() as made:
        own.of_targets(states(count, torch.float32), torch.arange(count))
    assert made.largest == count * (100 + 2)
    with LargestResult() as made:
        own.of_targets(states(count, torch.float32), torch.tensor([0] * (count - 1) + [30_000]))
    assert made.largest == words - 2000  # one word's
    with LargestResult() as made:
        own.of_all_words(states(count, torch.float32))
    assert made.largest == count * words


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_log_probabilities_are_float32_in_half_precision(dtype):
    own, hidden = softmax(dtype), states(dtype=dtype)
    every = own.of_all_words(hidden)
    assert every.dtype == torch.float32
    torch.testing.assert_close(every.exp().sum(-1), torch.ones(len(hidden)), atol=1e-5, rtol=0)
    scores = own.of_targets(hidden, TARGETS)
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores, every.gather(1, TARGETS[:, None]).squeeze(1))
    with torch.autocast("cpu", torch.bfloat16):
        scores = softmax(torch.float32).of_targets(hidden.float(), TARGETS)
    assert scores.dtype == torch.float32
    torch.testing.assert_close(
        scores, softmax(torch.float32).of_targets(hidden.float(), TARGETS), atol=0.05, rtol=0.05
    )


@pytest.mark.parametrize(
    ("cutoffs", "factor", "message"),
    [
        ((), 2, "must be increasing numbers, not ''"),
        ((5, 5), 2, "must be increasing numbers, not '5,5'"),
        ((7, 5), 2, "must be increasing numbers"),
        ((0, 5), 2, "1 or more and below the dictionary's 23 words, not '0,5'"),
        ((5, 23), 2, "below the dictionary's 23 words, not '5,23'"),
        ((5, 11), 0.5, "must be 1 or more, not 0.5"),
        ((5, 11), float("nan"), "must be 1 or more, not nan"),
        ((5, 11), 3, "a factor of 3 leaves nothing of a layer of 8 for the last of 2 clusters"),
        (tuple(range(1, 20)), 1e300, "leaves nothing"),
    ],
)
def test_what_it_cannot_be(cutoffs, factor, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveSoftmax(SIZE, WORDS, cutoffs, factor)


def test_the_largest_cutoff_and_the_smallest_projection():
    own = AdaptiveSoftmax(16, WORDS, (1, 22), 4.0)
    assert own.tail[1][0].out_features == 1 and own.tail[1][1].out_features == 1


def test_tied_weights_are_refused():
    with pytest.raises(ValueError, match="cannot be tied"):
        language_model("lstm", tied=True, hidden_sizes=(8, 6))


@pytest.mark.parametrize("cell", ["on_lstm", "lstm"])
def test_padding_and_batches_change_no_score(cell):
    network = language_model(cell).eval().double()
    torch.manual_seed(4)
    lengths = [7, 4, 1, 0]
    words = torch.randint(2, WORDS, (4, 8))
    outside = torch.arange(7) >= torch.tensor(lengths)[:, None]
    given, wanted = (part.masked_fill(outside, PADDING) for part in (words[:, :-1], words[:, 1:]))
    made = network(given, targets=wanted)
    assert made.logits is None and not made.target_scores[outside].any()
    whole = network(given)
    assert whole.target_scores is None
    torch.testing.assert_close(
        made.target_scores.masked_fill(outside, 0.0),
        whole.logits.gather(2, wanted[..., None]).squeeze(2).masked_fill(outside, 0.0),
    )
    for row, n in enumerate(lengths[:3]):
        alone = network(given[row : row + 1, :n], targets=wanted[row : row + 1, :n])
        torch.testing.assert_close(alone.target_scores[0], made.target_scores[row, :n])


def test_without_cutoffs_nothing_is_new():
    network = language_model(cutoffs=())
    assert type(network.output) is torch.nn.Linear and not network.adaptive
    tokens = torch.randint(2, WORDS, (2, 5))
    torch.manual_seed(5)
    made = network(tokens)
    torch.manual_seed(5)
    given = network(tokens, targets=tokens)
    assert torch.equal(made.logits, given.logits) and given.target_scores is None
