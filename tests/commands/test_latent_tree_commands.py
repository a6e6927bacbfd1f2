"""Latent-tree models by the real commands: prepare, train, resume, classify, parse."""

import io
import json
import random
import re
import sys

import pytest
import torch
from fairseq_commands import ROOT, USER_DIR, run, start

import fairseq_struct
from fairseq_struct.cli.main import main
from fairseq_struct.data.readers.conllu import to_conllu
from fairseq_struct.errors import InputError

SPLITS = ("train", "valid", "test")
NOUNS = ["film", "plot", "cast"]
ADJECTIVES = {"good": "pos", "fine": "pos", "bad": "neg", "dull": "neg"}
SMALL = ["--embed-dim=24", "--hidden-size=24", "--optimizer=adam", "--lr=0.02", "--batch-size=8",
         "--no-epoch-checkpoints", "--no-progress-bar", "--log-format=json", "--num-workers=0",
         "--criterion=structured_classification", "--task=structured_classification",
         f"--user-dir={USER_DIR}"]  # fmt: skip


def sentences(count, seed):
    """Sentences of a noun and its adjective, with the usual arc between the two words."""
    draw = random.Random(seed)
    for _ in range(count):
        noun, (adjective, label) = draw.choice(NOUNS), draw.choice(list(ADJECTIVES.items()))
        if draw.random() < 0.5:
            yield ["the", noun, "is", adjective], [2, 4, 4, 0], label
        else:
            yield ["a", adjective, noun], [3, 3, 0], label


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("latent_tree")
    for seed, (split, count) in enumerate((("train", 96), ("valid", 20), ("test", 20))):
        rows = list(sentences(count, seed))
        lines = [f"{' '.join(words)}\t{label}\n" for words, _, label in rows]
        (folder / f"{split}.tsv").write_text("".join(lines))
        first = {" ".join(words): to_conllu(words, heads) for words, heads, _ in rows}
        (folder / f"{split}.conllu").write_text("".join(first.values()))
        lines = [
            f"{' '.join(a)}\t{' '.join(b)}\t{'same' if x == y else 'other'}\n"
            for (a, _, x), (b, _, y) in zip(rows, rows[1:] + rows[:1], strict=True)
        ]
        (folder / f"{split}.pairs").write_text("".join(lines))
    for out, suffix in (("single", "tsv"), ("pairs", "pairs")):
        files = [f"--{split}-file={folder}/{split}.{suffix}" for split in SPLITS]
        prepare("plain", folder / out, *files)
    return folder


def prepare(*arguments):
    """The exit status of the script, and its output."""
    done = start(sys.executable, ROOT / "preprocess" / "labelled_text.py", *arguments)
    said = done.communicate()[0]
    return done.returncode, said


def train(folder, save_dir, *arguments, arch="latent_tree_classifier", data="single"):
    return run("train", folder / data / "data-bin", f"--arch={arch}", f"--save-dir={save_dir}",
               *SMALL, *arguments)  # fmt: skip


def logged(log, subset, name):
    return [float(json.loads(line)[f"{subset}_{name}"])
            for line in re.findall(rf"(\{{.*{subset}_loss.*\}})", log)]  # fmt: skip


