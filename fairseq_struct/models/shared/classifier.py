"""Base class of the classifiers of sentences and of sentence pairs for fairseq."""

from collections.abc import Sequence

from fairseq.models import BaseFairseqModel
from torch import Tensor

from fairseq_struct.errors import InputError
from fairseq_struct.modules.classification import Classification, Classifier
from fairseq_struct.option_checks import require_at_least, require_share, require_task


class ClassifierModel(BaseFairseqModel):
    """A classifier for ``--task structured_classification``.

    Task, criterion and tools read its properties; none of them depends on a particular classifier.

    Args:
        network: the classifier.
    """

    for_tasks = ("structured_classification",)
    # Not needed after training: the initial word vectors are part of the checkpoint's weights.
    ONLY_FOR_TRAINING = ("embed_path",)

    def __init__(self, network: Classifier):
        super().__init__()
        self.network = network

    @classmethod
    def check_task(cls, task):
        """Refuse another task.

        Raises:
            InputError: the task is none of :attr:`for_tasks`.
        """
        require_task(cls, task)

    @staticmethod
    def check_sizes(cfg, *names: str, dropouts: Sequence[str] = ("dropout",)):
        """Refuse sizes below 1, and dropouts that are not probabilities below 1.

        Args:
            cfg: the options.
            names: of the options that are sizes.
            dropouts: names of the options that are dropouts.

        Raises:
            InputError: with the option and its value.
        """
        require_at_least(cfg, 1, *names)
        require_share(cfg, *dropouts)

    @property
    def sides(self) -> int:
        """Sentences per instance."""
        return self.network.sides

    @property
    def tree_kind(self) -> str | None:
        """Kind of trees that the model infers: ``dependencies``, ``constituents`` or None."""
        return self.network.tree_kind

    @property
    def gold_kind(self) -> str | None:
        """Kind of gold trees that the model uses: ``dependencies``, ``constituents`` or None."""
        return self.network.gold_kind

    def can_build(self, tree: Tensor) -> bool:
        """Whether the model can infer or read this gold tree: see :meth:`.Classifier.can_build`."""
        return self.network.can_build(tree)

    def forward(
        self, tokens: Tensor, lengths: Tensor, targets: Tensor | None = None, **gold: Tensor
    ) -> Classification:
        """Scores and losses: see :meth:`.Classifier.forward`.

        Raises:
            InputError: the number of sentences per instance differs from :attr:`sides`.
        """
        if tokens.size(1) != self.sides:
            raise InputError(
                f"this model reads {self.sides} sentence(s) per instance, but the data have "
                f"{tokens.size(1)}"
            )
        return self.network(tokens, lengths, targets, **gold)
