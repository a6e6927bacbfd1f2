"""The prepared folder of transformation lists, and what reads it."""

import json

import numpy as np
import pytest
from preparers import check_fails, contents

from fairseq_struct.data.prepared.list_folder import divided, write_list_folder
from fairseq_struct.data.prepared.listed_part import (
    read_categories,
    read_list_settings,
    read_part,
)
from fairseq_struct.data.prepared.vocabulary.dictionary_file import load_dictionary
from fairseq_struct.data.readers.bracket_trees import leaves_of, read_trees
from fairseq_struct.data.readers.transformation_lists import (
    ListOptions,
    read_lists,
    steps_of,
    word_spans,
)
from fairseq_struct.errors import InputError

NAME = "transformation_lists"
# Twelve sentences of two words or more, and one of one word. Only one has a QP.
SENTENCES = [
    f"( (S (NP-SBJ (DT The) (NN n{number})) (VP (VBZ sees) (NP (NN it))) (. .)) )"
    for number in range(10)
] + ["(NN one)", "(S (NP (-NONE- *)) (VP (VB Go) (ADVP (RB on))))", "(QP (CD 1) (CD 2))"]


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    path = tmp_path_factory.mktemp("trees") / "some.mrg"
    path.write_text("\n".join(SENTENCES) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(trees, tmp_path_factory):
    """A prepared folder that no test changes."""
    out = tmp_path_factory.mktemp("lists") / "out"
    write_list_folder(read_lists(trees, ListOptions()), out, ListOptions())
    return out


@pytest.fixture
def data(folder, tmp_path):
    """A copy to damage."""
    (tmp_path / "data-bin").mkdir()
    for path in (folder / "data-bin").iterdir():
        (tmp_path / "data-bin" / path.name).write_bytes(path.read_bytes())
    return tmp_path / "data-bin"


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


def test_the_command_writes_the_same_folder_again_and_keeps_it(run, trees, folder, tmp_path):
    out = tmp_path / "out"
    status, said, _ = run(NAME, [trees, out])
    assert status == 0 and contents(out) == contents(folder)
    assert "train: 8 sentences, " in said and "sentences of one word, left out: 1" in said
    assert f"fairseq-struct train {out} --preset rim_parser_cpu" in said
    assert "nothing to do" in run(NAME, [trees, out])[1]
    check_fails(run(NAME, [trees, out, "--seed", 2]), "seed (1, now 2)")
    check_fails(run(NAME, [trees, out, "--unary", "own"]), "unary (merge, now own)")
    assert run(NAME, [trees, out, "--seed", 2, "--overwrite"])[0] == 0
    assert contents(out) != contents(folder)


def test_the_manifest_counts(folder):
    manifest = manifest_of(folder)
    assert manifest["sentences"] == {"train": 8, "valid": 1, "test": 3}
    assert manifest["one_word_sentences_left_out"] == 1
    steps = {name: steps_in(folder, name) for name in manifest["sentences"]}
    assert manifest["steps"] == {name: len(own) for name, own in steps.items()}
    every = [step for own in steps.values() for step in own]
    single = [step for step in every if step.end - step.start == 1]
    assert manifest["single_word_steps"] == round(100 * len(single) / len(every), 1)
    known = {step.category for step in steps["train"]}
    assert manifest["categories"] == len(known)
    tags = "S NP DT NN VP VBZ . VB ADVP RB QP CD".split()
    assert manifest["tags"] == len(tags)
    unknown = {
        name: sum(step.category not in known for step in steps[name]) for name in ("valid", "test")
    }
    assert manifest["steps_of_unknown_category"] == unknown
    assert sum(unknown.values()) > 0  # the division of this seed puts the QP or the VP+VB there


def steps_in(folder, name):
    found = read_trees(folder / "trees" / f"{name}.txt")
    return [step for _, tree in found for step in steps_of(tree)]


@pytest.mark.parametrize("name", ["train", "valid", "test"])
def test_what_is_written_is_read(folder, name):
    data = folder / "data-bin"
    part, categories = read_part(data, name), read_categories(data)
    dictionary = load_dictionary(data / "dict.txt")
    trees = [tree for _, tree in read_trees(folder / "trees" / f"{name}.txt")]
    lists = [steps_of(tree) for tree in trees]
    words = [leaves_of(tree) for tree in trees]
    assert part.sizes.tolist() == [[len(w), len(s)] for w, s in zip(words, lists, strict=True)]
    assert part.words.tolist() == [dictionary.index(w.lower()) for own in words for w in own]
    numbers = {category: number for number, category in enumerate(categories)}
    steps = [[s.start, s.end, numbers.get(s.category, -1)] for own in lists for s in own]
    assert part.steps.tolist() == steps
    spans = [list(s) for w, own in zip(words, lists, strict=True) for s in word_spans(own, len(w))]
    assert part.spans.tolist() == spans
    lengths = [
        len(w) - sum(s.end - s.start - 1 for s in own[:step])
        for w, own in zip(words, lists, strict=True)
        for step in range(len(own))
    ]
    assert part.lengths.tolist() == lengths
    text = (folder / "text" / f"{name}.txt").read_text().splitlines()
    assert text == [" ".join(own) for own in words]
    tagged = (folder / "tagged" / f"{name}.txt").read_text().splitlines()
    pairs = [[pair.rsplit("/", 1) for pair in line.split()] for line in tagged]
    assert [[word for word, _ in line] for line in pairs] == words
    plain = [[tag.split("+")[-1] for _, tag in tree.pos()] for tree in trees]
    assert [[tag for _, tag in line] for line in pairs] == plain


def test_dictionaries(folder):
    """Lower case; words that occur once are unknown; categories without fairseq's symbols."""
    data = folder / "data-bin"
    assert read_list_settings(data)[:2] == (ListOptions(), True)
    words = load_dictionary(data / "dict.txt")
    assert words.index("the") != words.unk() == words.index("n1") == words.index("The")
    categories = read_categories(data)
    assert {"NP", "NP+NN", "S"} <= set(categories) and "<pad>" not in categories


def test_options_of_the_command(run, trees, tmp_path):
    options = [
        *("--punctuation", "remove", "--unary", "own", "--shortest", 3, "--longest", 4),
        *("--least-count", 1, "--no-lower", "--test-share", 0.4, "--valid-share", 0.5),
    ]
    assert run(NAME, [trees, tmp_path / "out", *options])[0] == 0
    found = manifest_of(tmp_path / "out")
    assert found["sentences"] == {"train": 3, "valid": 3, "test": 4}
    assert found["one_word_sentences_left_out"] == 0
    data = tmp_path / "out" / "data-bin"
    assert read_list_settings(data) == (ListOptions(False, "own", 3, 4), False, {"NN", "DT", "VBZ"})
    assert set(read_categories(data)) == {"S", "NP", "VP", "DT", "NN", "VBZ"}
    words = load_dictionary(data / "dict.txt")
    assert "The" in words and "the" not in words and len(words) == 4 + 3 + 3


def test_a_drawn_corpus(run, tmp_path):
    out = tmp_path / "out"
    assert run(NAME, ["generated", out, "--sentences", 40])[0] == 0
    manifest = manifest_of(out)
    assert manifest["sentences"] == {"train": 27, "valid": 3, "test": 10}
    assert manifest["options"]["sentences"] == 40
    texts = [(out / "text" / f"{name}.txt").read_text().splitlines() for name in ("train", "test")]
    assert not set(texts[0]) & set(texts[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["TREES", "--sentences", 5], "--sentences is for generated trees only"),
        (["generated", "--sentences", 0], "0 is less than 1"),
        (["TREES", "--shortest", 0], "0 is less than 1"),
        (["TREES", "--shortest", 5, "--longest", 4], "no sentence has 5 words or more, but 4"),
        (["TREES", "--shortest", 6], "some.mrg: no sentence is left"),
        (["generated", "--longest", 1], "generated: no sentence is left"),
        (["TREES", "--test-share", 0], "0 is not between 0 and 1"),
        (["TREES", "--valid-share", 1], "1 is not between 0 and 1"),
        (["TREES", "--valid-share", "x"], "'x' is not a number"),
        (["TREES", "--valid-share", 0.01], "the valid part is empty: 12 sentences of two words"),
        (["TREES", "--longest", 1], "the train part is empty: 0 sentences of two words or more"),
        (["TREES", "--least-count", 99], "--least-count 99 leaves no word"),
        (["absent.mrg"], "absent.mrg: no such file"),
    ],
)
def test_what_is_refused_leaves_nothing_behind(run, trees, tmp_path, arguments, message):
    first, *options = arguments
    status, _, complaint = run(NAME, [trees if first == "TREES" else first, tmp_path / "out",
                                      *options])  # fmt: skip
    assert status == 2 and message in complaint
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(S (NN <pad>) (NN b))", "x.mrg:1: <pad> is one of fairseq's own symbols"),
        ("(</s> (NN a) (NN b))", "x.mrg:1: </s> is one of fairseq's own symbols"),
        ("(S (-NONE- 0))", "x.mrg:1: a tree without words"),
        ("(S (NN a)", "x.mrg:1: this tree is not closed"),
    ],
)
def test_bad_trees_are_refused_with_their_line(run, tmp_path, line, message):
    path = tmp_path / "x.mrg"
    path.write_text(f"{line}\n")
    check_fails(run(NAME, [path, tmp_path / "out"]), message)
    assert [*tmp_path.iterdir()] == [path]


