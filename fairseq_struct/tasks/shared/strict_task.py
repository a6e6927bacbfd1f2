"""Base of the tasks of this package, which accept only their criterion and their models."""

from dataclasses import dataclass

from fairseq.dataclass import FairseqDataclass
from fairseq.models import ARCH_MODEL_REGISTRY
from omegaconf import II

from fairseq_struct.errors import InputError
from fairseq_struct.files.trained_data import unset_for_training


@dataclass
class TrainedConfig(FairseqDataclass):
    """What tasks take over from fairseq's options: the seed, and the split that is trained on."""

    seed: int = II("common.seed")
    train_subset: str = II("dataset.train_subset")


class StrictTask:
    """Mixin for a task that accepts only the criterion of the same name, and models made for it.

    It knows the split that is trained on, and builds models of checkpoints without the files that
    only training reads. It precedes ``FairseqTask`` among the base classes.

    Attributes:
        own_criterion: name of the criterion.
        kind_of_models: its models as error messages name them. Their classes have the name of the
            task, which is that of the criterion, in ``for_tasks``.
        carries_state: whether a batch depends on the one before. ``--amp`` then repeats none whose
            gradients are too large.
    """

    own_criterion = ""
    kind_of_models = ""
    carries_state = False

    def trains_on(self, split: str) -> bool:
        """Whether a split is the one to train on: ``--train-subset``, or else ``train``."""
        cfg = self.cfg or self.args  # args: of fairseq's older tasks
        name = getattr(cfg, "train_subset", "train")
        return split == ("train" if name.startswith("${") else name)  # unset outside of a program

    def build_criterion(self, cfg, *args, **kwargs):
        """Build the criterion.

        Raises:
            InputError: the criterion is not :attr:`own_criterion`.
        """
        name = getattr(cfg, "_name", None) or getattr(cfg, "criterion", None)
        if name != self.own_criterion:
            raise InputError(f"this task needs --criterion {self.own_criterion}, not {name}")
        return super().build_criterion(cfg, *args, **kwargs)

    def build_model(self, cfg, from_checkpoint: bool = False):
        """Build the model; one of a checkpoint without the files that only training reads.

        Raises:
            InputError: the model is not one for this task.
        """
        name = getattr(cfg, "_name", None) or getattr(cfg, "arch", None)
        family = ARCH_MODEL_REGISTRY.get(name)
        if family is not None and self.own_criterion not in getattr(family, "for_tasks", ()):
            raise InputError(f"this task is for {self.kind_of_models}, not for {family.__name__}")
        if from_checkpoint:
            unset_for_training(cfg, family)
        return super().build_model(cfg, from_checkpoint)

    def build_generator(self, *_, **__):
        """Refuse fairseq-generate and fairseq-interactive.

        Raises:
            InputError: always.
        """
        raise InputError(self._no_text("fairseq-generate and fairseq-interactive"))

    def eval_lm_dataloader(self, *_, **__):
        """Refuse fairseq-eval-lm.

        Raises:
            InputError: always.
        """
        raise InputError(self._no_text("fairseq-eval-lm"))

    def _no_text(self, programs: str) -> str:
        return (
            f"{programs} cannot use models of --task {self.own_criterion}, which write no text; "
            "fairseq-struct --help names what uses a trained model"
        )
