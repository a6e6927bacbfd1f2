"""Classifiers that encode an instance by a Transformer, or a Universal Transformer."""


import torch
from torch import Tensor, nn

from fairseq_struct.modules.classification import (
    SIDES,
    Classification,
    Classifier,
    label_losses,
    perceptron,
)
from fairseq_struct.modules.masks import check_lengths, within
from fairseq_struct.modules.transformer_parts import plain_attention, sinusoids


class TransformerClassifier(Classifier):
    """Transformer encoder over ``<start> s1 <delim> s2 <extract>``, or ``<start> s1 <extract>``.

    The perceptron reads the vector of the last layer at ``<extract>`` (Radford et al. 2018,
    section 3.3, whose Transformer reads from left to right only). Word embeddings and sinusoidal
    positions are added (Vaswani et al. 2017), so that a sentence may have any length. Layers
    normalise their inputs, and a layer norm ends the stack: layers that normalise their outputs, as
    in the papers, need a warm-up to train at this depth.

    With ``universal``, all layers share their weights, and before each of them the positions and
    the sinusoid of the layer's number are added (Universal Transformer, Dehghani et al. 2018,
    section 2.1), without adaptive halting (section 2.2): every symbol takes all steps.

    Args:
        embedding: words to vectors of size D.
        labels: number of labels.
        layers: number of layers, or of steps.
        heads: of attention.
        feedforward_size: of the hidden layers between attentions.
        dropout: of the embeddings, in the layers, and of the perceptron's inputs.
        sides: sentences per instance, 1 or 2.
        universal: share one layer's weights.

    Raises:
        ValueError: ``sides`` is neither 1 nor 2, or the heads do not divide D, or D is odd.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        labels: int,
        layers: int = 12,
        heads: int = 8,
        feedforward_size: int = 800,
        dropout: float = 0.1,
        sides: int = 2,
        universal: bool = False,
    ):
        super().__init__()
        size = embedding.embedding_dim
        if sides not in SIDES:
            raise ValueError(f"a classifier reads one sentence or two, not {sides}")
        if size % heads or size % 2:
            raise ValueError(f"the size {size} must be even and a multiple of the {heads} heads")
        self.sides, self.steps, self.universal = sides, layers, universal
        self.embedding, self.dropout = embedding, nn.Dropout(dropout)
        # <start>, <delim> (of pairs only) and <extract>, which no dictionary has.
        self.symbols = nn.Parameter(torch.randn(sides + 1, size))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                size, heads, feedforward_size, dropout, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(1 if universal else layers)
        )
        self.norm = nn.LayerNorm(size)
        self.output = perceptron(size, size, labels, dropout=dropout)

    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor,
        targets: Tensor | None = None,
        gold_trees: Tensor | None = None,
    ) -> Classification:
        """See :meth:`.Classifier.forward`; gold trees are of no use."""
        check_lengths(lengths, tokens.size(-1))
        states, sizes = self._inputs(tokens, lengths)
        padding = ~within(sizes, states.size(1))
        positions = sinusoids(torch.arange(states.size(1), device=states.device), states)
        states = self.dropout(states if self.universal else states + positions)
        for step in range(self.steps):
            if self.universal:
                number = torch.tensor([step + 1], device=states.device)
                states = states + positions + sinusoids(number, states)
            layer = self.layers[0 if self.universal else step]
            with plain_attention():
                states = layer(states, src_key_padding_mask=padding)
        extracted = states[torch.arange(len(sizes), device=sizes.device), sizes - 1]
        logits = self.output(self.norm(extracted))
        return Classification(logits.detach(), label_losses(logits, targets))

    def _inputs(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors (batch, T, D) of all symbols, padding at the end, and their numbers (batch,)."""
        batch, _, longest = tokens.shape
        words = self.embedding(tokens)
        here = torch.ones(batch, 1, dtype=torch.bool, device=tokens.device)
        vectors, kept = [], []
        for side in range(self.sides):
            vectors += [self.symbols[side].expand(batch, 1, -1), words[:, side]]
            kept += [here, within(lengths[:, side], longest)]
        vectors = torch.cat([*vectors, self.symbols[-1].expand(batch, 1, -1)], 1)
        kept = torch.cat([*kept, here], 1)
        sizes = kept.sum(1)
        order = (~kept).byte().argsort(dim=1, stable=True)[:, : int(sizes.max())]
        return vectors.gather(1, order[..., None].expand(-1, -1, vectors.size(2))), sizes