def test_parts_are_drawn_at_random():
    numbers = [*range(100)]
    parts = divided(numbers, 0.25, 0.1, 1)
    assert {name: len(part) for name, part in parts.items()} == {
        "train": 67, "valid": 8, "test": 25
    }  # fmt: skip
    assert sorted(number for part in parts.values() for number in part) == numbers
    assert all(part == sorted(part) for part in parts.values())
    assert divided(numbers, 0.25, 0.1, 2) != parts == divided(numbers, 0.25, 0.1, 1)
    assert parts["test"] != numbers[:25]


def change(path, place, value):
    array = np.load(path)
    array[place] = value
    np.save(path, array)


def cut(path):
    path.write_bytes(path.read_bytes()[:-6])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda at: (at / "valid.sentences.npy").unlink(), "there is no part 'valid'"),
        (lambda at: (at / "valid.words.npy").unlink(), "valid.words.npy: no such file"),
        (lambda at: (at / "valid.steps.npy").unlink(), "valid.steps.npy: no such file"),
        (lambda at: (at / "dict.txt").unlink(), "dict.txt: no such file"),
        (lambda at: (at / "dict.txt").write_text("the\n"), "dict.txt:1: expected a word and"),
        (lambda at: (at / "dict.txt").write_text("the 3\n"), "a word that the dictionary lacks"),
        (lambda at: (at / "dict.categories.txt").write_text("S 3\n"), "a category that the dict"),
        (lambda at: cut(at / "valid.steps.npy"), "valid.steps.npy: damaged"),
        (lambda at: (at / "valid.words.npy").write_bytes(b""), "valid.words.npy: damaged"),
        (lambda at: np.save(at / "valid.steps.npy", np.zeros((9, 3))), "steps.npy: damaged"),
        (lambda at: np.save(at / "valid.words.npy", np.zeros((5, 1), np.int32)), "words.npy: dam"),
        (lambda at: np.save(at / "valid.words.npy", np.zeros(9, np.int32)), "number of words"),
        (lambda at: np.save(at / "valid.steps.npy", np.ones((2, 3), np.int32)), "number of steps"),
        (lambda at: change(at / "valid.sentences.npy", (0, 0), 0), "the number of words"),
        (lambda at: change(at / "valid.words.npy", 0, -1), "a word that the dictionary lacks"),
        (lambda at: change(at / "valid.steps.npy", (0, 2), -2), "a category that the dictionary"),
        (lambda at: change(at / "valid.steps.npy", (0, 2), 99), "a category that the dictionary"),
        (lambda at: change(at / "valid.steps.npy", (0, 0), 0), r"damaged \(step \(0, "),
        (lambda at: change(at / "valid.steps.npy", (-1, 1), 2), "are left, not a tree"),
    ],
)
def test_damaged_folders_are_refused(data, damage, message):
    read_part(data, "valid")
    damage(data)
    with pytest.raises(InputError, match=message):
        read_part(data, "valid")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "lists.json: no such file; fairseq-struct prepare transformation_lists"),
        ("{", "lists.json: damaged"),
        ("[" * 100_000, "lists.json: damaged"),
        ('{"options": {"length": 3}, "lower": true}', "lists.json: damaged"),
        ('{"options": {}, "lower": 1}', "lists.json: damaged"),
        ('{"options": {"punctuation": "keep"}, "lower": true}', "lists.json: damaged"),
        ('{"options": {"shortest": "3"}, "lower": true}', "lists.json: damaged"),
        ('{"options": {"unary": "drop"}, "lower": true}', "unary 'drop': must be one of"),
    ],
)
def test_damaged_options_are_refused(data, content, message):
    path = data / "lists.json"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_list_settings(data)
