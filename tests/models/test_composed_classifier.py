"""Classifiers over vectors of a frozen composer, from training to files without the composer."""

import json
import re
import shutil

import pytest
import torch
from fairseq.data import Dictionary
from fairseq_commands import USER_DIR, run

import fairseq_struct
from fairseq_struct import compat
from fairseq_struct.cli.main import main
from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.readers import labelled_text
from fairseq_struct.data.readers.labelled_text import SPLITS, read_corpus
from fairseq_struct.errors import InputError
from fairseq_struct.models.shared.trained_composer import read_composer, rows_of
from fairseq_struct.modules.recurrent_mechanisms import compose_freely

COMMON = [f"--user-dir={USER_DIR}", "--optimizer=adam", "--num-workers=0", "--no-progress-bar",
          "--log-format=json", "--no-epoch-checkpoints"]  # fmt: skip
COMPOSER = [*COMMON, "--task=grammar_induction", "--criterion=grammar_induction", "--embed-dim=8",
            "--batch-size=8", "--lr=0.01", "--max-update=2", "--predict-category"]  # fmt: skip
RIM = ["--arch=rim_composer", "--units=3", "--top-k=2", "--key-size=4", "--positions=from_right"]
CLASSIFIER = [*COMMON, "--task=structured_classification", "--criterion=structured_classification",
              "--arch=composed_classifier", "--embed-dim=8", "--batch-size=4", "--lr=0.02",
              "--required-batch-size-multiple=1"]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two trained composers, and labelled sentences, some of whose words they know."""
    folder = tmp_path_factory.mktemp("composed")
    assert main(["prepare", "transformation_lists", "generated", str(folder / "lists"),
                 "--sentences=30", "--least-count=1"]) == 0  # fmt: skip
    for name, options in (("rim", RIM), ("lstm", ["--arch=lstm_composer"])):
        run("train", folder / "lists" / "data-bin", *COMPOSER, *options,
            f"--save-dir={folder / name}")  # fmt: skip
    text = (folder / "lists" / "text" / "train.txt").read_text().splitlines()
    lines = [f"{line} {end}\t{label}" for line in text[:4] for end, label in (("so", 0), ("no", 1))]
    files = {split: folder / f"{split}.tsv" for split in SPLITS}
    for path in files.values():
        path.write_text("".join(f"{line}\n" for line in lines))
    corpus = read_corpus("sst", labelled_text.read_tsv, files)
    write_labelled_folder(corpus, folder / "labelled")
    return folder


def train(folder, out, *options):
    return run("train", folder / "labelled" / "data-bin", *CLASSIFIER, *options,
               f"--save-dir={out}")  # fmt: skip


def sentences(folder):
    lines = (folder / "test.tsv").read_text().splitlines()
    return [line.split("\t")[0] for line in lines]


@pytest.mark.parametrize("name", ["rim", "lstm"])
def test_roots_are_those_of_the_composer_which_stays_as_it_was(folder, tmp_path, name):
    source = tmp_path / "composer.pt"
    shutil.copy(folder / name / "checkpoint_last.pt", source)
    train(folder, tmp_path, f"--composer-from={source}", "--max-epoch=2", "--dropout=0.1")
    composed = fairseq_struct.load(tmp_path / "checkpoint_last.pt")
    before = read_composer(str(source), "--composer-from", composed.words)
    network = composed.model.network
    for key, value in before.state_dict().items():
        torch.testing.assert_close(network.composer.state_dict()[key], value, rtol=0, atol=0)
    source.unlink()
    composed = fairseq_struct.load(tmp_path / "checkpoint_last.pt")
    (line, *_) = sentences(folder)
    tokens = torch.tensor([[composed.words.index(word) for word in line.split()]])
    lengths = torch.tensor([tokens.size(1)])
    found = compose_freely(before.eval(), tokens, lengths)
    vectors, trees = composed.model.network.encode(tokens, lengths)
    torch.testing.assert_close(vectors, found.symbols)
    assert trees.spans()[0] == tuple(span for span in found.spans()[0] if span[1] - span[0] > 1)
    assert composed.parse([line])[0].leaves() == line.split()
    trained = [name for name, one in network.named_parameters() if one.requires_grad]
    assert trained and all(name.startswith("output.") for name in trained)


def test_means_of_the_composers_words_or_of_a_file(folder, tmp_path):
    mean = ["--sentence-vector=mean_of_words", "--max-epoch=30"]
    source = folder / "rim" / "checkpoint_last.pt"
    log = train(folder, tmp_path / "own", *mean, f"--composer-from={source}", "--hidden-size=16")
    accuracy = json.loads(re.findall(r"(\{.*valid_loss.*\})", log)[-1])["valid_accuracy"]
    # "so" and "no" are both unknown to the composer, so no sentence can be told from its twin.
    assert float(accuracy) == 50
    own = fairseq_struct.load(tmp_path / "own" / "checkpoint_last.pt")
    before = read_composer(str(source), "--composer-from", own.words)
    tokens, lengths = torch.tensor([[5, 6, 7, own.words.pad()], [5, 4, 4, 6]]), torch.tensor([3, 4])
    vectors, trees = own.model.network.encode(tokens, lengths)
    expected = [before.words(row[:n]).mean(0) for row, n in zip(tokens, lengths, strict=True)]
    torch.testing.assert_close(vectors, torch.stack(expected))
    assert trees is None and own.tree_kind is None

    path = tmp_path / "vectors.txt"
    path.write_text("so 1 0 0 0 0 0 0 0\nno -1 0 0 0 0 0 0 0\n")
    log = train(folder, tmp_path / "file", *mean, f"--embed-path={path}")
    accuracy = json.loads(re.findall(r"(\{.*valid_loss.*\})", log)[-1])["valid_accuracy"]
    assert float(accuracy) == 100
    path.unlink()
    other = fairseq_struct.load(tmp_path / "file" / "checkpoint_last.pt")
    lines = sentences(folder)
    assert other.classify(lines) == ["0", "1"] * (len(lines) // 2)


def test_words_are_the_same_if_their_forms_are():
    known, words = Dictionary(), Dictionary()
    for word in ("a", "cat", "Cat"):
        known.add_symbol(word)
    for word in ("Cat", "dog", "A", "<pad>x"):
        words.add_symbol(word)
    unknown, special = known.unk(), [known.unk()] * 4
    special[words.pad()] = known.pad()
    a, cat, upper = (known.index(word) for word in ("a", "cat", "Cat"))
    assert rows_of(words, known, True).tolist() == [*special, cat, unknown, a, unknown]
    assert rows_of(words, known, False).tolist() == [*special, upper, unknown, unknown, unknown]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "this model needs --composer-from"),
        (["--composer-from=nowhere"], "nowhere: no such file"),
        (["--composer-from=CLASSIFIER"], "it is not a checkpoint of a composer"),
        (["--composer-from=rim", "--embed-dim=6"], "vectors have size 8, not --embed-dim 6"),
        (["--composer-from=rim", "--embed-path=x"], "--embed-path is for --sentence-vector mean"),
        (["--embed-path=x"], "--embed-path is for --sentence-vector mean_of_words"),
        (["--composer-from=rim", "--sides=3"], "one sentence or two, not 3"),
        (["--composer-from=rim", "--hidden-size=0"], "must be 1 or more"),
    ],
)
def test_what_cannot_be_trained_is_refused(folder, tmp_path, options, message):
    if "CLASSIFIER" in str(options):
        (tmp_path / "x.txt").write_text("so 1 0 0 0 0 0 0 0\n")
        train(folder, tmp_path, "--sentence-vector=mean_of_words", "--max-epoch=1",
              f"--embed-path={tmp_path / 'x.txt'}")  # fmt: skip
    files = {"rim": folder / "rim" / "checkpoint_last.pt",
             "CLASSIFIER": tmp_path / "checkpoint_last.pt"}  # fmt: skip
    given = [re.sub(r"=(rim|CLASSIFIER)$", lambda one: f"={files[one[1]]}", option)
             for option in options]  # fmt: skip
    with pytest.raises(InputError, match=re.escape(message)):
        train(folder, tmp_path, *given)


@pytest.mark.parametrize(
    "about",
    ["{", "[1]", "{}", '{"kind": "rim", "layers": 1000000000}', '{"kind": "lstm", "layers": 2}',
     '{"kind": ["rim"], "layers": 1}', '{"kind": "rim", "layers": 1, "units": 3, "top_k": 9}'],
)  # fmt: skip
def test_a_forged_description_is_refused(folder, tmp_path, about):
    source = folder / "rim" / "checkpoint_last.pt"
    if not (folder / "root").exists():
        train(folder, folder / "root", f"--composer-from={source}", "--max-epoch=1")
    state = compat.load_state(folder / "root" / "checkpoint_last.pt")
    state["model"]["about"] = torch.tensor(list(about.encode()), dtype=torch.uint8)
    torch.save(state, tmp_path / "forged.pt")
    with pytest.raises(InputError, match="forged.pt: does not fit its options"):
        fairseq_struct.load(tmp_path / "forged.pt")
