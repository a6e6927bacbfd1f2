"""Undirected multi-layer perceptrons for fairseq (Mihaylova's thesis, section 5.2)."""

from dataclasses import dataclass, field

from fairseq.models import register_model, register_model_architecture

from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.models.shared.presets import set_defaults
from fairseq_struct.models.shared.undirected_images import (
    UndirectedImagesConfig,
    UndirectedImagesModel,
)
from fairseq_struct.models.shared.undirected_options import passes_of
from fairseq_struct.modules.undirected.mlp import UndirectedMLP
from fairseq_struct.modules.undirected.regularisers import REGULARISERS


@dataclass
class UndirectedMLPConfig(UndirectedImagesConfig):
    """Options of the perceptron."""

    hidden_sizes: str = field(
        default="512", metadata={"help": "sizes of the hidden layers, such as 512 or 512,256"}
    )
    activation: str = field(
        default="tanh",
        metadata={
            "help": f"activation of the hidden layers: {', '.join(REGULARISERS)}; with one that is "
            "not bounded, values may grow with every pass"
        },
    )


@register_model("undirected_mlp", dataclass=UndirectedMLPConfig)
class UndirectedMLPModel(UndirectedImagesModel):
    """:class:`.UndirectedMLP` on ``--task image_classification``."""

    @classmethod
    def build_model(cls, cfg: UndirectedMLPConfig, task) -> "UndirectedMLPModel":
        """Build the model for the task's images.

        Raises:
            InputError: another task, or an option out of range.
        """
        cls.check(cfg, task)
        sizes = [size.strip() for size in cfg.hidden_sizes.split(",")]
        if not all(size.isdecimal() and int(size) > 0 for size in sizes):
            raise InputError(f"--hidden-sizes are numbers above 0, such as 512, not {sizes}")
        if cfg.activation not in REGULARISERS:
            raise InputError(unknown_name("--activation", cfg.activation, REGULARISERS))
        return cls(
            UndirectedMLP(
                task.image_shape, task.label_count, [int(size) for size in sizes], passes_of(cfg),
                cfg.gamma, cfg.initialisation, cfg.activation, cfg.dropout,
            )
        )  # fmt: skip


@register_model_architecture("undirected_mlp", "undirected_mlp_mnist")
def mnist(args):
    """Two hidden layers, as the thesis's convolutional network has."""
    set_defaults(args, hidden_sizes="512,256")
