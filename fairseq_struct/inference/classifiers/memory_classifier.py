"""Trained classifiers with a memory of slots, whose steps can be looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torch import Tensor

from fairseq_struct.inference.classifiers.classifier import Classifier
from fairseq_struct.inference.evaluation_mode import in_evaluation
from fairseq_struct.inference.reading import RawSentence, Words
from fairseq_struct.structure.spans import Span


@dataclass(frozen=True)
class MemorySteps:
    """What a memory of slots did while it read a sentence, a step for each word.

    Attributes:
        words: words of the sentence.
        pointers: (words, slots) p_t, the head of the stack at each step; the last slot is the root.
            Slots that no word of this sentence can reach are left out. The first word finds no
            slot: its row is 0.
        spans: (start, end) of the induced constituents, from 0, the end excluded.
    """

    words: tuple[str, ...]
    pointers: Tensor
    spans: tuple[Span, ...]


class MemoryClassifier(Classifier):
    """A trained classifier whose trees are those of a soft stack (:class:`.StackTrees`).

    Args:
        model: a classifier with ``test_slots``, its slots while not training.
        words, labels, options: as for :class:`.Classifier`.
        slots: memory slots for the input; 0: as many as each sentence needs; None: as the model
            says.
    """

    def __init__(self, model, words, labels, *options, slots: int | None = None, **more):
        super().__init__(model, words, labels, *options, **more)
        if slots is not None:
            model.test_slots = slots

    def memories(self, sentences: Iterable[RawSentence]) -> Iterator[MemorySteps]:
        """Yield the steps of single sentences, in order; pairs as for :meth:`trees`.

        Raises:
            InputError: as for :meth:`trees`.
        """
        return self._by_length(sentences, self._steps, self._repeated)

    @in_evaluation
    def _steps(self, batch: list[tuple[Words, ...]]) -> Iterator[MemorySteps]:
        _, trees = self._read(batch)
        every = zip(trees.pointers.float().cpu().unbind(1), trees.spans(), strict=True)
        for words, *_ in batch:
            pointers, spans = next(every)
            for _ in range(self.sides - 1):  # the same sentence again
                next(every)
            yield MemorySteps(words, _reached(pointers[: len(words)]), spans)


def _reached(pointers: Tensor) -> Tensor:
    """p_t (words, slots) without the slots that are 0 in every step."""
    reached = (pointers > 0).any(0).nonzero()
    first = int(reached[0]) if len(reached) else pointers.size(1) - 1
    return pointers[:, first:].clone()
