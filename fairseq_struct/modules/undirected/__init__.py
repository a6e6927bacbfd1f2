"""Undirected neural networks: factor graphs whose energy is minimised in any direction.

Source: T. Mihaylova's thesis, chapter 5.
"""

from fairseq_struct.modules.undirected.factors import (
    Biaffine,
    Bilinear,
    Contraction,
    Convolution,
    Factor,
)
from fairseq_struct.modules.undirected.graph import Converged, FactorGraph
from fairseq_struct.modules.undirected.operators import Distance, Linear
from fairseq_struct.modules.undirected.orders import (
    RandomOrder,
    drawn_passes,
    forward_backward,
    simultaneous,
)
from fairseq_struct.modules.undirected.passes import CONVERGE, Passes
from fairseq_struct.modules.undirected.regularisers import (
    REGULARISERS,
    Identity,
    Regulariser,
    Relu,
    Sigmoid,
    Softmax,
    Sparsemax,
    Tanh,
)
from fairseq_struct.modules.undirected.tree_marginals import TreeMarginals, TreeSupport
from fairseq_struct.modules.undirected.variables import Variable

__all__ = [
    "CONVERGE", "REGULARISERS", "Biaffine", "Bilinear", "Contraction", "Converged", "Convolution",
    "Distance", "Factor", "FactorGraph", "Identity", "Linear", "Passes", "RandomOrder",
    "Regulariser", "Relu", "Sigmoid", "Softmax", "Sparsemax", "Tanh", "TreeMarginals",
    "TreeSupport", "Variable", "drawn_passes", "forward_backward", "simultaneous",
]  # fmt: skip
