"""The scheduled-sampling Transformer through fairseq's own commands."""

import json
import re
import sys

import pytest
import sacrebleu
import torch
from fairseq_commands import ROOT, SMALL, USER_DIR, run, start, train, write_data_bin

from fairseq_struct import compat
from fairseq_struct.errors import InputError


@pytest.fixture(scope="module")
def data_bin(tmp_path_factory):
    return write_data_bin(tmp_path_factory.mktemp("numbers"))


def parameters(checkpoint):
    return compat.load_state(checkpoint)["model"]


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name in first:
        assert torch.equal(first[name], second[name]), name


def test_a_resumed_run_repeats_the_uninterrupted_one(data_bin, tmp_path):
    """Parameters, schedule position, coins, noise and dropout: everything, bit for bit."""
    options = [
        "--mix=gumbel_softmax",
        "--first-pass-gradient",
        "--schedule-end-update=12",
        "--dropout=0.2",
        "--batch-size=8",
        "--disable-validation",
    ]
    log = train(data_bin, tmp_path / "whole", *options, "--max-update=12", "--log-interval=1")
    # In the second epoch. The number of workers that load the batches makes no difference.
    train(data_bin, tmp_path / "parts", *options, "--max-update=9", "--num-workers=1")
    resumed = train(data_bin, tmp_path / "parts", *options, "--max-update=12", "--log-interval=1")
    assert "Loaded checkpoint" in resumed
    assert_same(*(parameters(tmp_path / n / "checkpoint_last.pt") for n in ("whole", "parts")))
    for text, updates in ((log, range(1, 13)), (resumed, range(10, 13))):
        logged = {
            int(entry["num_updates"]): float(entry["teacher_forcing"])
            for entry in map(json.loads, re.findall(r"\{.*\"num_updates\".*\}", text))
            if "update" in entry
        }
        assert logged == pytest.approx({i: round(1 - (i - 1) / 12, 4) for i in updates}, abs=1e-3)


def test_confidence_trains_both_passes_and_resumes(data_bin, tmp_path):
    options = [
        "--replacement=confidence",
        "--confidence-threshold=0.05",
        "--confidence-random-threshold=0.1",
        "--mix=softmax",
        "--criterion=scheduled_sampling_cross_entropy",
        "--batch-size=16",
    ]
    log = train(data_bin, tmp_path / "whole", *options, "--max-update=6")
    train(data_bin, tmp_path / "parts", *options, "--max-update=3")
    train(data_bin, tmp_path / "parts", *options, "--max-update=6")
    assert_same(*(parameters(tmp_path / n / "checkpoint_last.pt") for n in ("whole", "parts")))
    (loss,) = re.findall(r'"train_loss": "([\d.]+)"', log)[:1]
    (valid,) = re.findall(r'"valid_loss": "([\d.]+)"', log)[:1]
    assert float(loss) > 1.5 * float(valid)  # with two passes, and with one
    with pytest.raises(InputError, match="give --criterion scheduled_sampling_cross_entropy"):
        options.remove("--criterion=scheduled_sampling_cross_entropy")
        # Reported at once, although only later updates need it.
        train(data_bin, tmp_path / "other", *options, "--max-update=1",
              "--schedule-warmup-updates=9")  # fmt: skip


def test_generate_after_eval_bleu_and_averaging(data_bin, tmp_path):
    """Checkpoints that carry numpy scalars load again, with torch's protection on."""
    log = train(
        data_bin,
        tmp_path,
        "--max-update=8",
        "--batch-size=16",
        "--save-interval-updates=3",
        "--keep-interval-updates=2",
        "--eval-bleu",
        "--eval-bleu-args={\"beam\": 1}",
        "--best-checkpoint-metric=bleu",
        "--maximize-best-checkpoint-metric",
    )
    assert '"train_replaced"' in log and '"train_teacher_forcing"' in log
    averaged = tmp_path / "averaged.pt"
    command = [sys.executable, "-m", "fairseq_struct.cli.main", "average-checkpoints"]
    process = start(
        *command, "--last=2", "--by=updates", f"--directory={tmp_path}", f"--output={averaged}"
    )
    output = process.communicate()[0]
    assert process.returncode == 0, output
    for checkpoint in (tmp_path / "checkpoint_best.pt", averaged):
        output = run(
            "generate", data_bin, f"--user-dir={USER_DIR}", f"--path={checkpoint}",
            "--source-lang=src", "--target-lang=tgt", "--gen-subset=valid", "--beam=2",
        )  # fmt: skip
        assert len(re.findall(r"^H-\d+\t", output, re.MULTILINE)) == 8


