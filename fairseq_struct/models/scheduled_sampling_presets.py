"""Named sizes of the scheduled-sampling Transformer: Mihaylova's thesis and Wu et al. (2021)."""

from argparse import Namespace

from fairseq.models import register_model_architecture

from fairseq_struct.models.scheduled_sampling_transformer import scheduled_sampling_architecture
from fairseq_struct.models.shared.presets import set_defaults


@register_model_architecture(
    "scheduled_sampling_transformer", "scheduled_sampling_transformer_iwslt_de_en"
)
def iwslt_de_en(args: Namespace):
    """DE-EN model of Mihaylova's thesis (table 3.1): 6+6 layers of 512, 8 heads, dropout 0.2.

    All embeddings are shared. The table does not give the feed-forward size; 2048 is usual for
    these sizes.
    """
    set_defaults(args, share_all_embeddings=True, dropout=0.2)
    scheduled_sampling_architecture(args)


@register_model_architecture(
    "scheduled_sampling_transformer", "scheduled_sampling_transformer_kftt_ja_en"
)
def kftt_ja_en(args: Namespace):
    """JA-EN model of Mihaylova's thesis (table 3.1): as for DE-EN, with dropout 0.1."""
    set_defaults(args, share_all_embeddings=True, dropout=0.1)
    scheduled_sampling_architecture(args)


@register_model_architecture(
    "scheduled_sampling_transformer", "scheduled_sampling_transformer_tiny"
)
def tiny(args: Namespace):
    """Transformer-Tiny of Wu et al. (2021) for Multi30k: 4+4 layers, size 128, 4 heads."""
    set_defaults(
        args,
        encoder_layers=4,
        decoder_layers=4,
        encoder_embed_dim=128,
        encoder_ffn_embed_dim=256,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        share_all_embeddings=True,
        dropout=0.3,
    )
    scheduled_sampling_architecture(args)
