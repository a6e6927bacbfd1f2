"""Ordered Memory Policy Networks for fairseq, a baseline of option-controller networks."""

from dataclasses import dataclass, field

from fairseq.dataclass import FairseqDataclass
from fairseq.models import register_model, register_model_architecture

from fairseq_struct.errors import as_input
from fairseq_struct.models.shared.imitation_model import ImitationModel
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.modules.option_controller.ordered_memory_policy import OrderedMemoryPolicy
from fairseq_struct.option_checks import require_at_least, require_share


@dataclass
class OrderedMemoryPolicyConfig(FairseqDataclass):
    """Options of the policy; the defaults are those of its code, with the thesis's size."""

    slots: int = field(default=3, metadata={"help": "n: slots of the memory, 2 or more"})
    hidden_size: int = field(default=128, metadata={"help": "D: size of a slot"})
    dropout: float = field(default=0.0, metadata={"help": "dropout in all recurrences"})


@register_model("ordered_memory_policy", dataclass=OrderedMemoryPolicyConfig)
class OrderedMemoryPolicyModel(ImitationModel):
    """:class:`.OrderedMemoryPolicy` on ``--task craft_imitation``."""

    ends_are_probabilities = False

    @classmethod
    def build_model(cls, cfg: OrderedMemoryPolicyConfig, task) -> "OrderedMemoryPolicyModel":
        """Build the policy for the task's observations and actions.

        Raises:
            InputError: another task, or an option out of range.
        """
        cls.check_task(task)
        require_at_least(cfg, 1, "hidden_size")
        require_share(cfg, "dropout")
        about = task.about
        with as_input():
            network = OrderedMemoryPolicy(
                about["observation_size"], about["actions"], len(about["tasks"]), cfg.hidden_size,
                cfg.slots, cfg.dropout, task.done_action,
            )  # fmt: skip
        return cls(network, about)


@register_model_architecture("ordered_memory_policy", "ordered_memory_policy_craft")
def craft(args):
    """The policy of section 5.3 of Shen's thesis: the defaults."""


@register_model_architecture("ordered_memory_policy", "ordered_memory_policy_craft_cpu")
def craft_cpu(args):
    """Half the sizes, for one CPU thread."""
    set_defaults(args, hidden_size=64)