def test_plain_and_scheduled_checkpoints_continue_one_another(data_bin, tmp_path):
    """``--finetune-from-model`` loads strictly, so this is the interchange users rely on."""
    common = ["--batch-size=16", "--disable-validation", "--max-update=2"]
    train(data_bin, tmp_path / "plain", *common, arch="transformer")
    last = "checkpoint_last.pt"
    train(data_bin, tmp_path / "ours", *common, f"--finetune-from-model={tmp_path}/plain/{last}")
    train(
        data_bin,
        tmp_path / "again",
        *common,
        f"--finetune-from-model={tmp_path}/ours/{last}",
        arch="transformer",
    )
    assert parameters(tmp_path / "again" / last).keys() == parameters(
        tmp_path / "ours" / last
    ).keys()


def test_bad_options_stop_before_any_work(data_bin, tmp_path):
    with pytest.raises(InputError, match="--adaptive-softmax-cutoff gives no scores"):
        train(
            data_bin,
            tmp_path / "never",
            "--max-update=2",
            "--batch-size=8",
            "--adaptive-softmax-cutoff=4,8",
        )
    assert not list(tmp_path.glob("never/*.pt"))


def test_bad_options_are_reported_in_one_line_without_a_traceback(data_bin, tmp_path):
    process = start(
        "fairseq-train", data_bin, f"--user-dir={USER_DIR}", f"--save-dir={tmp_path}",
        "--arch=scheduled_sampling_transformer", *SMALL, "--max-update=2", "--batch-size=8",
        "--mix=top_k", "--mix-top-k=500",
    )  # fmt: skip
    output = process.communicate()[0]
    assert process.returncode == 1
    assert "Traceback" not in output
    assert output.splitlines()[-1].startswith("error: --mix-top-k 500 exceeds the target vocab")


def test_an_unknown_mix_is_an_error_that_lists_the_known_ones(data_bin, tmp_path):
    with pytest.raises(SystemExit, match=r"invalid choice: 'average' \(choose from .*gumbel"):
        train(data_bin, tmp_path, "--mix=average")


def test_update_freq_with_the_gradient_through_pass_one(data_bin, tmp_path):
    log = train(
        data_bin,
        tmp_path,
        "--update-freq=2",
        "--max-update=6",
        "--batch-size=8",
        "--disable-validation",
        "--mix=softmax",
        "--first-pass-gradient",
        "--schedule=constant",
        "--schedule-k=0.3",
        "--log-interval=1",
    )
    losses = [float(loss) for loss in re.findall(r'\{"epoch": .*?"loss": "([\d.]+)"', log)]
    assert len(losses) == 6 and losses[-1] < losses[0]


def test_it_learns_to_translate(tmp_path):
    """The task is to read numbers backwards; the validation set has new numbers."""
    data_bin = write_data_bin(tmp_path, train=600, held_out=40)
    options = ["--max-tokens=600", "--lr=0.01", "--lr-scheduler=inverse_sqrt",
               "--warmup-updates=50", "--dropout=0", "--disable-validation", "--mix=top_k",
               "--schedule-end-update=600", "--schedule-warmup-updates=100"]  # fmt: skip
    train(data_bin, tmp_path / "run", *options, "--max-update=600")
    output = run(
        "generate", data_bin, f"--user-dir={USER_DIR}", "--gen-subset=valid", "--source-lang=src",
        "--target-lang=tgt", f"--path={tmp_path}/run/checkpoint_last.pt", "--beam=1",
        "--max-len-b=12", "--required-batch-size-multiple=1",
    )  # fmt: skip
    assert float(re.search(r"BLEU4 = ([\d.]+)", output)[1]) > 80


