"""Label-smoothed cross-entropy of the first and the last decoder pass."""

from dataclasses import dataclass, field

from fairseq.criterions import register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)

from fairseq_struct.errors import InputError
from fairseq_struct.option_checks import values_at_least


@dataclass
class ScheduledSamplingCrossEntropyConfig(LabelSmoothedCrossEntropyCriterionConfig):
    """fairseq's options, and the weight of the first pass."""

    first_pass_weight: float = field(
        default=1.0,
        metadata={"help": "weight of the first decoder pass's loss beside the last one's"},
    )


@register_criterion(
    "scheduled_sampling_cross_entropy", dataclass=ScheduledSamplingCrossEntropyConfig
)
class ScheduledSamplingCrossEntropyCriterion(LabelSmoothedCrossEntropyCriterion):
    """fairseq's ``label_smoothed_cross_entropy`` of both passes (Liu et al., 2021).

    Scheduled sampling first runs the decoder on gold inputs. This criterion trains that pass, too:
    L = L_last + w L_first. While validating, and while all inputs are gold, there is one pass.
    Logged are ``loss`` (L) and ``nll_loss`` of the last pass.

    Args:
        task, sentence_avg, label_smoothing, ignore_prefix_size, report_accuracy: as in fairseq.
        first_pass_weight: w.

    Raises:
        InputError: the weight is below 0 or not finite.
    """

    def __init__(
        self, task, sentence_avg, label_smoothing, ignore_prefix_size=0, report_accuracy=False,
        first_pass_weight=1.0,
    ):  # fmt: skip
        super().__init__(task, sentence_avg, label_smoothing, ignore_prefix_size, report_accuracy)
        values_at_least(0, first_pass_weight=first_pass_weight)
        self.first_pass_weight = first_pass_weight

    @staticmethod
    def check_model(model):
        """Refuse a model without a first pass, before training begins.

        Raises:
            InputError: the model has no first pass.
        """
        if not hasattr(model, "decoder_passes"):
            raise InputError(
                "--criterion scheduled_sampling_cross_entropy is for scheduled_sampling_transformer"
            )

    def forward(self, model, sample: dict, reduce: bool = True):
        """Loss, sample size, and logged values of one batch.

        Raises:
            InputError: the model has no first pass.
        """
        if model.training:
            self.check_model(model)
            sample = {**sample, "net_input": {**sample["net_input"], "with_first_pass": True}}
        return super().forward(model, sample, reduce)

    def compute_loss(self, model, net_output, sample: dict, reduce: bool = True):
        """Loss of both passes, and negative log-likelihood of the last pass."""
        loss, nll_loss = super().compute_loss(model, net_output, sample, reduce)
        first = (net_output[1] or {}).get("first_pass")
        if first is not None:
            own, _ = super().compute_loss(model, (first, None), sample, reduce)
            loss = loss + self.first_pass_weight * own
        return loss, nll_loss
