"""The number of passes that trained undirected networks take."""

from dataclasses import replace

from fairseq_struct.errors import InputError


def set_test_passes(network, passes: str | int | None):
    """Set the passes of all inference.

    Args:
        network: with ``passes``, a :class:`.Passes`, if it has a choice.
        passes: a number, or ``converge``; None: as the network was trained to be tested.

    Raises:
        InputError: passes that are neither, or the network has no choice.
    """
    if passes is None:
        return
    if not hasattr(network, "passes"):
        raise InputError(
            "--test-passes does not apply to this model: only undirected networks have passes, "
            "and those with own weights in each pass a fixed number"
        )
    try:
        own = int(passes) if str(passes).isdecimal() else passes
        network.passes = replace(network.passes, test=own)
    except ValueError:
        raise InputError(f"--test-passes must be 1, 2, … or converge, not {passes}") from None
    if hasattr(network, "warn_of_passes"):
        network.warn_of_passes()
