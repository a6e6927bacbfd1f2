"""Tasks that only one criterion fits."""

from fairseq_struct.errors import InputError


class OwnCriterion:
    """What comes before ``FairseqTask`` among the bases of a task with a criterion of its name."""

    own_criterion = ""

    def build_criterion(self, cfg, *args, **kwargs):
        """Build the criterion.

        Raises:
            InputError: it is another one.
        """
        name = getattr(cfg, "_name", None) or getattr(cfg, "criterion", None)
        if name != self.own_criterion:
            raise InputError(f"this task needs --criterion {self.own_criterion}, not {name}")
        return super().build_criterion(cfg, *args, **kwargs)
