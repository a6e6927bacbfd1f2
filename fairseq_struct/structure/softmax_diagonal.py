"""One choice among k, learnt by the diagonal of softmax's Jacobian alone."""

from torch import Tensor

from fairseq_struct.structure.categorical import Categorical
from fairseq_struct.structure.surrogate import Surrogate


class SoftmaxDiagonal(Categorical):
    """:class:`Categorical` whose marginals move by their own scores only.

    With p = softmax(s), dL/ds_i = p_i (1 - p_i) dL/dp_i. The gradient of softmax itself is
    p_i (dL/dp_i - sum_j p_j dL/dp_j): there a better choice also lowers the scores of all others.
    The code of Mihaylova's thesis computes the straight-through gradient of its clusters so
    (section 4.5.1, row STE-Softmax of table 4.1), where the text has softmax.

    Args:
        scores: (batch, k) scores; -inf forbids a choice.

    Raises:
        TypeError, ValueError: as for :class:`Categorical`.
    """

    @property
    def marginals(self) -> Tensor:
        """softmax(scores), (batch, k), with the gradient of the diagonal."""
        exact = self._exact.detach().softmax(1)
        slope = exact * (1 - exact)
        return Surrogate.apply(self.scores, self._as_given(exact), slope.mul)
