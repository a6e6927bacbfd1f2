"""A tool for models with ``spans``, with an extra option."""

from fairseq_struct.inference import Option, register_tool
from fairseq_struct.inference.tools import SPLIT

SHOUT = Option("shout", "toy: write words in capitals", bool, False)


class SpanParser:
    """Reads sentence by sentence."""

    tree_kind = "constituents"

    def __init__(self, model, words, split="word", shout=False, batch_words=None):
        self.model, self.words, self.split, self.shout = model.eval(), words, split, shout
        self.batch_words = batch_words

    def trees(self, sentences):
        from fairseq_struct.inference import Constituents

        for sentence in sentences:
            words = tuple(sentence.split())
            spans = self.model.spans([self.words.index(word) for word in words], self.split)
            shown = tuple(map(str.upper, words)) if self.shout else words
            yield Constituents(shown, tuple(spans))


@register_tool(
    "toy_span_parser", kind="toys", abilities=["parse"],
    serves=lambda model: hasattr(model, "spans"), options=[SPLIT, SHOUT],
)  # fmt: skip
def span_parser(model, task, **options):
    return SpanParser(model, task.source_dictionary, **options)
