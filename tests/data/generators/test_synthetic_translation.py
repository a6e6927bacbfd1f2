"""The generated corpus has the stated trees, agreement, and one translation for each sentence.

Agreement is checked on the written files by the endings of the words, not by the grammar's tables.
"""

import random
import re

import nltk
import pytest

from fairseq_struct.data.generators.synchronous_grammar import SOURCE, TARGET, Entry, Grammar
from fairseq_struct.data.generators.synthetic_translation import (
    DOMAINS,
    RECURSIVE,
    RULES,
    build_grammar,
    build_lexicon,
    generate_corpus,
)
from fairseq_struct.errors import InputError

SIZES = {"train": 600, "valid": 50, "test": 50}
SIDES = {"src": 0, "tgt": 1}


@pytest.fixture(scope="module")
def corpus():
    return generate_corpus(SIZES, max_depth=3, seed=5)


@pytest.fixture(scope="module")
def parsed(corpus):
    """For each side the dependency trees of all training sentences, as lists of columns."""
    return {name: read_conllu(corpus.companions[f"trees/train.{name}.conllu"]) for name in SIDES}


def read_conllu(lines):
    """Return for each sentence its words as (form, tag, head, relation)."""
    blocks = "\n".join(lines).strip().split("\n\n")
    rows = [[row.split("\t") for row in b.split("\n") if row[0] != "#"] for b in blocks]
    assert all(int(r[0]) == i for block in rows for i, r in enumerate(block, start=1))
    return [[(r[1], r[4], int(r[6]), r[7]) for r in block] for block in rows]


def subject(words, i):
    """Return the position of the subject of the verb at i: its own, or the noun it modifies."""
    for j, (_, _, head, relation) in enumerate(words):
        if head == i + 1 and relation == "nsubj":
            return j
    assert words[i][3] == "acl"
    return words[i][2] - 1


def verbs(words):
    return [i for i, word in enumerate(words) if word[1].startswith("V")]


def noun_features(noun):
    """Return gender, number and case of a noun of the made-up language, from its ending."""
    vowel, plural, oblique = re.fullmatch(r".*?[^aeiou]([ua])(r?)((?:(?<=r)i)?n)?", noun).groups()
    return {"u": "m", "a": "f"}[vowel], "pl" if plural else "sg", "obl" if oblique else "nom"


def test_sizes_and_disjoint_splits(corpus):
    sources = {split: [pair[0] for pair in pairs] for split, pairs in corpus.splits.items()}
    assert {split: len(x) for split, x in sources.items()} == SIZES
    assert len({sentence for x in sources.values() for sentence in x}) == sum(SIZES.values())


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("split", SIZES)
def test_constituents_spell_the_sentence(corpus, split, side):
    brackets = corpus.companions[f"trees/{split}.{side}.brackets"]
    assert len(brackets) == SIZES[split]
    for line, pair in zip(brackets, corpus.splits[split], strict=True):
        tree = nltk.Tree.fromstring(line)
        assert tree.label() == "TOP"
        assert tree.leaves() == pair[SIDES[side]].split()
        assert all(len(subtree) > 0 for subtree in tree.subtrees())


@pytest.mark.parametrize("side", SIDES)
def test_heads_form_a_single_root_projective_tree(parsed, corpus, side):
    for words, pair in zip(parsed[side], corpus.splits["train"], strict=True):
        assert [word[0] for word in words] == pair[SIDES[side]].split()
        heads = [word[2] for word in words]
        assert heads.count(0) == 1 and words[heads.index(0)][3] == "root"
        for start in range(1, len(heads) + 1):
            seen, node = set(), start
            while node:
                assert node not in seen, "cycle"
                seen.add(node)
                node = heads[node - 1]
        arcs = [tuple(sorted((i, head))) for i, head in enumerate(heads, start=1)]
        assert not any(a < c < b < d for a, b in arcs for c, d in arcs), "crossing arcs"


@pytest.mark.parametrize("side", SIDES)
def test_every_constituent_has_one_head_outside_itself(parsed, corpus, side):
    brackets = corpus.companions[f"trees/train.{side}.brackets"]
    for words, line in zip(parsed[side], brackets, strict=True):
        tree = nltk.Tree.fromstring(line)
        for position in tree.treepositions():
            if isinstance(tree[position], str):
                continue
            first = sum(
                len(tree[position[:k]][i].leaves())
                for k in range(len(position))
                for i in range(position[k])
            )
            inside = range(first + 1, first + len(tree[position].leaves()) + 1)
            assert sum(words[i - 1][2] not in inside for i in inside) == 1


def test_target_agreement_and_case(parsed):
    verb_ending = {("m", "sg"): "et", ("f", "sg"): "is", ("m", "pl"): "on", ("f", "pl"): "on"}
    adjective_ending = {
        ("m", "sg"): "el",
        ("f", "sg"): "ila",
        ("m", "pl"): "ori",
        ("f", "pl"): "ori",
    }
    adjectives = 0
    for words in parsed["tgt"]:
        for i in verbs(words):
            gender, number, _ = noun_features(words[subject(words, i)][0])
            assert words[i][0].endswith(verb_ending[gender, number]), words
        for form, tag, head, relation in words:
            if tag == "A":
                adjectives += 1
                gender, number, _ = noun_features(words[head - 1][0])
                assert form.endswith(adjective_ending[gender, number]), words
            if tag == "N":
                case = noun_features(form)[2]
                assert case == ("nom" if relation == "nsubj" else "obl"), words
    assert adjectives > 100


