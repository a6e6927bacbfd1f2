"""Undirected networks of images X, hidden layers H1, H2, … and class labels Y.

Source: T. Mihaylova's thesis, section 5.3 and appendix D. One network infers labels from images,
images from labels (prototypes), and hidden parts of images from the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from fairseq_struct.errors import unknown_name
from fairseq_struct.modules.undirected.graph import FactorGraph
from fairseq_struct.modules.undirected.passes import Passes
from fairseq_struct.modules.workers import own_generator
from fairseq_struct.structure.precision import at_least_float32

IMAGE, LABEL = "X", "Y"
INITIALISATIONS = ("zero", "random", "uniform")
# Outside of training, one random draw serves all instances, so that none depends on its batch.
SEED = 0


@dataclass(frozen=True)
class ClassifiedImages:
    """What a network finds in a batch of images.

    Args:
        logits: (batch, labels) pre-activations of Y; like losses in float32 if the network is of
            half precision.
        passes: (batch,) passes that each image took.
        energy: (batch,) energy at the end; None if it was not asked for.
        label_losses: (batch,) cross-entropy of the gold labels in nats; None without gold labels.
        image_losses: (batch,) binary cross-entropy of the pixels of an image inferred from its gold
            label, in nats per pixel; None without gold labels, or if gamma is 0.
        losses: (batch,) label_losses + gamma * image_losses.
    """

    logits: Tensor
    passes: Tensor
    energy: Tensor | None = None
    label_losses: Tensor | None = None
    image_losses: Tensor | None = None
    losses: Tensor | None = None


class ImageNetwork(nn.Module):
    """A chain X - H1 - … - Hn - Y of variables, run in any direction.

    A pass of classification updates H1, …, Hn, Y, and if gamma is above 0 then Hn, …, H2; a pass
    of prototypes Hn, …, H1, X, H1, …, H(n-1). For n = 2 these are the thesis's orders; with gamma
    0, its code's. What follows Y (or X) is done at the beginning of the next pass: the updates are
    the same, and Y comes last.

    The first passes from zero are those of a plain network (lemma 1). Dropout is for classification
    alone: images of labels are inferred without it, one for each label that a batch has.

    Args:
        graph: with the variables ``X``, ``H1``, …, ``Hn`` and ``Y`` (softmax).
        hidden: n.
        shape: of an image, (channels, height, width).
        labels: number of labels.
        passes: how many passes.
        gamma: weight of the loss of images inferred from labels.
        initialisation: of Y in classification: ``zero``; ``uniform``; or ``random``, the softmax of
            numbers from [0, 1) (table 5.5).

    Raises:
        ValueError: an unknown initialisation, or a negative gamma.
    """

    def __init__(
        self, graph: FactorGraph, hidden: int, shape: Sequence[int], labels: int, passes: Passes,
        gamma: float = 0.0, initialisation: str = "zero",
    ):  # fmt: skip
        super().__init__()
        if initialisation not in INITIALISATIONS:
            raise ValueError(unknown_name("initialisation", initialisation, INITIALISATIONS))
        if not gamma >= 0:
            raise ValueError(f"gamma must be 0 or more, not {gamma}")
        self.graph, self.shape, self.labels, self.passes = graph, tuple(shape), labels, passes
        self.gamma, self.initialisation = gamma, initialisation
        self.hidden = tuple(f"H{number}" for number in range(1, hidden + 1))

    def forward(
        self, images: Tensor, labels: Tensor | None = None, with_energy: bool = False
    ) -> ClassifiedImages:
        """Classify images, and compute losses if gold labels are given.

        Args:
            images: (batch, channels, height, width) in [-1, 1].
            labels: (batch,) gold labels.
            with_energy: compute the energy, too.
        """
        values, passes = self.passes.minimise(
            self.graph, {IMAGE: images}, self.classification, start=self._first_labels(images)
        )
        # Y was updated last, so this is the pre-activation that its softmax was taken of.
        logits = at_least_float32(self.graph.field(LABEL, values))
        energy = self.graph.energy(values) if with_energy else None
        if labels is None:
            return ClassifiedImages(logits, passes, energy)
        label_losses = functional.cross_entropy(logits, labels, reduction="none")
        losses, image_losses = label_losses, None
        if self.gamma:
            image_losses = pixel_losses(self._fields_of(labels), images)
            losses = label_losses + self.gamma * image_losses
        return ClassifiedImages(logits, passes, energy, label_losses, image_losses, losses)

    def prototypes(self, labels: Tensor, passes: int | None = None) -> Tensor:
        """Images in [-1, 1] inferred from labels, all other variables from zero.

        Args:
            labels: (batch,).
            passes: number of passes (default: as in classification).

        Returns:
            (batch, channels, height, width).
        """
        return self._images_of(labels, passes)[IMAGE]

    def complete(self, images: Tensor, hidden: Tensor, passes: int | None = None) -> Tensor:
        """Images whose hidden pixels are inferred from the others.

        A pass updates H1, …, Hn, Y, Hn, …, H1, X. Hidden pixels start at 0, the middle between
        black and white; given pixels never move.

        Args:
            images: (batch, channels, height, width) in [-1, 1].
            hidden: boolean, broadcasts to the images; True where a pixel is hidden.
            passes: number of passes (default: as in classification).
        """
        hidden = hidden.expand_as(images)
        order = (*self.hidden, LABEL, *reversed(self.hidden), IMAGE)
        start = {IMAGE: images.masked_fill(hidden, 0.0)}
        values, _ = self._of(passes).minimise(
            self.graph, {}, order, start=start, clamped={IMAGE: ~hidden}
        )
        return values[IMAGE]

    @property
    def classification(self) -> Callable[[int], tuple[str, ...]]:
        """The order of classification, by the number of the pass."""
        back = tuple(reversed(self.hidden[1:])) if self.gamma else ()
        return partial(_there_and_back, (*self.hidden, LABEL), back)

    @property
    def generation(self) -> Callable[[int], tuple[str, ...]]:
        """The order of prototypes, by the number of the pass."""
        return partial(_there_and_back, (*reversed(self.hidden), IMAGE), self.hidden[:-1])

    def _first_labels(self, images: Tensor) -> dict[str, Tensor]:
        shape = len(images), self.labels
        if self.initialisation == "zero":
            return {}
        if self.initialisation == "uniform":
            return {LABEL: images.new_full(shape, 1 / self.labels)}
        if self.training:
            drawn = torch.rand(
                shape, device=images.device, generator=own_generator(images.device)
            )
        else:
            generator = torch.Generator().manual_seed(SEED)
            drawn = torch.rand(self.labels, generator=generator, device="cpu")
            drawn = drawn.to(images.device).expand(shape)
        return {LABEL: drawn.softmax(1).to(images)}

    def _fields_of(self, labels: Tensor) -> Tensor:
        """Pre-activations of the images of labels, inferred once for each different label."""
        some, places = labels.unique(return_inverse=True)
        fields = self.graph.field(IMAGE, self._images_of(some, None))
        return functional.embedding(places, fields.flatten(1)).unflatten(1, self.shape)

    def _images_of(self, labels: Tensor, passes: int | None) -> dict[str, Tensor]:
        weight = next(self.graph.parameters())
        given = functional.one_hot(labels, self.labels).to(weight)
        passes = self._of(passes)
        return passes.minimise(self.graph, {LABEL: given}, self.generation, dropout=False)[0]

    def _of(self, passes: int | None) -> Passes:
        return self.passes if passes is None else Passes(passes, test=passes)


def _there_and_back(there: Sequence[str], back: Sequence[str], number: int) -> tuple[str, ...]:
    return (*back, *there) if number else tuple(there)


def pixel_losses(fields: Tensor, images: Tensor) -> Tensor:
    """Binary cross-entropy against x > 0, averaged over pixels, (batch,).

    Section 5.3 says no more than "binary cross-entropy loss averaged over all" pixels; the targets
    are those of the published code, and the thesis does not say which probability of being on a
    pixel tanh(t) has. Here t itself, before
    tanh, is its logit: p(x > 0) = sigmoid(t). (As the mean of pixels of -1 and 1,
    tanh(t) would give sigmoid(2 t).)

    Args:
        fields: t, the pre-activations of X, (batch, ...).
        images: in [-1, 1], of the same shape.
    """
    fields = at_least_float32(fields)
    wanted = (images > 0).to(fields)
    every = functional.binary_cross_entropy_with_logits(fields, wanted, reduction="none")
    return every.flatten(1).mean(1)
