"""Sentence classifier with a latent dependency tree for fairseq (thesis, section 4.5.2)."""

from dataclasses import dataclass, field

from fairseq.models import BaseFairseqModel, register_model, register_model_architecture
from torch import Tensor, nn

from fairseq_struct.errors import InputError
from fairseq_struct.models.shared.tree_options import (
    LatentTreeConfig,
    build_embedding,
    build_tree,
    set_thesis_steps,
)
from fairseq_struct.modules.latent_tree.classifier import (
    Classification,
    LatentTreeClassifier,
    SentenceClassifier,
)
from fairseq_struct.modules.sentence_encoder import SentenceEncoder
from fairseq_struct.structure.dependency.heads import depths


@dataclass
class LatentTreeClassifierConfig(LatentTreeConfig):
    """Options of the model."""

    lstm_layers: int = field(default=1, metadata={"help": "layers of the BiLSTM"})


class TreeModel(BaseFairseqModel):
    """A classifier of sentences, with trees or without.

    Args:
        network: what it is; its ``tree`` is a :class:`LatentTree` or None.
    """

    # Sentences per instance.
    sides = 1
    # The vectors are in the checkpoint.
    ONLY_FOR_TRAINING = ("embed_path",)

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    @property
    def tree(self):
        """How trees are inferred; None for the baseline."""
        return getattr(self.network, "tree", None)

    def forward(self, tokens: Tensor, lengths: Tensor, targets=None, heads=None) -> Classification:
        """Scores and losses: see :meth:`LatentTreeClassifier.forward`.

        Raises:
            InputError: the data have another number of sentences per instance.
        """
        if tokens.size(1) != self.sides:
            raise InputError(
                f"this model reads {self.sides} sentence(s) per instance, the data have "
                f"{tokens.size(1)}"
            )
        return self.network(tokens, lengths, targets, heads)

    def heads(self, output: Classification) -> Tensor:
        """Heads of the best trees, (batch, k, n)."""
        return self.tree.heads(output.arc_scores, output.lengths)

    def tree_depths(self, output: Classification) -> Tensor:
        """Depths of the best trees, (batch * k,)."""
        return depths(self.heads(output).flatten(0, 1), output.lengths.flatten())


@register_model("latent_tree_classifier", dataclass=LatentTreeClassifierConfig)
class LatentTreeClassifierModel(TreeModel):
    """:class:`LatentTreeClassifier`, or with ``--latent-method baseline`` a BiLSTM without trees.

    The sizes are the thesis's for SST (table A.1): with 300-dimensional embeddings that are not
    trained they give 181,502 parameters and 151,102 without trees (there 180K and 150K).
    """

    @classmethod
    def build_model(cls, cfg: LatentTreeClassifierConfig, task) -> "LatentTreeClassifierModel":
        """Build the model for the task's dictionaries.

        Raises:
            InputError: an option out of range, or word vectors that do not fit.
        """
        if cfg.hidden_size % 2:
            raise InputError(f"--hidden-size must be even for a BiLSTM, not {cfg.hidden_size}")
        if cfg.lstm_layers < 1:
            raise InputError(f"--lstm-layers must be 1 or more, not {cfg.lstm_layers}")
        tree, embedding = build_tree(cfg, task), build_embedding(cfg, task.words)
        encoder = SentenceEncoder(embedding, cfg.hidden_size, cfg.lstm_layers, cfg.dropout)
        labels = len(task.label_names)
        if tree is None:
            return cls(SentenceClassifier(encoder, cfg.hidden_size, labels, cfg.dropout))
        return cls(LatentTreeClassifier(encoder, cfg.hidden_size, labels, tree, cfg.dropout))


@register_model_architecture("latent_tree_classifier", "latent_tree_classifier_sst")
def latent_tree_classifier_sst(args):
    """The thesis's model for SST: pretrained embeddings of 300 that are not trained.

    Its best eta (table A.1) for batches of 32 is 0.1; of ``ste_identity`` it names none, and 1 is
    the plain straight-through gradient.
    """
    set_thesis_steps(args, 1 if getattr(args, "latent_method", "") == "ste_identity" else 0.1, 32)
    args.embed_dim = getattr(args, "embed_dim", 300)
    pretrained = getattr(args, "embed_path", None) is not None
    args.freeze_embeddings = getattr(args, "freeze_embeddings", pretrained)
    args.hidden_size = getattr(args, "hidden_size", 100)
    args.lstm_layers = getattr(args, "lstm_layers", 1)
    args.dropout = getattr(args, "dropout", 0.0)
