"""Tasks that only one criterion, and only models of one kind, fit."""

from fairseq_struct.errors import InputError


class OwnCriterion:
    """What comes before ``FairseqTask`` among the bases of a task with a criterion of its name.

    Attributes:
        own_criterion: that name.
        needs: what models of this task have, and others do not; "" for any model.
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
        model = super().build_model(cfg, from_checkpoint)
        if self.needs and not hasattr(model, self.needs):
            raise InputError(f"this task is for {self.models}, not for {type(model).__name__}")
        return model
