"""The generated corpus of dependencies, its folder, and a model trained on it."""

from collections import Counter, defaultdict

import pytest
from fairseq_commands import USER_DIR, run, warm_python
from small_masked_models import logged

from fairseq_struct.cli.main import main
from fairseq_struct.data.generators.synthetic_dependencies import CLASSES, generate_dependencies
from fairseq_struct.data.readers.conllu import read_conllu, to_conllu
from fairseq_struct.errors import InputError
from fairseq_struct.metrics.attachment import AttachmentScores
from fairseq_struct.structure.dependency import chains

SIZES = {"train": 400, "valid": 50, "test": 50}


def prepare(*arguments):
    return main(["prepare", "dependency_treebank", *map(str, arguments)])


@pytest.fixture(autouse=True)
def warm():
    with warm_python():
        yield


@pytest.fixture(scope="module")
def corpus():
    return generate_dependencies(SIZES, seed=3)


def test_splits_are_apart_and_the_same_for_a_seed(corpus):
    assert {name: len(trees) for name, trees in corpus.items()} == SIZES
    texts = {name: {tree.words for tree in trees} for name, trees in corpus.items()}
    assert not texts["train"] & texts["valid"] and not texts["train"] & texts["test"]
    assert generate_dependencies(SIZES, seed=3) == corpus
    assert generate_dependencies(SIZES, seed=4) != corpus
    with pytest.raises(InputError, match="1 sentence or more"):
        generate_dependencies({"train": 0})


def test_words_choose_what_depends_on_them(corpus):
    chosen, classes = defaultdict(Counter), Counter()
    for tree in corpus["train"]:
        assert 1 <= len(tree.words) <= 20 and tree.heads.count(0) == 1
        for child, head in enumerate(tree.heads):
            if head:
                chosen[tree.words[head - 1], tree.relations[child]][tree.words[child]] += 1
            classes[tree.tags[child]] += 1
    assert set(classes) == set(CLASSES)
    counts = [sum(c.values()) for c in chosen.values()]
    top = [sum(n for _, n in c.most_common(2)) for c in chosen.values()]
    assert sum(top) / sum(counts) > 0.85  # of the two favourites, and some by chance


def test_trees_are_projective(corpus):
    for tree in corpus["valid"]:
        for child, head in enumerate(tree.heads, 1):
            for between in range(min(child, head) + 1, max(child, head)):
                above = between
                while above not in (0, head):
                    above = tree.heads[above - 1]
                assert above == head or head == 0


def test_the_folder(tmp_path, capsys):
    out = tmp_path / "out"
    assert prepare("generated", out, "--sentences", 60, 8, 8) == 0
    assert "60 sentences" in capsys.readouterr().out
    for split, size in (("train", 60), ("valid", 8), ("test", 8)):
        lines = (out / "text" / f"{split}.txt").read_text().splitlines()
        trees = list(read_conllu(out / "trees" / f"{split}.conllu"))
        assert [" ".join(tree.words) for tree in trees] == lines and len(lines) == size
        assert all(tree.tags and tree.relations for tree in trees)
    assert (out / "data-bin" / "train.idx").is_file()
    assert prepare("generated", out, "--sentences", 60, 8, 8) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert prepare("generated", out, "--sentences", 60, 8, 8, "--seed", 2) == 2
    assert "options: seed (1, now 2); name another folder or replace this one with --overwrite" in (
        capsys.readouterr().err
    )


def test_a_treebank_loses_punctuation_case_numbers_and_rare_words(tmp_path, capsys):
    words = "Dogs bark 12 times .".split()
    text = to_conllu(words, [2, 0, 4, 2, 2], (), ("NOUN", "VERB", "NUM", "NOUN", "PUNCT"),
                     ("nsubj", "root", "nummod", "obl", "punct"))  # fmt: skip
    other = to_conllu(["Cats", "bark"], [2, 0], (), ("NOUN", "VERB"), ("nsubj", "root"))
    (tmp_path / "a.conllu").write_text(text + text + other)
    (tmp_path / "b.conllu").write_text(other)
    files = [tmp_path / "a.conllu", tmp_path / "b.conllu", tmp_path / "b.conllu"]
    assert prepare("conllu", *files, tmp_path / "out", "--least-count", 2) == 0
    capsys.readouterr()
    lines = (tmp_path / "out" / "text" / "train.txt").read_text().splitlines()
    assert lines == ["dogs bark N times", "dogs bark N times", "<unk> bark"]
    assert (tmp_path / "out" / "text" / "test.txt").read_text() == "cats bark\n"
    tree = next(read_conllu(tmp_path / "out" / "trees" / "train.conllu"))
    assert (tree.words, tree.heads) == (("dogs", "bark", "N", "times"), (2, 0, 4, 2))
    assert prepare("conllu", *files, tmp_path / "as-is", "--as-is") == 0  # counts from 2 on
    lines = (tmp_path / "as-is" / "text" / "train.txt").read_text().splitlines()
    assert lines == ["Dogs bark 12 times .", "Dogs bark 12 times .", "<unk> bark"]
    capsys.readouterr()
    assert prepare("conllu", files[0], tmp_path / "no", files[1], tmp_path / "x") == 2
    assert f"{tmp_path / 'no'}: no such file" in capsys.readouterr().err
    assert prepare("conllu", *files, tmp_path / "x", "--least-count", 99) == 2
    assert "--least-count 99 leaves no word" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_dependencies_are_learnt_from_hidden_words(tmp_path):
    """UUAS of a UDGN rises from below 46, the UUAS of chains, to far above it."""
    out = tmp_path / "out"
    prepare("generated", out, "--sentences", 2500, 120, 10)
    output = run(
        "train", out / "data-bin", "--arch=udgn_tiny", f"--save-dir={tmp_path / 'run'}",
        "--task=structured_masked_lm", "--criterion=structured_masked_lm", "--optimizer=adam",
        f"--treebank={out / 'trees' / 'valid.conllu'}", "--lr=0.008", "--max-tokens=500",
        "--clip-norm=0.25", "--lr-scheduler=polynomial_decay", "--total-num-update=500",
        "--max-update=440", "--num-workers=0", "--no-progress-bar", "--log-format=json",
        "--no-save", f"--user-dir={USER_DIR}", "--valid-draws=1", "--log-interval=1000",
        "--embed-dim=48", "--layers=2", "--channels=4", "--channel-size=16", "--parser-size=32",
    )  # fmt: skip
    chain = AttachmentScores()
    for tree in read_conllu(out / "trees" / "valid.conllu"):
        chain.add(chains.right_chain(len(tree.heads)), tree.heads)
    found = logged(output, "valid_uuas")
    assert found[0] < chain.uuas < 50
    assert found[-1] > chain.uuas + 15
    assert logged(output, "valid_ppl")[-1] < 0.4 * logged(output, "valid_ppl")[0]
