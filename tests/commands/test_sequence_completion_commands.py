"""Sequence completion from the command line: prepare, train, resume, complete, draw."""

import io
import json
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from fairseq_commands import USER_DIR, run
from resumed_trainings import whole_and_resumed

import fairseq_struct
from fairseq_struct.cli.main import main
from fairseq_struct.data.datasets.hidden_symbols import HiddenSymbols
from fairseq_struct.data.prepared.completion_folder import read_part
from fairseq_struct.errors import InputError
from fairseq_struct.models.undirected.undirected_attention import (
    UndirectedAttentionConfig,
    UndirectedAttentionModel,
)

SMALL = [
    f"--user-dir={USER_DIR}", "--task=sequence_completion", "--criterion=sequence_completion",
    "--arch=undirected_attention", "--hidden-size=32", "--optimizer=adam", "--lr=0.01",
    "--clip-norm=10", "--batch-size=32", "--num-workers=0", "--no-epoch-checkpoints",
    "--no-progress-bar", "--log-format=json",
]  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "data"
    assert main(["prepare", "sequence_completion", str(folder), "--symbols=11"]) == 0
    return folder / "data-bin"


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A checkpoint, and the log of its training."""
    folder = tmp_path_factory.mktemp("trained")
    log = run("train", data, *SMALL, "--max-epoch=40", "--valid-subset=valid,test",
              "--validate-interval=20", "--save-interval=20", "--batch-size=16",
              f"--save-dir={folder}", "--best-checkpoint-metric=accuracy",
              "--maximize-best-checkpoint-metric")  # fmt: skip
    return folder / "checkpoint_best.pt", log


def say(monkeypatch, capsys, verb, *arguments, lines):
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    status = main([verb, *map(str, arguments)])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_trained_network_completes(trained, monkeypatch, capsys):
    checkpoint, log = trained
    last = [json.loads(line) for line in re.findall(r'^\{"epoch".*test_loss.*\}$', log, re.M)][-1]
    assert float(last["test_accuracy"]) > 60 and float(last["test_exact_match"]) > 50
    assert last["test_passes_mean"] == "1"
    lines = ["3 4 _ 6 7 8 9 10 11", "9 8 7 6 5 _ 3 2"]
    status, said, err = say(monkeypatch, capsys, "complete", checkpoint, lines=lines)
    assert (status, err) == (0, "2 sequences completed\n")
    assert re.fullmatch(
        r"3 4 5 6 7 8 9 10 11\t5=[01]\.\d{4}\n9 8 7 6 5 4 3 2\t4=[01]\.\d{4}\n", said
    )
    found = fairseq_struct.load(checkpoint).complete(["3 4 _ 6 7 8 9 10 _"])
    assert found[0].symbols[:2] == ("3", "4") and list(found[0].probabilities) == [2, 8]
    one, two = fairseq_struct.load(checkpoint, batch_words=1).complete(lines), said.splitlines()
    assert [" ".join(each.symbols) for each in one] == [line.split("\t")[0] for line in two]


@pytest.mark.parametrize("workers", [[], ["--workers=2"]])
def test_sequences_are_read_from_files_and_written_as_json(
    trained, tmp_path, monkeypatch, capsys, workers
):
    (tmp_path / "sequences").write_text("3 4 _ 6 7 8 9 10 _\n9 8 _ 6\n")
    found, command = tmp_path / "found", ["complete", trained[0], *workers]
    options = [f"--input={tmp_path}/sequences", f"--output={found}", "--json"]
    status, said, err = say(monkeypatch, capsys, *command, *options, lines=[])
    assert (status, said) == (0, "") and err.endswith("2 sequences completed\n")
    one, two = map(json.loads, found.read_text().splitlines())
    expected = fairseq_struct.load(trained[0]).complete(["3 4 _ 6 7 8 9 10 _"])[0]
    assert tuple(one["symbols"]) == expected.symbols and len(two["symbols"]) == 4
    chances = {int(place): chance for place, chance in one["probabilities"].items()}
    assert chances == pytest.approx(expected.probabilities, rel=1e-5)
    before = found.read_bytes()
    (tmp_path / "sequences").write_text("1 _ 3\n1 2 3\n")
    status, _, err = say(monkeypatch, capsys, *command, *options, lines=[])
    assert status == 2 and f"{tmp_path}/sequences: line 2: no symbol is hidden" in err
    assert found.read_bytes() == before


def test_passes_can_be_chosen_for_a_trained_network(trained, monkeypatch, capsys, caplog):
    lines, pages = ["3 4 _ 6 7 8 9 10 11"], {}
    for passes in ("1", "3", "converge"):
        tool = fairseq_struct.load(trained[0], test_passes=passes)
        pages[passes] = tool.complete(lines)[0].probabilities[2]
        (steps,) = tool.attentions(lines)
        assert len(steps.weights) == {"1": 1, "3": 3, "converge": 10}[passes]
    assert pages["1"] == fairseq_struct.load(trained[0]).complete(lines)[0].probabilities[2]
    assert pages["1"] != pages["3"]
    warned = [record.getMessage() for record in caplog.records if "no minimum" in record.message]
    assert [re.search(r"trained with 1 passes and used with (\w+)", one)[1] for one in warned] == [
        "3", "converge",
    ]  # fmt: skip
    command = "complete", trained[0], "--test-passes"
    status, said, _ = say(monkeypatch, capsys, *command, "3", lines=lines)
    assert status == 0 and said.split("=")[1] == f"{pages['3']:.4f}\n"
    for passes in ("0", "x"):
        status, _, err = say(monkeypatch, capsys, *command, passes, lines=lines)
        assert status == 2 and f"--test-passes must be 1, 2, … or converge, not {passes}" in err


def test_attention_is_drawn_as_page_and_as_picture(trained, tmp_path, monkeypatch, capsys):
    lines = ["3 4 _ 6 7 8 9 10 11"]
    status, page, _ = say(monkeypatch, capsys, "draw", trained[0], "--what=attention", lines=lines)
    assert status == 0 and page.count("<svg") == 2 and page.count("<rect") == 2 * 9 * 9
    assert "pass 1, forward" in page and "pass 1, backward" in page
    shares = [float(share) for share in re.findall(r": (\d\.\d{3})</title>", page)]
    assert len(shares) == 162 and sum(shares) == pytest.approx(18, abs=0.1)
    picture = tmp_path / "attention.png"
    status, _, _ = say(monkeypatch, capsys, "draw", trained[0], "--output", picture, lines=lines)
    assert status == 0 and picture.read_bytes().startswith(b"\x89PNG")
    status, _, err = say(monkeypatch, capsys, "draw", trained[0], "--what=memory", lines=lines)
    assert status == 2 and "has no memory to draw" in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 2 3 4", "line 2: no symbol is hidden; _ hides one"),
        ("_ _", "line 2: every symbol is hidden"),
        ("1 2 _ 77", "line 2: unknown symbol '77'; choose one of 1, 2, 3, …"),
        ("1,2,_,4", "line 2: unknown symbol '1,2,_,4'"),
        ("", "line 2: empty sentence"),
        ("1 _ " * 1001, "line 2: 2002 words, more than the 2000 allowed"),
    ],
)
@pytest.mark.parametrize("verb", ["complete", "draw"])
def test_bad_sequences(trained, monkeypatch, capsys, verb, line, message):
    lines = ["1 2 _ 4", line]
    status, _, err = say(monkeypatch, capsys, verb, trained[0], lines=lines)
    assert status == 2 and message in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "options", [["--order=random", "--passes=3", "--random-passes", "--lr=0.002"], ["--passes=2"]]
)
def test_a_resumed_run_repeats_the_uninterrupted_one(data, tmp_path, options):
    """It stops in the middle of an epoch."""
    options = [data, *SMALL, *options, "--save-interval-updates=8"]
    logs = whole_and_resumed(tmp_path, *options, cut=8, updates=13)
    values = [re.findall(r'"valid_loss": "([\d.]+)"', log)[-1] for log in logs]
    assert values[0] == values[1]


@pytest.mark.parametrize(
    "options", [["--self-attention"], ["--passes=2", "--dropout=0.1"],
                ["--test-passes=converge", "--most-passes=3"]],
)  # fmt: skip
def test_other_ways_train(data, tmp_path, options):
    log = run("train", data, *SMALL, *options, "--max-update=4", f"--save-dir={tmp_path}")
    (last,) = re.findall(r'^\{"epoch".*valid_loss.*\}$', log, re.M)
    last = json.loads(last)
    converges = "--most-passes=3" in options
    assert ("valid_energy" in last) == converges
    assert last["valid_passes_mean"] == ("3" if converges else "2" if len(options) > 1 else "1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "sideways"}, "unknown order 'sideways'"),
        ({"passes": "0"}, "--passes must be 1, 2, … or converge, not 0"),
        ({"hidden_size": 7}, "the size must be even"),
        ({"self_attention": True, "passes": "2"}, "--passes does not apply to --self-attention"),
        ({"self_attention": True, "order": "random"}, "--order does not apply to --self-attention"),
        ({"self_attention": True, "random_passes": True}, "--random-passes does not apply"),
        ({"self_attention": True, "dropout": 0.1}, "--dropout does not apply"),
        ({"self_attention": True, "most_passes": 3}, "--most-passes does not apply"),
    ],
)
def test_networks_that_cannot_be_built(options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        UndirectedAttentionModel.build_model(
            UndirectedAttentionConfig(**options),
            SimpleNamespace(symbols=list("123"), own_criterion="sequence_completion"),
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--passes=0"], "--passes must be 1, 2, … or converge, not 0"),
        (["--criterion=cross_entropy"], "this task needs --criterion sequence_completion"),
        (["--valid-subset=dev"], "there is no part 'dev'"),
        (["--passes=2", "--memory-efficient-fp16"], "--fp16: values of undirected attention grow"),
    ],
)
def test_bad_options_end_in_one_sentence(data, tmp_path, options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        run("train", data, *SMALL, *options, "--max-update=1", f"--save-dir={tmp_path}/run")
    assert not list(tmp_path.rglob("*.pt"))


def test_model_and_task_are_for_each_other(data, tmp_path):
    other = [option for option in SMALL if not option.startswith(("--arch", "--hidden"))]
    with pytest.raises(InputError, match="this task is for undirected_attention, not for UDGN"):
        run("train", data, *other, "--arch=udgn", f"--save-dir={tmp_path}")
    options = [f"--user-dir={USER_DIR}", "--task=latent_clusters", "--arch=undirected_attention"]
    with pytest.raises(InputError, match="this task is for latent_clusters"):
        run("train", *options, "--criterion=latent_clusters", "--batch-size=9",
            f"--save-dir={tmp_path}")  # fmt: skip


def test_a_prepared_folder_is_kept_and_replaced_only_on_demand(data, tmp_path, capsys):
    folder = tmp_path / "data"
    command = ["prepare", "sequence_completion", str(folder), "--symbols=11"]
    assert main(command) == 0
    assert "train: " in capsys.readouterr().out
    assert all((folder / "data-bin" / file.name).read_bytes() == file.read_bytes()
               for file in data.iterdir())  # fmt: skip
    assert main([*command, "--seed=2"]) == 2
    assert "prepared with other inputs or options: seed" in capsys.readouterr().err
    assert main([*command, "--share=0.5", "--overwrite"]) == 0
    assert main(["prepare", "sequence_completion", str(tmp_path / "x"), "--share=2"]) == 2
    with pytest.raises(SystemExit) as stop:
        main(["prepare", "sequence_completion", str(tmp_path / "x"), "--seed=-1"])
    assert stop.value.code == 2 and "-1 is less than 0" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("train", None, "train.npy: no such file"),
        ("train", b"\x93NUMPY\x01\x00", "train.npy: damaged"),
        ("train", b"{}", "train.npy: damaged"),
        ("train", np.zeros((4, 3)), "train.npy: damaged"),
        ("train", [[0, -1]], "an example without hidden symbols"),
        ("train", [[0, 20]], "a hidden place is not in its sequence"),
        ("train", [[9999, 1]], "whose sequence does not exist"),
        ("sequences", [[0, 11]], "a symbol is not in dict.txt"),
        ("sequences", None, "sequences.npy: no such file"),
    ],
)
def test_damaged_folders(data, tmp_path, name, value, message):
    copy = shutil.copytree(data, tmp_path / "copy")
    path = copy / f"{name}.npy"
    path.unlink()
    if isinstance(value, bytes):
        path.write_bytes(value)
    elif isinstance(value, list):
        np.save(path, np.array(value, dtype=np.int16))
    elif value is not None:
        np.save(path, value)
    with pytest.raises(InputError, match=message):
        read_part(copy, "train", 11)


def test_batches_hide_what_is_to_be_predicted_and_change_with_the_epoch(data):
    part = read_part(data, "train", 11)
    dataset = HiddenSymbols(part, shuffle=True)
    orders = []
    for epoch in (1, 2, 1):
        dataset.set_epoch(epoch)
        orders.append(dataset.ordered_indices())
    assert (orders[0] == orders[2]).all() and (orders[0] != orders[1]).any()
    batches = dataset.batch_by_size(orders[0], max_sentences=30)
    assert sorted(np.concatenate(batches)) == list(range(len(dataset)))
    batch = dataset.collater(orders[0][:: len(orders[0]) // 20])
    given, targets = batch["net_input"], batch["targets"]
    hidden = given["places"] >= 0
    assert (hidden == (targets >= 0)).all() and hidden.any(1).all() and not hidden.all()
    at = given["places"].clamp(min=0)
    assert (given["tokens"].gather(1, at)[hidden] == 0).all()
    restored = given["tokens"].scatter(1, at[:, :1], targets[:, :1])
    both = restored[hidden.sum(1) == 1], given["lengths"][hidden.sum(1) == 1]
    for row, length in zip(*both, strict=True):
        assert row[:length].diff().abs().eq(1).all()
