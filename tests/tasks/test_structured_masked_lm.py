"""Masked language models on fairseq's command line: training, resuming, validating, parsing."""

import io
import math
import re

import pytest
import torch
from fairseq_commands import USER_DIR, run
from small_language_models import make_folder
from small_masked_models import MODELS, logged, train, weights

import fairseq_struct
from fairseq_struct.cli.main import main
from fairseq_struct.data.datasets.masked_sentences import MaskedSentences
from fairseq_struct.data.readers.conllu import read_conllu
from fairseq_struct.errors import InputError
from fairseq_struct.metrics.attachment import AttachmentScores

# Trees of sentences of the corpus, "the cats in the house sing" and the like.
GOLD = "the\tDT\t2\ncat\tNN\t3\nsings\tVBZ\t0\n.\t.\t3\n\nthe\tDT\t2\ndogs\tNNS\t3\nrun\tVBP\t0\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("masked"))


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    path = tmp_path_factory.mktemp("treebank") / "gold.dp"
    path.write_text(GOLD)
    return path


@pytest.mark.parametrize("arch", MODELS)
def test_training_and_resuming(folder, tmp_path, arch):
    output = train(folder, tmp_path / "parts", "--max-epoch=2", "--seed=3", arch=arch)
    first, second = logged(output, "valid_ppl")
    assert 1 < second < first < 30
    options = ["--seed=3", "--disable-validation"]
    train(folder, tmp_path / "parts", *options, "--max-epoch=4", arch=arch)
    train(folder, tmp_path / "whole", *options, "--max-epoch=4", arch=arch)
    parts, whole = (weights(tmp_path / name / "checkpoint_last.pt") for name in ("parts", "whole"))
    assert parts.keys() == whole.keys()
    assert all(torch.equal(parts[name], whole[name]) for name in whole)


@pytest.mark.parametrize("arch", ["udgn", "structformer"])
def test_the_treebank_is_scored_at_every_validation(folder, treebank, tmp_path, arch):
    output = train(
        folder, tmp_path, "--max-epoch=2", f"--treebank={treebank}",
        "--best-checkpoint-metric=uuas", "--maximize-best-checkpoint-metric", arch=arch,
    )  # fmt: skip
    kinds = ("", "_argmax", "_argmax_root")
    for name in (f"{name}{kind}" for name in ("uas", "uuas") for kind in kinds):
        values = logged(output, f"valid_{name}")
        assert len(values) == 2 and all(0 <= value <= 100 for value in values)
    best = torch.load(tmp_path / "checkpoint_best.pt", weights_only=True)
    assert best["extra_state"]["best"] == max(logged(output, "valid_uuas"))
    # The last score, computed again from the words alone.
    parser = fairseq_struct.load(tmp_path / "checkpoint_last.pt")
    sentences, gold = ["the cat sings", "the dogs run"], [(2, 3, 0), (2, 3, 0)]
    found = list(parser.readings(sentences))
    assert [tuple(own[""]) for own in found] == parser.parse(sentences)
    assert not any(0 in own["_argmax"] for own in found)
    for kind in kinds:
        scores = AttachmentScores()
        for own, heads in zip(found, gold, strict=True):
            scores.add(own[kind], heads)
        for name in ("uas", "uuas"):
            value = pytest.approx(getattr(scores, name), abs=0.01)
            assert logged(output, f"valid_{name}{kind}")[-1] == value
    # Training logs have training data only.
    assert not re.search(r'"train_uas"', output)


def test_fairseq_validate_scores_the_treebank_too(folder, treebank, tmp_path):
    import fairseq_cli.validate  # noqa: F401, which ``run`` looks for

    output = train(folder, tmp_path, "--max-epoch=1", f"--treebank={treebank}")
    again = run(
        "validate", folder / "data-bin", "--task=structured_masked_lm", f"--treebank={treebank}",
        f"--path={tmp_path / 'checkpoint_last.pt'}", "--max-tokens=120", f"--user-dir={USER_DIR}",
        "--log-format=json", "--required-batch-size-multiple=1",
    )  # fmt: skip
    assert logged(again, "valid_uas") or logged(again, "uas")
    assert (logged(again, "valid_uas") or logged(again, "uas")) == logged(output, "valid_uas")


def test_scores_of_the_treebank_are_logged_once_for_several_splits(folder, treebank, tmp_path):
    output = train(folder, tmp_path, "--max-epoch=2", f"--treebank={treebank}",
                   "--valid-subset=valid,test", "--no-save")  # fmt: skip
    assert len(logged(output, "valid_uas")) == 2 and len(logged(output, "test_ppl")) == 2
    assert not logged(output, "test_uas")


def test_validation_is_the_perplexity_of_the_hidden_words(folder, tmp_path):
    output = train(folder, tmp_path, "--max-update=5", "--max-epoch=1", "--seed=2")
    model = fairseq_struct.load(tmp_path / "checkpoint_last.pt")
    words = model.vocabulary.words
    lines = (folder / "text" / "valid.txt").read_text().splitlines()
    sentences = [torch.tensor([words.index(word) for word in line.split()]) for line in lines]
    mask = words.index("<mask>")
    data = MaskedSentences(
        sentences, words.pad(), words.unk(), mask, 0.3, seed=2, draws=2, shuffle=False
    )
    total, count = 0.0, 0
    for sample in data:
        batch = data.collater([sample])
        with torch.no_grad():
            logits, _ = model.model(**batch["net_input"])
        total -= float(logits.log_softmax(-1).gather(1, batch["target"][:, None]).sum())
        count += len(batch["target"])
    assert logged(output, "valid_ppl") == [pytest.approx(math.exp(total / count), abs=0.01)]


