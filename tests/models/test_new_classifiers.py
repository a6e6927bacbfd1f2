"""A new sentence encoder is one module and one file in models/: toy encoders of a plugin."""

import json
import re
import shlex

import pytest
import torch
from fairseq_commands import run, start
from torch import nn

import fairseq_struct
from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.readers import labelled_text
from fairseq_struct.data.readers.labelled_text import SPLITS, read_corpus
from fairseq_struct.errors import InputError
from fairseq_struct.modules.classification import VectorClassifier, pair_features, perceptron
from fairseq_struct.structure.inferred_trees import CONSTITUENTS, ConstituentSpans

# The module: a bag of words with right-branching trees, or a vector of the gold tree.
NETWORK = """
import torch
from torch import nn
from fairseq_struct.modules.classification import VectorClassifier, perceptron
from fairseq_struct.structure.inferred_trees import CONSTITUENTS, ConstituentSpans
from fairseq_struct.structure.spans import right_branching

class Bag(VectorClassifier):
    tree_kind = CONSTITUENTS

    def __init__(self, embedding, labels, sides):
        super().__init__(sides)
        self.embedding = embedding
        self.output = perceptron(embedding.embedding_dim, 8, labels, sides)

    def encode(self, tokens, lengths):
        trees = ConstituentSpans([right_branching(n) for n in lengths.tolist()], lengths)
        return self.embedding(tokens).sum(1), trees

class Gold(VectorClassifier):
    gold_kind = CONSTITUENTS

    def __init__(self, embedding, labels, sides):
        super().__init__(sides)
        self.embedding = embedding
        self.output = perceptron(embedding.embedding_dim, 8, labels, sides)

    def encode(self, tokens, lengths, gold_trees):
        assert gold_trees[:, 0, :2].tolist() == [[0, n] for n in lengths.tolist()]
        return self.embedding(gold_trees[:, 0, 2] + 4), None
"""
# The file in models/.
MODEL = """
from dataclasses import dataclass, field
from fairseq.dataclass import FairseqDataclass
from fairseq.models import register_model
from torch import nn
from fairseq_struct.models.shared.classifier import ClassifierModel
from .network import Bag, Gold

@dataclass
class Config(FairseqDataclass):
    sides: int = field(default=1, metadata={"help": "sentences per instance"})

@register_model("toy_bag", dataclass=Config)
class BagModel(ClassifierModel):
    kind = Bag

    @classmethod
    def build_model(cls, cfg, task):
        embedding = nn.Embedding(max(20, len(task.words)), 8, task.words.pad())
        return cls(cls.kind(embedding, len(task.label_names), cfg.sides))

@register_model("toy_gold", dataclass=Config)
class GoldModel(BagModel):
    kind = Gold
"""
LINES = ["(3 (2 a) (3 good))", "(1 (1 bad) (2 (2 so) (2 so)))", "(3 (3 good) (2 film))",
         "(1 (2 a) (1 bad))"]  # fmt: skip
OPTIONS = ["--task=structured_classification", "--criterion=structured_classification",
           "--optimizer=adam", "--lr=0.05", "--batch-size=3", "--no-progress-bar",
           "--log-format=json", "--num-workers=0", "--max-epoch=25", "--no-epoch-checkpoints",
           "--required-batch-size-multiple=1"]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toys")
    plugin = folder / "toy_plugin"
    plugin.mkdir()
    (plugin / "__init__.py").write_text(
        "from fairseq_struct import plugin\nplugin.load()\nfrom . import model\n"
    )
    (plugin / "network.py").write_text(NETWORK)
    (plugin / "model.py").write_text(MODEL)
    files = {split: folder / f"{split}.txt" for split in SPLITS}
    for path in files.values():
        path.write_text("\n".join(LINES) + "\n")
    corpus = read_corpus("sst_fine", labelled_text.read_fine_sentiment_trees, files)
    write_labelled_folder(corpus, folder / "plain")
    write_labelled_folder(corpus, folder / "trees", trees=True)
    return folder


def train(folder, data, arch, *options):
    return run("train", folder / data / "data-bin", f"--arch={arch}", *OPTIONS, *options,
               f"--user-dir={folder / 'toy_plugin'}", f"--save-dir={folder / arch}")  # fmt: skip


def last(log, name):
    return float(json.loads(re.findall(r"(\{.*valid_loss.*\})", log)[-1])[f"valid_{name}"])


def command(folder, *arguments, lines=()):
    """Output of ``fairseq-struct`` as a separate program, with ``--user-dir`` for the plugin."""
    (folder / "text").write_text("".join(f"{line}\n" for line in lines))
    words = ["python", "-m", "fairseq_struct.cli.main", *map(str, arguments)]
    done = start("bash", "-c", f"{shlex.join(words)} < {shlex.quote(str(folder / 'text'))}")
    said = done.communicate()[0]
    assert done.returncode == 0, said
    return said.splitlines()


