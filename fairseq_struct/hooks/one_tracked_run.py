"""One run of Weights & Biases for a training.

fairseq calls ``wandb.init`` for each bar: in each epoch, and in each validation. All calls return
the same run, but each one leaves an empty folder and a warning.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fairseq_struct.hooks.wrapping import wrap


@functools.cache
def install() -> None:
    """Let fairseq's bars share the run that is there; calling it again has no effect."""
    from fairseq.logging import progress_bar as bars

    def once(
        begin: Callable[..., None], self: Any, wrapped_bar: Any, *args: Any, **kwargs: Any
    ) -> None:
        if bars.wandb is not None and bars.wandb.run is not None:
            self.wrapped_bar = wrapped_bar
        else:
            begin(self, wrapped_bar, *args, **kwargs)

    wrap(bars.WandBProgressBarWrapper, "__init__", once)
