"""Small images of digits, as seven-segment displays show them, shifted and with noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairseq_struct.errors import InputError

# Segments of each digit: top, upper left, upper right, middle, lower left, lower right, bottom.
DIGITS = (
    "1110111", "0010010", "1011101", "1011011", "0111010",
    "1101011", "1101111", "1010010", "1111111", "1111011",
)  # fmt: skip
LEAST_SIZE = 12


def draw_digits(
    count: int, size: int, seed: int | Sequence[int], noise: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """Draw images; each of the ten labels has the same number of them, or one more.

    Args:
        count: number of images.
        size: height and width in pixels.
        seed: of all random choices.
        noise: standard deviation of the grey of a pixel, between 0 for black and 1 for white.

    Returns:
        Images (count, size, size) and labels (count,), bytes.

    Raises:
        InputError: images that are too small for a digit.
    """
    if size < LEAST_SIZE:
        raise InputError(f"images of digits have {LEAST_SIZE} by {LEAST_SIZE} pixels or more")
    draw = np.random.default_rng(seed)
    labels = draw.permutation(count) % len(DIGITS)
    images = np.stack([_digit(DIGITS[label], size, draw) for label in labels])
    images = images + draw.normal(0, noise, images.shape)
    return (images.clip(0, 1) * 255).round().astype(np.uint8), labels.astype(np.uint8)


def _digit(segments: str, size: int, draw: np.random.Generator) -> np.ndarray:
    thick, half = size // 10 or 1, size // 3
    height, width = 2 * half + thick, half + thick
    image = np.zeros((size, size))
    margins = np.array([size - height, size - width]) // 2
    furthest = np.minimum(size // 8, margins)
    top, left = margins + draw.integers(-furthest, furthest + 1)
    box = image[top : top + height, left : left + width]
    places = (
        np.s_[:thick, :], np.s_[: half + thick, :thick], np.s_[: half + thick, -thick:],
        np.s_[half : half + thick, :], np.s_[half:, :thick], np.s_[half:, -thick:],
        np.s_[-thick:, :],
    )  # fmt: skip
    for lit, place in zip(segments, places, strict=True):
        if lit == "1":
            box[place] = 1
    return image
