"""Binary cross-entropy of a classifier with a latent cluster, and scores of its clusters."""

from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics

from fairseq_struct.criterions.shared.strict_criterion import StrictCriterion
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
        count = sum(log["sample_size"] for log in logging_outputs)
        loss = utils.item(sum(log["loss"] for log in logging_outputs))
        correct = utils.item(sum(log["correct"] for log in logging_outputs))
        metrics.log_scalar("loss", loss / count, count, round=4)
        metrics.log_scalar("accuracy", 100 * correct / count, count, round=2)
        if all("contingency" in log for log in logging_outputs):
            metrics.log_scalar("_contingency", sum(log["contingency"] for log in logging_outputs))
            metrics.log_derived(
                "v_measure", lambda meters: round(v_measure(meters["_contingency"].sum), 2)
            )
