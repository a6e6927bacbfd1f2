"""Generalised advantage estimation over calls of options of different lengths."""

import numpy as np


def generalised_advantages(
    rewards: np.ndarray, values: np.ndarray, next_values: np.ndarray, discounts: np.ndarray,
    goes_on: np.ndarray, decay: float,
) -> np.ndarray:  # fmt: skip
    """Advantages of decisions, A_k = delta_k + gamma^{d_k} lambda A_{k+1}.

    delta_k = R_k + gamma^{d_k} V_{k+1} - V_k, where R_k is what was paid during the d_k steps of
    decision k, discounted to its beginning. A_{k+1} is 0 where the next decision belongs to
    another episode, or has not been made.

    Source: Schulman et al. 2016 (Generalized Advantage Estimation), equation 16, with the discount
    of a decision of several steps (Sutton, Precup and Singh 1999).

    Args:
        rewards: (actors, decisions) R_k.
        values: (actors, decisions) V_k, the value where the decision was made.
        next_values: (actors, decisions) value where the decision ended: 0 where the episode ended
            by its own rules; if it was cut by time, the value of the state in which it was cut.
        discounts: (actors, decisions) gamma^{d_k}.
        goes_on: (actors, decisions) whether the next decision belongs to the same episode.
        decay: lambda.

    Returns:
        (actors, decisions) advantages. Added to ``values`` they are the returns that the value
        network learns.
    """
    differences = rewards + discounts * next_values - values
    advantages = np.zeros_like(differences)
    following = np.zeros(len(differences), differences.dtype)
    for k in reversed(range(differences.shape[1])):
        following = differences[:, k] + discounts[:, k] * decay * goes_on[:, k] * following
        advantages[:, k] = following
    return advantages
