"""Binary cross-entropy of a classifier with a latent cluster, and scores of its clusters."""

from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics

from fairseq_struct.criterions.shared.strict_criterion import StrictCriterion
from fairseq_struct.criterions.shared.sums import log_mean, log_percentage, total
from fairseq_struct.metrics.v_measure import contingency_table, v_measure


@register_criterion("latent_clusters", dataclass=FairseqDataclass)
class LatentClustersCriterion(StrictCriterion, FairseqCriterion):
    """Binary cross-entropy, summed over instances; fairseq divides by their number.

    Logged are ``loss`` (in nats) and ``accuracy`` (in %) and, while validating, ``v_measure``
    (from 0 to 100) of the clusters with the highest scores. All three are computed over the whole
    subset, independently of the batches.
    """

    own_task = "latent_clusters"

    def forward(self, model, sample: dict, reduce: bool = True):
        """Loss, number of instances, and logged values of one batch."""
        given = sample["net_input"]
        output = model(**given)
        loss = output.losses.sum() if reduce else output.losses
        count = sample["nsentences"]
        correct = (output.logits > 0) == given["targets"].bool()
        logged = {
            "loss": output.losses.detach().sum(),
            "correct": correct.sum(),
            "ntokens": count,
            "nsentences": count,
            "sample_size": count,
        }
        if not model.training:
            logged["contingency"] = contingency_table(
                given["clusters"], output.clusters, self.task.clusters
            )
        return loss, count, logged

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict]):
        """Log sums over the batches, so that the shown values are those of all instances."""
        count = total(logging_outputs, "sample_size")
        log_mean(logging_outputs, "loss", count)
        log_percentage(logging_outputs, "accuracy", count, of="correct")
        if all("contingency" in log for log in logging_outputs):
            metrics.log_scalar("_contingency", total(logging_outputs, "contingency"))
            metrics.log_derived(
                "v_measure", lambda meters: round(v_measure(meters["_contingency"].sum), 2)
            )
