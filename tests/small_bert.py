"""A small pretrained encoder, shared by several tests."""

import pytest
import torch

from fairseq_struct.hugging_face import import_transformers


def write_bert(folder):
    """A BERT of two layers with a tokenizer of a few sub-words."""
    pytest.importorskip("transformers", reason="the optional package transformers is not installed")
    transformers = import_transformers("a test")
    pieces = "[PAD] [UNK] [CLS] [SEP] [MASK] red ##der ##s det1 noun ##1 ##2 verb".split()
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(pieces), hidden_size=12, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=48,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    return folder