def test_a_bag_of_words_is_trained_validated_and_used(folder):
    log = train(folder, "plain", "toy_bag")
    assert last(log, "accuracy") == 100
    assert last(log, "tree_depth") == pytest.approx((1 + 5 / 3 + 1 + 1) / 4, abs=0.01)
    given = [folder / "toy_bag" / "checkpoint_last.pt", f"--user-dir={folder / 'toy_plugin'}"]
    said = command(folder, "classify", *given, f"--trees={folder / 'trees.txt'}",
                   lines=["a bad", "good film"])  # fmt: skip
    assert [line.split("\t")[0] for line in said] == ["1", "3", "2 sentences classified"]
    assert (folder / "trees.txt").read_text() == "(X a bad)\n(X good film)\n"
    *trees, depth = command(folder, "parse", *given, lines=["a so bad", "film"])
    assert trees == ["(X a (X so bad))", "(X film)"] and depth == "2 trees, mean depth 0.83"
    (folder / "gold").write_text("(S (X (A a) (B so)) (C bad))\n(S (A film))\n")
    (folder / "predicted").write_text("".join(f"{tree}\n" for tree in trees))
    (scores,) = command(folder, "evaluate", folder / "gold", folder / "predicted", "--json")
    assert json.loads(scores)["f1_corpus"] == 0  # the inner bracket is another one
    model = fairseq_struct.load(given[0], user_dir=folder / "toy_plugin")
    assert model.parse(["a so bad"])[0].leaves() == ["a", "so", "bad"]
    assert model.classify(["a bad"]) == ["1"]


def test_a_model_that_takes_gold_trees_is_given_those_of_the_folder(folder):
    """The target is the label of the tree's root; this model ignores the words."""
    assert last(train(folder, "trees", "toy_gold"), "accuracy") == 100
    with pytest.raises(InputError, match=r"valid\.trees1: no such file, .* labelled_text --trees"):
        train(folder, "plain", "toy_gold")
    with pytest.raises(InputError, match="of 3 words, but the sentence has 2; --truncate"):
        train(folder, "trees", "toy_gold", "--longest-sentence=2", "--truncate")


@pytest.mark.parametrize("arch", ["toy_bag", "toy_gold"])
def test_gold_heads_are_refused_by_models_of_other_trees(folder, arch):
    (folder / "x.conllu").write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    with pytest.raises(InputError, match="--heads-path is for models with latent dependency trees"):
        train(folder, "trees", arch, f"--heads-path={folder / 'x.conllu'}")


class Sum(VectorClassifier):
    """Sums of embeddings; each tree is a single bracket."""

    tree_kind, gold_kind = CONSTITUENTS, CONSTITUENTS

    def __init__(self, sides):
        super().__init__(sides)
        self.embedding = nn.Embedding(9, 4, 1)
        self.output = perceptron(4, 3, 2, sides)

    def encode(self, tokens, lengths, gold_trees=None):
        self.given = gold_trees
        trees = ConstituentSpans([[(0, n)] for n in lengths.tolist()], lengths)
        return self.embedding(tokens).sum(1), trees


def test_one_sentence_or_two_are_features_trees_and_losses():
    torch.manual_seed(1)
    tokens, lengths = torch.randint(2, 9, (3, 2, 4)), torch.tensor([[4, 4], [4, 4], [4, 4]])
    for sides in (1, 2):
        network = Sum(sides)
        output = network(tokens[:, :sides], lengths[:, :sides], torch.tensor([0, 1, 1]))
        sums = network.embedding(tokens).sum(2)
        u, v = sums.unbind(1)
        features = torch.cat([u, v, u * v, (u - v).abs()], 1) if sides == 2 else u
        logits = network.output(features)
        torch.testing.assert_close(output.logits, logits)
        torch.testing.assert_close(output.losses.sum(), nn.functional.cross_entropy(
            logits, torch.tensor([0, 1, 1]), reduction="sum"))  # fmt: skip
        assert output.trees.spans() == [((0, 4),)] * (3 * sides)
        assert network(tokens[:, :sides], lengths[:, :sides]).losses is None
        assert network.given is None
    gold = torch.arange(3 * 2 * 5 * 3).view(3, 2, 5, 3)
    network(tokens, lengths, gold_trees=gold)
    assert torch.equal(network.given, gold.flatten(0, 1))
    assert torch.equal(pair_features(sums[:, :1]), sums[:, 0])
    with pytest.raises(ValueError, match="one sentence or two, not 3"):
        Sum(3)
