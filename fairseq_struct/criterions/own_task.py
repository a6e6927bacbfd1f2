"""Criterions that only one task fits."""

from fairseq_struct.errors import InputError


class OwnTask:
    """What comes before ``FairseqCriterion`` among the bases of a criterion of one task alone.

    Attributes:
        own_task: name of both.
    """

    own_task = ""

    @classmethod
    def build_criterion(cls, cfg, task):
        """Build the criterion.

        Raises:
            InputError: for another task.
        """
        if getattr(task, "own_criterion", "") != cls.own_task:
            raise InputError(f"--criterion {cls.own_task} is for --task {cls.own_task}")
        return super().build_criterion(cfg, task)