@pytest.fixture(scope="module")
def trained(prepared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    log = train(prepared, folder, "--latent-method=spigot_ce", "--max-epoch=8",
                f"--heads-path={prepared}/train.conllu", "--heads-weight=2")  # fmt: skip
    return folder / "checkpoint_best.pt", log


def cli(monkeypatch, capsys, text, *arguments):
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


def test_labels_and_trees_are_learned(trained, prepared, monkeypatch, capsys, tmp_path):
    checkpoint, log = trained
    assert logged(log, "valid", "accuracy")[-1] == 100
    assert logged(log, "valid", "macro_f1")[-1] == 100
    assert logged(log, "valid", "confusion_pos_neg")[-1] == 0
    assert sum(logged(log, "valid", f"confusion_{x}_{x}")[-1] for x in ("pos", "neg")) == 20
    rows = list(sentences(30, 9))
    text = "".join(f"{' '.join(words)}\n" for words, _, _ in rows)
    status, out, err = cli(monkeypatch, capsys, text, "parse", checkpoint)
    assert status == 0
    heads = [[int(line.split("\t")[6]) for line in tree.split("\n") if line[0] != "#"]
             for tree in out.strip().split("\n\n")]  # fmt: skip
    assert heads == [heads for _, heads, _ in rows]
    assert "30 trees, mean depth 2." in err
    trees = tmp_path / "trees.conllu"
    status, out, _ = cli(monkeypatch, capsys, text, "classify", checkpoint, "--trees", trees)
    assert [line.split("\t")[0] for line in out.splitlines()] == [label for *_, label in rows]
    assert trees.read_text().count("# label = ") == 30
    status, out, _ = cli(monkeypatch, capsys, text, "parse", checkpoint, "--format", "html")
    assert out.startswith("<!DOCTYPE html>") and out.count("<svg") == 30


def test_from_python(trained):
    model = fairseq_struct.load(trained[0])
    assert model.parse(["the film is bad", "film"]) == [(2, 4, 4, 0), (0,)]
    assert model.classify([["a good plot"], ["a dull plot"]]) == ["pos", "neg"]
    assert model.classify(["a good plot", "a dull plot"]) == ["pos", "neg"]
    with pytest.raises(InputError, match="--truncate does not apply"):
        fairseq_struct.load(trained[0], truncate=True)
    state = torch.load(trained[0], weights_only=True)
    for option in ("truncate", "longest_sentence"):  # as in versions without these options
        state["cfg"]["task"].pop(option)
    older = trained[0].with_name("older.pt")
    torch.save(state, older)
    assert fairseq_struct.load(older).classify(["a good plot"]) == ["pos"]
    next(iter(state["model"].values())).fill_(torch.nan)
    torch.save(state, trained[0].with_name("diverged.pt"))
    with pytest.raises(InputError, match="is not finite; its training has diverged"):
        fairseq_struct.load(trained[0].with_name("diverged.pt"))
    with pytest.raises(InputError, match="line 2: empty sentence"):
        model.parse(["a film", " "])
    torch.save({"model": {}}, trained[0].with_name("odd.pt"))
    with pytest.raises(InputError, match="odd.pt: not written by fairseq-train"):
        fairseq_struct.load(trained[0].with_name("odd.pt"))
    with pytest.raises(InputError, match=r"line 1: 2 sentence\(s\), but this model reads 1"):
        model.classify([["a film", "a film"]])


@pytest.mark.parametrize("method", ["baseline", "perturb_and_map"])
def test_a_resumed_run_repeats_the_uninterrupted_one(prepared, tmp_path, method):
    options = [f"--latent-method={method}", "--dropout=0.1"]
    whole = train(prepared, tmp_path / "whole", *options, "--max-epoch=3")
    train(prepared, tmp_path / "parts", *options, "--max-epoch=1")
    resumed = train(prepared, tmp_path / "parts", *options, "--max-epoch=3")
    assert logged(resumed, "valid", "loss") == logged(whole, "valid", "loss")[1:]
    assert len(logged(whole, "valid", "loss")) == 3


@pytest.mark.parametrize("method", ["baseline", "spigot", "marginals"])
def test_pairs(prepared, tmp_path, method, monkeypatch, capsys):
    # Other seeds need up to 24 epochs.
    log = train(prepared, tmp_path, f"--latent-method={method}", "--max-epoch=45", "--dropout=0",
                "--lr=0.007", "--validate-interval=3", "--save-interval=3",
                arch="latent_tree_entailment", data="pairs")  # fmt: skip
    assert max(logged(log, "valid", "accuracy")) >= 90
    checkpoint = tmp_path / "checkpoint_best.pt"
    text = "a good film\tthe plot is fine\na bad film\tthe plot is fine\n"
    status, out, _ = cli(monkeypatch, capsys, text, "classify", checkpoint)
    assert [line.split("\t")[0] for line in out.splitlines()] == ["same", "other"]
    status, out, err = cli(monkeypatch, capsys, "a film\n", "parse", checkpoint)
    if method == "baseline":
        assert status == 2 and "checkpoint_best.pt: infers no trees" in err
    else:
        assert status == 0 and out.count("\t_\t") > 0


def test_measures_do_not_depend_on_batches(prepared, tmp_path):
    seen = []
    for size in (3, 20):
        log = train(prepared, tmp_path / str(size), "--max-epoch=1", "--optimizer=sgd", "--lr=1e-9",
                    f"--batch-size-valid={size}")  # fmt: skip
        names = ("loss", "accuracy", "macro_f1", "tree_depth")
        seen.append([logged(log, "valid", name)[0] for name in names])
    assert seen[0] == pytest.approx(seen[1], abs=0.011, rel=0)  # of two or three digits


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--latent-method=spigott"], "unknown latent method 'spigott'"),
        (["--hidden-size=11"], "--hidden-size must be even"),
        (["--longest-sentence=3"], "sentence 1 has 4 words, more than --longest-sentence 3"),
        (["--truncate"], "--truncate needs --longest-sentence"),
        (["--embed-path=FOLDER/vectors"], r"vectors:1: 3 numbers, but embeddings have 24"),
        (["--embed-path=FOLDER/vectors", "--embed-dim=3"], "vectors: none of the data's words is"),
        (["--heads-path=FOLDER/other.conllu"], r"other.conllu:1: this sentence is not in the"),
        (["--heads-path=FOLDER/none"], "none: no such file"),
        (["--heads-path=FOLDER/crossing.conllu"], r"crossing.conllu:1: the model cannot build"),
        (["--heads-path=FOLDER/train.conllu", "--latent-method=baseline"], "models with latent"),
        (["--heads-path=FOLDER/empty.conllu"], "empty.conllu: contains no tree"),
        (["--criterion=cross_entropy"], "needs --criterion structured_classification, not cross"),
        (["--max-tokens=2"], "--max-tokens 2 is too small: a sentence has"),
        (["--pullback-step-size=0"], "pullback step size must be above 0"),
        (["--valid-subset=dev"], "there is no split 'dev'"),
    ],
)
def test_bad_options_end_in_one_sentence(prepared, tmp_path, options, message):
    (prepared / "vectors").write_text("Film 1 2 3\n")
    (prepared / "other.conllu").write_text(to_conllu(["film", "film"], [0, 1]))
    (prepared / "empty.conllu").write_text("")
    crossing = to_conllu("the film is good".split(), [3, 4, 0, 3])
    (prepared / "crossing.conllu").write_text(crossing)
    options = [option.replace("FOLDER", str(prepared)) for option in options]
    with pytest.raises(InputError, match=message):
        train(prepared, tmp_path, *options, "--max-epoch=1")
    assert not (tmp_path / "crash.pt").exists(), "told only after the first epoch has begun"


