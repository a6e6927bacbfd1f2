"""Cross-entropy of the hidden words of a masked language model."""

import math

from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from torch.nn.functional import cross_entropy

from fairseq_struct.criterions.shared.strict_criterion import StrictCriterion
from fairseq_struct.criterions.shared.sums import total


@register_criterion("structured_masked_lm", dataclass=FairseqDataclass)
class StructuredMaskedLMCriterion(StrictCriterion, FairseqCriterion):
    """-log p of the hidden words, summed; fairseq divides by their number.

    Logged are ``loss`` (in bits) and ``ppl``, 2 to the power of ``loss``. A batch without a hidden
    word does not count. The task adds the scores of the model's trees on a treebank.
    """

    own_task = "structured_masked_lm"

    def forward(self, model, sample: dict, reduce: bool = True):
        """Loss, number of hidden words, and logged values of one batch."""
        logits, _ = model(**sample["net_input"])
        loss = cross_entropy(
            logits.float(), sample["target"], reduction="sum" if reduce else "none"
        )
        count = sample["ntokens"]
        logged = {
            "loss": loss.detach().sum(), "ntokens": count, "nsentences": sample["nsentences"],
            "sample_size": count,
        }  # fmt: skip
        return loss, count, logged

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict]):
        """Log means over all hidden words."""
        count = total(logging_outputs, "sample_size")
        loss = utils.item(total(logging_outputs, "loss"))
        # fairseq would count a loss of -1 for batches that log none.
        metrics.log_scalar("loss", loss / max(count, 1) / math.log(2), count, round=3)
        metrics.log_derived("ppl", lambda meters: utils.get_perplexity(meters["loss"].avg))
