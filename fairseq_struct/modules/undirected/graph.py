"""Factor graphs whose variables are inferred from one another by minimising an energy.

Source: T. Mihaylova's thesis, section 5.2 and appendix C.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fairseq_struct.modules.undirected.descent import Descent
from fairseq_struct.modules.undirected.factors import Factor
from fairseq_struct.modules.undirected.orders import (
    Order,
    RandomOrder,
    Step,
    check_passes,
    names_of,
    steps_of,
)
from fairseq_struct.modules.undirected.regularisers import diverged, total
from fairseq_struct.modules.undirected.variables import Variable, equal_batches, told_of_input


@dataclass(frozen=True)
class Converged:
    """What :meth:`FactorGraph.converge` finds.

    Args:
        values: of every variable.
        passes: (batch,) passes that each instance took.
        moved: (batch,) largest change of a number in its last pass.
    """

    values: dict[str, Tensor]
    passes: Tensor
    moved: Tensor


class FactorGraph(nn.Module):
    """E(x_1, …, x_n) = sum_i E_{X_i}(x_i) + sum_f E_f(x_f) (eq. 5.1), and its minimisation.

    A variable is updated to the minimum of the energy over it (eq. 5.4), which is
    grad Psi*(z) with the pre-activation z = b + sum of its factors' messages (eqs. C.1 and C.2).
    Sequential updates never increase the energy. Variables without a value are zero. Their
    messages are left out, so that one pass from zero costs what a directed network costs, and is
    the same (lemma 1).

    Args:
        variables: by name.
        factors: by name.

    Raises:
        ValueError: no variables, a name that torch's modules cannot have, or a factor joins
            unknown variables or such that do not fit it.
    """

    def __init__(self, variables: Mapping[str, Variable], factors: Mapping[str, Factor]):
        super().__init__()
        if not variables:
            raise ValueError("a factor graph needs variables")
        for name in (*variables, *factors):
            if not name or "." in name or hasattr(nn.ModuleDict, name):
                raise ValueError(f"variables and factors cannot be named {name!r}")
        self.variables, self.factors = nn.ModuleDict(variables), nn.ModuleDict(factors)
        for name, factor in factors.items():
            self._known(factor.names, f"factor {name}")
            factor.check(name, variables)

    def energy(
        self, values: Mapping[str, Tensor], supports: Mapping | None = None,
        updated: Sequence[str] = (),
    ) -> Tensor:  # fmt: skip
        """E of an assignment to all variables, (batch,).

        Args:
            values: (batch, ...) of every variable.
            supports: see :meth:`minimise`.
            updated: variables that are at the minimum over them, as after an update without
                dropout. Their Psi(x) is <z, x> - Psi*(z), which spares trees a search.

        Raises:
            ValueError: a variable without value, an unknown one, a value of another shape, or
                values of different numbers of instances.
        """
        self._known(values, "the assignment")
        self._known(updated, "updated")
        missing = [name for name in self.variables if name not in values]
        if missing:
            raise ValueError(f"the energy needs a value of {', '.join(missing)}")
        self._fit(values)
        supports, parts = supports or {}, []
        for name, variable in self.variables.items():
            if name in updated:
                field = self.field(name, values)
                conjugate = variable.regulariser.conjugate(field, supports.get(name))
                parts.append(total(values[name] * field) - conjugate)
            else:
                parts.append(variable.regulariser.value(values[name], supports.get(name)))
            if variable.bias is not None:
                parts.append(-total(values[name] * variable.bias))
        parts += [factor.energy(values) for factor in self.factors.values()]
        return torch.stack(parts).sum(0)

    def minimise(
        self,
        observed: Mapping[str, Tensor],
        order: Order,
        passes: int = 1,
        start: Mapping[str, Tensor] | None = None,
        supports: Mapping | None = None,
        clamped: Mapping[str, Tensor] | None = None,
        dropout: bool = True,
    ) -> dict[str, Tensor]:
        """Update variables in turn; gradients flow through all updates.

        Args:
            observed: values that stay as they are.
            order: names of the variables to update in a pass; a group (tuple) is updated from its
                members' old values; or a function from the number of the pass to such a sequence.
            passes: number of passes.
            start: first values of other variables; zero if not given.
            supports: by variable, a boolean mask of what may be other than 0 (padding), or what
                else its regulariser takes.
            clamped: by variable of ``start``, a boolean mask of the numbers that stay as they are;
                of distributions whole ones, for the others are made without regard to them.
            dropout: whether variables are dropped while training.

        Returns:
            The values of all variables that have one.

        Raises:
            ValueError: unknown, missing, or observed variables in the order, no passes, or values
                of other shapes than their variables.
            InputError: outside of training, if values are not finite at the end, or given ones are
                not. (In training, the loss tells.)
        """
        check_passes(passes)
        descent = self.descent(observed, order, start, supports, clamped, dropout)
        with told_of_input(observed, start):
            for number in range(passes):
                descent.run(self._steps(order, number, observed))
            self._finite(descent.values, observed)
        return descent.values

    def descent(
        self,
        observed: Mapping[str, Tensor],
        order: Order,
        start: Mapping[str, Tensor] | None = None,
        supports: Mapping | None = None,
        clamped: Mapping[str, Tensor] | None = None,
        dropout: bool = True,
    ) -> Descent:
        """A minimisation to run step by step; arguments and errors as for :meth:`minimise`."""
        start, supports, clamped = start or {}, supports or {}, clamped or {}
        for what, given in (
            ("observed", observed), ("start", start), ("supports", supports),
            ("clamped", clamped),
        ):  # fmt: skip
            self._known(given, what)
        self._fit({**start, **observed})
        self._check_order(order, observed, start)
        for name in clamped:
            if name not in start:
                raise ValueError(f"{name} is clamped, but has no start")
        return Descent(self, observed, start, supports, clamped, dropout)

    def converge(
        self,
        observed: Mapping[str, Tensor],
        order: Order,
        tolerance: float = 1e-3,
        most_passes: int = 10,
        start: Mapping[str, Tensor] | None = None,
        supports: Mapping | None = None,
        clamped: Mapping[str, Tensor] | None = None,
    ) -> Converged:
        """Update until no number moves by more than ``tolerance``, instance by instance.

        Finished instances leave the batch. The first pass counts as a move from zero.

        Args:
            observed, order, start, supports, clamped: as for :meth:`minimise`; a support that is
                not a tensor must be a tuple of tensors or None.
            tolerance: largest change of a number in a pass that ends a minimisation.
            most_passes: after which every instance ends.

        Raises:
            ValueError: as for :meth:`minimise`, a tolerance that is not above 0, or nothing is
                observed and no variable has a start.
            InputError: as for :meth:`minimise`.
        """
        if not tolerance > 0:
            raise ValueError("the tolerance must be above 0")
        check_passes(most_passes)
        descent = self.descent(observed, order, start, supports, clamped)
        if not descent.values:
            raise ValueError("nothing is observed, and no variable has a start")
        size = len(next(iter(descent.values.values())))
        device = next(iter(descent.values.values())).device
        left = torch.arange(size, device=device)
        taken, found = torch.zeros(size, dtype=torch.long, device=device), {}
        moved = torch.zeros(size, device=device)
        for number in range(most_passes):
            before = dict(descent.values)
            with told_of_input(observed, start):
                descent.run(self._steps(order, number, observed))
            change = _largest_change(before, descent.values)
            taken[left], moved[left] = number + 1, change.to(moved.dtype)
            done = (change <= tolerance) | (number + 1 == most_passes)
            for name, value in descent.values.items():
                found.setdefault(name, []).append((left[done], value[done]))
            left = left[~done]
            if not len(left):
                break
            descent.keep(~done)
        values = {name: _in_order(parts) for name, parts in found.items()}
        with told_of_input(observed, start):
            self._finite(values, observed)
        return Converged(values, taken, moved)

    def field(
        self, name: str, values: Mapping[str, Tensor], supports: Mapping | None = None
    ) -> Tensor:
        """The pre-activation z of a variable (eq. C.2); variables without value are zero.

        Raises:
            ValueError: an unknown variable, a value of another shape than its variable, or none of
                its neighbours has a value.
        """
        self._known([name], "the field")
        self._known(values, "the assignment")
        self._fit(values)
        return Descent(self, values, {}, supports or {}, {}).field(name)

    def _fit(self, values: Mapping[str, Tensor]):
        for name, value in values.items():
            self.variables[name].check(name, value)
        equal_batches(values)

    def _finite(self, values: Mapping[str, Tensor], observed: Mapping):
        if self.training:
            return
        for name, value in values.items():
            if name not in observed and not value.isfinite().all():
                raise diverged(f"the values of variable {name} are")

    def _known(self, names, where: str):
        for name in names:
            if name not in self.variables:
                known = ", ".join(self.variables)
                raise ValueError(f"{where}: unknown variable {name!r}; there are {known}")

    def _steps(self, order: Order, number: int, observed: Mapping) -> Sequence[Step]:
        """The steps of a pass, after a check; those of a function may differ between passes."""
        steps = steps_of(order, number)
        if callable(order):
            self._check_names(names_of(steps), observed)
        return steps

    def _check_order(self, order: Order, observed: Mapping, start: Mapping):
        if isinstance(order, RandomOrder):
            steps = (*order.names, *order.last)
        else:
            steps = steps_of(order, 0)
        names = names_of(steps)
        self._check_names(names, observed)
        missing = [x for x in self.variables if not (x in names or x in observed or x in start)]
        if missing:
            raise ValueError(f"the order leaves out {', '.join(missing)}, not observed either")

    def _check_names(self, names: Sequence[str], observed: Mapping):
        self._known(names, "the order")
        if not names:
            raise ValueError("nothing is left to infer: the order is empty")
        for name in names:
            if name in observed:
                raise ValueError(f"the order updates {name}, which is observed")


def _largest_change(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> Tensor:
    """(batch,) over all variables; without a value before, from zero."""
    changes = [
        (value - before[name] if name in before else value).detach().abs()
        for name, value in after.items()
        if before.get(name) is not value
    ]
    rows = [each.flatten(1) if each.dim() > 1 else each.unsqueeze(1) for each in changes]
    return torch.stack([each.amax(1) for each in rows]).amax(0)


def _in_order(parts: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    places = torch.cat([place for place, _ in parts])
    return torch.cat([value for _, value in parts])[places.argsort()]
