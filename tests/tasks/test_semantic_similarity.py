"""Fine-tuning on semantic textual similarity, from the command line."""

import math
import random

import pytest
import torch
from fairseq.data import Dictionary
from fairseq_commands import USER_DIR, run
from scipy.stats import spearmanr
from small_language_models import make_folder
from small_masked_models import OF_MODEL, logged, train, weights

from fairseq_struct.criterions.semantic_similarity import SemanticSimilarityCriterion
from fairseq_struct.data.readers.scored_pairs import Pair, read_pairs, write_pairs
from fairseq_struct.errors import InputError
from fairseq_struct.inference import load_masked_model
from fairseq_struct.metrics.gathering import present_rows
from fairseq_struct.metrics.rank_correlation import PAIRS, rank_correlation
from fairseq_struct.models.shared.masked_language_model import MaskedModel
from fairseq_struct.tasks.semantic_similarity import (
    SemanticSimilarityConfig,
    SemanticSimilarityTask,
)

OPTIONS = ["--task=semantic_similarity", "--criterion=semantic_similarity", "--optimizer=adam",
           "--embed-dim=16", "--layers=2", "--lr=0.01", "--batch-size=16", "--no-progress-bar",
           "--log-format=json", "--num-workers=0", f"--user-dir={USER_DIR}"]  # fmt: skip


def test_rank_correlation_is_spearmans_in_percent():
    draw = random.Random(1)
    predicted, gold = ([draw.random() for _ in range(30)] for _ in range(2))
    gold[3] = gold[4]
    expected = 100 * spearmanr(predicted, gold).statistic
    assert rank_correlation(predicted, gold) == pytest.approx(expected, abs=1e-9)
    assert rank_correlation([1.0, 1.0], [0.0, 0.5]) == 0.0  # without ranks
    assert rank_correlation([], []) == 0.0
    assert math.isnan(rank_correlation([float("nan"), 1.0], [1.0, 2.0]))
    with pytest.raises(ValueError, match="1 predicted scores for 2"):
        rank_correlation([1.0], [1.0, 2.0])


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """A folder of pairs (similar if about the same animal), and checkpoints by architecture."""
    corpus = make_folder(tmp_path_factory.mktemp("corpus"))
    folder = tmp_path_factory.mktemp("pairs")
    draw = random.Random(2)
    animals = {"cat": "cats", "dog": "dogs", "bird": "birds"}
    for name, size in (("train", 96), ("valid", 40), ("other", 24)):
        pairs = []
        for _ in range(size):
            first, second = draw.choice(list(animals)), draw.choice(list(animals))
            pairs.append(Pair(f"the {first} runs", f"the {animals[second]} in the house sing",
                              4.0 if first == second else 1.0))  # fmt: skip
        write_pairs(folder / f"{name}.tsv", pairs)
    (folder / "dict.txt").write_text((corpus / "data-bin" / "dict.txt").read_text())
    checkpoints = {}
    for arch in ("udgn", "masked_transformer"):
        path = tmp_path_factory.mktemp(arch)
        train(corpus, path, "--max-epoch=1", "--disable-validation", arch=arch)
        checkpoints[arch] = path / "checkpoint_last.pt"
    return folder, checkpoints


def finetune(pretrained, save_dir, *options, arch="udgn"):
    folder, checkpoints = pretrained
    return run("train", folder, f"--arch={arch}", f"--save-dir={save_dir}", *OPTIONS,
               *OF_MODEL[arch], f"--finetune-from-model={checkpoints[arch]}",
               *options)  # fmt: skip


