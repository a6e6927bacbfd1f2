"""Options as they lie in a checkpoint."""

import re
from collections.abc import Mapping

from torch import Tensor

from fairseq_struct.modules.option_controller.cell import CellSizes
from fairseq_struct.modules.option_controller.options import OptionPool

NAME = re.compile(r"(?:.*\.)?options\.(\d+)\.(.+)")


def stored_options(parameters: Mapping[str, Tensor]) -> OptionPool:
    """The pool of options of a model.

    Args:
        parameters: of the model, by name; those of option i have names in ``options.i.``.

    Raises:
        ValueError: there are no options, or they are incomplete or of different sizes.
    """
    cells: dict[int, dict[str, Tensor]] = {}
    for name, value in parameters.items():
        found = NAME.fullmatch(name)
        if found:
            cells.setdefault(int(found[1]), {})[found[2]] = value
    if sorted(cells) != list(range(len(cells))) or not cells:
        raise ValueError("no options")
    sizes = {_sizes_of(cell) for cell in cells.values()}
    if len(sizes) > 1:
        raise ValueError("options of different sizes")
    pool = OptionPool.of(len(cells), sizes.pop())
    for number, cell in enumerate(pool):
        try:
            cell.load_state_dict(cells[number])
        except RuntimeError:
            raise ValueError(f"option {number} is incomplete") from None
    return pool


def _sizes_of(cell: Mapping[str, Tensor]) -> CellSizes:
    try:
        (mlp, observation), outputs = cell["observed.weight"].shape, len(cell["act.weight"])
    except (KeyError, ValueError, TypeError):
        raise ValueError("options of another kind") from None
    layers = sum(re.fullmatch(r"layers\.\d+\.weight", name) is not None for name in cell)
    hidden = len(cell["hid.weight"]) if "hid.weight" in cell else 0
    return CellSizes(observation, outputs, hidden, mlp, layers + 1, "end.weight" in cell)
