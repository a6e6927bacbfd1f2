"""Time of a training step of a UDGN, and of parsing with it, at the size of Shen's thesis.

Training: forward and backward pass of 32 sentences of 30 words (30 % hidden, 10,000 words in the
dictionary), compared with torch.nn.TransformerEncoder with 8 layers of 512 in the same masked
language model. Parsing: from integers to best trees in batches, compared with one sentence at a
time with networkx's Chu-Liu/Edmonds. Each timed run follows an untimed one of its kind. The kinds
alternate, and each number is a median.

    python recipes/benchmarks/udgn.py [--threads 1] [--append]
"""

import networkx
import timing
import torch
from torch import nn

from fairseq_struct.modules.masked_lm.dependency_graph import (
    DependencyGraphLayer,
    DependencyGraphNetwork,
)
from fairseq_struct.modules.masked_lm.head_parser import HeadParser, TagSharedEmbedding
from fairseq_struct.modules.masked_lm.language_model import (
    MaskedLanguageModel,
    TransformerMaskedEncoder,
    UDGNEncoder,
)
from fairseq_struct.structure.dependency import spanning_trees

SENTENCES, LENGTH, WORDS, SIZE, LAYERS, MASK_RATE = 32, 30, 10_000, 512, 8, 0.3
ALONE = 8  # sentences that are parsed one at a time


def udgn() -> MaskedLanguageModel:
    """The UDGN of Shen's thesis for the Penn Treebank."""
    torch.manual_seed(1)
    embedding = nn.Embedding(WORDS, SIZE)
    tags = TagSharedEmbedding(nn.Embedding(WORDS, SIZE), 50)
    parser = HeadParser(tags, SIZE, SIZE, 3, 0.2)
    layers = [DependencyGraphLayer(SIZE, 8, 128, 0.2, 0.1) for _ in range(LAYERS)]
    graph = DependencyGraphNetwork(layers, SIZE, 0, 0.2)
    return MaskedLanguageModel(UDGNEncoder(parser, embedding, graph), embedding)


def transformer() -> MaskedLanguageModel:
    """The Transformer to compare with."""
    torch.manual_seed(1)
    embedding = nn.Embedding(WORDS, SIZE)
    encoder = TransformerMaskedEncoder(embedding, LAYERS, 8, 2048, LENGTH, 0.2, 0.1)
    return MaskedLanguageModel(encoder, embedding)


def training_step(network: MaskedLanguageModel):
    """Forward and backward pass."""
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(WORDS, (SENTENCES, LENGTH), generator=generator)
    hidden = torch.rand(tokens.shape, generator=generator) < MASK_RATE
    network.zero_grad()
    scores, _ = network(tokens, torch.full((SENTENCES,), LENGTH), hidden)
    nn.functional.cross_entropy(scores, tokens[hidden]).backward()


def best_tree(scores: torch.Tensor):
    """Heads of one sentence by networkx."""
    graph = networkx.DiGraph()
    for head, row in enumerate(scores.tolist()):
        for modifier, score in enumerate(row):
            graph.add_edge(0 if head == modifier else head + 1, modifier + 1, weight=score)
    tree = networkx.maximum_spanning_arborescence(graph)
    return [next(iter(tree.predecessors(word))) for word in range(1, scores.size(0) + 1)]


@torch.inference_mode()
def parse_in_batches(network: MaskedLanguageModel, tokens: torch.Tensor, trees: bool):
    """Heads of all sentences in a batch; without ``trees``, only the parser's scores."""
    lengths = torch.full((len(tokens),), LENGTH)
    scores = network.encoder.parser(tokens, lengths)
    return spanning_trees(scores.float(), lengths) if trees else scores


@torch.inference_mode()
def parse_alone(network: MaskedLanguageModel, tokens: torch.Tensor, trees: bool):
    """Parse some sentences one at a time; without ``trees``, compute only the parser's scores."""
    for sentence in tokens[:ALONE]:
        scores = network.encoder.parser(sentence[None], torch.tensor([LENGTH]))[0]
        if trees:
            best_tree(scores)


def training(repeats: int) -> dict[str, float]:
    """Metrics of the training step."""
    networks = {"udgn": udgn(), "transformer": transformer()}
    times = timing.milliseconds(
        {name: lambda network=network: training_step(network)
         for name, network in networks.items()}, repeats,
    )  # fmt: skip
    ratio = times["udgn"] / times["transformer"]
    return {f"milliseconds_{name}": round(value) for name, value in times.items()} | {
        "time_ratio": round(ratio, 2)
    }


def parsing(repeats: int) -> dict[str, float]:
    """Metrics of parsing, per sentence."""
    network = udgn().eval()

    def in_bfloat16():
        with torch.autocast("cpu", torch.bfloat16):
            return parse_in_batches(network, tokens, True)

    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(WORDS, (4 * SENTENCES, LENGTH), generator=generator)
    runs = {
        "in_batches": lambda: parse_in_batches(network, tokens, True),
        "in_batches_bfloat16": in_bfloat16,
        "alone": lambda: parse_alone(network, tokens, True),
        "parser_in_batches": lambda: parse_in_batches(network, tokens, False),
        "parser_alone": lambda: parse_alone(network, tokens, False),
    }
    times = timing.milliseconds(runs, repeats)
    each = {name: value / (ALONE if "alone" in name else len(tokens))
            for name, value in times.items()}  # fmt: skip
    return {f"milliseconds_{name}": round(value, 2) for name, value in each.items()} | {
        "speed_ratio": round(each["alone"] / each["in_batches"], 1),
        "speed_ratio_bfloat16": round(each["alone"] / each["in_batches_bfloat16"], 1),
    }


def main():
    setting = timing.parsed(timing.options_of(__doc__, 7, "timed runs of each"))
    for name, measure in (("training step", training), ("parsing", parsing)):
        metrics = measure(setting.repeats)
        timing.report(
            setting, "udgn", name, metrics,
            f"{LAYERS} layers of {SIZE}, sentences of {LENGTH} words; training {SENTENCES} at once "
            f"against TransformerEncoder, parsing {4 * SENTENCES} at once against one at a time "
            f"with networkx; {setting.repeats} repeats",
        )  # fmt: skip


if __name__ == "__main__":
    main()
