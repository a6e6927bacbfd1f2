"""Negative log-likelihood of demonstrated actions, and whether subtasks were found."""

from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from torch import Tensor

from fairseq_struct.criterions.shared.strict_criterion import StrictCriterion
from fairseq_struct.criterions.shared.sums import log_mean, log_percentage, total
from fairseq_struct.metrics.boundaries import (
    aligned_steps,
    boundaries_above,
    boundary_f1,
    inner_boundaries,
    most_likely_boundaries,
)
from fairseq_struct.metrics.v_measure import contingency_table, v_measure

F1, F1_THRESHOLD, F1_INNER = "f1_tolerance_1", "f1_tolerance_1_threshold", "f1_inner"


@register_criterion("craft_imitation", dataclass=FairseqDataclass)
class CraftImitationCriterion(StrictCriterion, FairseqCriterion):
    """The mean over steps of -log p_t^a(a_t) (Shen's thesis, eq. 5.2.18).

    Losses are summed over steps, and fairseq divides by their number. A loss of the model's own
    is added; ``nll_loss`` is then without it.

    Logged are ``loss`` (in nats) and, in %, ``action_accuracy``, the share of steps whose most
    likely action is the demonstrated one. While validating, there are (see
    ``metrics/boundaries.py``) ``f1_tolerance_1``, the mean over demonstrations of the F1 of as many
    boundaries as there are true ones; ``f1_tolerance_1_threshold``, the same where e_t is above
    0.5; ``f1_inner``, the first without the end of the last subtask, which is known, over
    demonstrations of two subtasks or more; ``alignment``, the share of steps whose decoded subtask
    is right; and ``nmi``, the normalised mutual information, by the arithmetic mean of both
    entropies, of the most likely option and the true subtask over all steps. All are computed over
    the whole subset, independently of the batches.
    """

    own_task = "craft_imitation"

    def forward(self, model, sample: dict, reduce: bool = True):
        """Loss, number of steps, and logged values of one batch."""
        given, actions = dict(sample["net_input"]), sample["actions"]
        if getattr(model, "reads_actions", False):
            given["actions"] = actions
        found = model(**given)
        real = actions >= 0
        losses = -found.log_probabilities.gather(-1, actions.clamp(min=0)[..., None])[..., 0]
        losses = losses.masked_fill(~real, 0)
        nll = losses.sum()
        loss = nll if found.extra_loss is None else nll + found.extra_loss
        right = (found.log_probabilities.argmax(-1) == actions) & real
        logged = {
            "loss": loss.detach(),
            "right": right.sum(),
            "ntokens": sample["ntokens"],
            "nsentences": sample["nsentences"],
            "sample_size": sample["ntokens"],
        }
        if found.extra_loss is not None:
            logged["nll_loss"] = nll.detach()
        if not model.training:
            logged |= scores_of_subtasks(found, sample, model.ends_are_probabilities)
            if found.options is not None:
                logged["subtasks_options"] = self._table(found.options, sample["subtasks"])
        return loss if reduce else losses, sample["ntokens"], logged

    def _table(self, options: Tensor, subtasks: Tensor) -> Tensor:
        real = subtasks >= 0
        count = max(len(self.task.about["kinds"]), options.shape[-1])
        return contingency_table(subtasks[real], options.argmax(-1)[real], count)

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict]):
        """Log sums over the batches, so that the shown values are those of all demonstrations."""
        names = "ntokens", "nsentences", "with_inner"
        steps, count, several = (utils.item(total(logging_outputs, name)) for name in names)
        for name in ("loss", "nll_loss"):
            log_mean(logging_outputs, name, steps)
        log_percentage(logging_outputs, "action_accuracy", steps, of="right")
        for name in (F1, F1_THRESHOLD):
            log_percentage(logging_outputs, name, count)
        if several:
            log_percentage(logging_outputs, F1_INNER, several)
        log_percentage(logging_outputs, "alignment", steps, of="aligned")
        if "subtasks_options" in logging_outputs[0]:
            metrics.log_scalar("_subtasks_options", total(logging_outputs, "subtasks_options"))
            metrics.log_derived(
                "nmi", lambda meters: round(v_measure(meters["_subtasks_options"].sum), 2)
            )


def scores_of_subtasks(found, sample: dict, probabilities: bool) -> dict[str, Tensor]:
    """Sums over the demonstrations of a batch, for the means of a subset.

    Args:
        found: :class:`.Imitation`.
        sample: the batch.
        probabilities: whether the ends are, so that they have a threshold.
    """
    true = sample["boundaries"]
    predicted = most_likely_boundaries(found.ends, true)
    inner = [inner_boundaries(some, true) for some in (predicted, true)]
    sums = {
        F1: boundary_f1(predicted, true).sum(),
        F1_INNER: boundary_f1(*inner).sum(),
        "with_inner": inner[1].any(1).sum(),
        "aligned": aligned_steps(predicted, true, sample["subtasks"]).sum(),
    }
    if probabilities:
        sums[F1_THRESHOLD] = boundary_f1(boundaries_above(found.ends, true), true).sum()
    return sums
