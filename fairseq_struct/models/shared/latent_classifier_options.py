"""Options of the classifiers with latent trees, and the trees and embeddings built from them."""

from argparse import Namespace
from dataclasses import dataclass, field, fields
from typing import Optional  # fairseq cannot read "str | None"

import torch
from torch import nn

from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.models.shared.known_vectors import set_known_vectors
from fairseq_struct.models.shared.latent_options import LatentTreeConfig, latent_tree
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.modules.latent_tree.tree import LatentTree
from fairseq_struct.option_checks import require_at_least, require_share
from fairseq_struct.structure.pullback import ALIASES, METHODS

BASELINE = "baseline"


@dataclass
class LatentClassifierConfig(LatentTreeConfig):
    """Options of the latent tree (if any), the embeddings and the sizes."""

    latent_method: str = field(
        default="marginals",
        metadata={
            "help": f"how to learn the latent tree: {', '.join(METHODS)}; or {BASELINE}: no tree"
        },
    )
    heads_weight: float = field(
        default=1.0,
        metadata={"help": "weight of the log-likelihood of gold trees, if --heads-path has any"},
    )
    embed_dim: int = field(default=300, metadata={"help": "size of word embeddings"})
    embed_path: Optional[str] = field(  # noqa: UP045
        default=None, metadata={"help": "text file of initial word vectors, such as GloVe"}
    )
    freeze_embeddings: bool = field(
        default=False, metadata={"help": "do not train the word embeddings"}
    )
    train_embeddings: bool = field(
        default=False,
        metadata={"help": "train the vectors of --embed-path, which the presets freeze"},
    )
    hidden_size: int = field(default=100, metadata={"help": "size of the hidden layers"})
    dropout: float = field(default=0.0, metadata={"help": "dropout probability"})


# Options that older checkpoints lack.
LATER = {"sparsemap_steps", "pullback_weight", "train_embeddings"}


def of_checkpoint(args) -> bool:
    """Whether ``args`` are the options of a checkpoint.

    Fairseq calls the architecture function again when it reads a checkpoint. The checkpoint's
    options are complete except for options that are newer than it. These must not take the values
    that the architecture sets today.
    """
    names = {field.name for field in fields(LatentClassifierConfig)} - LATER
    return not isinstance(args, Namespace) and names <= set(args)


def build_tree(cfg: LatentClassifierConfig) -> LatentTree | None:
    """Build the latent tree that the options describe; None for the baseline.

    Raises:
        InputError: an unknown method, or a number out of range.
    """
    if cfg.latent_method == BASELINE:
        if getattr(cfg, "sparsemap_steps", None) is not None:
            raise InputError("--sparsemap-steps does not apply to a model without trees")
        return None
    if cfg.latent_method not in (*METHODS, *ALIASES):
        raise InputError(unknown_name("latent method", cfg.latent_method, (*METHODS, BASELINE)))
    return latent_tree(cfg)


def set_thesis_steps(args, eta: float, batch: int):
    """Set the defaults of the pulled-back methods to those of Mihaylova's thesis, table A.1.

    Args:
        args: options of a named architecture.
        eta: step size for the mean loss of a batch.
        batch: sentences per batch; see :mod:`fairseq_struct.structure.pullback`.
    """
    if of_checkpoint(args):
        return
    set_defaults(args, pullback_step_size=eta / batch, pullback_weight=float(batch))


def build_embedding(cfg: LatentClassifierConfig, dictionary) -> nn.Embedding:
    """Build embeddings of a dictionary's words, initialised from ``--embed-path`` if given.

    Raises:
        InputError: a size below 1, a dropout out of range, or a file that is missing, does not fit
            or has none of the words.
    """
    require_at_least(cfg, 1, "embed_dim", "hidden_size")
    require_share(cfg, "dropout")
    embedding = nn.Embedding(len(dictionary), cfg.embed_dim, dictionary.pad())
    nn.init.normal_(embedding.weight, std=0.1)
    with torch.no_grad():
        embedding.weight[dictionary.pad()] = 0
        if cfg.embed_path:
            set_known_vectors(embedding.weight, cfg.embed_path, dictionary)
    train = getattr(cfg, "train_embeddings", False)  # older checkpoints lack it
    embedding.weight.requires_grad_(train or not cfg.freeze_embeddings)
    return embedding
