"""Entailment with latent dependency trees for fairseq (Mihaylova's thesis, section 4.5.2)."""

from dataclasses import dataclass, field

from fairseq.models import register_model, register_model_architecture

from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.models.shared.classifier import ClassifierModel
from fairseq_struct.models.shared.latent_classifier_options import (
    LatentClassifierConfig,
    build_embedding,
    build_tree,
    of_checkpoint,
    set_thesis_steps,
)
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.modules.latent_tree.decomposable_attention import FORMS, DecomposableAttention

# Best eta in table A.1 of Mihaylova's thesis, for batches of 64. The table has none for
# ste_identity; 1 gives the plain straight-through gradient.
ETA = {"spigot": 1, "spigot_ce": 0.1, "spigot_eg": 0.001}
BATCH = 64
OLDER_FORM = "projected"  # the form of checkpoints that lack the option


@dataclass
class LatentTreeEntailmentConfig(LatentClassifierConfig):
    """Options of the model, with the sizes for SNLI in Mihaylova's thesis."""

    hidden_size: int = field(default=200, metadata={"help": "size of the hidden layers"})
    dropout: float = field(default=0.2, metadata={"help": "dropout probability"})
    entailment_form: str = field(
        default=OLDER_FORM,
        metadata={
            "help": "where words are joined with their heads: thesis, only for the alignment of "
            "words (420K parameters; the presets use it); projected, wherever projected words are "
            "read (540K parameters)"
        },
    )


@register_model("latent_tree_entailment", dataclass=LatentTreeEntailmentConfig)
class LatentTreeEntailmentModel(ClassifierModel):
    """:class:`DecomposableAttention` for pairs of sentences.

    With ``--latent-method baseline`` there are no trees.
    """

    @classmethod
    def build_model(cls, cfg: LatentTreeEntailmentConfig, task) -> "LatentTreeEntailmentModel":
        """Build the model for the task's dictionaries.

        Raises:
            InputError: another task, an option out of range, or word vectors that do not fit.
        """
        cls.check_task(task)
        form = getattr(cfg, "entailment_form", OLDER_FORM)
        if form not in FORMS:
            raise InputError(unknown_name("--entailment-form", form, FORMS))
        tree, embedding = build_tree(cfg), build_embedding(cfg, task.words)
        sizes = cfg.hidden_size, len(task.label_names)
        return cls(DecomposableAttention(embedding, *sizes, tree, cfg.dropout, form))


@register_model_architecture("latent_tree_entailment", "latent_tree_entailment_snli")
def latent_tree_entailment_snli(args):
    """The model for SNLI in Mihaylova's thesis: pretrained embeddings of size 300, not trained."""
    method = getattr(args, "latent_method", "")
    if not of_checkpoint(args):
        set_defaults(args, entailment_form="thesis")
    set_thesis_steps(args, ETA.get(method, 1), BATCH)
    pretrained = getattr(args, "embed_path", None) is not None
    set_defaults(
        args, embed_dim=300, freeze_embeddings=pretrained, hidden_size=200, dropout=0.2
    )  # fmt: skip