@pytest.fixture(scope="module")
def checkpoint(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("udgn")
    train(folder, path, "--max-epoch=1", "--disable-validation")
    return path / "checkpoint_last.pt"


def test_trees_of_raw_text(checkpoint, monkeypatch, capsys, tmp_path):
    text = ["the cats sing", "Unheard", "the dog in the house runs"]

    def parse(*options):
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(text) + "\n"))
        status = main(["parse", str(checkpoint), *options])
        output = capsys.readouterr()
        return status, output.out, output.err

    status, out, err = parse()
    assert status == 0 and "3 trees, mean depth" in err
    (tmp_path / "out.conllu").write_text(out)
    trees = list(read_conllu(tmp_path / "out.conllu"))
    assert [" ".join(tree.words) for tree in trees] == text
    assert all(tree.heads.count(0) == 1 for tree in trees)
    model = fairseq_struct.load(checkpoint)
    assert model.parse(text) == [tree.heads for tree in trees]
    assert [model.parse([line])[0] for line in text] == model.parse(text)
    assert parse("--multiple-roots")[0] == 0 and parse("--format=html")[1].count("<svg") == 3
    status, _, err = parse("--layer=2")
    assert status == 2 and "--layer does not apply to this model; it is for language models" in err


def test_models_without_trees_say_so(folder, treebank, tmp_path, capsys):
    train(folder, tmp_path, "--max-epoch=1", "--disable-validation", arch="masked_transformer")
    assert main(["parse", str(tmp_path / "checkpoint_last.pt")]) == 2
    assert "MaskedTransformerModel infers no trees" in capsys.readouterr().err
    with pytest.raises(InputError, match="--treebank is for models that infer trees"):
        train(folder, tmp_path / "x", "--max-epoch=1", f"--treebank={treebank}",
              arch="masked_transformer")  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mask-rate=1"], "--mask-rate must be above 0 and below 1"),
        (["--valid-draws=0"], "--valid-draws must be 1 or more"),
        (["--treebank=nowhere"], "nowhere: no such file"),
        (["--valid-subset=dev"], r"dev\.bin: no such file"),
        (["--layers=0"], "--layers must be 1 or more"),
        (["--dropout=1"], "--dropout must be 0 or more and below 1"),
        (["--channels=0"], "must be 1 or more"),
        (["--absolute-positions=3"], r"valid\.bin: sentence . has . words, more than "
                                     "--absolute-positions 3"),
        (["--absolute-positions=-3"], "--absolute-positions must be 0 or more"),
        (["--parser-size=0"], "--parser-size must be 1 or more"),
        (["--max-tokens=4"], "--max-tokens 4 is too small: a sentence has 6 words"),
        (["--mask-rate=0.0000001"], "at --mask-rate 1e-07 no word is masked"),
    ],
)
def test_bad_options_end_in_one_sentence(folder, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        train(folder, tmp_path, "--max-update=1", *options)
    assert not (tmp_path / "crash.pt").exists(), "told only after the first epoch has begun"


def test_the_preset_is_the_published_setting(folder, tmp_path):
    output = run("train", folder / "data-bin", "--arch=udgn_ptb", f"--save-dir={tmp_path}",
                 "--task=structured_masked_lm", "--criterion=structured_masked_lm",
                 "--optimizer=adam", "--max-update=1", "--max-tokens=20", "--log-format=json",
                 "--disable-validation", "--no-save", "--num-workers=0", "--max-epoch=1",
                 f"--user-dir={USER_DIR}")  # fmt: skip
    # 8 layers of 8 channels of 128: 4 projections in, one out, and two biases a channel.
    layer = 512 * 4 * 1024 + 4 * 1024 + 1024 * 512 + 512 + 2 * 8
    found = int(re.search(r"num\. shared model params: ([\d,]+)", output)[1].replace(",", ""))
    words = len((folder / "data-bin" / "dict.txt").read_text().splitlines()) + 5  # symbols
    lstm = sum(2 * 4 * 512 * (given + 512 + 2) for given in (512, 1024, 1024))
    parser = words * (512 + 50) + 50 * 512 + lstm + 2 * (1024 * 512 + 512)
    assert found == 8 * layer + parser + words * 512 + words + 2 * 512


def test_an_epoch_that_has_too_few_batches_now_does_not_go_on(folder, tmp_path):
    train(folder, tmp_path, "--max-update=3", "--batch-size=1")
    with pytest.raises(InputError, match="in the middle of an epoch, .*--reset-dataloader"):
        train(folder, tmp_path, "--max-update=6", "--batch-size=60", "--max-tokens=9999")
    options = ["--batch-size=60", "--max-tokens=9999", "--reset-dataloader"]
    assert "done training" in train(folder, tmp_path, "--max-update=4", *options)