@pytest.mark.parametrize("arch", ["udgn", "masked_transformer"])
def test_similarity_is_learnt(pretrained, tmp_path, arch):
    output = finetune(
        pretrained, tmp_path, "--max-epoch=15", "--valid-subset=valid,other", "--seed=2",
        "--best-checkpoint-metric=spearman", "--maximize-best-checkpoint-metric",
        "--no-epoch-checkpoints", arch=arch,
    )  # fmt: skip
    valid = logged(output, "valid_spearman")
    assert len(valid) == len(logged(output, "other_spearman")) == 15
    assert max(valid) > 55 and max(valid) > valid[0] + 10
    best = torch.load(tmp_path / "checkpoint_best.pt", weights_only=True)
    assert best["extra_state"]["best"] == max(valid)
    # What is logged is the correlation of the saved model's cosines.
    model, words = load_masked_model(tmp_path / "checkpoint_best.pt")
    similarities, scores = [], []
    for pair in read_pairs(pretrained[0] / "valid.tsv"):
        vectors = []
        for sentence in (pair.first, pair.second):
            tokens = torch.tensor([[words.index(word) for word in sentence.split()]])
            with torch.no_grad():
                given = model.sentence_vectors(tokens, torch.tensor([tokens.size(1)]))
                torch.testing.assert_close(
                    given, model.encode(tokens, torch.tensor([tokens.size(1)])).words.mean(1)
                )
                vectors.append(given[0])
        similarities.append(float(torch.cosine_similarity(*vectors, dim=0)))
        scores.append(pair.score)
    assert 100 * spearmanr(similarities, scores).statistic == pytest.approx(max(valid), abs=0.5)


@pytest.mark.parametrize("arch", ["udgn", "masked_transformer"])
def test_rounding_changes_no_rank(pretrained, tmp_path, arch):
    folder, checkpoints = pretrained
    model, words = load_masked_model(checkpoints[arch])
    draw = random.Random(3)
    known = words.symbols[words.nspecial : -1]  # without the mask
    sentences = [" ".join(draw.choices(known, k=draw.randint(1, 9))) for _ in range(40)]
    pairs = [Pair(*draw.sample(sentences, 2), draw.randint(0, 5)) for _ in range(60)]
    pairs += [Pair(pair.second, pair.first, pair.score) for pair in pairs[:20]]
    pairs += [Pair(sentence, sentence, 5) for sentence in sentences]
    write_pairs(tmp_path / "all.tsv", pairs)
    task = SemanticSimilarityTask(
        SemanticSimilarityConfig(data=str(tmp_path)), Dictionary.load(str(folder / "dict.txt"))
    )
    task.load_dataset("all")
    data = task.datasets["all"]
    task.largest_batch = len(data)  # otherwise set by the iterator of batches
    criterion = SemanticSimilarityCriterion(task)

    def scores(size):
        found = []
        for start in range(0, len(data), size):
            rows = [data[place] for place in range(start, min(start + size, len(data)))]
            _, _, logged = task.valid_step(data.collater(rows), model, criterion)
            found += present_rows(logged["scores"])[:, 0].tolist()
        return found

    alone = scores(1)
    assert alone == scores(7) == scores(len(data))
    assert alone[60:80] == alone[:20]  # the same pair in reverse order
    assert alone[80:] == [1.0] * 40
    plain = model.double()
    for pair, score in zip(pairs[:5], alone, strict=False):
        tokens = [torch.tensor([[words.index(word) for word in sentence.split()]])
                  for sentence in (pair.first, pair.second)]  # fmt: skip
        with torch.no_grad():
            u, v = (plain.sentence_vectors(one, torch.tensor([one.size(1)])) for one in tokens)
        assert score == pytest.approx(float(torch.cosine_similarity(u, v)), abs=6e-7)


def test_a_validation_copies_the_model_once(pretrained, monkeypatch):
    folder, checkpoints = pretrained
    model, words = load_masked_model(checkpoints["udgn"])
    task = SemanticSimilarityTask(
        SemanticSimilarityConfig(data=str(folder)), Dictionary.load(str(folder / "dict.txt"))
    )
    task.load_dataset("valid")
    criterion = SemanticSimilarityCriterion(task)
    copies, make = [], MaskedModel.in_float64

    def counted(self):
        found = make(self)
        copies.extend([found] if found is not self else [])
        return found

    def validate():
        """The scores: of the task's copy of the model, and of a new copy for each batch."""
        batches = task.get_batch_iterator(task.datasets["valid"], max_sentences=7)
        samples = list(batches.next_epoch_itr(shuffle=False))
        assert len(samples) == 6
        monkeypatch.setattr(MaskedModel, "in_float64", counted)
        found = [task.valid_step(sample, model, criterion)[2]["scores"] for sample in samples]
        monkeypatch.setattr(MaskedModel, "in_float64", make)
        alone = [criterion(model.in_float64(), sample)[2]["scores"] for sample in samples]
        return torch.stack(found), torch.stack(alone)

    first, alone = validate()
    assert torch.equal(first, alone) and len(copies) == 1
    assert all(one.dtype == torch.float32 for one in model.parameters())
    with torch.no_grad():
        model.network.embedding.weight.mul_(torch.linspace(0.5, 2, 16))
    second, alone = validate()
    assert torch.equal(second, alone) and len(copies) == 2 and not torch.equal(first, second)