# The recipe unchanged, with a smaller corpus and a smaller model.
SMALL_RECIPE = """
python() {
    [[ $1 != */synthetic_translation.py ]] || set -- "$@" --sentences 600 40 40
    command python "$@"
}
fairseq-train() {
    command fairseq-train "$@" --encoder-embed-dim 32 --decoder-embed-dim 32 \
        --encoder-ffn-embed-dim 64 --decoder-ffn-embed-dim 64
}
fairseq-generate() { command fairseq-generate "$@" --max-len-b 20; }
export -f python fairseq-train fairseq-generate
exec bash "$0" "$@"
"""


def test_the_recipe_goes_from_nothing_to_bleu(tmp_path):
    """The main job end to end: generate a corpus, binarise, train, translate, score."""
    recipe = ROOT / "recipes/scheduled_sampling/synthetic.sh"
    size = {"UPDATES": "60", "WARMUP": "40", "DECAY_END": "100"}
    settings = {"OUT": str(tmp_path), "RECORD": "0", "THREADS": "1", **size}
    process = start("bash", "-c", SMALL_RECIPE, recipe, "top_k", **settings)
    output = process.communicate()[0]
    assert process.returncode == 0, output
    *_, last, lengths = output.strip().splitlines()
    scores = r"bleu_dev ([\d.]+)  bleu_test ([\d.]+)  bleu_dev_greedy_last [\d.]+  best_update \d+"
    match = re.fullmatch(rf"synthetic top_k: {scores}  \(paper: -\)", last)
    assert match, output
    thirds = r"bleu_short [\d.]+  bleu_middle [\d.]+  bleu_long [\d.]+"
    beams = rf"bleu_beam_5 {match[2]}  bleu_beam_1 ([\d.]+)"
    by_beam = re.fullmatch(rf"synthetic_by_length top_k: {thirds}  {beams}  \(paper: -\)", lengths)
    assert by_beam, output
    told = re.findall(r"^  update (\d+ of \d+), loss [\d.]+", output, re.M)
    assert "40 of 40" in told and told[-1] == "60 of 60" and len(set(told)) == len(told)
    assert "nrefs:1|case:mixed" in output
    run_folder = tmp_path / "seed_1" / "warmup_40" / "updates_60.decay_100" / "top_k"
    for folder, subset, printed in (
        (run_folder, "valid", match[1]), (run_folder, "test", match[2]),
        (run_folder / "greedy", "test", by_beam[1]),
    ):  # fmt: skip
        texts = [(place / f"{subset}.tgt").read_text().splitlines()
                 for place in (folder, tmp_path / "data" / "raw")]  # fmt: skip
        assert len(texts[0]) == len(texts[1]) == 40 and len(set(texts[0])) > 1
        assert f"{sacrebleu.corpus_bleu(texts[0], [texts[1]]).score:.2f}" == printed
    # Another criterion goes on from the same warm-up.
    process = start("bash", "-c", SMALL_RECIPE, recipe, "confidence", **settings)
    output = process.communicate()[0]
    assert process.returncode == 0 and "synthetic confidence: bleu_dev" in output, output
    assert "40 of 40" not in output


def test_an_unknown_variant_is_refused_before_work_starts(tmp_path):
    recipe = ROOT / "recipes/scheduled_sampling/synthetic.sh"
    process = start("bash", recipe, "softmax_7", OUT=str(tmp_path / "out"))
    output = process.communicate()[0]
    assert process.returncode == 2
    assert output.startswith("error: unknown variant 'softmax_7'; choose one of: teacher_forcing")
    assert not (tmp_path / "out").exists()
