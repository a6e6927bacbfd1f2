"""Cross-entropy of hidden symbols, and how many of them and of sequences are right."""

from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from torch.nn import functional

from fairseq_struct.criterions.shared.strict_criterion import StrictCriterion
from fairseq_struct.criterions.shared.sums import log_mean, log_percentage, total


@register_criterion("sequence_completion", dataclass=FairseqDataclass)
class SequenceCompletionCriterion(StrictCriterion, FairseqCriterion):
    """Cross-entropy, summed over hidden symbols; fairseq divides by their number.

    Logged are ``loss`` (in nats), ``accuracy``, the share of hidden symbols that are right, and
    ``exact_match``, the share of sequences without a wrong one (in %); ``passes_mean``, of updates
    per sequence; and, where passes end by convergence, ``energy``, the mean over sequences. All
    are computed over the whole subset, independently of the batches.
    """

    own_task = "sequence_completion"

    def forward(self, model, sample: dict, reduce: bool = True):
        """Loss, number of hidden symbols, and logged values of one batch."""
        output, targets = model(**sample["net_input"]), sample["targets"]
        losses = functional.cross_entropy(
            output.logits.float().flatten(0, 1), targets.flatten(), ignore_index=-1,
            reduction="sum" if reduce else "none",
        )  # fmt: skip
        hidden = targets >= 0
        right = (output.logits.argmax(-1) == targets) | ~hidden
        count = int(hidden.sum())
        logged = {
            "loss": losses.detach().sum(),
            "correct": (right & hidden).sum(),
            "complete": right.all(1).sum(),
            "passes": output.passes.sum(),
            "ntokens": sample["ntokens"],
            "nsentences": sample["nsentences"],
            "sample_size": count,
        }
        if output.energy is not None:
            logged["energy"] = output.energy.detach().double().sum()
        return losses, count, logged

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict]):
        """Log sums over the batches, so that the shown values are those of all sequences."""
        names = "sample_size", "nsentences"
        count, sequences = (utils.item(total(logging_outputs, name)) for name in names)
        log_mean(logging_outputs, "loss", count)
        log_percentage(logging_outputs, "accuracy", count, of="correct")
        log_percentage(logging_outputs, "exact_match", sequences, of="complete")
        log_mean(logging_outputs, "passes_mean", sequences, of="passes", round=3)
        log_mean(logging_outputs, "energy", sequences, round=3)
