"""What classifiers of sentences and of pairs for fairseq have in common."""

from fairseq.models import BaseFairseqModel
from torch import Tensor

from fairseq_struct.errors import InputError
from fairseq_struct.modules.classification import Classification, Classifier


class ClassifierModel(BaseFairseqModel):
    """A classifier on ``--task structured_classification``.

    Task, criterion and tools ask it what it is; none of them knows one classifier from another.

    Args:
        network: what it is.
    """

    # Word vectors to begin with are in the checkpoint.
    ONLY_FOR_TRAINING = ("embed_path",)

    def __init__(self, network: Classifier):
        super().__init__()
        self.network = network

    @staticmethod
    def check_task(task):
        """Refuse a task without labels.

        Raises:
            InputError: it has none.
        """
        if not hasattr(task, "label_names"):
            raise InputError("this model is for --task structured_classification")

    @property
    def sides(self) -> int:
        """Sentences per instance."""
        return self.network.sides

    @property
    def tree_kind(self) -> str | None:
        """The kind of trees that it infers: ``dependencies``, ``constituents`` or None."""
        return self.network.tree_kind

    @property
    def gold_kind(self) -> str | None:
        """The kind of gold trees that it takes, likewise."""
        return self.network.gold_kind

    def can_build(self, heads: Tensor) -> bool:
        """Whether its trees can be the gold one of a sentence, (n,) heads."""
        return self.network.can_build(heads)

    def forward(
        self, tokens: Tensor, lengths: Tensor, targets: Tensor | None = None, **gold: Tensor
    ) -> Classification:
        """Scores and losses: see :meth:`.Classifier.forward`.

        Raises:
            InputError: the data have another number of sentences per instance.
        """
        if tokens.size(1) != self.sides:
            raise InputError(
                f"this model reads {self.sides} sentence(s) per instance, the data have "
                f"{tokens.size(1)}"
            )
        return self.network(tokens, lengths, targets, **gold)
