"""Number formats without support are refused in one sentence, before training begins."""

import re
from types import SimpleNamespace

import pytest
from fairseq_commands import USER_DIR, run
from omegaconf import OmegaConf
from small_masked_models import OF_MODEL, SMALL

from fairseq_struct import plugin
from fairseq_struct.errors import InputError
from fairseq_struct.hooks.before_training import check_number_format, settle_bfloat16
from fairseq_struct.processor import processor_name


def train(folder, save_dir, *options):
    return run("train", folder / "data-bin", "--arch=udgn", f"--save-dir={save_dir}", *SMALL,
               *OF_MODEL["udgn"], "--max-update=1", "--disable-validation", *options)  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--bf16", "--cpu"], r"--bf16 needs a CUDA device \(or a TPU and the package torch_xla\)"),
        (["--memory-efficient-bf16"], "but none was found; drop it to use float32"),
        (["--bf16", "--fp16-no-flatten-grads", "--cpu"], "--bf16 needs a CUDA device"),
        (["--tpu"], "--tpu is for TPUs and needs the package torch_xla"),
        (["--fp16", "--cpu"], "--fp16 needs a CUDA device, but "),
        (["--seed=-1"], "--seed must be 0 to 4294967295, not -1"),
        (["--fp16"], "but none was found; drop it to use float32"),
        (["--amp", "--cpu"], "--amp needs a CUDA device, but "),
    ],
)
def test_training_is_refused(language_folder, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        train(language_folder, tmp_path / "run", *options)
    assert not list(tmp_path.iterdir())


def test_training_without_a_size_of_batches_is_refused(language_folder):
    with pytest.raises(InputError, match="give --batch-size or --max-tokens"):
        run("train", language_folder / "data-bin", "--arch=udgn", *OF_MODEL["udgn"], "--no-save",
            f"--user-dir={USER_DIR}", "--task=structured_masked_lm",
            "--criterion=structured_masked_lm", "--optimizer=adam")  # fmt: skip


@pytest.mark.parametrize(
    ("program", "options", "message"),
    [
        ("validate", ["--batch-size=1"], "no trained model: give its checkpoint to --path"),
        ("validate", ["--path=x.pt"], "validation needs a size of batches: give --batch-size or"),
        ("eval_lm", [], "no trained model: give its checkpoint to --path"),
    ],
)
def test_what_does_not_train_needs_a_model(language_folder, program, options, message):
    with pytest.raises(InputError, match=message):
        run(program, language_folder / "data-bin", f"--user-dir={USER_DIR}",
            "--task=structured_masked_lm", *options)  # fmt: skip


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    plugin.load()
    from fairseq import checkpoint_utils

    (tmp_path / "dummy").mkdir()  # the file that fairseq writes to see whether it can
    named = re.escape(str(tmp_path))
    with pytest.raises(InputError, match=rf"^--save-dir {named}: cannot be written \(Is a dir"):
        checkpoint_utils.verify_checkpoint_directory(str(tmp_path))


def test_the_folder_of_a_refused_training_stays_as_it_was(language_folder, tmp_path):
    for data, options, message in (
        (tmp_path / "none", [], "none"),
        (language_folder, ["--embed-dim=-1"], "--embed-dim must be 1 or more"),
    ):
        with pytest.raises(InputError, match=message):
            train(data, tmp_path / "a" / "b", *options)
        assert not list(tmp_path.iterdir())
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError, match="none"):
        train(tmp_path / "none", tmp_path / "mine" / "run")
    assert list(tmp_path.rglob("*")) == [tmp_path / "mine"]
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        train(language_folder, tmp_path / "file" / "run")
    assert "done training" in train(language_folder, tmp_path / "a" / "b", "--no-save")


@pytest.mark.parametrize("option", ["--memory-efficient-fp16", "--fp16-no-flatten-grads"])
def test_what_works_on_a_processor_is_let_through(language_folder, tmp_path, option):
    options = ["--fp16"] if option == "--fp16-no-flatten-grads" else []
    assert "done training" in train(language_folder, tmp_path, "--cpu", option, *options)


def run_in_bfloat16():
    """The configuration of a run, as fairseq makes it of ``--bf16``."""
    groups = {name: {"tpu": True} for name in ("distributed_training", "optimizer")}
    common = {"bf16": True, "tpu": True, "cpu": False}
    return OmegaConf.create({"common": common, "dataset": {"seed": 1}, **groups})


def test_what_devices_can_do(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    check_number_format(SimpleNamespace(fp16=True))
    check_number_format(SimpleNamespace(bf16=True, tpu=False))  # hydra's, which does not mean a TPU
    cfg = run_in_bfloat16()  # fairseq-train's, which does
    settle_bfloat16(cfg)
    check_number_format(cfg.common)
    assert cfg.common.bf16 and not any(group.get("tpu") for group in cfg.values())
    with pytest.raises(InputError, match="--fp16 needs a CUDA device, but --cpu is given"):
        check_number_format(SimpleNamespace(fp16=True, cpu=True))
    check_number_format(SimpleNamespace(amp=True))
    with pytest.raises(InputError, match="--amp needs a CUDA device, but --cpu is given"):
        check_number_format(SimpleNamespace(amp=True, cpu=True))
    with pytest.raises(InputError, match="--tpu is for TPUs"):
        check_number_format(SimpleNamespace(tpu=True))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    cfg = run_in_bfloat16()
    settle_bfloat16(cfg)
    check_number_format(cfg.common)
    assert cfg.common.tpu and cfg.distributed_training.tpu


def test_the_log_says_what_computes(language_folder, tmp_path):
    output = train(language_folder, tmp_path, "--cpu", "--no-save")
    told = re.search(r"^device: (.*), \d+ threads?$", output, re.MULTILINE)[1]
    assert told.split(",")[0] == processor_name().split(",")[0]
