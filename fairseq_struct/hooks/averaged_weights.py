"""Averages of the weights by ``--store-ema``, of all models of this package.

fairseq averages every tensor of a model's state, and fails at integers, such as a table of
environments, and at what is no tensor.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any


@functools.cache
def install() -> None:
    """Let fairseq average what is a number with a fraction; calling it again has no effect."""
    from torch import Tensor

    ema = importlib.import_module("fairseq.models.ema.ema").EMA
    begin, build = ema.__init__, ema.build_fp32_params

    @functools.wraps(begin)
    def __init__(
        self: Any, model: Any, config: Any, device: Any = None, skip_keys: set[str] | None = None
    ) -> None:
        copied = {
            name for name, part in model.state_dict().items()
            if isinstance(part, Tensor) and not part.is_floating_point()
        }  # fmt: skip
        begin(self, model, config, device, (skip_keys or set()) | copied)

    @functools.wraps(build)
    def build_fp32_params(self: Any, state_dict: dict[str, Any] | None = None) -> None:
        state = self.model.state_dict() if state_dict is None else state_dict
        build(self, {name: part for name, part in state.items() if isinstance(part, Tensor)})

    ema.__init__, ema.build_fp32_params = __init__, build_fp32_params
