"""The logged values of masked language models."""

import math

from fairseq.logging import metrics

from fairseq_struct import plugin

plugin.load()

from fairseq_struct.criterions.structured_masked_lm import (  # noqa: E402
    StructuredMaskedLMCriterion,
)


def test_a_batch_without_a_hidden_word_logs_a_loss_that_does_not_count():
    """Where a batch logs no loss, fairseq's trainer logs -1 for it."""
    with metrics.aggregate() as whole:
        for count in (0, 3, 0, 5, 0):
            loss = 2 * count * math.log(2)
            with metrics.aggregate(new_root=False) as batch:
                StructuredMaskedLMCriterion.reduce_metrics([{"loss": loss, "sample_size": count}])
            assert "loss" in batch.get_smoothed_values()
    assert whole.get_smoothed_values()["loss"] == 2
    assert whole.get_smoothed_values()["ppl"] == 4
