"""Facts about a model among its parameters: JSON as bytes, in a buffer of its checkpoints."""

import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def as_bytes(content: Mapping[str, Any]) -> Tensor:
    """The buffer (bytes,) that holds some facts.

    Args:
        content: the facts, by name.
    """
    text = json.dumps(content, sort_keys=True).encode()
    return torch.tensor(list(text), dtype=torch.uint8)


def content_of(buffer: Tensor) -> dict[str, Any]:
    """The facts in a buffer of :func:`as_bytes`.

    Args:
        buffer: from a checkpoint, which may be damaged.

    Raises:
        ValueError: it holds no facts.
    """
    try:
        return dict(json.loads(bytes(buffer.flatten().tolist())))
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise ValueError("it is damaged") from None
