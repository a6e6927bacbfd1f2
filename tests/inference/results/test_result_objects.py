"""Results of trained models behave like what they replace, and know more."""

import copy
import itertools
import math
import pickle

import pytest
import torch
from nltk import Tree
from stored_models import STORED

from fairseq_struct import load
from fairseq_struct.data.readers.conllu import read_conllu
from fairseq_struct.errors import InputError
from fairseq_struct.inference import (
    Classification,
    ConstituencyParse,
    DependencyParse,
    Results,
    SentenceScore,
)
from fairseq_struct.inference.results.sequence_of_results import SHOWN
from fairseq_struct.structure.dependency import DependencyTrees

TEXT = ["a b c d", "b", "the cats in the house sing"]
DEPENDENCIES = {
    "udgn": "language", "structformer": "language", "latent_tree_classifier": "single",
    "latent_tree_entailment": "pairs", "latent_tree_transformer": "translation",
    "undirected_parser": "treebank",
}  # fmt: skip


def stored(arch, data, **options):
    return load(STORED / f"{arch}.pt", STORED / data / "data-bin", **options)


def certain(heads):
    """Marginals of one tree."""
    marginals = torch.zeros(len(heads), len(heads))
    for place, head in enumerate(heads):
        marginals[head - 1 if head else place, place] = 1
    return marginals


def test_a_dependency_parse_is_a_tuple_of_heads(tmp_path):
    parse = DependencyParse((2, 0, 2), ("the", "cat", "sleeps"))
    assert parse == (2, 0, 2) == parse and parse == [2, 0, 2] and [2, 0, 2] == parse
    assert parse != [2, 0, 1] and parse != (2, 0) and hash(parse) == hash((2, 0, 2))
    assert parse[0] == 2 and len(parse) == 3 and type(parse.heads) is tuple
    for other in (copy.deepcopy(parse), pickle.loads(pickle.dumps(parse))):
        assert other == parse and other.words == parse.words
    assert repr(parse) == "DependencyParse([2, 0, 2]: the←cat cat←ROOT sleeps←cat)"
    (tmp_path / "x.conllu").write_text(parse.to_conllu(("text = the cat sleeps",)))
    (sentence,) = read_conllu(tmp_path / "x.conllu")
    assert sentence.words == parse.words and sentence.heads == parse
    graph = parse.to_nltk()
    assert graph.root["word"] == "cat" and graph.tree() == Tree("cat", ["the", "sleeps"])
    assert parse.to_displacy() == {
        "words": [{"text": word, "tag": ""} for word in parse.words],
        "arcs": [{"start": 0, "end": 1, "label": "", "dir": "left"},
                 {"start": 1, "end": 2, "label": "", "dir": "right"}],
    }  # fmt: skip
    assert parse.to_dict() == {"words": list(parse.words), "heads": [2, 0, 2]}
    assert parse.marginals is None and parse.probabilities is None
    for word in parse.words:
        assert f">{word}<" in parse.to_svg() and f">{word}<" in parse._repr_html_()
    with pytest.raises(ValueError, match="2 heads for 1 words"):
        DependencyParse((0, 1), ("a",))


def test_probabilities_of_a_parse():
    marginals = torch.tensor([[0.25, 0.9], [0.75, 0.1]])
    parse = DependencyParse((2, 0), ("a", "b"), lambda: marginals)
    assert parse.probabilities == pytest.approx((0.75, 0.1))
    lines = parse.to_conllu(probabilities=True).splitlines()
    assert [line.split("\t")[-1] for line in lines[:2]] == ["Prob=0.7500", "Prob=0.1000"]
    assert parse.to_dict(True)["probabilities"] == [0.75, 0.1]
    assert parse.to_svg() != DependencyParse((2, 0), ("a", "b")).to_svg()
    sure = DependencyParse((2, 0), ("a", "b"), lambda: certain((2, 0)))
    assert sure.probabilities == (1.0, 1.0)


@pytest.mark.parametrize("arch", DEPENDENCIES)
def test_probabilities_of_trained_models(arch):
    model = stored(arch, DEPENDENCIES[arch])
    together = model.parse(TEXT)
    for sentence, parse in zip(TEXT, together, strict=True):
        assert parse.words == tuple(sentence.split())
        torch.testing.assert_close(parse.marginals.sum(0), torch.ones(len(parse)))
        (alone,) = model.parse([sentence])
        assert alone == parse
        torch.testing.assert_close(alone.marginals, parse.marginals, atol=1e-5, rtol=0)
        copied = pickle.loads(pickle.dumps(parse))
        assert copied.probabilities == parse.probabilities and copied.words == parse.words


