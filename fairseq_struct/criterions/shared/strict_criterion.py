"""Base of the criterions that accept only one task."""

from fairseq_struct.criterions.shared.sums import LogsSums
from fairseq_struct.errors import InputError


class StrictCriterion(LogsSums):
    """Mixin for a criterion that accepts only the task of the same name, and logs only sums.

    It precedes ``FairseqCriterion`` among the base classes.

    Attributes:
        own_task: name of the task and of the criterion.
    """

    own_task = ""

    @classmethod
    def build_criterion(cls, cfg, task):
        """Build the criterion.

        Raises:
            InputError: the task has another criterion.
        """
        if getattr(task, "own_criterion", "") != cls.own_task:
            raise InputError(f"--criterion {cls.own_task} is for --task {cls.own_task}")
        return super().build_criterion(cfg, task)
