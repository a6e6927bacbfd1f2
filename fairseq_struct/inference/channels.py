"""Which channels of a trained masked language model carry which dependencies."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from fairseq_struct.data.conllu import Sentence
from fairseq_struct.errors import InputError
from fairseq_struct.inference.language_model import BATCH_WORDS, Vocabulary
from fairseq_struct.inference.reading import by_length
from fairseq_struct.metrics.channel_correlation import ChannelCorrelation


@torch.inference_mode()
def correlate_channels(
    model, words, trees: Sequence[Sentence], subtypes: bool = False
) -> tuple[ChannelCorrelation, list[str]]:
    """Correlation of all layers' channels with the types of gold arcs, none of the words hidden.

    Args:
        model: a masked language model.
        words: its dictionary.
        trees: with relations.
        subtypes: whether ``nsubj:pass`` is another type than ``nsubj``.

    Returns:
        The correlations and the channels' names, ``1.1`` for the first one of the first layer.

    Raises:
        InputError: a tree has no relations, or there is no arc between words.
    """
    for tree in trees:
        if not tree.relations:
            raise InputError(f"line {tree.line}: without relations there are no types of arcs")
    if not any(head for tree in trees for head in tree.heads):
        raise InputError("the treebank has no arc between two words")
    vocabulary, device = Vocabulary(words), next(model.parameters()).device

    def shares_of(sentences):
        lengths = torch.tensor([len(one) for one in sentences], device=device)
        tokens = vocabulary.read(sentences)[:, 1:].to(device)
        layers = model.shares(tokens, lengths)
        names = [f"{i}.{k}" for i, layer in enumerate(layers, 1)
                 for k in range(1, layer.size(1) + 1)]  # fmt: skip
        together = torch.cat(layers, 1)
        return [(names, own[:, : len(one), : len(one)])
                for own, one in zip(together, sentences, strict=True)]  # fmt: skip

    correlation, names = None, []
    every = by_length((" ".join(tree.words) for tree in trees), BATCH_WORDS, shares_of)
    for tree, (names, shares) in zip(trees, every, strict=True):
        arcs = [(child, head - 1) for child, head in enumerate(tree.heads) if head]
        if arcs:
            correlation = correlation or ChannelCorrelation(len(names))
            children, parents = zip(*arcs, strict=True)
            types = [tree.relations[child] for child in children]
            if not subtypes:
                types = [name.split(":")[0] for name in types]
            correlation.add(shares[:, parents, children].T.float().cpu().numpy(), types)
    return correlation, names
