"""Averages of the weights by ``--store-ema``, of all models of this package.

fairseq averages every tensor of a model's state, and fails at integers, such as a table of
environments, and at what is no tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fairseq_struct.hooks.wrapping import wrap

if TYPE_CHECKING:
    from torch import Tensor


@functools.cache
def install() -> None:
    """Let fairseq average what is a number with a fraction; calling it again has no effect."""
    from fairseq.models.ema.ema import EMA

    wrap(EMA, "__init__", _copying_integers)
    wrap(EMA, "build_fp32_params", _of_tensors)


def _copying_integers(
    begin: Callable[..., None], self: Any, model: Any, config: Any, device: Any = None,
    skip_keys: set[str] | None = None,
) -> None:  # fmt: skip
    tensors = _tensors_of(model.state_dict()).items()
    copied = {name for name, part in tensors if not part.is_floating_point()}
    begin(self, model, config, device, (skip_keys or set()) | copied)


def _of_tensors(
    build: Callable[..., None], self: Any, state_dict: dict[str, Any] | None = None
) -> None:
    build(self, _tensors_of(self.model.state_dict() if state_dict is None else state_dict))


def _tensors_of(state: dict[str, Any]) -> dict[str, Tensor]:
    import torch

    return {name: part for name, part in state.items() if isinstance(part, torch.Tensor)}
