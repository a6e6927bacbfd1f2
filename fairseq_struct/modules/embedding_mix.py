"""Public path of :mod:`fairseq_struct.modules.scheduled_sampling.embedding_mix`."""

from fairseq_struct.modules.scheduled_sampling.embedding_mix import EmbeddingMix

__all__ = ["EmbeddingMix"]
