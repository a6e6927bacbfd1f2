"""What the networks of options share: their sizes, and training of some of their parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional  # fairseq cannot read "str | None"

import torch
from fairseq.dataclass import FairseqDataclass
from torch import Tensor, nn

from fairseq_struct.errors import InputError
from fairseq_struct.models.shared.imitation_model import (
    ABOUT,
    ImitationModel,
    check_same,
    read_imitation,
)
from fairseq_struct.modules.option_controller import CellSizes, Controller
from fairseq_struct.option_checks import option_name, require_above_zero, require_at_least

ALL = "all"
INITIAL_STATES = "network.controller.initial.weight"
OTHERS = "it is of another architecture, or its sizes are others than the options"


@dataclass
class OptionConfig(FairseqDataclass):
    """Options of networks of options; the defaults are those of Shen's thesis, if it has them."""

    options: int = field(default=3, metadata={"help": "K: number of options"})
    hidden_size: int = field(default=128, metadata={"help": "d_hid of options and controllers"})
    mlp_size: int = field(
        default=128, metadata={"help": "d_MLP of options and controllers (not in the thesis)"}
    )
    mlp_depth: int = field(default=2, metadata={"help": "l_MLP: layers of their MLP"})
    temperature: float = field(
        default=10.0, metadata={"help": "T: scores of controllers are divided by it"}
    )
    initial_model: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "checkpoint of the same architecture and sizes whose parameters training "
            "starts from; initial states of the controller are taken for tasks of the same name"
        },
    )
    train_options: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "with --initial-model: the only options that learn, such as 2 or 0,2, counted "
            f"from 0; or {ALL} (default: {ALL})"
        },
    )
    reset_options: bool = field(
        default=False, metadata={"help": "draw the options of --train-options anew first"}
    )
    freeze_controller: bool = field(
        default=False, metadata={"help": "with --initial-model: the controller does not learn"}
    )


class OptionModel(ImitationModel):
    """A model with ``network.options`` and ``network.controller``, whose parts can be retrained."""

    ONLY_FOR_TRAINING = ("initial_model", "train_options", "reset_options", "freeze_controller")

    def prepare(self, cfg: OptionConfig):
        """Take over the parameters of ``--initial-model``, and freeze what does not learn.

        Raises:
            InputError: the checkpoint does not fit, or options exclude each other.
        """
        numbers = _numbers(cfg.train_options, len(self.network.options))
        if not cfg.initial_model:
            for name in self.ONLY_FOR_TRAINING:
                if getattr(cfg, name):
                    raise InputError(f"{option_name(name)} needs --initial-model")
            return
        if cfg.reset_options and cfg.train_options is None:
            raise InputError("--reset-options needs --train-options")
        self._take_over(cfg.initial_model, cfg.freeze_controller)
        for number, option in enumerate(self.network.options):
            if numbers is not None and number not in numbers:
                option.requires_grad_(False)
            elif cfg.reset_options:
                option.reset_parameters()
        if cfg.freeze_controller:
            for name, part in self.network.named_children():
                if name != "options":
                    part.requires_grad_(False)

    def _take_over(self, path: str, frozen: bool):
        given, about = read_imitation(path, "--initial-model")
        try:
            check_same(self.subject, about, "it", but=("tasks",))
            own = self.state_dict()
            if own.keys() != given.keys():
                raise InputError(OTHERS)
            states = _initial_states(own, self.subject["tasks"], given, about["tasks"], frozen)
            _check_shapes(own, given)
        except InputError as error:
            raise InputError(f"--initial-model {path}: {error}") from None
        nn.Module.load_state_dict(self, {**given, ABOUT: own[ABOUT], INITIAL_STATES: states})


def check_sizes(cfg: OptionConfig):
    """Refuse sizes out of range.

    Raises:
        InputError: one is.
    """
    require_at_least(cfg, 1, "options", "hidden_size", "mlp_size", "mlp_depth")
    require_above_zero(cfg, "temperature")


def cell_sizes(cfg: OptionConfig, about: Mapping, outputs: int, ends: bool = True) -> CellSizes:
    """Sizes of a cell with ``outputs`` that observes what the demonstrations show."""
    return CellSizes(
        about["observation_size"], outputs, cfg.hidden_size, cfg.mlp_size, cfg.mlp_depth, ends
    )


def highest_controller(cfg: OptionConfig, about: Mapping, options: int) -> Controller:
    """The controller of the tasks, over ``options``."""
    sizes = cell_sizes(cfg, about, options, ends=False)
    return Controller(sizes, len(about["tasks"]), cfg.temperature)


def _numbers(given: str | None, count: int) -> set[int] | None:
    """The options that ``--train-options`` names, of ``count``."""
    if given in (None, ALL):
        return None
    parts = [part.strip() for part in str(given).split(",")]
    if not all(part.isdecimal() and int(part) < count for part in parts):
        raise InputError(f"--train-options {given}: the options are 0 to {count - 1}")
    return set(map(int, parts))


def _initial_states(
    own: Mapping[str, Tensor], tasks: list[str], given: Mapping[str, Tensor], known: list[str],
    frozen: bool,
) -> Tensor:  # fmt: skip
    """The controller's initial states: those of the same tasks, else new ones."""
    states = own[INITIAL_STATES].clone()
    if given[INITIAL_STATES].shape != (len(known), states.shape[1]):
        raise InputError("its controller has another size")
    for place, task in enumerate(tasks):
        if task in known:
            states[place] = given[INITIAL_STATES][known.index(task)]
        elif frozen:
            raise InputError(f"it does not know the task {task}, which --freeze-controller needs")
    return states


def _check_shapes(own: Mapping[str, Tensor], given: Mapping[str, Tensor]):
    free = {ABOUT, INITIAL_STATES}
    if any(own[name].shape != torch.as_tensor(given[name]).shape for name in own.keys() - free):
        raise InputError(OTHERS)
