"""Option-controller networks for fairseq (Shen's thesis, section 5.2)."""

import math
from dataclasses import dataclass, field

from fairseq.models import register_model, register_model_architecture

from fairseq_struct.errors import InputError
from fairseq_struct.models.shared.option_model import (
    OptionConfig,
    OptionModel,
    cell_sizes,
    check_sizes,
    highest_controller,
)
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.modules.option_controller import OptionController, OptionPool
from fairseq_struct.option_checks import require_at_least

LOWER = 2  # controllers on a level below the highest


@dataclass
class OptionControllerConfig(OptionConfig):
    """Options of the network."""

    end_bias: float = field(
        default=0.0,
        metadata={
            "help": "added to b_end of options when they are drawn; above 0, options end at most "
            "steps before they have learned to go on (not in the thesis)"
        },
    )
    levels: int = field(
        default=1,
        metadata={"help": "levels of controllers; below the highest they are options themselves"},
    )
    lower_controllers: int = field(
        default=LOWER,
        metadata={"help": "with --levels: controllers on each level below the highest"},
    )


@register_model("option_controller", dataclass=OptionControllerConfig)
class OptionControllerModel(OptionModel):
    """:class:`.OptionController` on ``--task craft_imitation``."""

    @classmethod
    def build_model(cls, cfg: OptionControllerConfig, task) -> "OptionControllerModel":
        """Build the network for the task's observations and actions.

        Raises:
            InputError: another task, or an option out of range.
        """
        cls.check_task(task)
        check_sizes(cfg)
        require_at_least(cfg, 1, "levels", "lower_controllers")
        if cfg.levels == 1 and cfg.lower_controllers != LOWER:
            raise InputError("--lower-controllers needs --levels 2 or more")
        if not math.isfinite(cfg.end_bias):
            raise InputError(f"--end-bias must be a number, not {cfg.end_bias}")
        about, below, between = task.about, cfg.options, []
        sizes = cell_sizes(cfg, about, about["actions"])
        options = OptionPool.of(cfg.options, sizes, cfg.end_bias)
        for _ in range(cfg.levels - 1):
            between.append(OptionPool.of(cfg.lower_controllers, cell_sizes(cfg, about, below)))
            below = cfg.lower_controllers
        network = OptionController(options, highest_controller(cfg, about, below), between)
        model = cls(network, about)
        model.prepare(cfg)
        return model


@register_model_architecture("option_controller", "option_controller_craft")
def craft(args):
    """The thesis's network, with as many options as its first setting has: the defaults."""


@register_model_architecture("option_controller", "option_controller_craft_cpu")
def craft_cpu(args):
    """Half the sizes, for one CPU thread."""
    set_defaults(args, hidden_size=64, mlp_size=64)
