"""What the tests of this folder share. ``ON_GPU=0 python -m pytest tests/gpu`` is for GPU 0."""

import os

import pytest
import torch

DEVICE = "cuda"
needs_gpu = pytest.mark.skipif(
    not (os.environ.get("ON_GPU") and torch.cuda.is_available()),
    reason="for a GPU: ON_GPU=0 names one",
)


def exact_products():
    """Products in float32, also where a GPU has a faster format."""
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
