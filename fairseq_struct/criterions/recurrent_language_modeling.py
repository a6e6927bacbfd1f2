"""Cross-entropy of a recurrent language model, with activation regularisation."""

import math
from dataclasses import dataclass, field

import torch
from fairseq import utils
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics

from fairseq_struct.criterions.shared.sums import LogsSums, total
from fairseq_struct.errors import InputError
from fairseq_struct.option_checks import values_at_least


@dataclass
class RecurrentLanguageModelingCriterionConfig(FairseqDataclass):
    """Weights of the two regularisers."""

    activation_regularization: float = field(
        default=2.0, metadata={"help": "AR: weight of the last layer's mean squared activation"}
    )
    temporal_regularization: float = field(
        default=1.0, metadata={"help": "TAR: weight of the mean squared change from word to word"}
    )
    regularize_before_dropout: bool = field(
        default=False,
        metadata={
            "help": "compute AR on the activations before dropout, as in the published ON-LSTM "
            "code, instead of after it, as in AWD-LSTM"
        },
    )


@register_criterion(
    "recurrent_language_modeling", dataclass=RecurrentLanguageModelingCriterionConfig
)
class RecurrentLanguageModelingCriterion(LogsSums, FairseqCriterion):
    """-log p(x_{t+1}) + alpha mean (m h_t)^2 + beta mean (h_{t+1} - h_t)^2 (Merity et al., 2018).

    The means are over the units and words of a window. Validation has neither of the two terms.
    Logged are ``loss`` and ``nll_loss`` (in bits) and ``ppl``, the perplexity without these terms.

    Raises:
        InputError: a weight is negative or not finite.
    """

    scores_targets = True  # it needs no scores of other words

    def __init__(self, task, activation_regularization, temporal_regularization,
                 regularize_before_dropout):  # fmt: skip
        super().__init__(task)
        values_at_least(
            0,
            activation_regularization=activation_regularization,
            temporal_regularization=temporal_regularization,
        )
        self.alpha, self.beta = activation_regularization, temporal_regularization
        self.before_dropout = regularize_before_dropout

    @staticmethod
    def check_model(model):
        """Refuse a model of another kind, before training begins.

        Raises:
            InputError: the model is not a recurrent language model of this package.
        """
        if not hasattr(model, "distances"):
            raise InputError(
                "--criterion recurrent_language_modeling is for on_lstm_lm and awd_lstm_lm"
            )

    def forward(self, model, sample: dict, reduce: bool = True):
        """Loss, number of words, and logged values of a window."""
        target = sample["target"]
        if getattr(model, "scores_targets", False):
            _, extra = model(**sample["net_input"], targets=target)
            nll = -extra["target_scores"].flatten()
            nll = nll.sum() if reduce else nll
        else:
            logits, extra = model(**sample["net_input"])
            words = model.get_normalized_probs((logits, extra), log_probs=True)
            nll = torch.nn.functional.nll_loss(
                words.flatten(0, 1), target.flatten(), ignore_index=self.padding_idx,
                reduction="sum" if reduce else "none",
            )  # fmt: skip
        size = sample["ntokens"]
        loss = nll
        if model.training:
            loss = nll + size * self._regularisation(extra, target)
        sample["state_after"] = tuple(
            tuple(part.detach() for part in parts) for parts in extra["state"]
        )
        logged = {
            "loss": loss.detach(), "nll_loss": nll.detach(), "ntokens": size,
            "nsentences": sample["nsentences"], "sample_size": size,
        }  # fmt: skip
        return loss, size, logged

    def _regularisation(self, extra: dict, target) -> torch.Tensor:
        hidden = extra["hidden"].float()
        regular = hidden if self.before_dropout else extra["dropped"].float()
        inside = (target != self.padding_idx).t()[..., None]
        count = inside.sum() * hidden.size(2)
        result = self.alpha * (regular * inside).square().sum() / count.clamp_min(1)
        both = inside[1:]  # padding is only behind words
        change = (hidden[1:] - hidden[:-1]) * both
        count = (both.sum() * hidden.size(2)).clamp_min(1)
        return result + self.beta * change.square().sum() / count

    @classmethod
    def reduce_metrics(cls, logging_outputs: list[dict]):
        """Log the means over words."""
        size = total(logging_outputs, "sample_size")
        for name in ("loss", "nll_loss"):
            value = utils.item(total(logging_outputs, name))
            metrics.log_scalar(name, value / size / math.log(2), size, round=3)
        metrics.log_derived("ppl", lambda meters: utils.get_perplexity(meters["nll_loss"].avg))
