"""Unigram language models; their trees split a sentence at its rarest word first."""

from fairseq.dataclass import FairseqDataclass
from fairseq.models import FairseqDecoder, FairseqLanguageModel, register_model
from torch import nn, zeros

from fairseq_struct.structure.spans import tree_of_distances


class Unigrams(FairseqDecoder):
    """p(word), independent of the words before it."""

    def __init__(self, dictionary):
        super().__init__(dictionary)
        self.scores = nn.Parameter(zeros(len(dictionary)))

    def forward(self, prev_output_tokens, **_):
        return self.scores.expand(*prev_output_tokens.shape, -1), {}

    def max_positions(self):
        return 1000


class UnigramModel(FairseqLanguageModel):
    """The base of both models."""

    @classmethod
    def build_model(cls, cfg, task):
        return cls(Unigrams(task.source_dictionary))


@register_model("toy_distances", dataclass=FairseqDataclass)
class ToyDistances(UnigramModel):
    """A model with distances, like our language models: it needs no tool."""

    tree_layers = best_tree_layer = 1

    def distances(self, tokens):
        return -self.decoder.scores[tokens][None]


@register_model("toy_spans", dataclass=FairseqDataclass)
class ToySpans(UnigramModel):
    """A model with spans, which none of our tools serves."""

    def spans(self, indices, split):
        return tree_of_distances((-self.decoder.scores[indices]).tolist(), split)
