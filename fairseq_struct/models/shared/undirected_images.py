"""Options and base class of the undirected networks of images."""

from dataclasses import dataclass, field

from fairseq.models import BaseFairseqModel
from torch import Tensor, nn

from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.models.shared.undirected_options import UndirectedConfig
from fairseq_struct.modules.undirected.images import INITIALISATIONS, ClassifiedImages
from fairseq_struct.option_checks import require_at_least, require_task


@dataclass
class UndirectedImagesConfig(UndirectedConfig):
    """Options of undirected networks of images; the defaults are Mihaylova's thesis's.

    The thesis does not give the dropout: 0.3 is the published code's.
    """

    dropout: float = field(
        default=0.3,
        metadata={"help": "dropout of hidden variables, with one mask for all passes of a batch"},
    )
    gamma: float = field(
        default=0.1,
        metadata={
            "help": "weight of the loss of images inferred from gold labels; with 0 the network "
            "is trained to classify only, and no pass goes back from Y"
        },
    )
    initialisation: str = field(
        default="zero",
        metadata={"help": f"first value of Y in classification: {', '.join(INITIALISATIONS)}"},
    )


class UndirectedImagesModel(BaseFairseqModel):
    """An undirected network for ``--task image_classification``.

    Args:
        network: an :class:`.ImageNetwork` or an :class:`.UntiedConvnet`.
    """

    for_tasks = ("image_classification",)
    classifies_images = True

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    @classmethod
    def check(cls, cfg: UndirectedImagesConfig, task):
        """Refuse another task, and options that are out of range.

        Raises:
            InputError: with the name of the option.
        """
        require_task(cls, task)
        require_at_least(cfg, 0, "gamma")
        if cfg.initialisation not in INITIALISATIONS:
            raise InputError(
                unknown_name("--initialisation", cfg.initialisation, INITIALISATIONS)
            )

    @property
    def converges(self) -> bool:
        """Whether each image takes passes until none of its variables moves, while not training."""
        passes = getattr(self.network, "passes", None)
        return passes is not None and passes.converge

    def forward(
        self, images: Tensor, labels: Tensor | None = None, with_energy: bool = False
    ) -> ClassifiedImages:
        """Classify images: see :meth:`.ImageNetwork.forward`."""
        return self.network(images, labels, with_energy)
