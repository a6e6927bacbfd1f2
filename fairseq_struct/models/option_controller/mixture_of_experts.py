"""A mixture of experts over time for fairseq, a baseline of option-controller networks."""

from dataclasses import replace

from fairseq.models import register_model, register_model_architecture

from fairseq_struct.models.shared.option_model import (
    OptionConfig,
    OptionModel,
    cell_sizes,
    check_sizes,
    highest_controller,
)
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.modules.option_controller import MixtureOfExperts, OptionPool


@register_model("mixture_of_experts", dataclass=OptionConfig)
class MixtureOfExpertsModel(OptionModel):
    """:class:`.MixtureOfExperts` on ``--task craft_imitation``."""

    @classmethod
    def build_model(cls, cfg: OptionConfig, task) -> "MixtureOfExpertsModel":
        """Build the network for the task's observations and actions.

        Raises:
            InputError: another task, or an option out of range.
        """
        cls.check_task(task)
        check_sizes(cfg)
        about = task.about
        sizes = replace(cell_sizes(cfg, about, about["actions"], ends=False), hidden=0)
        controller = highest_controller(cfg, about, cfg.options)
        model = cls(MixtureOfExperts(OptionPool.of(cfg.options, sizes), controller), about)
        model.prepare(cfg)
        return model


@register_model_architecture("mixture_of_experts", "mixture_of_experts_craft")
def craft(args):
    """As many experts of the same sizes as ``option_controller_craft`` has: the defaults."""


@register_model_architecture("mixture_of_experts", "mixture_of_experts_craft_cpu")
def craft_cpu(args):
    """Half the sizes, for one CPU thread."""
    set_defaults(args, hidden_size=64, mlp_size=64)
