"""Toy classifiers of formulas, in a plugin of their own, and a small corpus of formulas."""

from pathlib import Path

from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.readers.labelled_text import SPLITS, Instance, LabelledCorpus

# A model that infers right-branching trees, and one that reads the gold trees.
PLUGIN = """
from dataclasses import dataclass, field
from fairseq.dataclass import FairseqDataclass
from fairseq.models import register_model
from torch import nn
from fairseq_struct import plugin
plugin.load()
from fairseq_struct.models.shared.classifier import ClassifierModel
from fairseq_struct.modules.classification import VectorClassifier, perceptron
from fairseq_struct.structure.inferred_trees import CONSTITUENTS, ConstituentSpans
from fairseq_struct.structure.spans import right_branching

class Base(VectorClassifier):
    def __init__(self, embedding, labels, sides):
        super().__init__(sides)
        self.embedding = embedding
        self.output = perceptron(4, 8, labels, sides)

class Right(Base):
    tree_kind = CONSTITUENTS

    def encode(self, tokens, lengths):
        trees = ConstituentSpans([right_branching(n) for n in lengths.tolist()], lengths)
        trees.pointer_entropy = lambda: lengths.double().where(lengths > 1, float("nan"))
        return self.embedding(tokens).sum(1), trees

class Shape(Base):
    "A vector of the number of words of the first constituent within the whole."
    gold_kind = CONSTITUENTS

    def encode(self, tokens, lengths, gold_trees):
        sizes = gold_trees[:, 1, 1] - gold_trees[:, 1, 0]
        return self.embedding(sizes), None

@dataclass
class Config(FairseqDataclass):
    sides: int = field(default=2, metadata={"help": "sentences per instance"})

@register_model("toy_right", dataclass=Config)
class RightModel(ClassifierModel):
    kind = Right
    @classmethod
    def build_model(cls, cfg, task):
        embedding = nn.Embedding(max(50, len(task.words)), 4)
        return cls(cls.kind(embedding, len(task.label_names), cfg.sides))

@register_model("toy_shape", dataclass=Config)
class ShapeModel(RightModel):
    kind = Shape
"""
PAIRS = [("( d ( and e ) )", "( not a )", "#"), ("a", "( ( not a ) ( or b ) )", "<"),
         ("( not ( not b ) )", "b", "="), ("( not d )", "( e ( or d ) )", "#")]  # fmt: skip


def write_formulas(folder: Path) -> tuple[Path, Path]:
    """Write the plugin, for ``--user-dir``, and the corpus, and return their folders."""
    plugin = folder / "formula_plugin"
    plugin.mkdir()
    (plugin / "__init__.py").write_text(PLUGIN)
    pairs = [Instance(tuple(sentences), label) for *sentences, label in PAIRS]
    write_labelled_folder(LabelledCorpus("logic", dict.fromkeys(SPLITS, pairs)), folder / "logic")
    return plugin, folder / "logic" / "data-bin"
