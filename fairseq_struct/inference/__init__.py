"""Trained models in Python: ``fairseq_struct.load("checkpoint.pt").parse(["a sentence"])``."""

from fairseq_struct.inference.channels import ArcChannels
from fairseq_struct.inference.constituency import ConstituencyParser
from fairseq_struct.inference.dependency import Classifier
from fairseq_struct.inference.language_model import LanguageModelScorer
from fairseq_struct.inference.loading import (
    load,
    load_language_model,
    load_masked_model,
    made_by,
)
from fairseq_struct.inference.text_lines import read_lines

__all__ = [
    "ArcChannels", "Classifier", "ConstituencyParser", "LanguageModelScorer", "load",
    "load_language_model", "load_masked_model", "made_by", "read_lines",
]  # fmt: skip
