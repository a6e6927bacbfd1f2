"""Factors of undirected networks: energies of several variables, and what they send to each one.

Source: T. Mihaylova's thesis, section 5.2, appendices C and D. A multilinear factor has the energy
E_f = -<W_f, x_1 (x) x_2 (x) ...> (eq. 5.3). Its message to a variable is -dE_f / dx_i, one of the
terms of the pre-activation in eq. C.2.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from fairseq_struct.modules.undirected.regularisers import total
from fairseq_struct.modules.undirected.variables import Variable, refuse_other_shapes
from fairseq_struct.structure.precision import at_least_float32

Values = Mapping[str, Tensor]


class Factor(nn.Module, ABC):
    """An energy that is linear in each of its variables; all are (batch, ...).

    Subclasses may set ``shapes`` of variables, as :func:`.refuse_other_shapes` takes them.

    Args:
        names: the variables, at least two different ones.

    Raises:
        ValueError: fewer than two variables, or one twice.
    """

    shapes: Mapping[str, Sequence] = {}

    def __init__(self, names: Sequence[str]):
        super().__init__()
        if len(set(names)) != len(names) or len(names) < 2:
            raise ValueError(f"a factor joins two or more different variables, not {list(names)}")
        self.names = tuple(names)

    def check(self, key: str, variables: Mapping[str, Variable]) -> None:
        """Raise a ValueError if factor ``key`` does not fit its variables."""
        refuse_other_shapes(key, variables, self.shapes)

    @abstractmethod
    def message(self, name: str, values: Values) -> Tensor:
        """-dE_f / dx of variable ``name``, from the values of the others."""

    def messages(self, name: str, values: Values, kept: dict | None = None) -> dict[str, Tensor]:
        """The message to ``name``, and those to others that need the same values, if cheap.

        ``kept`` is the same in all calls of a minimisation, for what later messages need again.
        """
        return {name: self.message(name, values)}

    def needs(self, name: str) -> tuple[str, ...]:
        """Variables whose values a message to ``name`` needs; without one of them, it is zero."""
        return tuple(other for other in self.names if other != name)

    def energy(self, values: Values) -> Tensor:
        """E_f, (batch,)."""
        name = self.names[-1]
        return -total(at_least_float32(values[name]) * self.message(name, values))


class Bilinear(Factor):
    """E(x, y) = -<y, W x> (eq. 5.5), for vectors or for the vector at every position.

    Args:
        x, y: names.
        x_size, y_size: sizes of the last dimensions.
        shape: of x without batch, if x is to be flattened, as in eq. 5.11.

    Raises:
        ValueError: as for :class:`Factor`, a size below 1, or a shape of other size.
    """

    def __init__(
        self, x: str, y: str, x_size: int, y_size: int, shape: Sequence[int] | None = None
    ):
        super().__init__((x, y))
        if min(x_size, y_size) < 1:
            raise ValueError(f"factor of {x} and {y}: sizes must be 1 or more")
        self.shape = None if shape is None else tuple(shape)
        if self.shape is not None and math.prod(self.shape) != x_size:
            raise ValueError(f"factor of {x} and {y}: {self.shape} are not {x_size} numbers")
        self.shapes = {x: (..., *(self.shape or (x_size,))), y: (..., y_size)}
        self.weight = nn.Parameter(nn.Linear(x_size, y_size, bias=False).weight.detach())

    def message(self, name: str, values: Values) -> Tensor:
        """W x or W^T y."""
        x, y = self.names
        if name == y:
            given = values[x]
            given = given if self.shape is None else given.flatten(-len(self.shape))
            return functional.linear(given, self.weight)
        made = values[y] @ self.weight
        return made if self.shape is None else made.unflatten(-1, self.shape)


class Contraction(Factor):
    """E = -sum over all indices of a product of variables, and of a weight if one is given.

    Eqs. 5.3 and 5.13, in einsum notation. The first index of each variable is the batch. So
    ``Contraction(("Q", "K", "S"), "bid,bjd,bij")`` is -<S, Q K^T>. With ``"bd,be,bf"``, a weight
    (d, e, f) and ``weight_indices="def"``, it is the multilinear factor of eq. C.2.

    Args:
        names: the variables.
        indices: of each variable, separated by commas.
        weight: W_f; becomes a parameter.
        weight_indices: of the weight.

    Raises:
        ValueError: as for :class:`Factor`, or the indices do not belong to the variables.
    """

    def __init__(
        self, names: Sequence[str], indices: str, weight: Tensor | None = None,
        weight_indices: str = "",
    ):  # fmt: skip
        super().__init__(names)
        parts = indices.replace(" ", "").split(",")
        if len(parts) != len(self.names) or len({part[:1] for part in parts}) != 1:
            told = ", ".join(self.names)
            raise ValueError(f"{indices!r} must have indices for each of {told}, the batch first")
        if (weight is None) != (not weight_indices):
            raise ValueError("a weight and its indices come together")
        for part in [*parts, weight_indices] if weight_indices else parts:
            if not part.isalpha() or len(set(part)) < len(part):
                raise ValueError(f"{part!r} must be different letters, an index each")
        if weight is not None and weight.dim() != len(weight_indices):
            raise ValueError(f"a weight {tuple(weight.shape)} has not indices {weight_indices}")
        every = "".join(parts) + weight_indices
        for index in sorted(set(every)):
            if every.count(index) < 2:
                raise ValueError(f"{indices!r}: index {index} belongs to one variable alone")
        self.indices = dict(zip(self.names, parts, strict=True))
        self.weight = None if weight is None else nn.Parameter(weight.detach().clone())
        self.weight_indices = weight_indices
        known = {} if weight is None else dict(zip(weight_indices, weight.shape, strict=True))
        self.shapes = {name: [known.get(one, one) for one in part[1:]]
                       for name, part in self.indices.items()}  # fmt: skip

    def message(self, name: str, values: Values) -> Tensor:
        """The contraction of all other variables."""
        others = self.needs(name)
        terms, tensors = [self.indices[o] for o in others], [values[o] for o in others]
        if self.weight is not None:
            terms.insert(1, self.weight_indices)
            tensors.insert(1, self.weight)
        return torch.einsum(",".join(terms) + "->" + self.indices[name], *tensors)


class Biaffine(Factor):
    """E(Y, H, M) = -<Y, H V M^T> (eq. 5.15), with H and M (batch, n, d) and Y (batch, n, n).

    The diagonal of Y are arcs from the root. Their head is the word's own row of H, as in the
    equation; or, with ``root``, h_0 (batch, d), a row of H for the root: the diagonal of H V M^T
    is then M V^T h_0.

    Args:
        y, h, m: names.
        size: d.
        root: name of h_0.

    Raises:
        ValueError: as for :class:`Factor`, or a size below 1.
    """

    def __init__(self, y: str, h: str, m: str, size: int, root: str | None = None):
        super().__init__((y, h, m) if root is None else (y, h, root, m))
        if size < 1:
            raise ValueError(f"factor of {y}, {h} and {m}: its size must be 1 or more")
        self.root = root
        self.shapes = {y: ("n", "n"), h: ("n", size), m: ("n", size)}
        if root is not None:
            self.shapes[root] = (size,)
        self.weight = nn.Parameter(torch.empty(size, size))
        nn.init.xavier_uniform_(self.weight)

    def needs(self, name: str) -> tuple[str, ...]:
        """As for every factor; but H and h_0 do not need each other."""
        y, h, *_, m = self.names
        return (y, m) if name in (h, self.root) else super().needs(name)

    def message(self, name: str, values: Values) -> Tensor:
        """H V M^T, Y M V^T or Y^T H V (eqs. 5.19 and 5.20, with words as rows).

        With ``root``, h_0 is one more row of H, and y_0, the diagonal of Y, one more row of the
        rest of Y: V M^T y_0 goes to h_0.
        """
        return self.messages(name, values)[name]

    def messages(self, name: str, values: Values, kept: dict | None = None) -> dict[str, Tensor]:
        """As :meth:`message`; products with V, of which two messages need each, are kept."""
        y, h, *_, m = self.names
        kept = {} if kept is None else kept
        if name == y:
            return {name: self._scores(values, kept)}
        arcs = self._arcs(values[y], kept)
        if name == m:
            return {name: arcs.transpose(1, 2) @ self._heads(values, kept)}
        made = arcs @ self._modifiers(values, kept)
        if self.root is None:
            return {name: made}
        of_root, others = made.split([1, made.size(1) - 1], 1)
        return {self.root: of_root.squeeze(1), h: others}

    def _scores(self, values: Values, kept: dict) -> Tensor:
        """H V M^T, the scores of arcs."""
        h, m = self.names[1], self.names[-1]
        if h in kept and kept[h][0][0] is values[h]:
            made = self._heads(values, kept) @ values[m].transpose(1, 2)
        else:
            made = self._rows(values) @ self._modifiers(values, kept).transpose(1, 2)
        if self.root is None:
            return made
        of_root, others = made.split([1, made.size(1) - 1], 1)
        return torch.where(_diagonal(others), of_root, others)

    def _rows(self, values: Values) -> Tensor:
        """H, with h_0 above it."""
        h = values[self.names[1]]
        return h if self.root is None else torch.cat([values[self.root].unsqueeze(1), h], 1)

    def _heads(self, values: Values, kept: dict) -> Tensor:
        """H V, once for each value of H and h_0."""
        given = tuple(values[name] for name in self.names[1:-1])
        return _once(kept, self.names[1], given, lambda: self._rows(values) @ self.weight)

    def _modifiers(self, values: Values, kept: dict) -> Tensor:
        """M V^T, once for each value of M."""
        m = self.names[-1]
        return _once(kept, m, (values[m],), lambda: values[m] @ self.weight.t())

    def _arcs(self, arcs: Tensor, kept: dict) -> Tensor:
        """Y, or its diagonal above the rest of it, once for each value."""
        if self.root is None:
            return arcs

        def above() -> Tensor:
            from_root = arcs.diagonal(dim1=1, dim2=2).unsqueeze(1)
            return torch.cat([from_root, arcs.masked_fill(_diagonal(arcs), 0)], 1)

        return _once(kept, self.names[0], (arcs,), above)


class Convolution(Factor):
    """E(x, h) = -<h, C(x; W)>, C a cross-correlation of images (eqs. 5.10 and D.4).

    Args:
        x, h: names; (batch, channels, height, width) each.
        in_channels, out_channels, kernel, stride, padding: of C, as for ``nn.Conv2d``.
        size: height and width of x.

    Raises:
        ValueError: a number out of range, or the kernel does not fit into the image.
    """

    def __init__(
        self, x: str, h: str, in_channels: int, out_channels: int, kernel: int, size: int,
        stride: int = 1, padding: int = 0,
    ):  # fmt: skip
        super().__init__((x, h))
        if min(in_channels, out_channels, kernel, size, stride) < 1 or padding < 0:
            least = "channels, sizes and stride must be 1 or more, and the padding 0 or more"
            raise ValueError(f"factor of {x} and {h}: {least}")
        if kernel > size + 2 * padding:
            raise ValueError(f"factor of {x} and {h}: a kernel of {kernel} in images of {size}")
        layer = nn.Conv2d(in_channels, out_channels, kernel, bias=False)
        self.weight = nn.Parameter(layer.weight.detach())
        self.options = {"stride": stride, "padding": padding}
        made, self.left_over = divmod(size + 2 * padding - kernel, stride)
        self.shapes = {x: (in_channels, size, size), h: (out_channels, made + 1, made + 1)}

    def message(self, name: str, values: Values) -> Tensor:
        """C(x; W), or its adjoint, the transposed convolution of h."""
        x, h = self.names
        if name == h:
            return functional.conv2d(values[x], self.weight, **self.options)
        return functional.conv_transpose2d(
            values[h], self.weight, output_padding=self.left_over, **self.options
        )


def _once(kept: dict, name: str, given: tuple[Tensor, ...], make: Callable[[], Tensor]) -> Tensor:
    """What is made of values of variables, kept until they have others."""
    before = kept.get(name)
    if before is None or any(one is not other for one, other in zip(before[0], given, strict=True)):
        before = kept[name] = given, make()
    return before[1]


def _diagonal(arcs: Tensor) -> Tensor:
    """(n, n) booleans, for arcs (batch, n, n)."""
    return torch.eye(arcs.size(1), dtype=torch.bool, device=arcs.device)
