"""Recurrent language models with an adaptive softmax, by the real commands."""

import json
import math
import re

import pytest
import torch
from fairseq_commands import USER_DIR, run
from small_language_models import LENGTHS, train

import fairseq_struct
from fairseq_struct.errors import InputError
from fairseq_struct.inference import load_language_model

# The dictionary has 24 words: 4 symbols, 14 words by frequency, and 6 that fill it up.
CUTOFFS = ["--untied", "--adaptive-softmax-cutoff=6,12", "--adaptive-softmax-factor=2"]


@pytest.fixture(scope="module")
def adaptive(language_folder, tmp_path_factory):
    """A trained ON-LSTM language model, and its log."""
    path = tmp_path_factory.mktemp("adaptive")
    log = train(language_folder, path, *CUTOFFS, "--optimizer=adam", "--lr=0.02", "--max-epoch=4",
                "--dropout-embedding=0", "--dropout-output=0", "--dropout-weights=0.1",
                "--no-epoch-checkpoints")  # fmt: skip
    return path / "checkpoint_best.pt", log


@pytest.fixture(scope="module")
def scorer(adaptive):
    return load_language_model(adaptive[0])


def lines_of(folder, split="test"):
    return [tuple(line.split()) for line in (folder / "text" / f"{split}.txt").open()]


def test_it_learns_and_validation_is_the_perplexity_of_one_long_text(
    adaptive, scorer, language_folder
):
    logged = [json.loads(line) for line in re.findall(r"(\{.*valid_loss.*\})", adaptive[1])]
    text = [word for line in lines_of(language_folder, "valid") for word in (*line, "</s>")]
    tokens = torch.tensor([[scorer.words.index(word) for word in ["</s>", *text]]])
    with torch.no_grad():
        logits, _ = scorer.model(tokens[:, :-1])
    torch.testing.assert_close(logits, logits.log_softmax(-1))  # log-probabilities already
    loss = torch.nn.functional.nll_loss(logits[0], tokens[0, 1:]).item() / math.log(2)
    best = min(float(values["valid_nll_loss"]) for values in logged)
    assert loss == pytest.approx(best, abs=2e-3)
    assert best < 0.75 * math.log2(len(scorer.words))


def test_eval_lm_reads_all_words_and_the_scorer_its_own(adaptive, scorer, language_folder):
    import fairseq_cli.eval_lm  # noqa: F401, which ``run`` looks for

    output = run("eval_lm", language_folder / "data-bin", f"--path={adaptive[0]}",
                 "--gen-subset=test", "--task=language_modeling", "--sample-break-mode=eos",
                 "--batch-size=7", f"--user-dir={USER_DIR}")  # fmt: skip
    found = float(re.findall(r"Loss \(base 2\): ([\d.]+)", output)[0])
    lines = lines_of(language_folder)
    total = -sum(scorer.log_probabilities(lines))
    count = sum(len(line) + 1 for line in lines)
    assert total / count / math.log(2) == pytest.approx(found, abs=2e-4)
    alone = [scorer.log_probabilities([line])[0] for line in lines[:5]]
    assert alone == pytest.approx(scorer.log_probabilities(lines)[:5], abs=1e-4)


def test_word_by_word_is_the_whole(scorer):
    model, memory = scorer.model, {}
    tokens = torch.tensor([[2, 5, 6, 7, 8], [2, 9, 5, 5, 6]])
    whole, _ = model(tokens)
    for t in range(5):
        part, _ = model.decoder(tokens[:, : t + 1], incremental_state=memory)
        torch.testing.assert_close(part[:, 0], whole[:, t])


def test_generate_goes_on_from_a_prefix(adaptive, language_folder):
    output = run("generate", language_folder / "data-bin", f"--path={adaptive[0]}",
                 "--task=language_modeling", "--gen-subset=test", "--sample-break-mode=eos",
                 "--prefix-size=2", "--beam=3", "--max-len-b=8", "--batch-size=5",
                 "--required-batch-size-multiple=1",
                 f"--user-dir={USER_DIR}")  # fmt: skip
    lines = re.findall(r"\nH-\d+\t\S+\t(.*)", output)
    assert len(lines) == LENGTHS["test"] and all(line.startswith("the ") for line in lines)


def test_what_is_loaded_and_exported_scores_and_parses_alike(adaptive, tmp_path):
    sentences = ["the cat in the house sings", "the dogs run"]
    fairseq_struct.export(adaptive[0], tmp_path / "exported")
    found = [
        [(float(score), str(tree))
         for score, tree in zip(model.score(sentences), model.parse(sentences), strict=True)]
        for model in map(fairseq_struct.load, (adaptive[0], tmp_path / "exported"))
    ]  # fmt: skip
    assert found[0] == found[1] and "house" in found[0][0][1]


def test_an_interrupted_training_goes_on_with_its_state(language_folder, tmp_path):
    options = [*CUTOFFS, "--optimizer=adam", "--lr=0.01", "--disable-validation", "--seed=3"]
    for name, updates in (("parts", 7), ("parts", 17), ("whole", 17)):
        train(language_folder, tmp_path / name, *options, f"--max-update={updates}")
    parts, whole = (
        torch.load(tmp_path / name / "checkpoint_last.pt", weights_only=True)["model"]
        for name in ("parts", "whole")
    )
    names = [name for name, value in whole.items() if isinstance(value, torch.Tensor)]
    assert "decoder.network.output.tail.1.1.weight" in names
    assert all(torch.equal(parts[name], whole[name]) for name in names)


def test_fairseqs_own_task_takes_the_same_criterion(language_folder, tmp_path):
    options = [*CUTOFFS, "--optimizer=adam", "--task=language_modeling", "--max-update=2"]
    with pytest.raises(InputError, match="cutoff needs --criterion recurrent_language_modeling"):
        train(language_folder, tmp_path, *options, "--criterion=cross_entropy")
    assert not list(tmp_path.glob("*.pt")), "told only after training has begun"
    log = train(language_folder, tmp_path, *options)
    assert '"valid_ppl"' in log


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--adaptive-softmax-cutoff=6,12"], "needs --untied: its output has weights of its own"),
        (["--untied", "--adaptive-softmax-cutoff=12,6"], "increasing numbers, not '12,6'"),
        (["--untied", "--adaptive-softmax-cutoff=6,six"], "numbers with commas .* not '6,six'"),
        (["--untied", "--adaptive-softmax-cutoff="], "numbers with commas between them"),
        (["--untied", "--adaptive-softmax-cutoff=0,6"], "must be 1 or more and below"),
        (["--untied", "--adaptive-softmax-cutoff=6,24"], "below the dictionary's 24 words"),
        ([*CUTOFFS, "--adaptive-softmax-factor=5"], "leaves nothing of a layer of 20"),
    ],
)
def test_bad_options_end_in_one_sentence(language_folder, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        train(language_folder, tmp_path, "--optimizer=adam", "--max-update=1", *options)
    assert not list(tmp_path.iterdir()), "told only after training has begun"
