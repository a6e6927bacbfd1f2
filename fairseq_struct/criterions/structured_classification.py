"""Cross-entropy of a sentence classifier, its accuracy, and statistics of its trees."""

import torch
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from torch import Tensor
from torch.distributed import is_initialized

from fairseq_struct.criterions.shared.strict_criterion import StrictCriterion
from fairseq_struct.criterions.shared.sums import log_mean, total
from fairseq_struct.metrics.bracketing import bracket_counts, f1_of_counts
from fairseq_struct.metrics.confusion import accuracy, macro_f1
from fairseq_struct.metrics.v_measure import contingency_table


@register_criterion("structured_classification", dataclass=FairseqDataclass)
class StructuredClassificationCriterion(StrictCriterion, FairseqCriterion):
    """Cross-entropy, summed over instances; fairseq divides by their number.

    Logged are ``loss`` (in nats; while training it includes the loss of gold trees), ``accuracy``
    and ``macro_f1`` (in %) and, while validating a model with trees, ``tree_depth``, the mean of
    :meth:`.InferredTrees.depths`, and the mean ``pointer_entropy`` of trees that know theirs. With
    gold constituents, as of ``--gold-trees``, there is also ``f1`` (in %), the published one of
    :func:`.bracket_counts`. The task adds the confusion table. All are computed over the whole
    subset, independently of the batches.
    """

    own_task = "structured_classification"

    def forward(self, model, sample: dict, reduce: bool = True):
        """Loss, number of instances, and logged values of one batch."""
        given = sample["net_input"]
        output = model(**given)
        loss = output.losses.sum() if reduce else output.losses
        if model.training and given["tokens"].size(-1) == 1 and is_initialized():
            loss = loss + nothing_of_all(model)
        count = sample["nsentences"]
        labels = len(self.task.label_names)
        logged = {
            "loss": output.losses.detach().sum(),
            "confusion": contingency_table(given["targets"], output.logits.argmax(1), labels),
            "ntokens": sample["ntokens"],
            "nsentences": count,
            "sample_size": count,
        }
        if not model.training and output.trees is not None:
            gold = sample.get("gold_trees", given.get("gold_trees"))
            logged |= statistics_of_trees(output.trees, gold)
        return loss, count, logged

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict]):
        """Log sums over the batches, so that the shown values are those of all instances."""
        log_mean(logging_outputs, "loss", total(logging_outputs, "sample_size"))
        metrics.log_scalar("_confusion", total(logging_outputs, "confusion"))
        for name, score in (("accuracy", accuracy), ("macro_f1", macro_f1)):
            metrics.log_derived(
                name, lambda meters, score=score: _scored(meters["_confusion"], score)
            )
        if "depth" in logging_outputs[0]:
            depth, trees = total(logging_outputs, "depth"), total(logging_outputs, "trees")
            metrics.log_scalar("tree_depth", depth / trees, trees, round=2)
        if "pointer_entropy" in logging_outputs[0]:
            known = total(logging_outputs, "pointed_trees")
            pointer_entropy = total(logging_outputs, "pointer_entropy")
            metrics.log_scalar("pointer_entropy", pointer_entropy / max(known, 1), known, round=4)
        if "brackets" in logging_outputs[0]:
            metrics.log_scalar("_brackets", total(logging_outputs, "brackets"))
            metrics.log_derived(
                "f1", lambda meters: round(f1_of_counts(*meters["_brackets"].sum.tolist()), 2)
            )


def nothing_of_all(model) -> Tensor:
    """0, with a gradient of 0 for every parameter.

    Sentences of one word compose nothing, and leave parameters without a gradient, for which
    several processes would wait (``--ddp-backend pytorch_ddp``, fairseq's default).
    """
    return sum((0 * weight).sum() for weight in model.parameters() if weight.requires_grad)


def _scored(confusion, score) -> float:
    """The score; 0 after a reset, as fp16 may skip all updates of an epoch."""
    return round(score(confusion.sum), 2) if confusion.count else 0.0


def statistics_of_trees(trees, gold: Tensor | None) -> dict[str, Tensor | int]:
    """Sums over the trees of a batch, for the means of a subset.

    Args:
        trees: :class:`.InferredTrees` of a model.
        gold: (batch, sides, m, 3) gold constituents, or None.
    """
    depths = trees.depths()
    sums = {"depth": depths.sum(), "trees": depths.numel()}
    pointer_entropy = trees.pointer_entropy()
    if pointer_entropy is not None:
        known = ~pointer_entropy.isnan()
        sums |= {"pointer_entropy": pointer_entropy[known].sum(), "pointed_trees": int(known.sum())}
    if gold is not None and hasattr(trees, "spans"):
        counts = bracket_counts(trees.spans(), gold.flatten(0, 1))
        sums["brackets"] = torch.tensor(counts, device=gold.device)
    return sums
