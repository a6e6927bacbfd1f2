"""Recurrent language models by the real commands, and against sums written out."""

import json
import math
import re
import shutil
from argparse import Namespace

import pytest
import torch
from fairseq_commands import USER_DIR, run
from omegaconf import OmegaConf
from small_language_models import LENGTHS, MODELS, SMALL, train

from fairseq_struct.data.datasets.token_streams import TokenStreams
from fairseq_struct.errors import InputError
from fairseq_struct.inference import load_language_model
from fairseq_struct.modules.recurrent.language_model import RecurrentLanguageModel
from fairseq_struct.optim.nt_asgd import AveragedSGD


def weights(path):
    return torch.load(path, weights_only=True)["model"]


def same(first, second):
    return all(
        torch.equal(first[name], second[name])
        for name in first
        if isinstance(first[name], torch.Tensor)
    )


@pytest.mark.parametrize("arch", MODELS)
def test_validation_is_the_perplexity_of_one_long_text(language_models, language_folder, arch):
    log = (language_models[arch] / "log").read_text()
    logged = [json.loads(line) for line in re.findall(r"(\{.*valid_loss.*\})", log)]
    scorer = load_language_model(language_models[arch] / "checkpoint_best.pt")
    text = (language_folder / "text" / "valid.txt").read_text().replace("\n", " </s> ").split()
    tokens = torch.tensor([[scorer.words.index(word) for word in ["</s>", *text]]])
    logits, _ = scorer.model(tokens[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits[0], tokens[0, 1:]).item()
    best = min(float(values["valid_nll_loss"]) for values in logged)
    assert loss / math.log(2) == pytest.approx(best, abs=2e-3)
    assert best < 0.75 * math.log2(len(scorer.words))  # and it has learned something


@pytest.mark.parametrize("arch", MODELS)
def test_eval_lm_is_the_sum_of_log_probabilities(language_models, language_folder, arch):
    checkpoint = language_models[arch] / "checkpoint_best.pt"
    import fairseq_cli.eval_lm  # noqa: F401, which ``run`` looks for

    data = language_folder / "data-bin"
    output = run("eval_lm", data, f"--path={checkpoint}", "--gen-subset=test",
                 "--task=language_modeling", "--sample-break-mode=eos", "--batch-size=7",
                 f"--user-dir={USER_DIR}")  # fmt: skip
    found = float(re.findall(r"Loss \(base 2\): ([\d.]+)", output)[0])
    scorer = load_language_model(checkpoint)
    lines = [tuple(line.split()) for line in (language_folder / "text" / "test.txt").open()]
    total = -sum(scorer.log_probabilities(lines))
    count = sum(len(line) + 1 for line in lines)
    assert total / count / math.log(2) == pytest.approx(found, abs=2e-4)
    alone = [scorer.log_probabilities([line])[0] for line in lines[:5]]
    assert alone == pytest.approx(scorer.log_probabilities(lines)[:5], abs=1e-4)


@pytest.mark.parametrize("arch", MODELS)
def test_word_by_word_is_the_whole(language_models, arch):
    model = load_language_model(language_models[arch] / "checkpoint_best.pt").model
    tokens = torch.tensor([[2, 5, 6, 7, 8], [2, 9, 5, 5, 6]])
    whole, _ = model(tokens)
    memory = {}
    for t in range(5):
        part, _ = model.decoder(tokens[:, : t + 1], incremental_state=memory)
        torch.testing.assert_close(part[:, 0], whole[:, t])
        if t == 2:  # the beams change places
            model.decoder.reorder_incremental_state(memory, torch.tensor([1, 0]))
            tokens, whole = tokens.flip(0), whole.flip(0)


@pytest.mark.parametrize("arch", MODELS)
def test_generate_goes_on_from_a_prefix(language_models, language_folder, arch):
    checkpoint = language_models[arch] / "checkpoint_best.pt"
    output = run("generate", language_folder / "data-bin", f"--path={checkpoint}",
                 "--task=language_modeling", "--gen-subset=test", "--sample-break-mode=eos",
                 "--prefix-size=2", "--beam=3", "--max-len-b=8", "--batch-size=5",
                 "--required-batch-size-multiple=1",
                 f"--user-dir={USER_DIR}")  # fmt: skip
    lines = re.findall(r"\nH-\d+\t\S+\t(.*)", output)
    assert len(lines) == LENGTHS["test"] and all(line.startswith("the ") for line in lines)


def test_interactive_goes_on_from_raw_text(language_models, language_folder, tmp_path):
    import fairseq_cli.interactive  # noqa: F401, which ``run`` looks for

    (tmp_path / "text").write_text("the cat\nthe dogs\n")
    output = run(
        "interactive", language_folder / "data-bin", "--task=language_modeling",
        f"--path={language_models['on_lstm_lm'] / 'checkpoint_best.pt'}", "--beam=1",
        f"--input={tmp_path / 'text'}", "--max-len-b=10", "--sample-break-mode=eos",
        f"--user-dir={USER_DIR}",
    )  # fmt: skip
    found = re.findall(r"^H-\d\t-?[\d.]+\t(.*)$", output, re.M)
    assert len(found) == 2
    assert found[0].startswith("the cat") and found[1].startswith("the dogs")


@pytest.mark.parametrize("precision", [[], ["--memory-efficient-fp16"]], ids=["float32", "float16"])
@pytest.mark.parametrize("arch", MODELS)
def test_an_interrupted_training_goes_on_with_its_state(
    language_folder, tmp_path, arch, precision
):
    options = ["--optimizer=adam", "--lr=0.01", "--disable-validation", "--seed=3", *precision]
    train(language_folder, tmp_path / "parts", *options, "--max-update=7", arch=arch)
    train(language_folder, tmp_path / "parts", *options, "--max-update=17", arch=arch)
    train(language_folder, tmp_path / "whole", *options, "--max-update=17", arch=arch)
    parts, whole = (weights(tmp_path / name / "checkpoint_last.pt") for name in ("parts", "whole"))
    assert same(parts, whole)
    state = whole["_extra_state"]["state"]
    assert [tuple(part.shape) for part in state[0]] == [(4, 20), (4, 16)]


def test_averaging_begins_when_validation_gets_worse(language_folder, tmp_path):
    options = ["--optimizer=nt_asgd", "--lr=20", "--clip-norm=0.25", "--non-monotone-interval=1",
               "--seed=2"]  # fmt: skip
    train(language_folder, tmp_path / "whole", *options, "--max-epoch=9")
    state = torch.load(tmp_path / "whole" / "checkpoint_last.pt", weights_only=True)
    group = state["last_optimizer_state"]["param_groups"][0]
    assert len(state["model"]["_extra_state"]["losses"]) == 8
    assert group["averaged"] > 0 and group["swapped"]
    # The checkpoint has the averages; its optimizer has the weights with which training continues.
    raw = [state["last_optimizer_state"]["state"][i]["average"] for i in group["params"]]
    averages = [value for value in state["model"].values() if isinstance(value, torch.Tensor)]
    assert not any(torch.equal(own, mean) for own in raw for mean in averages)
    train(language_folder, tmp_path / "parts", *options, "--max-epoch=8")
    train(language_folder, tmp_path / "parts", *options, "--max-epoch=9")
    parts = weights(tmp_path / "parts" / "checkpoint_last.pt")
    assert same(parts, state["model"])


def test_averages_are_means_of_the_weights():
    weight = torch.nn.Parameter(torch.tensor([1.0]))
    optimizer = AveragedSGD([weight], lr=0.5)
    seen = []
    for number in range(6):
        if number == 2:
            optimizer.start()
        weight.grad = torch.tensor([float(number)])
        optimizer.step()
        seen.append(weight.item())
        optimizer.use_average(False)  # nothing to undo
    optimizer.use_average(True)
    optimizer.use_average(True)
    assert weight.item() == pytest.approx(sum(seen[2:]) / 4)
    optimizer.use_average(False)
    assert weight.item() == seen[-1]


@pytest.mark.parametrize("before", [True, False])
def test_the_loss_has_ar_and_tar(language_models, language_folder, before):
    scorer = load_language_model(language_models["on_lstm_lm"] / "checkpoint_best.pt")
    from fairseq_struct.tasks.recurrent_language_modeling import RecurrentLanguageModelingTask

    cfg = Namespace(data=str(language_folder / "data-bin"), tokens_per_sample=9, fixed_windows=True)
    task = RecurrentLanguageModelingTask(cfg, scorer.words, scorer.words, ["future"])
    criterion = task.build_criterion(OmegaConf.create({
        "_name": "recurrent_language_modeling", "activation_regularization": 3.0,
        "temporal_regularization": 5.0, "regularize_before_dropout": before,
    }))  # fmt: skip
    streams = TokenStreams(torch.arange(5, 15).repeat(3)[:23], 1, 2, 9)
    streams.arrange(2)
    sample = streams.collater([streams[1]])  # with padding at the second stream's end
    assert sample["ntokens"] == 5 and (sample["target"] == 1).sum() == 1
    model = scorer.model.train()
    model.decoder.network.output_dropout.p = 0.5
    for module in ("word_dropout", "embedding_dropout"):
        getattr(model.decoder.network, module).p = 0.0
    model.decoder.network.layers.drop_connect.p = 0.0
    model.decoder.network.layers.between.p = 0.0
    torch.manual_seed(0)
    loss, size, logged = criterion(model, sample)
    torch.manual_seed(0)
    made = model.decoder.network(sample["net_input"]["src_tokens"])
    lengths = sample["net_input"]["src_lengths"].tolist()
    words = made.logits.log_softmax(-1)
    nll = activation = change = 0.0
    chosen = made.hidden if before else made.dropped
    for b, length in enumerate(lengths):
        for t in range(length):
            nll -= words[b, t, sample["target"][b, t]].item()
            activation += chosen[t, b].square().sum().item()
            if t:
                change += (made.hidden[t, b] - made.hidden[t - 1, b]).square().sum().item()
    units = made.hidden.size(2)
    expected = nll + size * 3 * activation / (size * units)
    expected += size * 5 * change / (sum(length - 1 for length in lengths) * units)
    assert size == 5 and loss.item() == pytest.approx(expected, rel=1e-5)
    assert logged["nll_loss"].item() == pytest.approx(nll, rel=1e-5)
    model.eval()
    assert criterion(model, sample)[0].item() == criterion(model, sample)[2]["nll_loss"].item()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--chunk-size=7"], "chunk size 7 must divide"),
        (["--layers=0"], "must be 1 or more"),
        (["--dropout-weights=1"], "below 1, not 1"),
        (["--tokens-per-sample=0"], "--tokens-per-sample must be 1 or more"),
        (["--temporal-regularization=-1"], "--temporal-regularization must be 0 or more, not -1"),
        (["--activation-regularization=nan"], "--activation-regularization must be 0 .* not nan"),
        (["--optimizer=nt_asgd", "--non-monotone-interval=0"], "interval must be 1 or more"),
        (["--valid-subset=dev"], "dev.bin: no such file"),
        (["--criterion=cross_entropy"], "needs --criterion recurrent_language_modeling"),
        (["--batch-size=2000"], "too few for 2000 streams"),
        (
            ["--task=language_modeling", "--criterion=cross_entropy", "--optimizer=nt_asgd"],
            "nt_asgd needs --task recurrent_language_modeling",
        ),
        (["--optimizer=nt_asgd", "--memory-efficient-fp16"], "nt_asgd needs float32: no --fp16, "),
    ],
)
def test_bad_options_end_in_one_sentence(language_folder, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        train(language_folder, tmp_path, "--optimizer=adam", "--max-update=1", *options)
    assert not (tmp_path / "crash.pt").exists(), "told only after the first epoch has begun"


def test_the_task_is_for_models_that_carry_a_state(language_folder, tmp_path):
    with pytest.raises(InputError, match="this task is for on_lstm_lm and awd_lstm_lm, not for Tr"):
        run("train", language_folder / "data-bin", "--arch=transformer_lm", "--decoder-layers=1",
            "--decoder-embed-dim=8", "--decoder-attention-heads=1", "--optimizer=adam",
            "--task=recurrent_language_modeling", "--criterion=recurrent_language_modeling",
            "--batch-size=4", "--max-update=1", f"--save-dir={tmp_path}",
            f"--user-dir={USER_DIR}")  # fmt: skip
    assert not (tmp_path / "crash.pt").exists()


def test_eval_lm_needs_the_other_task(language_models, language_folder):
    import fairseq_cli.eval_lm  # noqa: F401, which ``run`` looks for

    with pytest.raises(InputError, match="fairseq-eval-lm needs --task language_modeling"):
        run("eval_lm", language_folder / "data-bin", "--task=recurrent_language_modeling",
            f"--path={language_models['on_lstm_lm'] / 'checkpoint_best.pt'}", "--batch-size=1",
            f"--user-dir={USER_DIR}")  # fmt: skip


def test_a_split_without_a_sentence(language_folder, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(language_folder, data)
    (data / "data-bin" / "valid.bin").write_bytes(b"")
    with pytest.raises(InputError, match=r"valid\.bin: the split 'valid' is empty"):
        train(data, tmp_path / "run", "--optimizer=adam", "--max-update=1")


@pytest.mark.parametrize("arch", MODELS)
def test_padding_belongs_on_the_right(language_models, language_folder, arch):
    checkpoint = language_models[arch] / "checkpoint_best.pt"
    model = load_language_model(checkpoint).model
    with pytest.raises(ValueError, match="padding must be on the right"):
        model(torch.tensor([[1, 1, 2, 5], [2, 5, 6, 7]]))
    with pytest.raises(InputError, match="need --task language_modeling"):
        run("generate", language_folder / "data-bin", f"--path={checkpoint}", "--gen-subset=test",
            "--task=recurrent_language_modeling", "--batch-size=5",
            f"--user-dir={USER_DIR}")  # fmt: skip


def test_a_batch_needs_a_size(language_folder, tmp_path):
    options = [option for option in SMALL if not option.startswith("--batch-size")]
    with pytest.raises(InputError, match="needs --batch-size, the number of streams"):
        run("train", language_folder / "data-bin", "--arch=on_lstm_lm", f"--save-dir={tmp_path}",
            *options, "--chunk-size=4",
            "--optimizer=adam", "--max-update=1", "--max-tokens=100")  # fmt: skip


def test_presets_are_the_papers(language_folder, tmp_path):
    from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

    for arch in ("on_lstm_lm", "on_lstm_lm_ptb", "on_lstm_lm_syneval", "awd_lstm_lm_syneval"):
        assert arch in ARCH_MODEL_REGISTRY or arch in ARCH_CONFIG_REGISTRY
    sizes = dict(words=10_000, padding=1)
    millions = {
        cell: sum(p.numel() for p in RecurrentLanguageModel(**sizes, cell=cell).parameters()) / 1e6
        for cell in ("on_lstm", "lstm")
    }
    assert round(millions["on_lstm"]) == 25 and round(millions["lstm"]) == 24  # table 1
