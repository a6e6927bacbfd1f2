"""Translation along latent trees: attention against loops, and the real commands."""

import gc
import io
import sys

import pytest
import torch
from fairseq_commands import USER_DIR, run, train, write_data_bin
from omegaconf import OmegaConf
from tree_kinds import decoders_of_trees, random_scores

import fairseq_struct
from fairseq_struct import plugin
from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError
from fairseq_struct.modules.latent_tree.tree_self_attention import (
    TreeSelfAttention,
    attention_of_arcs,
)
from fairseq_struct.structure.dependency import DependencyTrees
from fairseq_struct.structure.pullback import METHODS

ARCH = "latent_tree_transformer"


@pytest.fixture(scope="module")
def data_bin(tmp_path_factory):
    return write_data_bin(tmp_path_factory.mktemp("data"))


def test_words_attend_to_their_heads_and_the_root_is_the_end_symbol():
    lengths = torch.tensor([3, 1, 2])
    trees = DependencyTrees(random_scores(3, 3, 3), lengths)
    for arcs in (trees.argmax, trees.marginals):
        for left in (True, False):
            start = torch.tensor([0, 2, 1]) if left else torch.zeros(3).long()
            attention = attention_of_arcs(arcs, lengths, start, 4)
            expected = torch.zeros(3, 4, 4, dtype=arcs.dtype)
            for b, length in enumerate(lengths.tolist()):
                first = int(start[b])
                expected[b, first + length, first + length] = 1
                for m in range(length):
                    for h in range(length):
                        column = first + (length if h == m else h)
                        expected[b, first + m, column] += arcs[b, h, m]
            torch.testing.assert_close(attention, expected)


def test_attention_is_that_of_its_equations():
    torch.manual_seed(1)
    attention, words = TreeSelfAttention(6, 3), torch.randn(4, 2, 6)
    arcs = torch.rand(2, 4, 4)
    padding = torch.tensor([[False] * 4, [True, False, False, False]])
    query, key, value = attention.query(words), attention.key(words), attention.value(words)
    found = attention(words, arcs, padding)
    for b in range(2):
        mixed = [arcs[b] @ value[:, b, :2]]
        for k in range(2):
            part = slice(2 * k, 2 * k + 2)
            scores = query[:, b, part] @ key[:, b, part].T / 2**0.5
            weights = scores.masked_fill(padding[b], -torch.inf).softmax(1)
            mixed.append(weights @ value[:, b, 2 * k + 2 : 2 * k + 4])
        torch.testing.assert_close(found[:, b], attention.output(torch.cat(mixed, 1)))
    with pytest.raises(ValueError, match="heads must be 2 or more and divide"):
        TreeSelfAttention(6, 1)


