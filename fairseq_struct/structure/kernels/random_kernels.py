"""Random numbers for compiled kernels: one stream per sentence, independent of threads."""

import numpy as np

from fairseq_struct.structure.kernels.compiled import inner


@inner
def uniform(state):
    """The next number of a SplitMix64 stream (Steele, Lea and Flood, 2014), uniform on [0, 1).

    Args:
        state: (1,) unsigned; at first the seed, updated by each call.
    """
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = state[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = bits ^ (bits >> np.uint64(31))
    return np.float64(bits >> np.uint64(11)) * 2.0**-53
