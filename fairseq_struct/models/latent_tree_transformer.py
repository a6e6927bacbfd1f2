"""Transformer for translation whose encoder attends along a latent dependency tree.

Section 6.2 of Mihaylova's thesis proposes it. A parser infers a tree of the source sentence, and
one attention head of every encoder layer follows the tree. Parser and translation are learned
together, by any method of the classifiers with latent trees.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerConfig, TransformerModel
from fairseq.models.transformer.transformer_encoder import TransformerEncoderBase
from fairseq.models.transformer.transformer_legacy import base_architecture
from fairseq.modules.transformer_layer import TransformerEncoderLayerBase
from torch import Tensor, nn

from fairseq_struct.errors import InputError
from fairseq_struct.models.shared.latent_options import (
    STEP_SIZE_HELP,
    LatentTreeConfig,
    latent_tree,
)
from fairseq_struct.models.shared.presets import defaults_of, set_defaults
from fairseq_struct.modules.latent_tree.arc_scorer import ArcScorer
from fairseq_struct.modules.latent_tree.tree import LatentTree
from fairseq_struct.modules.latent_tree.tree_self_attention import (
    TreeSelfAttention,
    attention_of_arcs,
)
from fairseq_struct.modules.sentence_encoder import ContextLSTM
from fairseq_struct.structure.pullback import needs_loss

OWN_CRITERION = "latent_tree_translation"


@dataclass
class LatentTreeTransformerConfig(LatentTreeConfig):
    """Options of the tree, in addition to fairseq's own options."""

    pullback_step_size: float = field(
        default=0.1,
        metadata={"help": f"{STEP_SIZE_HELP}; here a sentence's loss is the sum over its words"},
    )
    parser_hidden_size: int = field(
        default=100, metadata={"help": "size of the parser's BiLSTM, an even number"}
    )


class LatentTreeEncoderLayer(TransformerEncoderLayerBase):
    """Fairseq's encoder layer, with one attention head along the arcs of a tree."""

    def build_self_attention(self, embed_dim: int, cfg) -> TreeSelfAttention:
        """The attention, with the number of heads from the options."""
        return TreeSelfAttention(embed_dim, cfg.encoder.attention_heads, cfg.attention_dropout)

    def forward(self, x: Tensor, encoder_padding_mask: Tensor | None, arcs: Tensor) -> Tensor:
        """Output (n, batch, size), shaped like ``x``; ``arcs`` as in :class:`TreeSelfAttention`."""
        residual = x
        if self.normalize_before:
            x = self.self_attn_layer_norm(x)
        x = self.dropout_module(self.self_attn(x, arcs, encoder_padding_mask)) + residual
        if not self.normalize_before:
            x = self.self_attn_layer_norm(x)
        residual = x
        if self.normalize_before:
            x = self.final_layer_norm(x)
        x = self.activation_dropout_module(self.activation_fn(self.fc1(x)))
        x = self.dropout_module(self.fc2(x)) + residual
        return x if self.normalize_before else self.final_layer_norm(x)


class LatentTreeEncoder(TransformerEncoderBase):
    """Fairseq's encoder that first infers a tree from the embeddings.

    Args:
        cfg, dictionary, embed_tokens: as for fairseq's encoder.
        tree: how the tree is inferred and learned.
        parser_size: size of the BiLSTM and of the scorer that compute arc scores.
    """

    def __init__(self, cfg, dictionary, embed_tokens, tree: LatentTree, parser_size: int):
        super().__init__(cfg, dictionary, embed_tokens)
        self.tree = tree
        self.context = ContextLSTM(embed_tokens.embedding_dim, parser_size)
        self.scorer = ArcScorer(parser_size, parser_size)
        self.root = nn.Parameter(torch.empty(parser_size).uniform_(-0.1, 0.1))
        self.end = dictionary.eos()

    def build_encoder_layer(self, cfg) -> LatentTreeEncoderLayer:
        """Build a layer."""
        return LatentTreeEncoderLayer(cfg)

    def places(self, src_tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Number of words (batch,) without the end symbol, and position of the first (batch,)."""
        present = src_tokens != self.padding_idx
        lengths = (present & (src_tokens != self.end)).sum(1)
        return lengths, present.int().argmax(1)

    def arc_scores(self, src_tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Arc scores (batch, n, n) of the words without the end symbol, and lengths (batch,).

        An empty sentence counts as one word here: the end symbol. Its tree is not used.
        """
        lengths, start = self.places(src_tokens)
        lengths = lengths.clamp_min(1)
        n = int(lengths.max())
        place = (start[:, None] + torch.arange(n, device=start.device)).clamp_max(
            src_tokens.size(1) - 1
        )
        embedded = self.dropout_module(self.embed_tokens(src_tokens.gather(1, place)))
        words = self.context(self.embed_scale * embedded, lengths)
        return self.scorer(words, self.root).float(), lengths

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor | None = None,
        return_all_hiddens: bool = False,
        token_embeddings: Tensor | None = None,
        arcs: Tensor | None = None,
    ) -> dict[str, list[Tensor]]:
        """Encode, as fairseq's encoder does.

        Args:
            src_tokens, src_lengths, return_all_hiddens, token_embeddings: as in fairseq.
            arcs: (batch, n, n) tree, or mean of trees, to attend along; inferred if not given.
        """
        if arcs is None:
            scores, lengths = self.arc_scores(src_tokens)
            if self.training and torch.is_grad_enabled():
                arcs = self.tree.learn(scores, lengths).value
            else:
                arcs = self.tree.read(scores, lengths)
        lengths, start = self.places(src_tokens)
        along = attention_of_arcs(arcs, lengths, start, src_tokens.size(1))
        padding = src_tokens == self.padding_idx
        x, embedding = self.forward_embedding(src_tokens, token_embeddings)
        x = x.masked_fill(padding.unsqueeze(-1), 0.0).transpose(0, 1)
        states = [x] if return_all_hiddens else []
        mask = padding if padding.any() else None
        for layer in self.layers:
            x = layer(x, mask, along)
            if return_all_hiddens:
                states.append(x)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        return {
            "encoder_out": [x],
            "encoder_padding_mask": [padding],
            "encoder_embedding": [embedding],
            "encoder_states": states,
            "fc_results": [],
            "src_tokens": [],
            "src_lengths": [(~padding).sum(1, dtype=torch.int32).view(-1, 1)],
        }