def test_what_is_done_to_marginals_changes_no_parse():
    (parse,) = stored("udgn", "language").parse(["a b c d"])
    for one in (parse, copy.deepcopy(parse)):
        expected = one.probabilities
        one.marginals.zero_()
        assert one.probabilities == expected and sum(expected) > 0


def test_a_copied_parse_has_its_own_marginals_alone():
    parses = stored("udgn", "language").parse(TEXT + ["a b"] * 40)
    for copied in (copy.deepcopy(parses[3]), pickle.loads(pickle.dumps(parses[3]))):
        assert torch.equal(copied.marginals, parses[3].marginals)
        assert copied.words == ("a", "b") and copied.probabilities == parses[3].probabilities
    few = pickle.dumps(stored("udgn", "language").parse(["a b"])[0])
    assert len(pickle.dumps(parses[3])) == len(few)
    weight = torch.ones(2, 2, requires_grad=True)
    (weight * parses[3].marginals).sum().backward()
    assert torch.equal(weight.grad, parses[3].marginals)


def test_a_model_is_neither_copied_nor_pickled():
    model = stored("on_lstm_lm", "language")
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled; load it .*on_lstm_lm.pt"):
            duplicate(model)


def test_probabilities_are_those_of_all_trees():
    model = stored("udgn", "language")
    (parse,) = model.parse(["the cats sing"])
    tokens = model.vocabulary.read([parse.words])[:, 1:]
    with torch.no_grad():
        scores = model.model.arc_scores(tokens, torch.tensor([3]))
    trees = DependencyTrees(scores, projective=False, single_root=True)
    expected = torch.zeros(3, 3, dtype=torch.float64)
    (every,) = trees.enumerate()
    for heads in every.tolist():
        weight = math.exp(sum(float(scores[0, h - 1 if h else m, m]) for m, h in enumerate(heads)))
        expected += weight * certain(heads).double()
    expected = expected / expected[:, 0].sum()
    torch.testing.assert_close(parse.marginals.double(), expected, atol=1e-5, rtol=0)


def test_a_constituency_parse_is_an_nltk_tree():
    text = TEXT[:2] + ["the cats sing"]
    parses = stored("on_lstm_lm", "language").parse(text)
    tool = stored("on_lstm_lm", "language", ability="parse")
    for parse, found in zip(parses, tool.trees(text), strict=True):
        plain = found.tree()
        assert isinstance(parse, Tree) and type(parse.to_nltk()) is Tree
        assert parse == plain and plain == parse and parse.to_nltk() == plain
        assert parse.leaves() == list(parse.words) == list(found.words)
        assert set(parse.spans) == set(found.spans) and parse.distances == found.distances
        assert Tree.fromstring(parse.to_brackets()).leaves() == plain.leaves()
        assert repr(parse) == f"ConstituencyParse({parse.to_brackets()})"
        assert parse.to_dict()["distances"] == pytest.approx(found.distances, abs=1e-6)
        assert all(f">{word}<" in parse._repr_html_() for word in parse.words)
        for other in (pickle.loads(pickle.dumps(parse)), copy.copy(parse), copy.deepcopy(parse)):
            assert other == parse and other is not parse and type(other) is ConstituencyParse
            assert other.distances == parse.distances
    assert parses[0] != parses[1] and parses[0] != "a b c d"
    assert parses[0].to_displacy()["spans"][0] == {
        "start_token": 0, "end_token": 4, "label": "X",
    }  # fmt: skip
    labelled = ConstituencyParse("S", [Tree("NP", ["the", "cat"]), "sleeps"])
    assert labelled == Tree.fromstring("(S (NP the cat) sleeps)")
    assert labelled != Tree.fromstring("(S (VP the cat) sleeps)")
    assert labelled.spans == ((0, 3), (0, 2)) and labelled.distances is None
    assert ">NP<" in labelled.to_svg() and "distances" not in labelled.to_dict()


def test_deep_constituents_compare_and_print():
    deep = other = Tree("", ["a", "b"])
    for _ in range(3000):
        deep, other = Tree("", [deep, "c"]), Tree("", [other, "c"])
    parse = ConstituencyParse("", list(deep))
    assert parse == other and len(repr(parse)) > 9000 and len(parse.spans) == 3001


