"""Tasks that accept only one criterion and only one kind of model."""

from fairseq.models import ARCH_MODEL_REGISTRY

from fairseq_struct.errors import InputError
from fairseq_struct.files.trained_data import unset_for_training


class OwnCriterion:
    """Mixin for a task that accepts only the criterion of the same name.

    It precedes ``FairseqTask`` among the base classes.

    Attributes:
        own_criterion: name of the criterion.
        needs: attribute that the model classes of this task have and other classes lack.
        models: examples of these models, for the error message.
    """

    own_criterion = ""
    needs = ""
    models = ""

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
        if family is not None and not hasattr(family, self.needs):
            raise InputError(f"this task is for {self.models}, not for {family.__name__}")
        if from_checkpoint:
            unset_for_training(cfg, family)
        return super().build_model(cfg, from_checkpoint)