def test_a_frozen_parser_stays_as_it_was(pretrained, tmp_path):
    before = weights(pretrained[1]["udgn"])
    options = ["--max-epoch=1", "--disable-validation"]
    finetune(pretrained, tmp_path / "frozen", *options, "--freeze-parser")
    finetune(pretrained, tmp_path / "free", *options)
    for name, frozen in (("frozen", True), ("free", False)):
        after = weights(tmp_path / name / "checkpoint_last.pt")
        assert after.keys() == before.keys()
        parser = [key for key in before if ".parser." in key]
        assert all(torch.equal(before[key], after[key]) for key in parser) == frozen
        graph = [key for key in before if ".graph." in key]
        assert graph and parser
        assert not any(torch.equal(before[key], after[key]) for key in graph if "weight" in key)


def test_resuming_changes_nothing(pretrained, tmp_path):
    """Within an epoch, too, where fairseq restores its meters, with the pairs of one validation."""
    options = ["--seed=4", "--validate-interval-updates=2"]
    finetune(pretrained, tmp_path / "parts", *options, "--max-update=8")
    second = logged(finetune(pretrained, tmp_path / "parts", *options, "--max-update=12"),
                    "valid_spearman")  # fmt: skip
    whole = logged(finetune(pretrained, tmp_path / "whole", *options, "--max-update=12"),
                   "valid_spearman")  # fmt: skip
    assert len(second) > 1 and second == whole[-len(second) :]
    parts, whole = (torch.load(tmp_path / name / "checkpoint_last.pt", weights_only=True)
                    for name in ("parts", "whole"))  # fmt: skip
    assert all(torch.equal(parts["model"][name], whole["model"][name]) for name in whole["model"])
    meters = {name: state for _, name, _, state in parts["extra_state"]["metrics"]["valid"]}
    assert meters[PAIRS]["tensor"].shape == (40, 2)


def test_padding_changes_no_vector(pretrained):
    model, words = load_masked_model(pretrained[1]["udgn"])
    tokens = torch.tensor([[words.index(word) for word in "the cats sing".split()]])
    padded = torch.cat([tokens, torch.full((1, 4), words.pad())], 1)
    with torch.no_grad():
        alone, wider = (model.sentence_vectors(one, torch.tensor([3])) for one in (tokens, padded))
    torch.testing.assert_close(alone, wider)


def test_bad_input_is_told(pretrained, tmp_path):
    folder, _ = pretrained
    with pytest.raises(InputError, match="has no parser; drop --freeze-parser"):
        finetune(pretrained, tmp_path, "--freeze-parser", arch="masked_transformer")
    with pytest.raises(InputError, match=r"none\.tsv: no such file"):
        finetune(pretrained, tmp_path, "--valid-subset=none", "--max-epoch=1")
    with pytest.raises(InputError, match=r"dict\.txt: no such file"):
        run("train", tmp_path, "--arch=udgn", *OPTIONS, *OF_MODEL["udgn"])
    with pytest.raises(InputError, match="is for masked language models such as udgn, not"):
        run("train", folder, "--arch=on_lstm_lm", *OPTIONS[:3], "--lr=0.01", "--batch-size=4",
            "--max-epoch=1", f"--user-dir={USER_DIR}", "--num-workers=0",
            f"--save-dir={tmp_path}")  # fmt: skip
