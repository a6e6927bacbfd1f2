"""Squared error between sentence similarities and human scores, and their rank correlation."""

import torch
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from torch.nn.functional import cosine_similarity, mse_loss

from fairseq_struct.criterions.shared.strict_criterion import StrictCriterion
from fairseq_struct.criterions.shared.sums import log_mean, total
from fairseq_struct.metrics.gathering import present_rows, rows_among_workers
from fairseq_struct.metrics.rank_correlation import PAIRS, rank_correlation

# Decimal places of the ranked cosines: far coarser than rounding errors in float64.
DIGITS = 6


@register_criterion("semantic_similarity", dataclass=FairseqDataclass)
class SemanticSimilarityCriterion(StrictCriterion, FairseqCriterion):
    """Sum of (cos(u, v) - score)^2 over pairs; u and v are mean word vectors, scores from 0 to 1.

    Shen's thesis (section 4.3.5) averages the words' vectors and does not give its loss; this is
    the loss of Reimers and Gurevych, "Sentence-BERT" (2019). Validations log ``spearman``, the rank
    correlation of all pairs of the split ("all") in percent. Rounding errors would change ranks.
    Outside training, the task therefore gives a copy of the model in float64, whose cosines are
    rounded to six places. They are then the same in every batch, and pairs of equal sentences tie.
    """

    own_task = "semantic_similarity"

    def forward(self, model, sample: dict, reduce: bool = True):
        """Loss, number of pairs, and logged values of one batch."""
        given = sample["net_input"]
        tokens, lengths = (given[name].transpose(0, 1).flatten(0, 1)
                           for name in ("tokens", "lengths"))  # fmt: skip
        first, second = model(tokens, lengths).chunk(2)
        similarity = cosine_similarity(first, second)
        if not model.training:
            similarity = similarity.round(decimals=DIGITS)
        targets = given["targets"].to(similarity)
        loss = mse_loss(similarity, targets, reduction="sum" if reduce else "none")
        count = sample["nsentences"]
        logged = {
            "loss": loss.detach().sum(), "ntokens": sample["ntokens"], "nsentences": count,
            "sample_size": count,
        }  # fmt: skip
        if not model.training:
            pairs = torch.stack([similarity.detach(), given["targets"]], 1)
            logged["scores"] = rows_among_workers(pairs, self.task.largest_batch)
        return loss, count, logged

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict]):
        """Log the mean loss over all pairs, and their rank correlation."""
        log_mean(logging_outputs, "loss", total(logging_outputs, "sample_size"))
        for log in logging_outputs:
            if "scores" in log:
                metrics.log_concat_tensor(PAIRS, present_rows(log["scores"]).cpu())
                metrics.log_derived("spearman", _spearman)


def _spearman(meters) -> float:
    pairs = meters[PAIRS].tensor
    return 0.0 if pairs is None else round(rank_correlation(*pairs.t().tolist()), 2)
