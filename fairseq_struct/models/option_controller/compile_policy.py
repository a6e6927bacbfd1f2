"""compILE for fairseq, a baseline of option-controller networks."""

from dataclasses import dataclass, field

from fairseq.dataclass import FairseqDataclass
from fairseq.models import register_model, register_model_architecture

from fairseq_struct.errors import as_input
from fairseq_struct.models.shared.imitation_model import ImitationModel
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.modules.option_controller.compile_policy import CompilePolicy
from fairseq_struct.option_checks import require_at_least


@dataclass
class CompilePolicyConfig(FairseqDataclass):
    """Options of the policy; the defaults are those of its code, with the thesis's size."""

    options: int = field(
        default=3,
        metadata={
            "help": "K: number of latents, which --arch option_policy can use as options; they are "
            "inferred from whole demonstrations, so validation's action_accuracy is that of a "
            "reconstruction"
        },
    )
    segments: int = field(
        default=2, metadata={"help": "S: segments of every demonstration, 2 or more"}
    )
    hidden_size: int = field(default=128, metadata={"help": "size of all hidden layers"})
    mlp_depth: int = field(default=2, metadata={"help": "hidden layers of policy and termination"})
    relaxation: float = field(
        default=1.0, metadata={"help": "temperature of the relaxed samples of places and latents"}
    )
    boundary_weight: float = field(
        default=0.1, metadata={"help": "beta_b: weight of the divergence of boundaries"}
    )
    latent_weight: float = field(
        default=0.1, metadata={"help": "beta_z: weight of the divergence of latents"}
    )
    segment_length: float = field(
        default=3.0, metadata={"help": "rate of the Poisson distribution of a segment's length"}
    )


@register_model("compile_policy", dataclass=CompilePolicyConfig)
class CompilePolicyModel(ImitationModel):
    """:class:`.CompilePolicy` on ``--task craft_imitation``.

    Its recognition reads whole demonstrations with their actions, so its ``action_accuracy`` is
    that of a reconstruction.
    """

    reads_actions = True

    @classmethod
    def build_model(cls, cfg: CompilePolicyConfig, task) -> "CompilePolicyModel":
        """Build the policy for the task's observations and actions.

        Raises:
            InputError: another task, or an option out of range.
        """
        cls.check_task(task)
        require_at_least(cfg, 1, "options", "hidden_size", "mlp_depth")
        require_at_least(cfg, 0, "boundary_weight", "latent_weight")
        about = task.about
        with as_input():
            network = CompilePolicy(
                about["observation_size"], about["actions"], len(about["tasks"]), cfg.options,
                cfg.segments, cfg.hidden_size, cfg.mlp_depth, cfg.relaxation, cfg.boundary_weight,
                cfg.latent_weight, cfg.segment_length,
            )  # fmt: skip
        return cls(network, about)


@register_model_architecture("compile_policy", "compile_policy_craft")
def craft(args):
    """Two segments, as the tasks of section 5.3 of Shen's thesis have: the defaults."""


@register_model_architecture("compile_policy", "compile_policy_craft_cpu")
def craft_cpu(args):
    """Half the sizes, for one CPU thread."""
    set_defaults(args, hidden_size=64)
