"""Options of fairseq's programs do what they say with this package's tasks, or are refused."""

import re
from types import SimpleNamespace

import pytest
import torch
from fairseq_commands import USER_DIR, run
from mapped_splits import drawn_lines, task, write_folder, write_split
from small_language_models import train as train_language_model
from small_masked_models import weights
from small_runs import OPTIONS, TASKS

from fairseq_struct import plugin
from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError

OF_TEXT = TASKS[:2]  # on the folders of fairseq-preprocess
ADAM = ["--optimizer=adam", "--lr=0.01", "--no-epoch-checkpoints"]


@pytest.mark.parametrize("name", OF_TEXT)
def test_further_parts_of_a_split_are_not_left_out_in_silence(name, tmp_path):
    folder = write_folder(tmp_path / "data-bin", drawn_lines(20))
    write_split(folder / "train1", drawn_lines(30))
    owner = task(name, folder)
    with pytest.raises(InputError, match=r"train1\.idx: a second part of the split"):
        owner.load_dataset("train", combine=True)
    owner.load_dataset("train")  # as of a folder of which train1 is another split
    assert owner.dataset("train")


@pytest.mark.parametrize("name", TASKS)
def test_validation_on_the_training_split_changes_no_weight(name, tmp_path):
    lines = drawn_lines(40, ended=name != TASKS[2])
    labels = [4 + n % 2 for n in range(40)] if name == TASKS[2] else None
    pairs = [(line, line[::-1]) for line in lines]
    folder = write_folder(tmp_path / "data-bin", lines if labels is None else pairs, labels)

    def train(place, *options):
        run("train", folder, f"--save-dir={tmp_path / place}", *ADAM, "--max-epoch=2",
            *OPTIONS[name], *options)  # fmt: skip
        return weights(tmp_path / place / "checkpoint_last.pt")

    alone = train("alone", "--disable-validation")
    beside = train("beside", "--valid-subset=valid,train", "--batch-size-valid=1",
                   "--validate-interval-updates=1")  # fmt: skip
    tensors = [key for key, value in alone.items() if isinstance(value, torch.Tensor)]
    assert tensors and all(torch.equal(alone[key], beside[key]) for key in tensors)


@pytest.mark.parametrize(
    "option",
    ["--sample-break-mode=eos", "--add-bos-token", "--output-dictionary-size=8", "--self-target",
     "--shorten-method=truncate", "--pad-to-fixed-length"],
)  # fmt: skip
def test_options_of_other_language_models_are_refused(tmp_path, option):
    folder = write_folder(tmp_path / "data-bin", drawn_lines(20))
    with pytest.raises(InputError, match=f"{option.split('=')[0]} is for --task language_modeling"):
        run("train", folder, *ADAM, *OPTIONS[TASKS[0]], option, "--no-save")


@pytest.mark.parametrize("program", ["generate", "interactive", "eval_lm"])
def test_models_that_write_no_text_say_so(tmp_path, program):
    folder = write_folder(tmp_path / "data-bin", drawn_lines(20))
    run("train", folder, *ADAM, *OPTIONS[TASKS[1]], f"--save-dir={tmp_path}", "--max-update=1")
    with pytest.raises(InputError, match="models of --task structured_masked_lm, which write no t"):
        run(program, folder, f"--path={tmp_path / 'checkpoint_last.pt'}", f"--user-dir={USER_DIR}",
            "--task=structured_masked_lm", "--max-tokens=90", "--gen-subset=valid")  # fmt: skip


def test_averages_by_nt_asgd_need_a_validation(language_folder, tmp_path):
    with pytest.raises(InputError, match="drop --disable-validation"):
        train_language_model(language_folder, tmp_path, "--optimizer=nt_asgd", "--max-update=1",
                             "--disable-validation")  # fmt: skip


@pytest.mark.parametrize("reset", ["optimizer", "lr-scheduler", "meters", "dataloader"])
def test_fine_tuning_resets_everything_itself(language_folder, tmp_path, reset):
    with pytest.raises(InputError, match=f"takes nothing but the weights: drop --reset-{reset}"):
        train_language_model(language_folder, tmp_path, "--optimizer=adam", f"--reset-{reset}",
                             "--finetune-from-model=x.pt")  # fmt: skip


def test_the_size_of_a_batch_cannot_be_zero(language_folder, tmp_path):
    with pytest.raises(InputError, match="needs --batch-size, the number of streams"):
        train_language_model(language_folder, tmp_path, "--optimizer=adam", "--max-update=1",
                             "--batch-size=0", "--max-tokens=100")  # fmt: skip


def test_weights_are_averaged_of_every_model(language_folder, tmp_path):
    """Also of a model whose state has integers, or a state that is no tensor."""
    out = tmp_path / "craft"
    options = ["--size=5", "--kinds=AB", "--number=20"]
    assert main(["prepare", "craft_demonstrations", "AB,BA", str(out), *options]) == 0
    averaged = ["--store-ema", "--ema-decay=0.5", "--max-update=2"]
    run("train", out / "data-bin", "--task=craft_imitation", "--criterion=craft_imitation",
        "--arch=option_controller", "--hidden-size=8", "--mlp-size=8", "--levels=2",
        "--batch-size=8", *ADAM, *averaged, f"--save-dir={tmp_path}", "--num-workers=0",
        f"--user-dir={USER_DIR}")  # fmt: skip
    train_language_model(language_folder, tmp_path / "lm", "--optimizer=adam", "--lr=0.01",
                         *averaged, "--ema-fp32")  # fmt: skip
    for path in (tmp_path, tmp_path / "lm"):
        state = torch.load(path / "checkpoint_last.pt", weights_only=True)
        last = state["model"]
        means = {
            key: mean for key, mean in state["extra_state"]["ema"].items()
            if isinstance(mean, torch.Tensor)
        }  # fmt: skip
        assert any(not torch.equal(mean, last[key]) for key, mean in means.items())
        whole = [key for key, mean in means.items() if not mean.is_floating_point()]
        assert all(torch.equal(means[key], last[key]) for key in whole)
        assert bool(whole) == (path == tmp_path)


def test_the_best_checkpoints_are_known_by_values_below_zero(tmp_path):
    plugin.load()
    from fairseq.checkpoint_utils import checkpoint_paths

    names = [f"checkpoint.best_loss_{value}.pt" for value in ("-1.0041", "-0.7801", "0.2500")]
    for name in names:
        (tmp_path / name).touch()
    pattern = r"checkpoint\.best_{}_(\d+\.?\d*){}\.pt".format("loss", "")  # as fairseq makes it
    found = [re.sub(r".*/", "", path) for path in checkpoint_paths(str(tmp_path), pattern=pattern)]
    assert found == names[::-1]


def test_no_batch_is_read_twice_where_the_next_depends_on_it(monkeypatch):
    """fairseq would repeat a batch whose gradients are too large under ``--amp``."""
    plugin.load()
    from fairseq.tasks import TASK_REGISTRY
    from fairseq.trainer import Trainer

    repeated = {}
    for name in ("recurrent_language_modeling", "craft_reinforcement", "structured_masked_lm"):
        common = SimpleNamespace(amp_batch_retries=2)
        given = TASK_REGISTRY[name].__new__(TASK_REGISTRY[name])
        with pytest.raises(AttributeError):  # what fairseq's own begins with is missing
            Trainer(common, given, None, None)
        repeated[name] = common.amp_batch_retries
    assert list(repeated.values()) == [0, 0, 2]
