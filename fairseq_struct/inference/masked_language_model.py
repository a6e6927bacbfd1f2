"""Dependency trees of trained masked language models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch

from fairseq_struct.errors import InputError
from fairseq_struct.inference.dependency import Analysis
from fairseq_struct.inference.language_model import BATCH_WORDS, Vocabulary
from fairseq_struct.inference.reading import listed, words_of
from fairseq_struct.structure.head_selection import spanning_trees
from fairseq_struct.structure.heads import depths

# Sentences that are sorted by length before they are put into batches.
WINDOW = 2000


class MaskedParser:
    """Maximum spanning trees of what a model's parser believes, with none of the words hidden.

    Args:
        model: a masked language model with a parser, such as ``udgn``.
        words: its dictionary.
        single_root: only trees whose root has one modifier.

    Raises:
        InputError: the model has no parser.
    """

    def __init__(self, model, words, single_root: bool = True):
        if not model.parses:
            raise InputError(f"{type(model).__name__} infers no trees")
        self.model, self.vocabulary = model.eval(), Vocabulary(words)
        self.single_root = single_root

    def parse(self, sentences: Iterable[str]) -> list[tuple[int, ...]]:
        """Heads of the trees of sentences, 1-based, 0 the root."""
        return [tree.heads[0] for tree in self.trees(sentences)]

    def trees(self, sentences: Iterable[str]) -> Iterator[Analysis]:
        """Trees of sentences whose words are separated by spaces, in order.

        Raises:
            InputError: an empty sentence.
        """
        window: list[tuple[str, ...]] = []
        for number, sentence in enumerate(listed(sentences), 1):
            window.append(words_of(number, sentence))
            if len(window) == WINDOW:
                yield from self._window(window)
                window = []
        yield from self._window(window)

    @torch.inference_mode()
    def _window(self, sentences: list[tuple[str, ...]]) -> list[Analysis]:
        found: list[Analysis | None] = [None] * len(sentences)
        order = sorted(range(len(sentences)), key=lambda place: len(sentences[place]))
        device = next(self.model.parameters()).device
        while order:
            size = max(1, BATCH_WORDS // len(sentences[order[-1]]))
            batch, order = order[-size:], order[:-size]
            words = [sentences[place] for place in batch]
            lengths = torch.tensor([len(one) for one in words], device=device)
            # Sentences of a language model begin behind the end of another one; here they do not.
            tokens = self.vocabulary.read(words)[:, 1:].to(device)
            scores = self.model.encode(tokens, lengths).arc_scores
            heads = spanning_trees(scores, lengths, self.single_root)
            rows = zip(batch, words, heads.tolist(), depths(heads, lengths).tolist(), strict=True)
            for place, one, own, depth in rows:
                tree = tuple(own[: len(one)])
                found[place] = Analysis((one,), None, {}, (tree,), (depth,))
        return found
