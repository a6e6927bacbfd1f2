"""Factors of functions that the user gives: linear operators, and directed functions.

Source: T. Mihaylova's thesis, section 5.2 and appendix D.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from fairseq_struct.modules.undirected.factors import Factor, Values
from fairseq_struct.modules.undirected.regularisers import Identity, total
from fairseq_struct.modules.undirected.variables import Variable


class Linear(Factor):
    """E(x, y) = -<y, A(x)> for a linear operator A (eq. D.3).

    Args:
        x, y: names.
        operator: A, a function of (batch, *shape). An ``nn.Module`` is registered.
        shape: of x without batch.
        adjoint: A^T; derived from A by differentiation if not given.

    Raises:
        ValueError: A is not linear, or does not make (batch, ...); its adjoint cannot be derived;
            or <y, A(x)> differs from <A^T(y), x> for random x and y.
    """

    def __init__(
        self, x: str, y: str, operator: Callable[[Tensor], Tensor], shape: Sequence[int],
        adjoint: Callable[[Tensor], Tensor] | None = None,
    ):  # fmt: skip
        super().__init__((x, y))
        self.operator, self.adjoint, self.shape = operator, adjoint, tuple(shape)
        self._check()

    def message(self, name: str, values: Values) -> Tensor:
        """A(x) or A^T(y)."""
        x, y = self.names
        if name == y:
            return self.operator(values[x])
        if self.adjoint is not None:
            return self.adjoint(values[y])
        given, graph = values[y], torch.is_grad_enabled()
        with torch.inference_mode(False), torch.enable_grad():
            zero = given.new_zeros(len(given), *self.shape, requires_grad=True)
            made = self.operator(zero)
            (found,) = torch.autograd.grad(made, zero, given, create_graph=graph)
        return found

    @torch.no_grad()
    def _check(self):
        x, y = self.names
        for name, _ in self.named_parameters():
            if name.rpartition(".")[2] == "bias":  # also of zeros: it would learn
                raise ValueError(
                    f"factor of {x} and {y}: {name} makes the operator affine; biases belong to "
                    "variables"
                )
        on_cpu = torch.zeros((), dtype=torch.float64, device="cpu")
        weight = next(iter(self.parameters()), on_cpu)
        generator = torch.Generator().manual_seed(0)

        def draw(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, device="cpu").to(weight)

        first, other = draw(2, *self.shape), draw(2, *self.shape)
        made = self.operator(first)
        if not isinstance(made, Tensor) or made.shape[:1] != first.shape[:1]:
            raise ValueError(f"factor of {x} and {y}: the operator must make (batch, ...)")
        self.shapes = {x: self.shape, y: tuple(made.shape[1:])}
        second = draw(*made.shape)
        joined = self.operator(2 * first + other) - 2 * made - self.operator(other)
        scale = made.abs().max() + 1
        slack = torch.finfo(weight.dtype).eps ** 0.5
        if joined.abs().max() > slack * scale:
            raise ValueError(f"factor of {x} and {y}: the operator is not linear")
        try:
            back = self.message(x, {y: second})
        except RuntimeError as error:
            if self.adjoint is not None:
                raise
            raise ValueError(
                f"factor of {x} and {y}: the adjoint of the operator cannot be derived; give it "
                f"({error})"
            ) from error
        if back.shape != first.shape:
            raise ValueError(
                f"factor of {x} and {y}: the adjoint makes {tuple(back.shape[1:])} of "
                f"{tuple(second.shape[1:])}, not {self.shape}"
            )
        there, here = total(made * second), total(back * first)
        if not torch.allclose(there, here, rtol=slack, atol=slack * float(scale)):
            raise ValueError(
                f"factor of {x} and {y}: <y, A(x)> is {there[0]:.4g} but <A^T(y), x> {here[0]:.4g}"
            )


class Distance(Factor):
    """A directed function: E(x, h) = |h - f(x)|^2 / 2 without |h|^2 / 2 (section 5.2).

    The variable h must have |h|^2 / 2 as its own regulariser (``identity``). Without other factors
    its update is then h = f(x). The function is not linear in x, so x must be observed.

    Args:
        x, h: names.
        function: f, from (batch, ...) of x to (batch, ...) of h.
    """

    def __init__(self, x: str, h: str, function: Callable[[Tensor], Tensor]):
        super().__init__((x, h))
        self.function = function

    def check(self, key: str, variables: Mapping[str, Variable]) -> None:
        """Raise a ValueError unless the update of h, but for other factors, is h = f(x)."""
        h = self.names[1]
        if not isinstance(variables[h].regulariser, Identity):
            raise ValueError(f"factor {key}: {h} must have the regulariser identity")

    def message(self, name: str, values: Values) -> Tensor:
        """f(x)."""
        if name != self.names[1]:
            raise ValueError(f"{name} is the input of a directed function; it must be observed")
        return self.function(values[self.names[0]])

    def energy(self, values: Values) -> Tensor:
        """E_f, (batch,)."""
        x, h = self.names
        made = self.function(values[x])
        return total(made.square() / 2 - values[h] * made)
