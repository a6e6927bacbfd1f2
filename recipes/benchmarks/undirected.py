"""Time of undirected networks, forward and backward, against the directed networks they unroll.

A row per network: attention (batches of 64 sequences of 25, size 256, 3 hidden symbols each)
against plain self-attention; convolutions (128 images of 28 x 28) against the same layers in
``nn.Sequential``; and the dependency parser (32 sentences of 30 words, vectors and layers of 400,
without encoder, V drawn at random) against its own first pass, which is the biaffine parser:
``parser`` has a learned head for the root, as the presets have, ``parser_word`` has not. Losses are
those of training, gradients those of all weights. No dropout. The kinds alternate; each number is a
median of steps that follow an untimed one.

    python recipes/benchmarks/undirected.py [--threads 1] [--append]
"""

from collections.abc import Callable

import timing
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fairseq_struct.modules.undirected.attention import SelfAttention, UndirectedAttention
from fairseq_struct.modules.undirected.convnet import CHANNELS, KERNELS, STRIDE, UndirectedConvnet
from fairseq_struct.modules.undirected.parser import UndirectedParser
from fairseq_struct.modules.undirected.passes import Passes

PASSES = (1, 2, 3)
SYMBOLS, SEQUENCES, LENGTH, SIZE = 64, 64, 25, 256
IMAGES, PIXELS, LABELS = 128, 28, 10
SENTENCES, WORDS, LAYER = 32, 30, 400


class Vectors(nn.Module):
    """In place of an encoder: the words' vectors are given."""

    size = LAYER


def attention() -> dict[str, Callable[[], Tensor]]:
    """Losses of the hidden symbols, by the kind of network."""
    tokens = torch.randint(SYMBOLS, (SEQUENCES, LENGTH))
    places = torch.rand(SEQUENCES, LENGTH).topk(3).indices
    lengths = torch.full((SEQUENCES,), LENGTH)
    gold = tokens.gather(1, places).flatten()

    def loss(network: nn.Module) -> Tensor:
        return cross_entropy(network(tokens, lengths, places).logits.flatten(0, 1), gold)

    kinds = {f"k{k}": UndirectedAttention(SYMBOLS, SIZE, passes=Passes(k)) for k in PASSES}
    return _losses({"directed": SelfAttention(SYMBOLS, SIZE), **kinds}, loss)


def convolution() -> dict[str, Callable[[], Tensor]]:
    """Losses of classification, by the kind of network."""
    images, gold = torch.rand(IMAGES, 1, PIXELS, PIXELS), torch.randint(LABELS, (IMAGES,))
    first, second = CHANNELS
    side = ((PIXELS - KERNELS[0]) // STRIDE + 1 - KERNELS[1]) // STRIDE + 1
    plain = nn.Sequential(
        nn.Conv2d(1, first, KERNELS[0], STRIDE), nn.Tanh(),
        nn.Conv2d(first, second, KERNELS[1], STRIDE), nn.Tanh(),
        nn.Flatten(), nn.Linear(second * side * side, LABELS),
    )  # fmt: skip

    def loss(network: nn.Module) -> Tensor:
        found = network(images)
        return cross_entropy(found if isinstance(found, Tensor) else found.logits, gold)

    shape = (1, PIXELS, PIXELS)
    kinds = {f"k{k}": UndirectedConvnet(shape, LABELS, Passes(k)) for k in PASSES}
    return _losses({"directed": plain, **kinds}, loss)


def parser(root_head: str = "learned") -> dict[str, Callable[[], Tensor]]:
    """Negative log-likelihoods of trees, by the kind of network."""
    words, lengths = torch.randn(SENTENCES, WORDS, LAYER), torch.full((SENTENCES,), WORDS)
    gold = torch.arange(WORDS).expand(SENTENCES, -1)  # every word depends on the one before it

    def loss(network: nn.Module) -> Tensor:
        return -network.infer(words, lengths).trees.log_prob(gold).mean()

    kinds = {}
    for k in PASSES:
        kinds[f"k{k}"] = network = UndirectedParser(
            Vectors(), LAYER, dropout=0.0, passes=Passes(k), root_head=root_head
        )
        nn.init.normal_(network.graph.factors["arcs"].weight, std=0.01)
    return _losses(kinds, loss)


def parser_word() -> dict[str, Callable[[], Tensor]]:
    """As :func:`parser`; a word's own vector stands for the root, as in the thesis's equations."""
    return parser("word")


def _losses(networks: dict[str, nn.Module], loss: Callable) -> dict[str, Callable[[], Tensor]]:
    def of(network: nn.Module) -> Callable[[], Tensor]:
        def value() -> Tensor:
            network.zero_grad()
            return loss(network)

        return value

    return {kind: of(network) for kind, network in networks.items()}


def milliseconds(losses: dict[str, Callable[[], Tensor]], repeats: int) -> dict[str, float]:
    """Median time of a forward and backward pass of each kind."""
    steps = {kind: lambda loss=loss: loss().backward() for kind, loss in losses.items()}
    return {kind: round(ms, 2) for kind, ms in timing.milliseconds(steps, repeats).items()}


def metrics_of(times: dict[str, float]) -> dict[str, float]:
    """Times, and ratios to the first kind."""
    first, *others = times
    ratios = {f"ratio_{kind}": round(times[kind] / times[first], 2) for kind in others}
    return {f"milliseconds_{kind}": value for kind, value in times.items()} | ratios


def main():
    setting = timing.parsed(timing.options_of(__doc__, 15, "timed steps of each"))
    for make in (attention, convolution, parser, parser_word):
        torch.manual_seed(1)
        metrics = metrics_of(milliseconds(make(), setting.repeats))
        timing.report(
            setting, "undirected", make.__name__, metrics,
            f"forward and backward pass, {setting.repeats} repeats; ratios to the directed network",
        )  # fmt: skip


if __name__ == "__main__":
    main()
