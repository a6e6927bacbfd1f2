"""The end of a training whose gradients or scores are no longer finite, in one line.

fairseq then repeats the update with hooks that log where the numbers arose. Its own hooks take only
modules that return tensors, and tuples or dictionaries of them; a result of another class, such as
a dataclass, ends in a ``TypeError`` of torch, which hides what has happened.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

from fairseq_struct.errors import InputError, NotFiniteScores
from fairseq_struct.hooks.wrapping import wrap

REMEDY = "A lower --lr or a smaller --clip-norm may help. The last checkpoint is from before"


class DivergedTraining(InputError, FloatingPointError):
    """Gradients or scores are NaN or infinite; a ``FloatingPointError``, as fairseq raises it."""


@functools.cache
def install() -> None:
    """Install both in fairseq's trainer; calling it again has no effect."""
    from fairseq import trainer

    trainer.NanDetector = _detector(trainer.NanDetector)
    for name in ("train_step", "valid_step"):
        wrap(trainer.Trainer, name, _telling)


def _telling(step: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return step(self, *args, **kwargs)
    except NotFiniteScores as error:
        after = f"after {self.get_num_updates():,} updates"
        raise DivergedTraining(f"{after} {error}. {REMEDY}") from error
    except FloatingPointError as error:
        if "Nan/Inf" not in str(error) or isinstance(error, DivergedTraining):
            raise
        raise DivergedTraining(
            f"gradients are NaN or infinite after {self.get_num_updates():,} updates. "
            f"{REMEDY}; crash.pt beside it is the state in which it happened"
        ) from error


def _detector(base: type) -> type:
    """fairseq's detector, for results of any class."""

    class Detector(base):
        def add_hooks(self, module):
            self.fhooks.append(module.register_forward_hook(self._watch))

        def _watch(self, module, inputs, output):
            for tensor in tensors_of(output):
                self.fhook_fn(module, inputs, tensor)
                if tensor.requires_grad:
                    tensor.register_hook(lambda gradient: self.bhook_fn(module, inputs, gradient))

    return Detector


def tensors_of(result) -> Iterator:
    """All tensors in a module's result: in tuples, lists, dictionaries and dataclasses."""
    import torch

    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, dict):
        yield from tensors_of(list(result.values()))
    elif isinstance(result, list | tuple):
        for one in result:
            yield from tensors_of(one)
    elif dataclasses.is_dataclass(result) and not isinstance(result, type):
        yield from tensors_of([getattr(result, one.name) for one in dataclasses.fields(result)])