def test_a_classification_is_a_label():
    model = stored("latent_tree_entailment", "pairs")
    pairs = [("a b c", "b a"), "c\td e"]
    found = model.classify(pairs)
    assert found == [one.label for one in model.analyse(pairs)]
    assert isinstance(found[0], str) and type(found[0].label) is str
    assert found[1].sentences == (("c",), ("d", "e")) and found[1].words == ("c",)
    for one in found:
        assert sum(one.probabilities.values()) == pytest.approx(1)
        assert max(one.probabilities, key=one.probabilities.get) == one
        assert len(one.trees) == 2 and one.tree == one.trees[0]
        assert one.tree == model.parse([" ".join(one.words)])[0]
        assert one._repr_html_().count("<svg") == 2
    again = pickle.loads(pickle.dumps(found))
    assert again == found and again[0].probabilities == found[0].probabilities
    one = Classification("x", {"x": 0.5}, [("a", "b")])
    assert repr(one) == "Classification('x', 0.500, 'a b')"
    assert found[0].to_dict()["trees"][1]["words"] == ["b", "a"]
    constituents = stored("ordered_memory_classifier", "pairs").classify(pairs)
    assert constituents[1].trees[1] == Tree("", ["d", "e"])
    without = stored("transformer_classifier", "pairs").classify(pairs)
    assert without[0].trees == () and without[0].tree is None
    assert "trees" not in without[0].to_dict()


@pytest.mark.parametrize("arch", ["on_lstm_lm", "awd_lstm_lm"])
def test_scores_of_sentences(arch):
    model = stored(arch, "language")
    scores = model.score(TEXT)
    tool = stored(arch, "language", ability="score")
    assert scores == tool.log_probabilities([line.split() for line in TEXT])
    total = 0.0
    for sentence, score in zip(TEXT, scores, strict=True):
        assert isinstance(score, SentenceScore) and score.words == tuple(sentence.split())
        assert len(score.word_scores) == len(score.words) + 1
        assert score == pytest.approx(sum(score.word_scores)) and max(score.word_scores) < 0
        assert model.score([sentence])[0] == pytest.approx(score, abs=1e-4)
        assert model.perplexity([sentence]) == pytest.approx(score.perplexity, rel=1e-4)
        total += score
    assert model.perplexity(TEXT) == pytest.approx(math.exp(-total / (4 + 1 + 6 + 3)))
    assert pickle.loads(pickle.dumps(scores))[0].word_scores == scores[0].word_scores
    for bad in ([], ["a", " "], "a b"):
        with pytest.raises(InputError):
            model.perplexity(bad)


def test_a_notebook_draws_the_first_of_many():
    parse = DependencyParse((0,), ("word",))
    shown = Results([parse] * (SHOWN + 3))._repr_html_()
    assert shown.count("<svg") == SHOWN and "and 3 more" in shown
    assert "plain &lt;text&gt;" in Results(["plain <text>"])._repr_html_()
    assert Results([parse]) == [(0,)]


ABILITIES = {
    ("on_lstm_lm", "language"): ("parse", "score"),
    ("awd_lstm_lm", "language"): ("score",),
    ("udgn", "language"): ("parse",),
    ("transformer_classifier", "pairs"): ("classify",),
    ("latent_tree_classifier", "single"): ("parse", "classify"),
    ("latent_tree_transformer", "translation"): ("parse", "translate"),
    ("undirected_attention", "sequences"): ("complete",),
}
CALLS = {"parse": ["a"], "classify": ["a"], "translate": ["a"], "score": ["a"], "perplexity": ["a"]}


@pytest.mark.parametrize("arch", ABILITIES, ids=lambda pair: pair[0])
def test_a_model_says_what_it_can_do(arch):
    model = stored(*arch)
    assert model.abilities == ABILITIES[arch]
    count = sum(parameter.numel() for parameter in model.model.parameters())
    assert f"{arch[0]}.pt" in repr(model) and f"{count:,} parameters on cpu" in repr(model)
    for ability in model.abilities:
        assert ability in repr(model).rpartition("can ")[2]
    for method in itertools.filterfalse(
        lambda name: {"perplexity": "score"}.get(name, name) in model.abilities, CALLS
    ):
        message = rf"{arch[0]}\.pt: .*; it can {ABILITIES[arch][0]}"
        with pytest.raises(InputError, match=message):
            getattr(model, method)(CALLS[method])
    with pytest.raises(AttributeError, match="this model has no 'sing'; it can"):
        model.sing  # noqa: B018
    assert set(dir(model.tool)) <= set(dir(model))