def test_long_sentences_are_cut_on_request(prepared, tmp_path):
    train(prepared, tmp_path, "--longest-sentence=3", "--truncate", "--max-epoch=1",
          f"--heads-path={prepared}/train.conllu")  # fmt: skip
    checkpoint = tmp_path / "checkpoint_best.pt"
    model = fairseq_struct.load(checkpoint, truncate=True)
    assert len(model.parse(["the film is bad"])[0]) == 3
    for answer in ("parse", "classify"):  # the training cut; who asks now may not know it
        with pytest.raises(InputError, match="4 words, more than the 3 allowed; --truncate cuts"):
            getattr(fairseq_struct.load(checkpoint), answer)(["the film is bad"])


def test_word_vectors_of_the_preset_are_trained_on_request(prepared, tmp_path):
    given = torch.linspace(-1, 1, 24)
    vectors = tmp_path / "vectors"
    vectors.write_text(" ".join(["film", *(f"{value:.6f}" for value in given.tolist())]) + "\n")
    for options in ([], ["--train-embeddings"]):
        folder = tmp_path / str(len(options))
        train(prepared, folder, f"--embed-path={vectors}", "--max-epoch=1", *options,
              arch="latent_tree_classifier_sst")  # fmt: skip
        model = fairseq_struct.load(folder / "checkpoint_best.pt")
        (embedding,) = (m for m in model.model.modules() if isinstance(m, torch.nn.Embedding))
        own = embedding.weight[model.words.index("film")]
        assert torch.allclose(own, given, atol=1e-5) == (not options)


