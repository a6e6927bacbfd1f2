"""``fairseq-struct train``: a preset from the command to the checkpoint, and what it refuses."""

import re
import shlex
import shutil

import pytest
import torch
from fairseq_commands import run, start, warm_python

from fairseq_struct import presets
from fairseq_struct.cli.main import main
from fairseq_struct.cli.training.running import Training
from fairseq_struct.cli.training.stopping_signals import NUMBERS
from fairseq_struct.cli.training.train import _arguments, divide
from fairseq_struct.user_dir import FOLDER

TINY = ["--embed-dim=8", "--parser-size=8", "--layers=1", "--channel-size=4", "--valid-draws=1",
        "--num-workers=0", "--cpu"]  # fmt: skip


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "trees"
    sizes = ["--sentences", "30", "6", "6"]
    with warm_python():
        assert main(["prepare", "dependency_treebank", "generated", str(folder), *sizes]) == 0
    return folder


def train(*arguments, **environment):
    """The status of ``fairseq-struct train``, and what it writes."""
    process = start("fairseq-struct", "train", *arguments, **environment)
    said = process.communicate()[0]
    return process.returncode, said


def weights(folder):
    return torch.load(folder / "checkpoint_last.pt", weights_only=False)["model"]


@pytest.fixture(scope="module")
def trained(trees, tmp_path_factory):
    """Folder of a run of two updates, the command, and what it said."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    command = [trees, "--preset", "udgn_tiny", "--max-update", "2", "--save-dir", folder, *TINY]
    status, said = train(*command)
    assert status == 0, said
    return folder, command, said


def test_the_printed_line_is_the_same_training(trained, trees, tmp_path):
    folder, _, said = trained
    program, *words = shlex.split(said.splitlines()[0])
    assert program == "fairseq-train" and str(trees / "data-bin") in words
    assert presets.value_of("user-dir", words) == str(FOLDER)
    assert presets.value_of("treebank", words) == str(trees / "trees" / "valid.conllu")
    assert presets.value_of("total-num-update", words) == "2"
    words[words.index("--save-dir") + 1] = str(tmp_path)
    run("train", *words)
    mine, theirs = weights(folder), weights(tmp_path)
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_the_screen_has_what_matters_and_the_log_has_all(trained):
    folder, _, said = trained
    assert re.search(r"epoch 1, update \d: valid loss [\d.]+, ppl [\d.]+, uas [\d.]+", said), said
    checkpoint = folder / "checkpoint_best.pt"
    named = re.escape(str(checkpoint))
    assert re.search(rf"done: 2 updates in \d+ s, best loss [\d.]+\n  {named}\n", said)
    assert said.endswith(f"next: fairseq-struct parse {checkpoint} < sentences.txt\n")
    assert "Warning" not in said and max(map(len, said.splitlines()[1:])) < 200
    log = (folder / "train.log").read_text()
    assert "'_name': 'structured_masked_lm'" in log and "done training in" in log
    assert "done: " not in log


def test_the_last_words_name_a_checkpoint_that_exists(trees, tmp_path):
    folder = tmp_path / "run"
    status, said = train(trees, "--preset", "udgn_tiny", "--max-update=0", "--max-epoch=1",
                         "--validate-interval=2", "--total-num-update=9", "--save-dir", folder,
                         *TINY)  # fmt: skip
    assert status == 0, said
    last = folder / "checkpoint_last.pt"
    assert last.is_file() and not (folder / "checkpoint_best.pt").exists()
    assert said.endswith(f"\n  {last}\nnext: fairseq-struct parse {last} < sentences.txt\n"), said


def test_the_same_command_goes_on(trained, tmp_path):
    folder = shutil.copytree(trained[0], tmp_path / "run")
    again = [*trained[1], "--save-dir", folder, "--max-update", "3"]
    status, said = train(*again)
    assert status == 0
    assert said.splitlines()[1] == f"going on from {folder / 'checkpoint_last.pt'}"
    assert re.search(r"^done: 3 updates in \d+ s since it went on, best loss", said, re.M)
    assert (folder / "train.log").read_text().count("done training in") == 2
    before = weights(folder)
    status, said = train(*again)
    told = f"nothing was left to train from {folder / 'checkpoint_last.pt'}: 3 updates are done,"
    assert status == 0 and f"\ndone: {told} and --max-update is 3\n" in said, said
    assert all(torch.equal(before[name], value) for name, value in weights(folder).items())


def test_another_training_does_not_go_on_there(trained, trees, tmp_path):
    folder, command, _ = trained
    held = f"error: {folder} holds a training with "
    for others, message in (
        (["--embed-dim=16"], "--embed-dim 8 (now 16): name another --save-dir"),
        (["--layers=2", "--valid-draws=3"], "--layers 1 (now 2), --valid-draws 1 (now 3): name"),
    ):
        before = (folder / "train.log").read_text()
        status, said = train(*command, *others)
        assert status == 2 and said.startswith(held + message) and said.count("\n") == 1, said
        assert (folder / "train.log").read_text() == before
    for data in (tmp_path / "copy", tmp_path / "moved"):
        shutil.copytree(trees, data)
    status, said = train(tmp_path / "copy", *command[1:])
    assert status == 2 and f"the data {trees}/data-bin (now {tmp_path}/copy/data-bin)" in said
    run_there = [tmp_path / "moved", *command[1:], "--save-dir", tmp_path / "run"]
    assert train(*run_there)[0] == 0
    (tmp_path / "moved").rename(tmp_path / "elsewhere")  # the same data, and their treebank
    status, said = train(tmp_path / "elsewhere", *run_there[1:], "--lr=0.1", "--layers=1")
    assert status == 0 and "nothing was left to train" in said, said


def test_a_restart_keeps_the_settings_of_what_it_begins(trained, tmp_path):
    folder, first = shutil.copytree(trained[0], tmp_path / "run"), trained[0] / "checkpoint_last.pt"
    command = [*trained[1], "--save-dir", folder]
    status, said = train(*command, "--valid-draws=2", "--reset-optimizer")
    assert status == 0 and re.search(r"^done: 2 updates in \d+ s since it ", said, re.M), said
    status, said = train(*command)
    assert status == 2 and f"{folder} holds a training with --valid-draws 2 (now 1)" in said, said
    status, said = train(*command, "--restore-file", first)
    assert status == 0 and said.endswith(
        f"\nbeginning from {first}\ndone: nothing was left to train from {first}: 2 updates are "
        "done, and --max-update is 2\n"
    ), said
    status, said = train(*command, "--valid-draws=2", "--valid-subset=vald")
    told = f"{command[0] / 'data-bin'} has no such split, but test, train, valid; did you mean"
    assert status == 2 and said.endswith(f"error: --valid-subset vald: {told} 'valid'?\n"), said


def test_what_to_do_next_can_be_pasted(trees, tmp_path):
    folder = tmp_path / "my run"
    status, said = train(trees, "--preset", "udgn_tiny", "--max-update=1", "--save-dir", folder,
                         *TINY)  # fmt: skip
    assert status == 0, said
    command = shlex.split(said.splitlines()[-1].removeprefix("next: "))
    assert command[2:4] == [str(folder / "checkpoint_best.pt"), "<"]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_to_stop_says_how_to_go_on(number, trees, tmp_path):
    folder = tmp_path / "run"
    process = start("fairseq-struct", "train", trees, "--preset", "udgn_tiny", "--max-update",
                    "1000000", "--save-dir", folder, *TINY)  # fmt: skip
    said = []
    for line in process.stdout:
        said.append(line)
        # By now the checkpoint of the first epoch has been written.
        if line.startswith("epoch 2,"):
            process.send_signal(number)
            break
    rest = process.communicate()[0]
    last = re.escape((folder / "checkpoint_last.pt").as_posix())
    told = rf"^interrupted at update \d+; the same command goes on from {last}, update \d+$"
    assert re.search(told, rest, re.M), "".join(said) + rest
    assert process.returncode == 128 + number and "Traceback" not in rest
    assert not list(folder.glob("*.tmp*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "udgn_tni"], "unknown preset 'udgn_tni'; did you mean 'udgn_tiny'?"),
        (["--preset", "udgn_tiny"], "udgn_tiny needs data, before all options: fairseq-str"),
        (["--preset=udgn_tiny", "--lr", "1", "TREES", "--valid-subset", "TREES"], "udgn_tiny nee"),
        (["--preset=udgn_tiny", "--valid-subset", "TREES"], "--valid-subset: expected one argumen"),
        (["TREES", "--preset=udgn_tiny", "--no-best-checkpoints"], "has no option --no-best-"),
        (["nowhere", "--preset=udgn_tiny"], "nowhere: no such folder; to make one: fairseq-st"),
        (["TREES", "--preset=rim_composer_cpu"], "but rim_composer_cpu takes a folder of the ki"),
        (["TREES", "--preset=latent_clusters"], "latent_clusters takes no folder of data, but"),
        (["TREES", "--preset=udgn_tiny", "--log-format=simple"], "train shows a bar of its own"),
        (["TREES", "--preset=udgn_tiny", "--max-update=0"], "udgn_tiny needs --max-update above 0"),
        (["TREES", "--preset=udgn_tiny", "--optimizer=sgd"], "the preset's --adam-betas does not "
         "go with the other options; --no-adam-betas takes it away"),
        (["TREES", "--preset=udgn_cpu", "--arch=structformer"], "options; --no-channels "
         "--no-channel-size --no-parser-size take them away"),
        (["TREES", "--preset=udgn_tiny", "--lrr=3"], "has no option --lrr for this preset; did "
         "you mean '--lr'?"),
        (["TREES", "--preset=udgn_tiny", "--arch=udng"], "argument --arch/-a: invalid choice: "),
        (["TREES", "--preset=udgn_tiny", "--channels=0"], "channels"),  # said by the model
        (["TREES", "--preset=udgn_tiny", "--treebank=nowhere"], "nowhere"),
    ],
)  # fmt: skip
def test_bad_input_ends_in_one_line_and_leaves_nothing(arguments, message, trees, tmp_path):
    words = [str(trees) if word == "TREES" else word for word in arguments]
    status, said = train(*words, "--save-dir", tmp_path / "a" / "b")
    *line, error = said.splitlines()
    assert status == 2 and error.startswith("error: ") and message in error, said
    assert not line or (len(line) == 1 and line[0].startswith("fairseq-train "))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made(trees, tmp_path):
    file = tmp_path / "file"
    file.write_text("kept")
    for folder, message in (
        (file, f"--save-dir: {file}: is a file, not a folder"),
        (file / "run", f"--save-dir: {file / 'run'}: Not a directory"),
        ("", "--save-dir: names no folder"),
    ):  # fmt: skip
        status, said = train(trees, "--preset=udgn_tiny", "--save-dir", folder, *TINY)
        assert status == 2 and said.splitlines()[-1] == f"error: {message}", said
    assert file.read_text() == "kept" and list(tmp_path.iterdir()) == [file]


def test_errors_that_are_no_bad_input_are_in_the_log(trees, tmp_path):
    status, said = train(trees, "--preset=udgn_tiny", "--save-dir", tmp_path, *TINY,
                         "--model-parallel-size=2")  # fmt: skip
    log = tmp_path / "train.log"
    last = said.splitlines()[-1]  # for which fairseq would need another package
    assert status == 1 and last.startswith(f"error: the training failed, see {log}: ImportError: ")
    assert "Traceback" not in said and "Traceback" in log.read_text()


def test_several_processes_train_one_model_and_one_speaks(trees, tmp_path):
    folder = tmp_path / "run"
    processes = [
        start("fairseq-struct", "train", trees, "--preset=udgn_tiny", "--max-update=2",
              "--save-dir", folder, *TINY, "--distributed-world-size=2",
              f"--distributed-rank={rank}", f"--device-id={rank}", "--distributed-no-spawn",
              "--distributed-backend=gloo", "--ddp-backend=legacy_ddp",
              f"--distributed-init-method=file://{tmp_path}/meeting")
        for rank in (0, 1)
    ]  # fmt: skip
    first, second = (process.communicate()[0] for process in processes)
    assert [process.returncode for process in processes] == [0, 0], first + second
    assert "done: 2 updates" in first and second == ""
    assert "training on 2 devices" in (folder / "train.log").read_text()


def test_the_time_is_that_of_the_whole_training(tmp_path):
    training = Training(presets.preset("udgn_tiny"), ["--save-dir", str(tmp_path)])
    training.progress.update = 600
    training.progress.latest, training.progress.seconds = {"train_wall": 3.0}, 600.0
    assert training._last_words(0) == ["done: 600 updates in 10 min"]


def test_command_lines_are_divided():
    own, further = divide(["data", "--preset", "x", "--lr", "0.1", "--fp16"])
    assert (own, further) == (["data", "--preset", "x"], ["--lr", "0.1", "--fp16"])
    assert divide(["--preset", "x", "data", "--lr=1"]) == (["--preset", "x", "data"], ["--lr=1"])
    own, further = divide(["data", "--lr", "1", "--preset=x", "-s", "de"])
    assert (own, further) == (["data", "--preset=x"], ["--lr", "1", "-s", "de"])


def test_data_may_be_named_behind_options(trees):
    preset = presets.preset("udgn_tiny")
    expected = _arguments(preset, trees, ["--max-update", "3", "--cpu"])
    assert expected[0] == str(trees / "data-bin")
    for words in (["--max-update", "3", str(trees), "--cpu"], ["--max-update", "3", "--cpu", trees],
                  [trees, "--max-update", "3", "--cpu"]):  # fmt: skip
        assert _arguments(preset, None, list(map(str, words))) == expected
