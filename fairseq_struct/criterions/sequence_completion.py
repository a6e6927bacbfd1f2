"""Cross-entropy of hidden symbols, and how many of them and of sequences are right."""

from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from torch.nn import functional

from fairseq_struct.criterions.shared.strict_criterion import StrictCriterion


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
        sums = {
            name: utils.item(sum(log.get(name, 0) for log in logging_outputs))
            for name in logging_outputs[0]
        }
        count, sequences = sums["sample_size"], sums["nsentences"]
        metrics.log_scalar("loss", sums["loss"] / count, count, round=4)
        metrics.log_scalar("accuracy", 100 * sums["correct"] / count, count, round=2)
        metrics.log_scalar("exact_match", 100 * sums["complete"] / sequences, sequences, round=2)
        metrics.log_scalar("passes_mean", sums["passes"] / sequences, sequences, round=3)
        if "energy" in sums:
            metrics.log_scalar("energy", sums["energy"] / sequences, sequences, round=3)
