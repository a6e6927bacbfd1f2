"""Trained composers: trees, labels, steps and units, in Python and by real commands."""

import io
import json
import sys
from collections import Counter

import pytest
import torch
from fairseq.data import Dictionary
from fairseq_commands import USER_DIR, run
from nltk import Tree
from torch import nn

from fairseq_struct import load
from fairseq_struct.cli.main import main
from fairseq_struct.data.readers.bracket_trees import leaves_of, read_trees, spans_of, to_line
from fairseq_struct.data.readers.transformation_lists import ListOptions
from fairseq_struct.errors import InputError
from fairseq_struct.inference import GrammarComposer
from fairseq_struct.models.shared.composer_model import ComposerConfig, ComposerModel
from fairseq_struct.modules.recurrent_mechanisms import LstmComposer, RimComposer

CATEGORIES = ["NN", "NP+NN", "S+VP", "NP", "DT"]
SENTENCES = ["The cat sees the dog", "a", "the unheard dog", "a cat sees a dog and a cat"]
GOLD = [
    ("f:1", Tree.fromstring("(S (NP-SBJ (DT the) (NN cat)) (VP (V sees) (-NONE- *)) (. .))")),
    ("f:2", Tree.fromstring("(X (. .))")),
    ("f:3", Tree.fromstring("(S+VP (V see) (NP+NN cat))")),
]


@pytest.fixture(scope="module")
def words():
    dictionary = Dictionary()
    for word in "the cat sees a dog and . see".split():
        dictionary.add_symbol(word)
    return dictionary


def tool_of(words, kind=RimComposer, categories=5, names=CATEGORIES, **options):
    torch.manual_seed(7)
    sizes = (3, 2) if kind is RimComposer else ()
    embedding = nn.Embedding(len(words), 8, words.pad())
    network = kind(embedding, *sizes, categories=categories).double()
    return GrammarComposer(ComposerModel(network, ComposerConfig()), words, names, **options)


def composed(tool, sentence):
    tokens = [tool.words.index(word.lower()) for word in sentence.split()]
    return tool.model.compose(torch.tensor([tokens]), torch.tensor([len(tokens)]), keep=True)


@pytest.mark.parametrize("kind", [RimComposer, LstmComposer])
@pytest.mark.parametrize("batch_words", [1, 4000])
def test_trees_are_those_of_the_model(words, kind, batch_words):
    tool = tool_of(words, kind, batch_words=batch_words)
    found, vectors = list(tool.trees(SENTENCES)), tool.vectors(SENTENCES)
    assert tool.tree_kind == "constituents" and vectors.shape == (4, 8)
    for sentence, one, tree, vector in zip(SENTENCES, found, tool.parse(SENTENCES), vectors,
                                           strict=True):  # fmt: skip
        alone = composed(tool, sentence)
        spans = alone.spans()[0]
        names = [CATEGORIES[number] for number in alone.categories[0]]
        named = dict(zip(spans, names, strict=True))
        assert one.words == tuple(sentence.split()) == tuple(leaves_of(tree))
        assert set(one.spans) == {span for span in spans if span[1] - span[0] > 1}
        assert one.labels == tuple(named[span] for span in one.spans)
        assert one.tags == tuple(named[i, i + 1] for i in range(len(one.words)))
        expected = Counter((part, span) for span in one.spans for part in named[span].split("+"))
        assert Counter(spans_of(tree)) == expected  # joined categories are taken apart
        assert "+" not in to_line(tree) and all(len(leaf) for leaf in tree.subtrees())
        assert torch.allclose(vector.double(), alone.symbols[0], atol=1e-6)


