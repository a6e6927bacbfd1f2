"""Undirected convolutional networks for fairseq (Mihaylova's thesis, section 5.3)."""

from dataclasses import dataclass, field

from fairseq.models import register_model, register_model_architecture
from torch import nn

from fairseq_struct.errors import InputError, as_input
from fairseq_struct.models.shared.undirected_images import (
    UndirectedImagesConfig,
    UndirectedImagesModel,
)
from fairseq_struct.models.shared.undirected_options import passes_of
from fairseq_struct.modules.undirected.convnet import UndirectedConvnet, UntiedConvnet
from fairseq_struct.modules.undirected.passes import Passes
from fairseq_struct.option_checks import require_at_least


@dataclass
class UndirectedConvnetConfig(UndirectedImagesConfig):
    """Options of the network; kernels and strides are those of the thesis."""

    first_channels: int = field(default=32, metadata={"help": "channels of H1"})
    second_channels: int = field(default=64, metadata={"help": "channels of H2"})
    untied: bool = field(
        default=False,
        metadata={
            "help": "own weights for each of --passes, with --second-channels divided by their "
            "number: the unconstrained network of table 5.4; needs --gamma 0"
        },
    )


@register_model("undirected_convnet", dataclass=UndirectedConvnetConfig)
class UndirectedConvnetModel(UndirectedImagesModel):
    """:class:`.UndirectedConvnet` or :class:`.UntiedConvnet` on ``--task image_classification``."""

    @classmethod
    def build_model(cls, cfg: UndirectedConvnetConfig, task) -> "UndirectedConvnetModel":
        """Build the model for the task's images.

        Raises:
            InputError: another task, an option out of range, or images that are too small.
        """
        cls.check(cfg, task)
        channels, passes = (cfg.first_channels, cfg.second_channels), passes_of(cfg)
        require_at_least(cfg, 1, "first_channels", "second_channels")
        if cfg.untied:
            _check_untied(cfg, passes)
        with as_input():
            return cls(_network(cfg, task, channels, passes))


def _network(cfg, task, channels: tuple[int, int], passes: Passes) -> nn.Module:
    shape, labels = task.image_shape, task.label_count
    if cfg.untied:
        return UntiedConvnet(shape, labels, passes.training, channels, cfg.dropout)
    return UndirectedConvnet(
        shape, labels, passes, cfg.gamma, cfg.initialisation, channels, cfg.dropout
    )


def _check_untied(cfg: UndirectedConvnetConfig, passes: Passes):
    if cfg.gamma:
        raise InputError("--untied networks only classify: --untied needs --gamma 0")
    if passes.random or passes.test != passes.training:
        raise InputError("--untied networks have a fixed number of passes, --passes K")
    if cfg.initialisation != "zero":
        raise InputError("--untied networks start from zero: drop --initialisation")


@register_model_architecture("undirected_convnet", "undirected_convnet_mnist")
def mnist(args):
    """The thesis's network: the defaults. It is small enough for a CPU."""
