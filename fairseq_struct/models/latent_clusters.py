"""Classifier with a latent cluster for fairseq (Mihaylova's thesis, section 4.5.1)."""

from dataclasses import dataclass, field

from fairseq.models import BaseFairseqModel, register_model
from torch import Tensor

from fairseq_struct.models.shared.latent_options import LatentStructureConfig
from fairseq_struct.modules.latent_clusters import (
    LATENT_METHODS,
    Classified,
    LatentClassifier,
)
from fairseq_struct.option_checks import require_task


@dataclass
class LatentClustersModelConfig(LatentStructureConfig):
    """Options of the model; the sizes come from the task."""

    latent_method: str = field(
        default="spigot_ce",
        metadata={"help": f"how to learn the latent cluster: {', '.join(LATENT_METHODS)}"},
    )
    pullback_step_size: float = field(
        default=1.0,
        metadata={
            "help": "eta, the size of the steps towards the pulled-back label, for the gradient of "
            "one instance's loss (the eta of Mihaylova's thesis, divided by its batch size of 5000)"
        },
    )


@register_model("latent_clusters", dataclass=LatentClustersModelConfig)
class LatentClustersModel(BaseFairseqModel):
    """:class:`LatentClassifier` with the sizes of the task's data.

    Noise and samples come from torch's generator. Fairseq seeds it at every update with ``--seed``
    and the update number, so a resumed run repeats the uninterrupted one. Every worker but the
    first draws from a separate generator, which torch's generator seeds.

    Args:
        network: the classifier.
    """

    for_tasks = ("latent_clusters",)

    def __init__(self, network: LatentClassifier):
        super().__init__()
        self.network = network

    @classmethod
    def build_model(cls, cfg: LatentClustersModelConfig, task) -> "LatentClustersModel":
        """Build the model for a task that has ``dim`` and ``clusters``.

        Raises:
            InputError: another task, an unknown method, or a number out of range.
        """
        require_task(cls, task)
        network = LatentClassifier(
            task.dim,
            task.clusters,
            cfg.latent_method,
            cfg.pullback_step_size,
            cfg.pullback_steps,
            cfg.temperature,
        )
        return cls(network)

    def forward(self, inputs: Tensor, targets: Tensor, clusters: Tensor) -> Classified:
        """Losses and predictions: see :meth:`LatentClassifier.forward`."""
        return self.network(inputs, targets, clusters)
