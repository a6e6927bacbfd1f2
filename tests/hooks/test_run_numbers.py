"""Values of fairseq's options that no run can use are refused before it begins."""

from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf
from small_masked_models import train

from fairseq_struct import plugin
from fairseq_struct.errors import InputError

plugin.load()
from fairseq.dataclass.configs import FairseqConfig  # noqa: E402
from fairseq.dataclass.initialize import add_defaults  # noqa: E402

from fairseq_struct.hooks.run_numbers import LEAST, check_numbers  # noqa: E402


def configuration():
    """fairseq's own values of a translation."""
    cfg = OmegaConf.structured(FairseqConfig)
    cfg.task, cfg.lr_scheduler = {"_name": "translation"}, {"_name": "inverse_sqrt"}
    cfg.optimizer = {"_name": "adam"}
    cfg.dataset.batch_size = 2
    add_defaults(cfg)
    return cfg


OPTIONS = [(group, name, least) for group, names in LEAST.items() for name, least in names.items()]


@pytest.mark.parametrize(("group", "name", "least"), OPTIONS)
def test_numbers_have_a_least_value(group, name, least):
    cfg = configuration()
    assert hasattr(cfg[group], name)  # fairseq has this option
    check_numbers(cfg)
    option = f"--{name.replace('_', '-')}"
    for wrong in (least - 1, float("nan"), float("inf"), [least, least - 1]):
        changed = SimpleNamespace(task=None, **{group: SimpleNamespace(**{name: wrong})})
        with pytest.raises(InputError, match=f"^{option} must be {least} or more, not"):
            check_numbers(changed)
    for right in (least or 1, least + 1, [least or 1, least + 1], None):  # 0: see fairseq's own
        check_numbers(SimpleNamespace(task=None, **{group: SimpleNamespace(**{name: right})}))


@pytest.mark.parametrize("betas", ["(0.9)", "abc", "(0.9, 1)", "(0.9, 0.98", "('a', 'b')", "()"])
def test_decays_of_adam_are_two(betas):
    cfg = configuration()
    cfg.optimizer.adam_betas = betas
    with pytest.raises(InputError, match="--adam-betas must be two numbers"):
        check_numbers(cfg)
    cfg.optimizer.adam_betas = "[0.9, 0.5]"
    check_numbers(cfg)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("eval_bleu_args", "{beam", r"--eval-bleu-args must be a JSON object, not '\{beam'"),
        ("eval_bleu_detok_args", "[1]", "--eval-bleu-detok-args must be a JSON object"),
        ("eval_bleu_detok", "mosses", "unknown tokenizer 'mosses'.*did you mean 'moses'"),
    ],
)
def test_bleu_of_validation(name, value, message):
    cfg = configuration()
    cfg.task[name] = value
    check_numbers(cfg)  # nothing reads it
    cfg.task.eval_bleu = True
    with pytest.raises(InputError, match=message):
        check_numbers(cfg)


def test_programs_check_them(language_folder, tmp_path):
    with pytest.raises(InputError, match="--lr must be above --stop-min-lr, -1, not -1"):
        train(language_folder, tmp_path / "run", "--lr=-1")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("rates", "told"),
    [
        ([0.0], ""), ([1, -0.5], ""), ([1, -1], ""), ([-1, 1], "above --stop-min-lr, -1, not -1"),
        ([1, float("nan")], "finite, not nan"), ([float("inf")], "finite, not inf"),
    ],
)  # fmt: skip
def test_the_first_learning_rate_is_above_that_at_which_training_stops(rates, told):
    cfg = configuration()
    cfg.optimization.lr = rates
    if not told:
        return check_numbers(cfg)
    with pytest.raises(InputError, match=f"--lr must be {told}"):
        check_numbers(cfg)


def test_what_fairseq_takes_for_no_limit_is_one():
    cfg = configuration()
    cfg.dataset.batch_size, cfg.dataset.max_tokens = 0, 100
    cfg.optimization.clip_norm = float("inf")
    check_numbers(cfg)
    cfg.dataset.max_tokens = None
    with pytest.raises(InputError, match="--batch-size must be 1 or more, not 0, where nothing"):
        check_numbers(cfg)
    cfg.dataset.batch_size, cfg.optimization.clip_norm = 1, float("nan")
    with pytest.raises(InputError, match="--clip-norm must be a number, not nan"):
        check_numbers(cfg)