@register_model("latent_tree_transformer")
class LatentTreeTransformer(TransformerModel):
    """Transformer whose encoder attends along a latent tree of the source sentence.

    ``--criterion latent_tree_translation`` allows every method. Fairseq's own criterions allow only
    the methods that need no further calls of the decoder.

    Raises:
        InputError: an impossible combination of options (:meth:`build_model`).
    """

    # Not needed after training: the vectors are in the checkpoint. fairseq-generate still reads the
    # files: fairseq's translation task does not unset these options, as our tasks do, and
    # build_model cannot tell a checkpoint from a new model.
    ONLY_FOR_TRAINING = ("encoder_embed_path", "decoder_embed_path")

    @classmethod
    def add_args(cls, parser: ArgumentParser):
        """Add fairseq's Transformer options and those of the tree to ``parser``."""
        super().add_args(parser)
        gen_parser_from_dataclass(parser, LatentTreeTransformerConfig(), delete_default=True)

    @classmethod
    def build_model(cls, args: Namespace, task):
        """Build the model, after checking that its options fit together."""
        latent_tree_architecture(args)
        heads, size = args.encoder_attention_heads, args.encoder_embed_dim
        if heads < 2 or size % heads:
            raise InputError(
                f"--encoder-attention-heads must be 2 or more and divide {size}, not {heads}"
            )
        if args.parser_hidden_size < 2 or args.parser_hidden_size % 2:
            raise InputError(f"--parser-hidden-size must be even, not {args.parser_hidden_size}")
        for name in ("offload", "checkpoint"):  # fairseq lets the first imply the second
            if getattr(args, f"{name}_activations", False):
                raise InputError(f"--{name}-activations is not for layers that attend along a tree")
        return super().build_model(args, task)

    @classmethod
    def build_encoder(cls, args: Namespace, src_dict, embed_tokens) -> LatentTreeEncoder:
        """The encoder that the options describe."""
        return LatentTreeEncoder(
            TransformerConfig.from_namespace(args), src_dict, embed_tokens, latent_tree(args),
            args.parser_hidden_size,
        )  # fmt: skip

    def check_criterion(self, criterion):
        """Refuse, before training, a criterion without the losses that the method needs.

        Raises:
            InputError: the method needs the decoder's losses; the criterion does not provide them.
        """
        if self.calls_decoder and not getattr(criterion, "gives_losses", False):
            raise InputError(self.needed)

    @property
    def calls_decoder(self) -> bool:
        """Whether training needs the decoder's losses; fairseq's criterions do not provide them."""
        # The trainer's losses are scaled in half precision.
        return needs_loss(self.encoder.tree.method, self.encoder.tree.steps, scaled=True)

    @property
    def needed(self) -> str:
        """The error message for training without the decoder's losses."""
        tree = self.encoder.tree
        return (
            f"--latent-method {tree.method} with {tree.steps} step(s) needs "
            f"--criterion {OWN_CRITERION}"
        )

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor,
        prev_output_tokens: Tensor,
        losses_of: Callable | None = None,
        **options,
    ):
        """Output as of fairseq's Transformer; with ``losses_of``, output without graph, and losses.

        Args:
            src_tokens, src_lengths, prev_output_tokens: as in fairseq.
            losses_of: function from the decoder's output to losses (batch,).

        Raises:
            InputError: the method needs ``losses_of``, but it is not given.
        """
        tree = self.encoder.tree
        if losses_of is None:
            if self.calls_decoder and self.training and torch.is_grad_enabled():
                raise InputError(self.needed)
            return super().forward(src_tokens, src_lengths, prev_output_tokens, **options)
        outputs = []

        def decoder_loss(arcs: Tensor) -> Tensor:
            encoded = self.encoder(src_tokens, src_lengths, arcs=arcs)
            output = self.decoder(prev_output_tokens, encoder_out=encoded, **options)
            if not outputs:  # :func:`.pullback.latent` explains what may be kept
                outputs.append((output[0].detach(), {}))
            return losses_of(output)

        scores, lengths = self.encoder.arc_scores(src_tokens)
        losses = tree.learn(scores, lengths, decoder_loss).losses
        return outputs[0], losses


@register_model_architecture("latent_tree_transformer", "latent_tree_transformer")
def latent_tree_architecture(args: Namespace):
    """Fairseq's base sizes; projective trees, learned by marginals."""
    set_defaults(args, **defaults_of(LatentTreeTransformerConfig))
    base_architecture(args)


@register_model_architecture("latent_tree_transformer", "latent_tree_transformer_tiny")
def latent_tree_transformer_tiny(args: Namespace):
    """4+4 layers of size 128, as in ``scheduled_sampling_transformer_tiny``."""
    sizes = {"embed_dim": 128, "ffn_embed_dim": 256, "layers": 4, "attention_heads": 4}
    for side in ("encoder", "decoder"):
        set_defaults(args, **{f"{side}_{name}": size for name, size in sizes.items()})
    latent_tree_architecture(args)
