"""Decay schedules of the teacher-forcing probability (Mihaylova's thesis, section 3.3.3).

A schedule maps the number of finished updates i to t(i), the probability of feeding the *gold*
token. Every schedule has a floor (the smallest t it returns) and a warm-up: t is exactly 1 for the
first ``warmup_updates`` updates, and the decay starts after them.
"""

import math
from dataclasses import dataclass

from fairseq_struct.errors import unknown_name

SCHEDULES = ("linear", "exponential", "inverse_sigmoid", "constant")


@dataclass(frozen=True)
class Schedule:
    """Teacher-forcing probability as a function of the update number.

    t(i) = 1 while i < warmup_updates, else max(floor, decay(i - warmup_updates)), at most 1.

    Args:
        floor: smallest probability returned, in [0, 1]; epsilon of linear decay in Mihaylova's
            thesis.
        warmup_updates: updates of pure teacher forcing before the decay starts.

    Raises:
        ValueError: floor outside [0, 1] or a negative warm-up.
    """

    floor: float = 0.0
    warmup_updates: int = 0

    def __post_init__(self):
        if not 0.0 <= self.floor <= 1.0:
            raise ValueError(f"the schedule's floor must lie in [0, 1], not {self.floor}")
        if self.warmup_updates < 0:
            raise ValueError(
                f"the schedule's warm-up must be 0 updates or more, not {self.warmup_updates}"
            )

    def decay(self, update: int) -> float:
        """The decay without warm-up, floor and ceiling; ``update`` counts from its start."""
        raise TypeError(f"{type(self).__name__} defines no decay; use one of its subclasses")

    def __call__(self, update: int) -> float:
        """Probability of the gold token at ``update`` (finished updates, from 0)."""
        if update < self.warmup_updates:
            return 1.0
        return min(1.0, max(self.floor, self.decay(update - self.warmup_updates)))


@dataclass(frozen=True)
class LinearSchedule(Schedule):
    """Linear decay t(i) = max(eps, k - c i) (section 3.3.3; eps is ``floor``).

    Args:
        k: offset, the probability at the start of the decay.
        c: slope, the probability lost at each update; at least 0.
    """

    k: float = 1.0
    c: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        if self.c < 0:
            raise ValueError(f"linear decay needs a slope c >= 0, not {self.c}")

    @classmethod
    def until(cls, end_update: int, k: float = 1.0, floor: float = 0.0, warmup_updates: int = 0):
        """The line that reaches 0 at ``end_update``, counted from the start of training.

        Raises:
            ValueError: the end is not after the warm-up.
        """
        if end_update <= warmup_updates:
            raise ValueError(
                f"linear decay must end after its warm-up: it ends at update {end_update}, "
                f"the warm-up lasts {warmup_updates} updates"
            )
        slope = k / (end_update - warmup_updates)
        return cls(k=k, c=slope, floor=floor, warmup_updates=warmup_updates)

    def decay(self, update: int) -> float:
        return self.k - self.c * update


@dataclass(frozen=True)
class ExponentialSchedule(Schedule):
    """Exponential decay t(i) = k^i, 0 <= k < 1 (section 3.3.3)."""

    k: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        if not 0.0 <= self.k < 1.0:
            raise ValueError(f"exponential decay needs 0 <= k < 1, not {self.k}")

    def decay(self, update: int) -> float:
        return self.k**update


@dataclass(frozen=True)
class InverseSigmoidSchedule(Schedule):
    """Inverse sigmoid decay t(i) = k / (k + exp(i / k)), k >= 1 (section 3.3.3)."""

    k: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        if self.k < 1.0:
            raise ValueError(f"inverse sigmoid decay needs k >= 1, not {self.k}")

    def decay(self, update: int) -> float:
        # exp(i/k) overflows for late updates; k/(k+e^x) = k e^-x / (k e^-x + 1) does not.
        shrunk = self.k * math.exp(-update / self.k)
        return shrunk / (shrunk + 1.0)


@dataclass(frozen=True)
class ConstantSchedule(Schedule):
    """Constant probability t(i) = k, 0 <= k <= 1 (not in Mihaylova's thesis; for ablations)."""

    k: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        if not 0.0 <= self.k <= 1.0:
            raise ValueError(f"a constant schedule needs 0 <= k <= 1, not {self.k}")

    def decay(self, update: int) -> float:
        return self.k


def make_schedule(
    name: str,
    k: float | None = None,
    c: float | None = None,
    end_update: int | None = None,
    floor: float = 0.0,
    warmup_updates: int = 0,
) -> Schedule:
    """Build a schedule from its name and the options that belong to it.

    Args:
        name: one of ``SCHEDULES``.
        k: the schedule's k; ``linear`` takes 1 when it is None, the others require it.
        c: slope of ``linear``, in probability per update.
        end_update: update at which ``linear`` reaches 0; given instead of ``c``.
        floor, warmup_updates: see :class:`Schedule`.

    Raises:
        ValueError: unknown name, a missing value, or a value that the schedule does not use.
    """
    if name not in SCHEDULES:
        raise ValueError(unknown_name("schedule", name, SCHEDULES))
    if not all(math.isfinite(value) for value in (k, c, floor) if value is not None):
        raise ValueError(f"k, c and the floor must be finite numbers, not {k}, {c} and {floor}")
    if name == "linear":
        offset = 1.0 if k is None else k
        if (c is None) == (end_update is None):
            raise ValueError("linear decay needs either its slope c or its end update")
        if c is None:
            return LinearSchedule.until(end_update, offset, floor, warmup_updates)
        return LinearSchedule(floor, warmup_updates, offset, c)
    if c is not None or end_update is not None:
        raise ValueError(f"a slope or an end update is for linear decay, not for {name}")
    if k is None:
        raise ValueError(f"the {name} schedule needs its k")
    kinds = {
        "exponential": ExponentialSchedule,
        "inverse_sigmoid": InverseSigmoidSchedule,
        "constant": ConstantSchedule,
    }
    return kinds[name](floor, warmup_updates, k)
