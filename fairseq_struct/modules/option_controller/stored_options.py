"""Options as they lie in a checkpoint."""

import re
from collections.abc import Iterable, Mapping

from torch import Tensor

from fairseq_struct.modules.option_controller.cell import CellSizes
from fairseq_struct.modules.option_controller.latent_options import LatentOptions
from fairseq_struct.modules.option_controller.options import OptionPool, Pool, merge

CELL = re.compile(r"(?:.*\.)?options\.(\d+)\.(.+)")
LATENTS = re.compile(r"(?:.*\.)?options\.(?:parts\.(\d+)\.)?((?:policy|termination)\..+)")


def has_options(names: Iterable[str]) -> bool:
    """Whether parameters of these names belong to a model with options."""
    return any(CELL.fullmatch(name) or LATENTS.fullmatch(name) for name in names)


def stored_options(parameters: Mapping[str, Tensor], observation: int) -> Pool:
    """The pool of options of a model.

    Args:
        parameters: of the model, by name. Those of option i have names in ``options.i.``; those of
            compILE's decoder, whose options are its latents, in ``options.policy.`` and
            ``options.termination.``, and of several decoders in ``options.parts.i.``.
        observation: numbers in an observation; a decoder reads them and the latent together.

    Raises:
        ValueError: there are no options, or they are incomplete or of different sizes.
    """
    if found := _numbered(CELL, parameters):
        return _filled(OptionPool.of(len(found), _sizes_of(found)), found, "option")
    if found := _numbered(LATENTS, parameters):
        decoders = [_decoder_for(part, observation) for part in found]
        return merge(_filled(decoders, found, "decoder"))
    raise ValueError("no options")


def _numbered(pattern: re.Pattern, parameters: Mapping[str, Tensor]) -> list[dict[str, Tensor]]:
    """The parameters of each option or decoder; none if one of them is missing."""
    parts: dict[int, dict[str, Tensor]] = {}
    for name, value in parameters.items():
        if found := pattern.fullmatch(name):
            parts.setdefault(int(found[1] or 0), {})[found[2]] = value
    return (
        [parts[number] for number in sorted(parts)] if max(parts, default=-1) < len(parts) else []
    )


def _filled(parts: Pool | list, found: list[dict[str, Tensor]], what: str):
    for number, (part, own) in enumerate(zip(parts, found, strict=True)):
        try:
            part.load_state_dict(own)
        except RuntimeError:
            raise ValueError(f"{what} {number} is incomplete") from None
    return parts


def _sizes_of(cells: list[Mapping[str, Tensor]]) -> CellSizes:
    sizes = {_cell_sizes(cell) for cell in cells}
    if len(sizes) > 1:
        raise ValueError("options of different sizes")
    return sizes.pop()


def _cell_sizes(cell: Mapping[str, Tensor]) -> CellSizes:
    try:
        (mlp, observation), outputs = cell["observed.weight"].shape, len(cell["act.weight"])
    except (KeyError, ValueError, TypeError):
        raise ValueError("options of another kind") from None
    layers = sum(re.fullmatch(r"layers\.\d+\.weight", name) is not None for name in cell)
    hidden = len(cell["hid.weight"]) if "hid.weight" in cell else 0
    return CellSizes(observation, outputs, hidden, mlp, layers + 1, "end.weight" in cell)


def _decoder_for(parameters: Mapping[str, Tensor], observation: int) -> LatentOptions:
    """A new decoder of the sizes of stored parameters."""
    weights = [name for name in parameters if re.fullmatch(r"policy\.\d+\.weight", name)]
    try:
        layers = sorted(weights, key=lambda name: int(name.split(".")[1]))
        (size, given), actions = parameters[layers[0]].shape, len(parameters[layers[-1]])
    except (IndexError, ValueError, TypeError):
        raise ValueError("options of another kind") from None
    if given <= observation or len(layers) < 2:
        raise ValueError("options of other observations")
    return LatentOptions(observation, actions, given - observation, size, len(layers) - 1)