@pytest.fixture(scope="module")
def trained(data_bin, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    train(data_bin, folder, "--latent-method=spigot_ce", "--criterion=latent_tree_translation",
          "--max-epoch=2", "--batch-size=8", arch=ARCH)  # fmt: skip
    return folder / "checkpoint_last.pt"


def load_model(checkpoint, data_bin):
    from fairseq.checkpoint_utils import load_model_ensemble_and_task

    plugin.load()
    models, _, task = load_model_ensemble_and_task([str(checkpoint)], {"data": str(data_bin)})
    return models[0], task


def test_a_sentence_depends_neither_on_its_batch_nor_on_the_side_of_its_padding(trained, data_bin):
    model, task = load_model(trained, data_bin)
    encoder, words = model.encoder.double().eval(), task.source_dictionary
    rows = [words.encode_line(line, add_if_not_exist=False).long()
            for line in ("one two three four", "five", "six seven", "")]  # fmt: skip
    for left in (True, False):
        batch = torch.full((4, 5), words.pad())
        for tokens, row in zip(rows, batch, strict=True):
            row[5 - len(tokens) :] = tokens if left else row[5 - len(tokens) :]
            row[: len(tokens)] = row[: len(tokens)] if left else tokens
        together = encoder(batch)["encoder_out"][0]
        for b, tokens in enumerate(rows):
            alone = encoder(tokens[None])["encoder_out"][0][:, 0]
            place = slice(5 - len(tokens), 5) if left else slice(0, len(tokens))
            torch.testing.assert_close(together[place, b], alone)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_teaches_the_parser(trained, data_bin, method, monkeypatch):
    decoders = decoders_of_trees(monkeypatch)
    model, task = load_model(trained, data_bin)
    options = OmegaConf.create({"_name": "latent_tree_translation", "label_smoothing": 0.1,
                                "sentence_avg": False, "report_accuracy": True})  # fmt: skip
    criterion = task.build_criterion(options)
    task.load_dataset("valid")
    data = task.dataset("valid")
    sample = data.collater([data[i] for i in range(5)])
    tree = model.encoder.tree
    tree.method = method
    if method == "score_function":
        tree.register_buffer("average_loss", torch.full((), torch.nan, dtype=torch.float64))
    model.train().zero_grad()
    loss, size, logged = criterion(model, sample)
    loss.backward()
    for parameter in model.encoder.scorer.parameters():
        assert parameter.grad.isfinite().all() and parameter.grad.abs().sum() > 0
    assert size == sample["ntokens"] and logged["total"] == size
    del loss
    gc.collect()
    assert decoders[0]() is None  # the step leaves nothing else in memory either
    model.eval()
    assert criterion(model, sample)[0].isfinite()


def test_options_of_a_checkpoint_that_are_not_needed_or_made_up(trained, tmp_path):
    state = torch.load(trained, weights_only=True)
    expected = fairseq_struct.load(trained).parse(["one two three"])
    state["cfg"]["model"].encoder_embed_path = str(tmp_path / "moved.vec")
    torch.save(state, tmp_path / "x.pt")
    assert fairseq_struct.load(tmp_path / "x.pt").parse(["one two three"]) == expected
    for name, value, message in (
        ("encoder_layers", 10**9, "ask for more layers than it has"),
        ("parser_hidden_size", 10**9, "no model can be built from its options|does not fit"),
        ("latent_method", "spigott", "unknown latent method .* did you mean 'spigot'"),
    ):
        old = getattr(state["cfg"]["model"], name)
        setattr(state["cfg"]["model"], name, value)
        torch.save(state, tmp_path / "x.pt")
        with pytest.raises(InputError, match=message):
            fairseq_struct.load(tmp_path / "x.pt")
        setattr(state["cfg"]["model"], name, old)


def test_translation_resumption_and_trees(trained, data_bin, tmp_path, monkeypatch, capsys):
    options = ["--latent-method=spigot", "--criterion=latent_tree_translation", "--batch-size=8",
               "--disable-validation"]  # fmt: skip
    train(data_bin, tmp_path / "parts", *options, "--max-update=5", arch=ARCH)
    train(data_bin, tmp_path / "parts", *options, "--max-update=12", arch=ARCH)
    train(data_bin, tmp_path / "whole", *options, "--max-update=12", arch=ARCH)
    parts, whole = (
        torch.load(tmp_path / name / "checkpoint_last.pt", weights_only=True)["model"]
        for name in ("parts", "whole")
    )
    assert all(torch.equal(parts[name], whole[name]) for name in whole)
    output = run("generate", data_bin, f"--path={trained}", "--batch-size=8", "--beam=2",
                 f"--user-dir={USER_DIR}", "--required-batch-size-multiple=1")  # fmt: skip
    assert output.count("\nH-") == 8
    model = fairseq_struct.load(trained)
    (heads,) = model.parse(["one two three"])
    assert DependencyTrees(torch.zeros(1, 3, 3)).is_tree(torch.tensor([heads]))
    assert len(model.parse(["one </s> <pad> three"])[0]) == 4
    several = ["one two three", "two", "three one two one"]
    assert model.parse(several) == [model.parse([one])[0] for one in several]
    monkeypatch.setattr(sys, "stdin", io.StringIO("one two\nthree\n"))
    assert main(["parse", str(trained)]) == 0
    assert capsys.readouterr().out.count("\t_\t") > 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("one two\n"))
    assert main(["classify", str(trained)]) == 2
    assert "so it gives no labels" in capsys.readouterr().err
    with pytest.raises(InputError, match="--truncate does not apply .* it is for classifiers"):
        fairseq_struct.load(trained, truncate=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--latent-method=spigot_ce"], "needs --criterion latent_tree_translation"),
        (["--latent-method=spigot"], "needs --criterion latent_tree"),
        (["--latent-method=ste_identity", "--pullback-steps=2"], "needs --criterion latent_tree"),
        (["--encoder-attention-heads=1"], "must be 2 or more and divide 32, not 1"),
        (["--parser-hidden-size=7"], "--parser-hidden-size must be even, not 7"),
        (["--checkpoint-activations"], "--checkpoint-activations is not for layers that"),
        (["--offload-activations"], "--offload-activations is not for layers that"),
        (["--latent-method=tree"], "unknown latent method 'tree'"),
    ],
)
def test_bad_options_end_in_one_sentence(data_bin, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        train(data_bin, tmp_path, *options, "--max-update=1", "--batch-size=8", arch=ARCH)
    assert not (tmp_path / "crash.pt").exists(), "told only after the first epoch has begun"


def test_a_validation_takes_any_criterion(trained, data_bin):
    output = run("validate", data_bin, f"--path={trained}", "--task=translation", "--batch-size=8",
                 "--criterion=label_smoothed_cross_entropy", f"--user-dir={USER_DIR}",
                 "--num-workers=0", "--log-format=simple")  # fmt: skip
    assert "nll_loss" in output


@pytest.mark.parametrize(
    ("criterion", "arch"),
    [
        ("latent_tree_translation", "latent_tree_transformer"),
        ("scheduled_sampling_cross_entropy", "scheduled_sampling_transformer"),
    ],
)
def test_a_criterion_refuses_models_of_others_before_training(data_bin, tmp_path, criterion, arch):
    with pytest.raises(InputError, match=f"--criterion {criterion} is for {arch}"):
        train(data_bin, tmp_path, f"--criterion={criterion}", "--max-update=1", "--batch-size=8",
              arch="transformer_tiny")  # fmt: skip
    assert not (tmp_path / "crash.pt").exists(), "told only after the first epoch has begun"