def test_batches_can_be_made_by_tokens(prepared, tmp_path):
    train(prepared, tmp_path, "--max-tokens=40", "--max-epoch=1")
    assert (tmp_path / "checkpoint_best.pt").is_file()


def test_a_model_of_pairs_needs_pairs(prepared, tmp_path):
    with pytest.raises(InputError, match=r"reads 2 sentence\(s\) .* but the data have 1"):
        train(prepared, tmp_path, "--max-epoch=1", arch="latent_tree_entailment")
    assert not (tmp_path / "crash.pt").exists(), "told only after the first epoch has begun"


def test_raw_text_is_lower_cased_as_the_training_text_was(prepared, tmp_path):
    for split in SPLITS:
        text = (prepared / f"{split}.tsv").read_text().replace("the ", "The ")
        (tmp_path / f"{split}.tsv").write_text(text)
    files = [f"--{split}-file={tmp_path}/{split}.tsv" for split in SPLITS]
    assert prepare("plain", tmp_path / "data", *files, "--lower")[0] == 0
    upper = tmp_path / "upper.conllu"
    upper.write_text((prepared / "train.conllu").read_text().replace("the", "THE"))
    run("train", tmp_path / "data" / "data-bin", "--arch=latent_tree_classifier", *SMALL,
        f"--save-dir={tmp_path}/out", "--max-epoch=1", f"--heads-path={upper}")  # fmt: skip
    model = fairseq_struct.load(tmp_path / "out" / "checkpoint_best.pt")
    first, second = model.analyse([["The FILM is bad"], ["the film is bad"]])
    assert first.probabilities == pytest.approx(second.probabilities, abs=1e-6)
    assert first.heads == second.heads
    assert first.sentences[0] == ("The", "FILM", "is", "bad")


def test_preparation_refuses_what_is_bad(prepared, tmp_path):
    status, said = prepare("sst", tmp_path, tmp_path / "out")
    assert status == 2
    assert "train.tsv: no such file (the train split of sst)" in said
    assert not (tmp_path / "out").exists()
    files = [f"--{split}-file={prepared}/{split}.tsv" for split in SPLITS]
    status, said = prepare("plain", prepared / "single", *files)
    assert status == 0 and "nothing to do" in said
    status, said = prepare("plain", prepared / "single", *files, "--lower")
    assert status == 2 and "options: lower (False, now True)" in said
    (tmp_path / "odd.tsv").write_text("a film\tgood\nno film\t<pad>\n")
    odd = [f"--{split}-file={tmp_path}/odd.tsv" for split in SPLITS]
    status, said = prepare("plain", tmp_path / "out", *odd)
    assert status == 2 and "none of them a special symbol" in said
    status, said = prepare("plain", prepared, *files)
    assert status == 2 and "is not a prepared folder" in said
    assert prepare("plain", tmp_path / "mine", *files)[0] == 0
    (tmp_path / "mine" / "thesis.tex").write_text("all of it")
    status, said = prepare("plain", tmp_path / "mine", *files, "--overwrite")
    assert status == 2 and "thesis.tex, which would be lost" in said
    assert (tmp_path / "mine" / "thesis.tex").is_file()


def test_the_recipe_goes_from_raw_data_to_its_row(prepared, tmp_path):
    for old, new in (("train", "train"), ("valid", "dev"), ("test", "test")):
        (tmp_path / f"{new}.tsv").write_text((prepared / f"{old}.tsv").read_text())
    settings = {"OUT": str(tmp_path / "out"), "EPOCHS": "1", "SEEDS": "2"}
    recipe = ROOT / "recipes" / "latent_tree" / "sst.sh"
    before = (recipe.parent / "results.jsonl").read_text()
    for data in ([tmp_path], []):  # the second call finds all runs finished
        done = start(recipe, "spigot", *data, **settings)
        output = done.communicate()[0]
        assert done.returncode == 0, output
        row = r"sst spigot: accuracy [\d.]+ .*tree_depth [\d.]+ .*\(paper: accuracy 83.52\)\n$"
        assert re.search(row, output)
    assert "train: 96 instances" not in output
    assert (recipe.parent / "results.jsonl").read_text() == before
    done = start(recipe, "spigott", tmp_path, **settings)
    assert "unknown method 'spigott'" in done.communicate()[0] and done.returncode == 2
