"""Entailment with latent dependency trees for fairseq (thesis, section 4.5.2)."""

from dataclasses import dataclass, field

from fairseq.models import register_model, register_model_architecture

from fairseq_struct.models.latent_tree_classifier import TreeModel
from fairseq_struct.models.tree_options import LatentTreeConfig, build_embedding, build_tree
from fairseq_struct.modules.decomposable_attention import DecomposableAttention


@dataclass
class LatentTreeEntailmentConfig(LatentTreeConfig):
    """Options of the model, with the thesis's defaults for SNLI."""

    hidden_size: int = field(default=200, metadata={"help": "size of the hidden layers"})
    dropout: float = field(default=0.2, metadata={"help": "dropout probability"})


@register_model("latent_tree_entailment", dataclass=LatentTreeEntailmentConfig)
class LatentTreeEntailmentModel(TreeModel):
    """:class:`DecomposableAttention` for pairs of sentences.

    With ``--latent-method baseline`` there are no trees. The defaults are the thesis's for SNLI.
    """

    sides = 2

    @classmethod
    def build_model(cls, cfg: LatentTreeEntailmentConfig, task) -> "LatentTreeEntailmentModel":
        """Build the model for the task's dictionaries.

        Raises:
            InputError: an option out of range, or word vectors that do not fit.
        """
        tree, embedding = build_tree(cfg, task), build_embedding(cfg, task.words)
        labels = len(task.label_names)
        return cls(DecomposableAttention(embedding, cfg.hidden_size, labels, tree, cfg.dropout))


@register_model_architecture("latent_tree_entailment", "latent_tree_entailment_snli")
def latent_tree_entailment_snli(args):
    """The thesis's model for SNLI: pretrained embeddings of 300 that are not trained."""
    args.embed_dim = getattr(args, "embed_dim", 300)
    pretrained = getattr(args, "embed_path", None) is not None
    args.freeze_embeddings = getattr(args, "freeze_embeddings", pretrained)
    args.hidden_size = getattr(args, "hidden_size", 200)
    args.dropout = getattr(args, "dropout", 0.2)