def test_source_agreement(parsed, corpus):
    for source, target, align in zip(
        parsed["src"], parsed["tgt"], corpus.companions["trees/train.align"], strict=True
    ):
        translated = dict(tuple(map(int, pair.split("-"))) for pair in align.split())
        for i in verbs(source):
            noun = source[subject(source, i)][0]
            plural = noun.endswith("s") or noun == "mice"
            head = translated[i] + 1
            past = any(word[0] == "ta" and word[2] == head for word in target)
            assert source[i][0].endswith("s") == (not plural and not past), source


def test_agreement_is_often_at_a_distance(parsed):
    """Many sentences have a noun of another number between subject and verb."""
    misled = 0
    for words in parsed["tgt"]:
        for i in verbs(words):
            j = subject(words, i)
            between = words[min(i, j) + 1 : max(i, j)]
            number = noun_features(words[j][0])[1]
            misled += any(w[1] == "N" and noun_features(w[0])[1] != number for w in between)
    assert misled > 0.2 * len(parsed["tgt"])


def test_verbs_close_the_clause_and_modifiers_precede_the_noun(parsed):
    for words in parsed["tgt"]:
        for i, (_, _, head, relation) in enumerate(words, start=1):
            if relation in ("nsubj", "obj", "obl", "ccomp", "advmod", "acl", "nmod"):
                assert i < head
            if relation in ("amod", "det", "case", "mark", "aux"):
                assert i > head


def test_alignments_pair_translations(corpus):
    entries = {(e.source, e.target) for options in build_lexicon().values() for e in options}
    for (source, target), line in zip(
        corpus.splits["train"], corpus.companions["trees/train.align"], strict=True
    ):
        pairs = [tuple(map(int, pair.split("-"))) for pair in line.split()]
        words = source.split(), target.split()
        assert all((words[0][i], words[1][j]) in entries for i, j in pairs)
        for side, unaligned in ((0, "the"), (1, "ta")):
            used = [pair[side] for pair in pairs]
            assert len(set(used)) == len(used)
            assert {words[side][k] for k in set(range(len(words[side]))) - set(used)} <= {unaligned}


def test_no_word_has_two_parts_of_speech_but_that():
    categories = {}
    for (category, _), options in build_lexicon().items():
        for entry in options:
            categories.setdefault(entry.source, set()).add(category)
    shared = {word for word, found in categories.items() if len(found) > 1 and word}
    assert shared == {"that"}


def test_source_determines_tree_and_translation():
    """With one word of each kind the same sentence occurs many times."""
    lexicon = {key: entries[:1] for key, entries in build_lexicon().items()}
    grammar = Grammar.parse(RULES, lexicon, DOMAINS, RECURSIVE)
    generator, known, repeated = random.Random(3), {}, 0
    for _ in range(4000):
        node = grammar.derive("TOP", 4, generator)
        result = node.brackets(SOURCE), node.sentence(TARGET)
        repeated += node.sentence(SOURCE) in known
        assert known.setdefault(node.sentence(SOURCE), result) == result
    assert repeated > 500


def test_ambiguous_grammar_is_noticed():
    table = """
        1  TOP() -> *X()   =>  *
        1  TOP() -> *Y()   =>  *
    """
    lexicon = {("X", ()): [Entry("a", "x")], ("Y", ()): [Entry("a", "y")]}
    grammar = Grammar.parse(table, lexicon, {}, frozenset())
    with pytest.raises(AssertionError, match="'a' in two ways"):
        generate_corpus({"train": 5}, grammar=grammar)


def test_seed_decides_everything(corpus):
    assert generate_corpus(SIZES, max_depth=3, seed=5) == corpus
    other = generate_corpus(SIZES, max_depth=3, seed=6)
    assert other.splits["test"] != corpus.splits["test"]


@pytest.mark.parametrize("max_depth", [1, 2, 4])
def test_depth_bounds_the_nesting(max_depth):
    grammar, generator = build_grammar(), random.Random(1)
    deepest = 0
    for _ in range(300):
        tree = nltk.Tree.fromstring(grammar.derive("TOP", max_depth, generator).brackets(SOURCE))
        for leaf in range(len(tree.leaves())):
            position = tree.leaf_treeposition(leaf)
            labels = [tree[position[:k]].label() for k in range(len(position))]
            deepest = max(deepest, sum(label in RECURSIVE for label in labels))
    assert deepest == max_depth


def test_too_few_sentences():
    grammar = Grammar.parse("1 TOP() -> *X() => *", {("X", ()): [Entry("a", "x")]}, {}, frozenset())
    with pytest.raises(InputError, match="only 1 distinct sentences of depth 2"):
        generate_corpus({"train": 2, "test": 1}, max_depth=2, grammar=grammar)


@pytest.mark.parametrize(
    "rule",
    [
        "X() -> *Y()  =>  *",
        "1  X() -> *Y() Z()  =>  *",
        "1  X() -> *Y() a=Z()  =>  *",
        "1  X() -> b=Y() a=Z()  =>  a b",
        "1  X() -> *Y() *Z()  =>  * *",
    ],
)
def test_malformed_rule_is_refused(rule):
    with pytest.raises(ValueError, match="not a rule"):
        Grammar.parse(rule, {}, {}, frozenset())


def test_nothing_to_derive():
    grammar = Grammar.parse("1  S() -> *S()  =>  *", {}, {}, frozenset({"S"}))
    with pytest.raises(ValueError, match="nothing derives S"):
        grammar.derive("S", 3, random.Random(0))
