"""Losses of an undirected network of images, its accuracy, passes and energy."""

from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass

from fairseq_struct.criterions.shared.strict_criterion import StrictCriterion
from fairseq_struct.criterions.shared.sums import log_mean, log_percentage, total

# Shown as means over images, where they are known.
MEANS = ("label_loss", "image_loss", "passes_mean", "energy")


@register_criterion("image_classification", dataclass=FairseqDataclass)
class ImageClassificationCriterion(StrictCriterion, FairseqCriterion):
    """l_f(y, y') + gamma l_b(X, X'), summed over images; fairseq divides by their number.

    Source: Mihaylova's thesis, section 5.3. Logged are ``loss``, the cross-entropy ``label_loss``
    of labels (all in nats) and, if gamma is above 0, ``image_loss``, that of the pixels of images
    inferred from gold labels, per pixel; and ``accuracy`` in %. While a model is validated whose
    passes end by convergence, there are also ``passes_mean``, and the mean ``energy`` at the end.
    """

    own_task = "image_classification"

    def forward(self, model, sample: dict, reduce: bool = True):
        """Loss, number of images, and logged values of one batch."""
        given, count = sample["net_input"], sample["nsentences"]
        converges = not model.training and getattr(model, "converges", False)
        output = model(**given, with_energy=converges)
        loss = output.losses.sum() if reduce else output.losses
        logged = {
            "loss": output.losses.detach().sum(),
            "label_loss": output.label_losses.detach().sum(),
            "correct": (output.logits.argmax(1) == given["labels"]).sum(),
            "ntokens": sample["ntokens"],
            "nsentences": count,
            "sample_size": count,
        }
        if output.image_losses is not None:
            logged["image_loss"] = output.image_losses.detach().sum()
        if converges:
            logged |= {"passes_mean": output.passes.sum(), "energy": output.energy.sum()}
        return loss, count, logged

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict]):
        """Log sums over the batches, so that the shown values are those of all images."""
        count = total(logging_outputs, "sample_size")
        for name in ("loss", *MEANS):
            log_mean(logging_outputs, name, count)
        log_percentage(logging_outputs, "accuracy", count, of="correct")
