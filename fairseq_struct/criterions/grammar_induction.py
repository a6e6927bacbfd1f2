"""Binary cross-entropy of attention and gold spans, and window accuracies."""

from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from torch import Tensor

from fairseq_struct.criterions.shared.strict_criterion import StrictCriterion
from fairseq_struct.criterions.shared.sums import log_mean, log_percentage, total
from fairseq_struct.metrics.window_accuracy import (
    TABLES,
    sentence_sums,
    step_counts,
    window_hits,
)


@register_criterion("grammar_induction", dataclass=FairseqDataclass)
class GrammarInductionCriterion(StrictCriterion, FairseqCriterion):
    """The mean over steps of Loss^t = BCE(attn_combined, span) (thesis on RIMs, section 3.2.3.2).

    BCE is the mean over the symbols of the current sequence. A model that predicts categories adds
    their cross-entropy, times ``--category-weight``; ``span_loss`` and ``category_loss`` are the
    two parts.

    Logged are losses in nats and, while validating, in %, ``window_W`` for W = 0, 1, 2: the share
    of steps whose unique maximum of the attention is within the gold span or at most W symbols
    outside it (section 4.1.2); with ``_single`` and ``_multi`` over steps of one symbol and of
    several, with ``_sentence`` the mean over sentences, and ``window_2_NP`` and so on by tag; and
    ``category_accuracy``. All are computed over the whole subset, independently of the batches.
    """

    own_task = "grammar_induction"

    def forward(self, model, sample: dict, reduce: bool = True):
        """Loss, number of steps, and logged values of one batch."""
        found = model(**sample["net_input"], categories=sample["categories"])
        steps = int(found.going.sum())
        logged = {
            "span_loss": found.losses.detach().sum(), "ntokens": steps, "sample_size": steps,
            "nsentences": sample["nsentences"],
        }  # fmt: skip
        losses, of_categories = found.losses, found.category_losses()
        if of_categories is not None:
            logged["category_loss"] = of_categories.detach().sum()
            losses = losses + model.category_weight * of_categories
        logged["loss"] = losses.detach().sum()
        if not model.training:
            logged |= self._scores(found)
        return losses.sum() if reduce else losses, steps, logged

    def _scores(self, found) -> dict[str, Tensor]:
        """Sums over a batch, for the percentages of a subset; ``found`` is a ``Followed``."""
        real, single = found.going, found.spans.sum(2) == 1
        rows = (found.attention.flatten(0, 1), found.live.flatten(0, 1), found.spans.flatten(0, 1))
        hits = window_hits(*rows).unflatten(0, real.shape)
        number = len(self.task.categories)
        sums = {
            "window_counts": step_counts(hits[real], found.categories[real], single[real], number),
            "window_sentences": sentence_sums(hits, real),
        }
        if found.scores is not None:
            right = found.scores.argmax(-1) == found.categories
            sums["right_categories"] = (right & real).sum()
        return sums

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict]):
        """Log sums over the batches, so that the shown values are those of all sentences."""
        # The task knows the tags, and makes percentages of these.
        for name in TABLES:
            if name in logging_outputs[0]:
                metrics.log_scalar(f"_{name}", total(logging_outputs, name))
        steps = utils.item(total(logging_outputs, "ntokens"))
        log_mean(logging_outputs, "loss", steps)
        if "category_loss" in logging_outputs[0]:
            for name in ("span_loss", "category_loss"):
                log_mean(logging_outputs, name, steps)
        log_percentage(logging_outputs, "category_accuracy", steps, of="right_categories")
