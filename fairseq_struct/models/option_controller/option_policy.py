"""New controllers over frozen options for fairseq (Shen's thesis, section 5.2.3)."""

import logging
from dataclasses import dataclass, field
from typing import Optional  # fairseq cannot read "str | None"

import numpy as np
from fairseq.dataclass import FairseqDataclass
from fairseq.models import BaseFairseqModel, register_model, register_model_architecture
from torch import Tensor

from fairseq_struct.errors import InputError, as_input
from fairseq_struct.models.shared.imitation_model import check_same, read_imitation
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.modules.option_controller.imitating import SingleOption
from fairseq_struct.modules.option_controller.options import Pool, merge
from fairseq_struct.modules.option_controller.policy import (
    ActingPolicy,
    OptionPolicy,
    PolicyOutput,
)
from fairseq_struct.modules.option_controller.stored_options import has_options, stored_options
from fairseq_struct.option_checks import require_above_zero, require_at_least, require_task

logger = logging.getLogger(__name__)


@dataclass
class OptionPolicyConfig(FairseqDataclass):
    """Options of the policy; the defaults are those of Shen's thesis, where it states them."""

    options_from: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "checkpoint whose options are frozen and reused, or several between commas, "
            "whose options become one pool (those of compile_policy are its latents, and only "
            "with each other); without it the controller chooses actions themselves"
        },
    )
    hidden_size: int = field(default=128, metadata={"help": "d_hid of the controller"})
    mlp_size: int = field(
        default=128, metadata={"help": "d_MLP of controller and value network (not in the thesis)"}
    )
    mlp_depth: int = field(
        default=2, metadata={"help": "l_MLP, layers of controller and value network"}
    )
    temperature: float = field(
        default=10.0, metadata={"help": "T: the controller's scores are divided by it"}
    )


@register_model("option_policy", dataclass=OptionPolicyConfig)
class OptionPolicyModel(BaseFairseqModel):
    """:class:`.OptionPolicy` on ``--task craft_reinforcement``.

    Options of a mixture of experts act for one step, others until they end. Without options, the
    policy is that of plain PPO.

    Args:
        policy: the controller, its value network, and the options.
    """

    for_tasks = ("craft_reinforcement",)
    ONLY_FOR_TRAINING = ("options_from",)

    def __init__(self, policy: OptionPolicy):
        super().__init__()
        self.policy = policy

    @classmethod
    def build_model(cls, cfg: OptionPolicyConfig, task) -> "OptionPolicyModel":
        """Build the policy, with the options of ``--options-from``.

        Raises:
            InputError: another task, an option out of range, or a checkpoint without options, or
                with options that do not fit each other or the task.
        """
        require_task(cls, task)
        require_at_least(cfg, 1, "hidden_size", "mlp_size", "mlp_depth")
        require_above_zero(cfg, "temperature")
        pool = cls._pool(cfg.options_from, task.craft)
        return cls(
            OptionPolicy(
                pool, task.craft.observation_size, task.craft.action_count, cfg.hidden_size,
                cfg.mlp_size, cfg.mlp_depth, cfg.temperature,
            )
        )  # fmt: skip

    @staticmethod
    def _pool(paths: str | None, craft) -> Pool | None:
        """The options of the named checkpoints."""
        if paths is None:
            return None
        pools = [_read(path.strip(), craft) for path in paths.split(",")]
        with as_input(f"--options-from {paths}: "):
            return merge(pools)

    def load_state_dict(self, state_dict, strict=True, model_cfg=None, args=None):
        """Load parameters; options come with them, so the files they are from may be gone."""
        if self.policy.options is None and has_options(state_dict):
            try:
                pool = stored_options(state_dict, self.policy.observation)
                like = self.policy.value[0].weight
                self.policy = self.policy.over(pool).to(like.device, like.dtype)
            except ValueError as error:
                raise RuntimeError(str(error)) from None
        return super().load_state_dict(state_dict, strict, model_cfg, args)

    def forward(self, observations: Tensor, starts: Tensor, states: Tensor) -> PolicyOutput:
        """Probabilities and values of decisions: see :meth:`.OptionPolicy.forward`."""
        return self.policy(observations, starts, states)

    @property
    def option_count(self) -> int:
        """K, the number of options; 0 for a policy that chooses actions."""
        return 0 if self.policy.options is None else len(self.policy.options)

    def single_option(self, number: int | np.ndarray, count: int) -> SingleOption:
        """One option for ``count`` worlds, or one of its own (count,) for each."""
        return SingleOption(self.policy.options, number, count)

    def acting(self, count: int, task: int = 0) -> ActingPolicy:
        """The policy with the states of ``count`` actors."""
        return ActingPolicy(self.policy, count)


def _read(path: str, craft) -> Pool:
    """The options of a checkpoint whose demonstrations were of the same world."""
    own = {
        "kinds": craft.kinds, "observation": craft.observation,
        "observation_size": craft.observation_size, "actions": craft.action_count,
    }  # fmt: skip
    parameters, about = read_imitation(path, "--options-from")
    try:
        check_same(own, about, "the checkpoint", but=("tasks",))
        if any(".between." in f".{name}" for name in parameters):
            logger.warning(
                f"--options-from {path}: its controllers between the highest and the options are "
                "left out; only the options are reused"
            )
        return stored_options(parameters, craft.observation_size)
    except (InputError, ValueError) as error:
        raise InputError(f"--options-from {path}: {error}") from None


@register_model_architecture("option_policy", "option_policy_craft")
def craft(args):
    """The settings of Shen's thesis, which are the defaults."""


@register_model_architecture("option_policy", "option_policy_craft_cpu")
def craft_cpu(args):
    """Half the sizes, for one CPU thread."""
    set_defaults(args, hidden_size=64, mlp_size=64)
