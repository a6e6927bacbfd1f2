"""The synthetic experiment with latent clusters (Mihaylova's thesis, section 4.5.1)."""

from dataclasses import dataclass, field

from fairseq.dataclass import FairseqDataclass
from fairseq.tasks import FairseqTask, register_task
from omegaconf import II

from fairseq_struct.data.datasets.cluster_instances import ClusterMixtureDataset
from fairseq_struct.data.generators.cluster_mixture import generate_mixture
from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.option_checks import require_at_least
from fairseq_struct.tasks.shared.strict_task import StrictTask


@dataclass
class LatentClustersConfig(FairseqDataclass):
    """Options of the task: which data are generated."""

    clusters: int = field(default=10, metadata={"help": "number of clusters"})
    dim: int = field(default=100, metadata={"help": "dimension of the data"})
    sigma: float = field(
        default=0.1, metadata={"help": "standard deviation around the centre of a cluster"}
    )
    train_size: int = field(default=5000, metadata={"help": "number of training instances"})
    valid_size: int = field(default=1000, metadata={"help": "number of validation instances"})
    test_size: int = field(default=1000, metadata={"help": "number of test instances"})
    data_seed: int = field(
        default=42,
        metadata={"help": "seed of the data, apart from --seed; 42: data of the SPIGOT paper"},
    )
    batches_per_epoch: int = field(
        default=100,
        metadata={
            "help": "repeat the training batches until an epoch has this many; 0: go through the "
            "data once per epoch (one update per epoch if all data are one batch)"
        },
    )
    train_subset: str = II("dataset.train_subset")


@register_task("latent_clusters", dataclass=LatentClustersConfig)
class LatentClustersTask(StrictTask, FairseqTask):
    """Classification of generated data whose true clusters are known.

    The task generates the subsets ``train``, ``valid`` and ``test`` (:func:`.generate_mixture`), so
    it needs no data folder. Use it with the model and the criterion of the same name. The criterion
    logs ``accuracy`` and, while validating, ``v_measure``.

    Args:
        cfg: the options.

    Raises:
        InputError: a number out of range.
    """

    own_criterion = "latent_clusters"
    kind_of_models = "latent_clusters"

    def __init__(self, cfg: LatentClustersConfig):
        super().__init__(cfg)
        require_at_least(cfg, 0, "batches_per_epoch")
        self.dim = cfg.dim
        self.clusters = cfg.clusters
        samples = {"train": cfg.train_size, "valid": cfg.valid_size}, {"test": cfg.test_size}
        self.mixture = generate_mixture(samples, cfg.clusters, cfg.dim, cfg.sigma, cfg.data_seed)

    @classmethod
    def setup_task(cls, cfg: LatentClustersConfig, **kwargs):
        """Build the task; fairseq-validate passes further arguments, which are ignored."""
        return cls(cfg)

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs):
        """Load one of the generated subsets.

        Raises:
            InputError: ``split`` is not ``train``, ``valid`` or ``test``.
        """
        if split not in self.mixture:
            raise InputError(unknown_name("split", split, self.mixture))
        repeated = self.cfg.batches_per_epoch if self.trains_on(split) else 0
        self.datasets[split] = ClusterMixtureDataset(self.mixture[split], repeated)
