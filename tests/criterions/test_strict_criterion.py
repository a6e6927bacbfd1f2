"""What all criterions have in common."""

from fairseq.criterions import CRITERION_REGISTRY

from fairseq_struct import plugin
from fairseq_struct.criterions.shared.strict_criterion import StrictCriterion


def test_workers_may_sum_what_every_criterion_logs():
    """Otherwise fairseq would pickle it and gather it from all workers, which takes longer."""
    plugin.load()
    every = [c for c in CRITERION_REGISTRY.values() if c.__module__.startswith("fairseq_struct.")]
    assert sum(issubclass(criterion, StrictCriterion) for criterion in every) > 5
    assert all(criterion.logging_outputs_can_be_summed() for criterion in every)