def test_given_tags_replace_the_models(words):
    raw = tool_of(words).parse(["the cat sees"])
    (given,) = tool_of(words, tags="given").trees(["the/DT cat/NN/S sees/V"])
    assert given.words == ("the", "cat/NN", "sees")
    (given,) = tool_of(words, tags="given").parse(["the/D cat/N sees/V"])
    assert [tag.split("+")[-1] for tag in "DNV"] == [tag for _, tag in given.pos()]
    assert spans_of(given) == spans_of(raw[0])
    (bare,) = tool_of(words, categories=0, tags="given").parse(["the/D cat/N"])
    assert to_line(bare) == "(X (D the) (N cat))"
    (marks,) = tool_of(words, categories=0, tags="given").parse(["(/( cat/N+)"])
    assert to_line(marks) == "(X (-LRB- -LRB-) (N&-RRB- cat))"
    (one,) = tool_of(words, categories=0).parse(["cat"])
    assert to_line(one) == "(X cat)"
    for line, message in (
        ("a/D cat", "'cat' has no tag"), ("a/D cat/", "'cat/' has no tag"),
        ("/D", "'/D' has no word"), ("/", "'/' has no tag"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=f"line 2: {message}; with --tags given"):
            list(tool_of(words, tags="given").trees(["a/D", line]))


def test_without_categories_there_are_no_labels(words):
    tool = tool_of(words, categories=0)
    (one,) = tool.trees(SENTENCES[:1])
    assert one.labels is one.tags is None and not one.labelled
    (steps,) = tool.steps(SENTENCES[:1])
    assert steps.categories is None
    assert all(symbol.category is None for row in steps.sequences() for symbol in row)


def test_own_steps(words):
    tool = tool_of(words)
    for sentence, one in zip(SENTENCES, tool.steps(SENTENCES), strict=True):
        alone = composed(tool, sentence)
        assert one.spans == tuple(alone.spans()[0]) and not one.gold
        live = alone.live[0]
        assert torch.equal(one.live, live)
        assert torch.allclose(one.attention[live], alone.attention[0][live].float(), atol=1e-6)
        assert torch.allclose(one.shares, alone.shares[0].float(), atol=1e-6)
        rows = list(one.sequences())
        n = len(one.words)
        assert [symbol.span for symbol in rows[0]] == [(i, i + 1) for i in range(n)]
        assert all(symbol.category is None for symbol in rows[0])
        for row, step, after, name in zip(rows, one.spans, rows[1:], one.categories, strict=False):
            kept = [symbol.span for symbol in row
                    if not (step[0] <= symbol.span[0] and symbol.span[1] <= step[1])]  # fmt: skip
            assert sorted([*kept, step]) == [symbol.span for symbol in after]
            assert [s.category for s in after if s.span == step] == [name]


def test_gold_steps(words):
    tool = tool_of(words)
    first, second, third = tool.steps_along(GOLD)
    assert first.words == ("the", "cat", "sees", ".") and first.gold
    assert first.categories == (".", "VP+V", "NN", "DT", "NP", "S")
    assert first.spans == ((3, 4), (2, 3), (1, 2), (0, 1), (0, 2), (0, 4))
    assert third.categories == ("NP+NN", "V", "S+VP")
    tokens = torch.tensor([[words.index(word) for word in first.words]])
    starts, ends = (torch.tensor([[span[side] for span in first.spans]]) for side in (0, 1))
    alone = tool.model(tokens, torch.tensor([4]), starts, ends, torch.tensor([6]))
    assert torch.allclose(first.attention[first.live], alone.attention[0][first.live].float(),
                          atol=1e-6)  # fmt: skip
    assert second.words == (".",)
    plain = tool_of(words, lists=ListOptions(punctuation=False, unary="own"))
    first, second, _ = plain.steps_along(GOLD)
    assert second is None and first.categories == ("V", "VP", "NN", "DT", "NP", "S")
    with pytest.raises(InputError, match="f:4: 3 words, more than the 2 allowed"):
        long = ("f:4", Tree.fromstring("(S (a b) (a b) (a b))"))
        list(tool_of(words, longest=2).steps_along([long]))
    with pytest.raises(InputError, match="f:5: a word without a part-of-speech tag"):
        list(tool.steps_along([("f:5", Tree.fromstring("(S a b)"))]))


def test_units_are_counted(words):
    tool = tool_of(words)
    found = tool.units(GOLD)
    by_hand, sets = Counter(), Counter()
    for one in tool.steps_along(GOLD):
        for (start, end), name, shares in zip(one.spans, one.categories, one.shares, strict=True):
            tag = name.split("+")[-1 if end - start == 1 else 0]
            active = tuple((shares > 0).tolist())
            assert sum(active) == 2
            sets[tag, active] += 1
            by_hand.update((tag, unit) for unit in range(3) if active[unit])
    assert found.tags == (".", "NN", "S", "V", "DT", "NP")
    assert found.counts.tolist() == [2, 2, 2, 2, 1, 1]
    for row, tag in enumerate(found.tags):
        assert found.active[row].tolist() == [by_hand[tag, unit] for unit in range(3)]
        assert int(found.counts[row]) == sum(n for (own, _), n in sets.items() if own == tag)
        assert sorted(found.sets[row][found.sets[row] > 0].tolist()) == sorted(
            n for (own, _), n in sets.items() if own == tag
        )
    with pytest.raises(InputError, match="has no units"):
        tool_of(words, LstmComposer).units(GOLD)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"beam": 0}, "--beam must be 1 or more"), ({"tags": "some"}, "--tags")],
)
def test_bad_options(words, options, message):
    with pytest.raises(InputError, match=message):
        tool_of(words, **options)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A few updates of a model with categories, and its data."""
    folder = tmp_path_factory.mktemp("composer")
    assert main(["prepare", "transformation_lists", "generated", f"{folder}/data",
                 "--sentences=60", "--least-count=1"]) == 0  # fmt: skip
    run("train", folder / "data" / "data-bin", f"--user-dir={USER_DIR}", "--arch=rim_composer",
        "--task=grammar_induction", "--criterion=grammar_induction", "--embed-dim=8", "--units=3",
        "--top-k=2", "--key-size=4", "--predict-category", "--optimizer=adam", "--lr=0.02",
        "--batch-size=8", "--max-update=4", "--num-workers=0", "--no-epoch-checkpoints",
        "--disable-validation", "--no-progress-bar", f"--save-dir={folder}")  # fmt: skip
    return folder


@pytest.fixture
def command(monkeypatch, capsys):
    """A command with lines as standard input: its status, output, messages."""

    def call(*arguments, lines=()):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        capsys.readouterr()
        status = main(list(map(str, arguments)))
        return status, *capsys.readouterr()

    return call


def test_parse_evaluate_and_draw(trained, command):
    model, gold = trained / "checkpoint_last.pt", trained / "data" / "trees" / "test.txt"
    text, tagged = (
        (trained / "data" / kind / "test.txt").read_text().splitlines()
        for kind in ("text", "tagged")
    )
    status, brackets, said = command("parse", model, "--beam=2", lines=text)
    assert status == 0 and f"{len(text)} trees" in said
    (trained / "own.txt").write_text(brackets)
    own = [tree for _, tree in read_trees(trained / "own.txt")]
    assert [to_line(tree) for tree in load(model, beam=2).parse(text)] == brackets.splitlines()
    assert [leaves_of(tree) for tree in own] == [line.split() for line in text]
    status, scores, _ = command("evaluate", gold, trained / "own.txt", "--json")
    assert status == 0 and 0 <= json.loads(scores)["f1_labelled"] <= 100
    status, scores, _ = command("evaluate", gold, gold, "--json")
    assert json.loads(scores)["f1_labelled"] == 100
    _, brackets, _ = command("parse", model, "--tags=given", lines=tagged[:2])
    assert [f"{word}/{tag}" for word, tag in Tree.fromstring(brackets.splitlines()[0]).pos()] == (
        tagged[0].split()
    )
    _, page, _ = command("parse", model, "--format=html", lines=text[:2])
    assert page.count("<svg ") == 2 and all(f">{word}<" in page for word in text[0].split())
    status, page, _ = command("draw", model, lines=text[:2])  # steps, if nothing is asked for
    assert status == 0 and page.count("<svg ") == 2 and 'fill="currentColor" fill-opacity' in page
    status, page, _ = command("draw", model, "--what=steps", "--gold", gold)
    assert status == 0 and page.count("<svg ") == len(text) and "ADJP+JJ" in page
    status, page, _ = command("draw", model, "--what=units", "--gold", gold, "--output",
                              trained / "units.png")  # fmt: skip
    assert status == 0 and (trained / "units.png").read_bytes().startswith(b"\x89PNG")
    status, page, _ = command("draw", model, "--what=units", "--gold", gold)
    assert "normalised mutual information" in page and ">NP " in page
    status, page, _ = command("draw", model, "--what=trees", lines=text[:1])
    assert status == 0 and page.count("<svg ") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["draw", "--what=units"], "--what units needs --gold FILE"),
        (["draw", "--what=attention"], "has no attention to draw"),
        (["draw", "--what=steps", "--gold={}/bad.txt"], "bad.txt:1: this tree is not closed"),
        (["draw", "--what=units", "--gold={}/empty.txt"], "empty.txt: contains no tree"),
        (
            ["draw", "--what=steps", "--gold={}/untagged.txt"],
            "untagged.txt:2: a word without a part-of-speech tag",
        ),
        (["draw", "--what=steps", "--gold={}/null.txt"], "null.txt:1: a tree without words"),
        (["draw", "--what=units", "--gold={}/bad.txt", "--beam=2"], "--beam does not apply"),
        (["draw", "--what=steps", "--gold={}/bad.txt", "--tags=given"], "--tags does not apply"),
        (["parse", "--beam=0"], "--beam must be 1 or more, not 0"),
        (["parse", "--layer=1"], "--layer does not apply to this model"),
    ],
)
def test_refused(trained, command, arguments, message):
    (trained / "bad.txt").write_text("(S (A a)\n")
    (trained / "empty.txt").write_text("\n")
    (trained / "untagged.txt").write_text("(S (A a))\n(S (NP the dog) barks)\n")
    (trained / "null.txt").write_text("(S (NP (-NONE- *)))\n")
    verb, *options = (one.format(trained) for one in arguments)
    status, _, said = command(verb, trained / "checkpoint_last.pt", *options, lines=["a b"])
    assert status != 0 and message in said
