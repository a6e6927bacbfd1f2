"""Tasks that only one criterion, and only models of one kind, fit."""

from fairseq.models import ARCH_MODEL_REGISTRY

from fairseq_struct.errors import InputError


class OwnCriterion:
    """What comes before ``FairseqTask`` among the bases of a task with a criterion of its name.

    Attributes:
        own_criterion: that name.
        needs: what classes of models of this task have, and others do not.
        models: some of them, for the message.
    """

    own_criterion = ""
    needs = ""
    models = ""

    def build_criterion(self, cfg, *args, **kwargs):
        """Build the criterion.

        Raises:
            InputError: it is another one.
        """
        name = getattr(cfg, "_name", None) or getattr(cfg, "criterion", None)
        if name != self.own_criterion:
            raise InputError(f"this task needs --criterion {self.own_criterion}, not {name}")
        return super().build_criterion(cfg, *args, **kwargs)

    def build_model(self, cfg, from_checkpoint: bool = False):
        """Build the model.

        Raises:
            InputError: it is none of this task's.
        """
        name = getattr(cfg, "_name", None) or getattr(cfg, "arch", None)
        family = ARCH_MODEL_REGISTRY.get(name)
        if family is not None and not hasattr(family, self.needs):
            raise InputError(f"this task is for {self.models}, not for {family.__name__}")
        return super().build_model(cfg, from_checkpoint)
