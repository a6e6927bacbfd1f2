"""A checkpoint is refused where a dictionary has other words than that of its training."""

import re
import shutil

import pytest
import torch
from fairseq_commands import run

from fairseq_struct.cli.main import main
from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.readers.labelled_text import SPLITS, Instance, LabelledCorpus
from fairseq_struct.errors import InputError
from fairseq_struct.files.trained_words import KEY, check_words, digests_of
from fairseq_struct.inference.restoring import restore
from fairseq_struct.user_dir import FOLDER

OPTIONS = ["--task=structured_classification", "--criterion=structured_classification",
           "--arch=recurrent_classifier", "--sides=1", "--embed-dim=4", "--hidden-size=4", "--cpu",
           "--chunk-size=1", "--optimizer=adam", "--lr=0.01", "--batch-size=4", "--num-workers=0",
           "--disable-validation", "--no-epoch-checkpoints", f"--user-dir={FOLDER}"]  # fmt: skip
TEXTS = {
    "trained": [("a a b", "yes"), ("b c a", "no"), ("a", "no")],
    "same": [("b a a", "no"), ("a b c", "yes"), ("a", "no")],  # as often, so in the same order
    "order": [("b b a", "yes"), ("a c b", "no"), ("b", "no")],
    "words": [("a a d", "yes"), ("d c a", "no"), ("a", "no")],
    "labels": [("a a b", "good"), ("b c a", "bad"), ("a", "bad")],
}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Corpora of dictionaries of one size, and a checkpoint of the first."""
    folder = tmp_path_factory.mktemp("words")
    for name, lines in TEXTS.items():
        found = [Instance((text,), label) for text, label in lines]
        write_labelled_folder(LabelledCorpus("toy", dict.fromkeys(SPLITS, found)), folder / name)
    train(folder, "trained", 1)
    return folder


def train(folder, name, updates, *options, save="run"):
    given = [folder / name / "data-bin", *OPTIONS, f"--save-dir={folder / save}"]
    return run("train", *given, f"--max-update={updates}", *options)


def classify(folder, name, capsys):
    data = folder / name / "data-bin"
    given = ["classify", folder / "run" / "checkpoint_last.pt", "--data", data, "--input",
             folder / name / "text" / "test.sentence1"]  # fmt: skip
    status = main(list(map(str, given)))
    return status, capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "side"), [("order", "source"), ("words", "source"), ("labels", "target")]
)
def test_other_words_are_refused(places, capsys, name, side):
    checkpoint = places / "run" / "checkpoint_last.pt"
    message = f"the {side} dictionary in {places / name / 'data-bin'} is not that of its training"
    status, said = classify(places, name, capsys)
    assert status == 2 and said.startswith(f"error: {checkpoint}: {message}: ")
    assert said.count("\n") == 1
    before = checkpoint.read_bytes()
    with pytest.raises(InputError, match=re.escape(message)):
        train(places, name, 2)
    assert checkpoint.read_bytes() == before
    with pytest.raises(InputError, match=re.escape(message)):
        run("validate", places / name / "data-bin", "--path", checkpoint, "--batch-size=4", "--cpu",
            "--task=structured_classification", f"--user-dir={FOLDER}")  # fmt: skip


def test_the_message_names_the_file_that_stands_in_for_a_damaged_one(places, tmp_path):
    last, other = tmp_path / "checkpoint_last.pt", tmp_path / "checkpoint1.pt"
    shutil.copy(places / "run" / last.name, other)
    last.write_bytes(other.read_bytes()[:5000])
    named = re.escape(str(other))
    with pytest.raises(InputError, match=f"^{named}: the source dictionary in .*/words/data-bin "):
        train(places, "words", 2, save=tmp_path)


def test_the_same_words_of_other_data_are_accepted(places, capsys):
    assert classify(places, "same", capsys)[0] == 0
    train(places, "same", 1)


def test_fine_tuning_may_have_other_labels_but_no_other_words(places):
    begin = f"--finetune-from-model={places / 'run' / 'checkpoint_last.pt'}"
    train(places, "labels", 1, begin, save="tuned")
    with pytest.raises(InputError, match="the source dictionary"):
        train(places, "order", 1, begin, save="refused")
    assert not (places / "refused").exists()


def test_a_checkpoint_without_digests_is_accepted(places, tmp_path):
    state = torch.load(places / "run" / "checkpoint_last.pt", weights_only=True)
    assert set(state["task_state"].pop(KEY)) == {"source", "target"}
    torch.save(state, tmp_path / "old.pt")
    task = restore(tmp_path / "old.pt", places / "labels" / "data-bin").task
    assert set(digests_of(task)) == {"source", "target"}
    check_words({}, task, "old.pt")
    check_words(None, task, "old.pt")


@pytest.mark.parametrize("state", ["x", ["x"], {KEY: "x"}, {KEY: 3}])
def test_a_damaged_state_is_told(places, tmp_path, state):
    found = torch.load(places / "run" / "checkpoint_last.pt", weights_only=True)
    torch.save({**found, "task_state": state}, tmp_path / "damaged.pt")
    with pytest.raises(InputError, match=r"damaged\.pt: damaged; the state of its task"):
        restore(tmp_path / "damaged.pt")


def test_tasks_that_choose_a_dictionary_when_they_are_made_have_no_digests(places):
    task = restore(places / "run" / "checkpoint_last.pt").task

    class Chooses:  # as fairseq's multilingual tasks
        source_dictionary, target_dictionary = task.words, task.labels

    assert digests_of(task) and not digests_of(Chooses())
    task.reads_dictionary = False
    assert not digests_of(task)
