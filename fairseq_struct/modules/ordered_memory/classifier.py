"""Classifiers that encode each sentence with an Ordered Memory."""

from torch import Tensor, nn

from fairseq_struct.modules.classification import Classification, VectorClassifier, perceptron
from fairseq_struct.modules.ordered_memory.growing import read_growing
from fairseq_struct.modules.ordered_memory.memory import OrderedMemory
from fairseq_struct.structure.inferred_trees import CONSTITUENTS, StackTrees


class OrderedMemoryClassifier(VectorClassifier):
    """A perceptron over the root of each sentence (Shen's thesis, section 3.6.1).

    A sentence's vector is M-hat_T^N, the last slot after its last word, which is o_T^N for two
    words or more. Its tree is that of :func:`.tree_of_stack`.

    Args:
        embedding: words to vectors.
        memory: reads them.
        labels: number of labels.
        sides: sentences per instance, 1 or 2.
        input_dropout: of the word vectors.
        output_dropout: of the perceptron's inputs.
        test_slots: slots while not training; None: as in training; 0: as many as each sentence
            needs (:func:`.read_growing`).
        sharpness_weight: factor of the mean entropy of the pointers, which joins the loss in
            training. The thesis argues for sharp pointers (section 6.1.1), but has no such term.

    Raises:
        ValueError: ``sides`` not 1 or 2, or a number out of range.
    """

    tree_kind = CONSTITUENTS

    def __init__(
        self,
        embedding: nn.Embedding,
        memory: OrderedMemory,
        labels: int,
        sides: int = 1,
        input_dropout: float = 0.0,
        output_dropout: float = 0.0,
        test_slots: int | None = None,
        sharpness_weight: float = 0.0,
    ):
        super().__init__(sides)
        if test_slots is not None and test_slots < 0:
            raise ValueError(f"the number of test slots must be 0 or more, not {test_slots}")
        if sharpness_weight < 0:
            raise ValueError(f"the weight of the sharpness is negative: {sharpness_weight}")
        self.embedding, self.memory = embedding, memory
        self.dropout = nn.Dropout(input_dropout)
        self.test_slots, self.sharpness_weight = test_slots, sharpness_weight
        size = memory.input.out_features
        self.output = perceptron(size, size, labels, sides, output_dropout)

    def encode(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, StackTrees]:
        """See :meth:`.VectorClassifier.encode`."""
        words = self.dropout(self.embedding(tokens)).transpose(0, 1)
        if self.test_slots == 0 and not self.training:
            last, pointers = read_growing(self.memory, words, lengths)
        else:
            slots = None if self.training else self.test_slots
            result = self.memory(words, lengths, slots)
            last, pointers = result.last, result.pointers
        return last, StackTrees(pointers, lengths)

    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor,
        targets: Tensor | None = None,
        gold_trees: Tensor | None = None,
    ) -> Classification:
        """See :meth:`.Classifier.forward`."""
        result = super().forward(tokens, lengths, targets)
        if self.sharpness_weight and self.training and result.losses is not None:
            entropy = result.trees.pointer_entropy().view_as(lengths)
            # NaN stands for a sentence of one word, which has no decision.
            result.losses = result.losses + self.sharpness_weight * entropy.nan_to_num().mean(1)
        return result
