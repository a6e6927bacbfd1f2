"""Streams of random numbers that never meet, whatever their seeds are."""

import numpy as np

# numpy reads (1,), (1, 0) and (1, 0, 0) as one seed, so each purpose has a first number of its own.
PURPOSES = {"maps": 11, "noise": 12, "minibatches": 13, "episodes": 14}


def stream(purpose: str, *numbers: int) -> np.random.Generator:
    """A generator for one of ``PURPOSES`` that follows from some numbers.

    Args:
        purpose: what it is for; calls for one purpose have equally many numbers.
        numbers: 0 or more each, such as a seed and the number of an episode.
    """
    return np.random.default_rng((PURPOSES[purpose], *numbers))
