"""Public path of :mod:`fairseq_struct.modules.scheduled_sampling.schedules`."""

from fairseq_struct.modules.scheduled_sampling.schedules import make_schedule

__all__ = ["make_schedule"]
