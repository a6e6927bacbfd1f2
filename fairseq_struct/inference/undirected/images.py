"""Trained undirected networks of images: labels, prototypes and completions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairseq_struct.data.datasets.labelled_images import pixels_of
from fairseq_struct.errors import InputError
from fairseq_struct.inference.evaluation_mode import in_evaluation
from fairseq_struct.inference.reading import BATCH_WORDS
from fairseq_struct.inference.undirected.passes import set_test_passes

# Most images of a batch, if no smaller number is given.
BATCH_IMAGES = 500


@dataclass(frozen=True)
class ImageLabels:
    """The labels that a model gives to images.

    Attributes:
        labels: (n,) the most likely labels.
        probabilities: (n, labels).
        passes: (n,) passes that each image took.
    """

    labels: Tensor
    probabilities: Tensor
    passes: Tensor


class ImageModel:
    """A trained network of images, in any direction.

    Images are bytes, (n, height, width), as idx files have them: 0 is black, 255 is white. Inferred
    images are numbers from 0 to 1.

    Args:
        model: has a ``network``, an :class:`.ImageNetwork` or an :class:`.UntiedConvnet`.
        test_passes: passes of all inference, or ``converge``; None: as the model says.
        batch_words: maximum number of images of a batch, but not more than ``BATCH_IMAGES``.

    Raises:
        InputError: passes that are neither, or the model has no such choice.
    """

    def __init__(self, model, test_passes: str | int | None = None, batch_words: int = BATCH_WORDS):
        self.model, self.network = model.eval(), model.network
        self.batch_images = min(batch_words, BATCH_IMAGES)
        set_test_passes(self.network, test_passes)

    @property
    def both_ways(self) -> bool:
        """Whether the network infers images, too; untied networks do not."""
        return hasattr(self.network, "prototypes")

    @in_evaluation
    def classify_images(self, images: np.ndarray) -> ImageLabels:
        """Classify images.

        Raises:
            InputError: images that are no bytes, or of another size than those the model was
                trained on.
        """
        found = [self.network(batch) for batch in self._batches(images)]
        probabilities = torch.cat([one.logits.softmax(1) for one in found]).cpu()
        passes = torch.cat([one.passes for one in found]).cpu()
        return ImageLabels(probabilities.argmax(1), probabilities, passes)

    @in_evaluation
    def prototypes(self, passes: int | None = None) -> Tensor:
        """An image of each label, (labels, height, width), after some passes.

        Raises:
            InputError: the network only classifies, or no passes.
        """
        self._need_directions("prototypes")
        _check_passes(passes)
        labels = torch.arange(self.network.labels, device=self._device)
        return _grey(self.network.prototypes(labels, passes))

    @in_evaluation
    def complete(self, images: np.ndarray, hidden: np.ndarray, passes: int | None = None) -> Tensor:
        """Images (n, height, width) with hidden pixels inferred from the others.

        Args:
            images: as above.
            hidden: booleans, (height, width) or as the images, True for pixels to infer.
            passes: number of passes.

        Raises:
            InputError: the network only classifies, no passes, or a size or a type does not fit.
        """
        self._need_directions("completions")
        _check_passes(passes)
        images, hidden = self._checked(images), np.asarray(hidden)
        if hidden.dtype != bool:
            raise InputError(f"the mask must have booleans, not {hidden.dtype}")
        if hidden.shape not in (self.network.shape[1:], images.shape):
            raise InputError(f"the mask must have {self._size} pixels, for all images or for each")
        masks = np.broadcast_to(hidden, images.shape)
        found, place = [], 0
        for batch in self._batches(images):
            own = torch.from_numpy(masks[place : place + len(batch)].copy()).to(self._device)
            found.append(_grey(self.network.complete(batch, own.unsqueeze(1), passes)))
            place += len(batch)
        return torch.cat(found)

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def _size(self) -> str:
        return " by ".join(map(str, self.network.shape[1:]))

    def _batches(self, images: np.ndarray) -> Iterator[Tensor]:
        images = self._checked(images)
        for place in range(0, len(images), self.batch_images):
            yield pixels_of(images[place : place + self.batch_images]).to(self._device)

    def _checked(self, images: np.ndarray) -> np.ndarray:
        images = np.asarray(images)
        if images.dtype != np.uint8:
            raise InputError(f"images must be bytes (uint8), from 0 to 255, not {images.dtype}")
        if images.ndim != 3 or not len(images) or images.shape[1:] != self.network.shape[1:]:
            raise InputError(f"images must be one or more, of {self._size} pixels")
        return images

    def _need_directions(self, what: str):
        if not self.both_ways:
            raise InputError(f"an untied network only classifies, so it has no {what}")


def _check_passes(passes: int | None):
    if passes is not None and passes < 1:
        raise InputError(f"the number of passes must be 1 or more, not {passes}")


def _grey(images: Tensor) -> Tensor:
    """(n, 1, height, width) from -1 to 1 as (n, height, width) from 0 to 1."""
    return ((images + 1) / 2).squeeze(1).cpu()
