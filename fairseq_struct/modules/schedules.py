"""Public path of :mod:`fairseq_struct.modules.scheduled_sampling.schedules`."""

from fairseq_struct.modules.scheduled_sampling.schedules import SCHEDULES, make_schedule

__all__ = ["SCHEDULES", "make_schedule"]
