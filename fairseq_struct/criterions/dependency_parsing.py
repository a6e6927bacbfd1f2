"""Negative log-likelihood of gold dependency trees, and attachment scores."""

import torch
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from torch import Tensor

from fairseq_struct.criterions.shared.strict_criterion import StrictCriterion
from fairseq_struct.criterions.shared.sums import log_mean, total
from fairseq_struct.metrics.attachment import SCORES, AttachmentScores


@register_criterion("dependency_parsing", dataclass=FairseqDataclass)
class DependencyParsingCriterion(StrictCriterion, FairseqCriterion):
    """-log p of the gold trees, summed over sentences; fairseq divides by their number.

    Logged is ``loss`` (in nats for each sentence). Validations log the scores of the best trees
    (in %, see :class:`.AttachmentScores`) and, if convergence ends the passes, ``passes_mean`` and
    ``energy``, means over the sentences. All are computed over the whole subset, independently of
    batches and workers.
    """

    own_task = "dependency_parsing"

    def forward(self, model, sample: dict, reduce: bool = True):
        """Loss, number of sentences, and logged values of one batch."""
        parsed = model(**sample["net_input"])
        losses = -parsed.trees.log_prob(sample["target"])
        count = sample["nsentences"]
        logged = {
            "loss": losses.detach().sum(), "ntokens": sample["ntokens"], "nsentences": count,
            "sample_size": count,
        }  # fmt: skip
        if not model.training:
            lengths = parsed.trees.lengths
            logged["attachment"] = scores_of(parsed.heads(), sample["target"], lengths)
            if parsed.energy is not None:
                logged |= {"passes": parsed.passes.sum(), "energy": parsed.energy.double().sum()}
        return losses.sum() if reduce else losses, count, logged

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict]):
        """Log sums over the batches, so that the shown values are those of all sentences."""
        count = total(logging_outputs, "sample_size")
        log_mean(logging_outputs, "loss", count)
        if "attachment" in logging_outputs[0]:
            metrics.log_scalar("_attachment", total(logging_outputs, "attachment"))
            for name in SCORES:
                metrics.log_derived(name, lambda meters, name=name: _score(meters, name))
        log_mean(logging_outputs, "passes_mean", count, of="passes", round=3)
        log_mean(logging_outputs, "energy", count)


def scores_of(heads: Tensor, gold: Tensor, lengths: Tensor) -> Tensor:
    """Sums of :class:`.AttachmentScores` over a batch, as integers.

    Args:
        heads, gold: (batch, n).
        lengths: (batch,).
    """
    scores = AttachmentScores()
    for own, theirs, n in zip(heads.tolist(), gold.tolist(), lengths.tolist(), strict=True):
        scores.add(own[:n], theirs[:n])
    return torch.tensor(scores.sums(), device=heads.device)


def _score(meters, name: str) -> float:
    scores = AttachmentScores(*meters["_attachment"].sum.tolist())
    return round(getattr(scores, name), 2)
