"""Recurrent language models by the real commands, and against sums written out."""

import io
import json
import math
import pickle
import random
import re
import sys
from argparse import Namespace

import pytest
import torch
from fairseq_commands import ROOT, USER_DIR, run, start
from omegaconf import OmegaConf

import fairseq_struct
from fairseq_struct.cli.main import main
from fairseq_struct.data.language_corpus import write_language_folder
from fairseq_struct.data.token_streams import TokenStreams
from fairseq_struct.errors import InputError
from fairseq_struct.inference import load_language_model
from fairseq_struct.modules.recurrent_language_model import RecurrentLanguageModel
from fairseq_struct.optim.nt_asgd import AveragedSGD

MODELS = ("on_lstm_lm", "awd_lstm_lm")
SMALL = ["--embed-dim=16", "--hidden-size=20", "--layers=2", "--no-progress-bar", "--num-workers=0",
         "--log-format=json", "--batch-size=4", "--batch-size-valid=1", "--tokens-per-sample=12",
         "--required-batch-size-multiple=1", "--task=recurrent_language_modeling",
         "--criterion=recurrent_language_modeling", f"--user-dir={USER_DIR}"]  # fmt: skip
LENGTHS = {"train": 150, "valid": 30, "test": 20}


def sentences(count, seed):
    draw = random.Random(seed)
    nouns = {"cat": "cats", "dog": "dogs", "bird": "birds"}
    for _ in range(count):
        noun = draw.choice(list(nouns))
        many = draw.random() < 0.5
        rest = ["in", "the", draw.choice(["house", "tree"])] if draw.random() < 0.5 else []
        verb = draw.choice(["sing", "run"]) + ("" if many else "s")
        yield " ".join(["the", nouns[noun] if many else noun, *rest, verb])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus")
    files = {}
    for seed, (split, count) in enumerate(LENGTHS.items()):
        files[split] = path / f"{split}.txt"
        files[split].write_text("\n".join(sentences(count, seed)) + "\n")
    write_language_folder(files, path / "data")
    return path / "data"


def train(folder, save_dir, *options, arch="on_lstm_lm"):
    chunk = ["--chunk-size=4"] if arch == "on_lstm_lm" else []
    return run("train", folder / "data-bin", f"--arch={arch}", f"--save-dir={save_dir}", *SMALL,
               *chunk, *options)  # fmt: skip


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory):
    made = {}
    for arch in MODELS:
        made[arch] = tmp_path_factory.mktemp(arch)
        log = train(folder, made[arch], "--optimizer=adam", "--lr=0.02", "--max-epoch=4",
                    "--dropout-embedding=0", "--dropout-output=0", "--dropout-weights=0.1",
                    arch=arch)  # fmt: skip
        (made[arch] / "log").write_text(log)
    return made


def weights(path):
    return torch.load(path, weights_only=True)["model"]


def same(first, second):
    return all(
        torch.equal(first[name], second[name])
        for name in first
        if isinstance(first[name], torch.Tensor)
    )


@pytest.mark.parametrize("arch", MODELS)
def test_validation_is_the_perplexity_of_one_long_text(trained, folder, arch):
    log = (trained[arch] / "log").read_text()
    logged = [json.loads(line) for line in re.findall(r"(\{.*valid_loss.*\})", log)]
    scorer = load_language_model(trained[arch] / "checkpoint_best.pt")
    text = (folder / "text" / "valid.txt").read_text().replace("\n", " </s> ").split()
    tokens = torch.tensor([[scorer.words.index(word) for word in ["</s>", *text]]])
    logits, _ = scorer.model(tokens[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits[0], tokens[0, 1:]).item()
    best = min(float(values["valid_nll_loss"]) for values in logged)
    assert loss / math.log(2) == pytest.approx(best, abs=2e-3)
    assert best < 0.75 * math.log2(len(scorer.words))  # and it has learned something


@pytest.mark.parametrize("arch", MODELS)
def test_eval_lm_is_the_sum_of_log_probabilities(trained, folder, arch):
    checkpoint = trained[arch] / "checkpoint_best.pt"
    import fairseq_cli.eval_lm  # noqa: F401, which ``run`` looks for

    output = run("eval_lm", folder / "data-bin", f"--path={checkpoint}", "--gen-subset=test",
                 "--task=language_modeling", "--sample-break-mode=eos", "--batch-size=7",
                 f"--user-dir={USER_DIR}")  # fmt: skip
    found = float(re.findall(r"Loss \(base 2\): ([\d.]+)", output)[0])
    scorer = load_language_model(checkpoint)
    lines = [tuple(line.split()) for line in (folder / "text" / "test.txt").open()]
    total = -sum(scorer.log_probabilities(lines))
    count = sum(len(line) + 1 for line in lines)
    assert total / count / math.log(2) == pytest.approx(found, abs=2e-4)
    alone = [scorer.log_probabilities([line])[0] for line in lines[:5]]
    assert alone == pytest.approx(scorer.log_probabilities(lines)[:5], abs=1e-4)


@pytest.mark.parametrize("arch", MODELS)
def test_word_by_word_is_the_whole(trained, arch):
    model = load_language_model(trained[arch] / "checkpoint_best.pt").model
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
def test_generate_goes_on_from_a_prefix(trained, folder, arch):
    output = run("generate", folder / "data-bin", f"--path={trained[arch]}/checkpoint_best.pt",
                 "--task=language_modeling", "--gen-subset=test", "--sample-break-mode=eos",
                 "--prefix-size=2", "--beam=3", "--max-len-b=8", "--batch-size=5",
                 "--required-batch-size-multiple=1",
                 f"--user-dir={USER_DIR}")  # fmt: skip
    lines = re.findall(r"\nH-\d+\t\S+\t(.*)", output)
    assert len(lines) == LENGTHS["test"] and all(line.startswith("the ") for line in lines)


@pytest.mark.parametrize("arch", MODELS)
def test_an_interrupted_training_goes_on_with_its_state(folder, tmp_path, arch):
    options = ["--optimizer=adam", "--lr=0.01", "--disable-validation", "--seed=3"]
    train(folder, tmp_path / "parts", *options, "--max-update=7", arch=arch)
    train(folder, tmp_path / "parts", *options, "--max-update=17", arch=arch)
    train(folder, tmp_path / "whole", *options, "--max-update=17", arch=arch)
    parts, whole = (weights(tmp_path / name / "checkpoint_last.pt") for name in ("parts", "whole"))
    assert same(parts, whole)
    state = whole["_extra_state"]["state"]
    assert [tuple(part.shape) for part in state[0]] == [(4, 20), (4, 16)]


def test_averaging_begins_when_validation_gets_worse(folder, tmp_path):
    options = ["--optimizer=nt_asgd", "--lr=20", "--clip-norm=0.25", "--non-monotone-interval=1",
               "--seed=2"]  # fmt: skip
    train(folder, tmp_path / "whole", *options, "--max-epoch=9")
    state = torch.load(tmp_path / "whole" / "checkpoint_last.pt", weights_only=True)
    group = state["last_optimizer_state"]["param_groups"][0]
    assert len(state["model"]["_extra_state"]["losses"]) == 8
    assert group["averaged"] > 0 and group["swapped"]
    # The checkpoint has the averages, its optimizer the weights that training goes on from.
    raw = [state["last_optimizer_state"]["state"][i]["average"] for i in group["params"]]
    averages = [value for value in state["model"].values() if isinstance(value, torch.Tensor)]
    assert not any(torch.equal(own, mean) for own in raw for mean in averages)
    train(folder, tmp_path / "parts", *options, "--max-epoch=8")
    train(folder, tmp_path / "parts", *options, "--max-epoch=9")
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
def test_the_loss_has_ar_and_tar(trained, folder, before):
    scorer = load_language_model(trained["on_lstm_lm"] / "checkpoint_best.pt")
    from fairseq_struct.tasks.recurrent_language_modeling import RecurrentLanguageModelingTask

    cfg = Namespace(data=str(folder / "data-bin"), tokens_per_sample=9, fixed_windows=True)
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


def test_streams_hold_every_token_once():
    tokens = torch.arange(3, 106)
    for count, shards, vary in ((4, 1, False), (5, 2, True), (1, 1, True), (103, 1, False)):
        streams = TokenStreams(tokens, 1, 2, 10, vary, seed=4)
        streams.arrange(count, shards)
        streams.set_epoch(3)
        rows = {}
        for i in range(len(streams)):
            sample = streams[i]
            given, wanted = sample["net_input"]["src_tokens"], sample["target"]
            for b in range(count):
                rows.setdefault((i % shards) * count + b, []).append((given[b], wanted[b]))
            assert sample["first"] == (i < shards)
            assert sample["ntokens"] == (wanted != 1).sum()
            assert streams.size(i) == wanted.size(1) and (vary or wanted.size(1) <= 10)
        inputs, targets = (
            torch.cat([torch.cat([pair[k] for pair in rows[row]]) for row in sorted(rows)])
            for k in (0, 1)
        )
        assert torch.equal(targets[targets != 1], tokens)
        assert torch.equal(inputs[targets != 1], torch.cat([torch.tensor([2]), tokens[:-1]]))
    again = TokenStreams(tokens, 1, 2, 10, True, seed=4)
    again.arrange(5, 2)
    first = again.starts.tolist()
    again.set_epoch(2)
    assert again.starts.tolist() != first
    with pytest.raises(InputError, match="103 tokens cannot be cut into 104 streams"):
        again.arrange(104)


def test_trees_of_raw_text(trained, monkeypatch, capsys, tmp_path):
    checkpoint = str(trained["on_lstm_lm"] / "checkpoint_best.pt")
    parser = fairseq_struct.load(checkpoint)
    text = ["the cat in the house sings", "The 12 unicorns", "birds"]
    trees = parser.parse(text)
    assert [tree.leaves() for tree in trees] == [line.split() for line in text]
    for line, tree in zip(text, trees, strict=True):
        assert parser.parse([line]) == [tree]  # whatever else is in the batch
    assert len(list(parser.trees(text))[0].distances) == 6
    for layer, split in ((1, "word"), (2, "gap")):
        other = fairseq_struct.load(checkpoint, layer=layer, split=split)
        assert other.parse(text)[0].leaves() == text[0].split()

    def command(*arguments):
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(text) + "\n"))
        status = main(["parse", checkpoint, *arguments])
        return status, *capsys.readouterr()

    status, output, said = command()
    assert status == 0 and output.count("\n") == 3 and "3 trees, mean depth" in said
    (tmp_path / "predicted").write_text(output)
    (tmp_path / "gold").write_text("(S (NP (DT the) (NN cat) (PP (IN in) (NP (DT the) (NN house)))"
                                   ") (VP (VBZ sings)))\n(NP (DT The) (CD 12) (NNS unicorns))\n"
                                   "(NP (NNS birds))\n")  # fmt: skip
    assert main(["evaluate", str(tmp_path / "gold"), str(tmp_path / "predicted")]) == 0
    assert re.search(r"f1_sentence +[\d.]+\nf1_corpus +[\d.]+", capsys.readouterr().out)
    assert main(["evaluate", str(tmp_path / "gold"), "balanced", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sentences"] == 3
    assert command("--format=html")[1].count("<svg") == 3
    assert "the model has layers 1 to 2, not 3" in command("--layer=3")[2]
    assert "--format conllu cannot show trees of this model" in command("--format=conllu")[2]
    assert "--truncate has no use" in command("--truncate")[2]
    other = str(trained["awd_lstm_lm"] / "checkpoint_best.pt")
    assert main(["parse", other]) == 2 and "which infers no trees" in capsys.readouterr().err


def test_syntactic_evaluation(trained, capsys, tmp_path):
    pairs = [("the cat sings", "the cat sing"), ("the dogs run", "the dogs runs")]
    sets = {
        "simple_agrmt": {"sing": pairs[:1], "plur": pairs[1:]},
        "sent_comp": {"any": [("the dwarf sings", "the gnome sings")]},
        "simple_npi_anim": {"past": [("the cat sings", "the cats sings", "cat the the")]},
        "simple_npi_inanim": {"past": [("the bird runs", "the birds runs", "runs runs the")]},
    }
    for name, content in sets.items():
        (tmp_path / f"{name}.pickle").write_bytes(pickle.dumps(content, protocol=0))
    checkpoint = str(trained["on_lstm_lm"] / "checkpoint_best.pt")
    assert main(["syneval", checkpoint, str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    scorer = load_language_model(checkpoint)
    scores = [scorer.log_probabilities([text.split() for text in pair]) for pair in pairs]
    simple = 100 * sum(better > worse for better, worse in scores) / 2
    assert found["agreement_simple"] == simple
    assert found["agreement_sentential_complement"] == 0  # two unknown words are equally likely
    assert found["npi_simple_grammatical_ungrammatical"] == 100
    assert set(found) == {
        "agreement_simple", "agreement_sentential_complement", "npi_simple_grammatical_intrusive",
        "npi_simple_intrusive_ungrammatical", "npi_simple_grammatical_ungrammatical",
    }  # fmt: skip
    assert main(["syneval", checkpoint, str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert re.search(rf"agreement_simple +{simple:.1f} +2 +100% +99 +100", output)
    assert re.search(r"agreement_sentential_complement +0.0 +1 +0% +95", output)
    text = tmp_path / "sets.tsv"
    text.write_text("".join(f"simple_agrmt\tall\t{a}\t{b}\n" for a, b in pairs))
    assert main(["syneval", checkpoint, str(text), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"agreement_simple": simple}


class Hostile:
    def __reduce__(self):
        return print, ("executed",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps({"a": Hostile()}), r"no test set \(it wants to call builtins.print\)"),
        (b"garbage", "no test set"),
        (pickle.dumps(["a"]), "no dictionary of conditions"),
        (pickle.dumps({"a": [("one",)]}), r"condition 'a', item 0: expected two or three"),
        (pickle.dumps({"a": [("one", "")]}), r"condition 'a', item 0: expected two or three"),
    ],
)
def test_test_sets_that_are_none(trained, capsys, tmp_path, content, message):
    (tmp_path / "x.pickle").write_bytes(content)
    checkpoint = str(trained["on_lstm_lm"] / "checkpoint_best.pt")
    assert main(["syneval", checkpoint, str(tmp_path)]) == 2
    output = capsys.readouterr()
    assert re.search(message, output.err) and "executed" not in output.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--chunk-size=7"], "chunk size 7 must divide"),
        (["--layers=0"], "must be 1 or more"),
        (["--dropout-weights=1"], "below 1, not 1"),
        (["--tokens-per-sample=0"], "--tokens-per-sample must be 1 or more"),
        (["--temporal-regularization=-1"], "AR and TAR must be 0 or more"),
        (["--optimizer=nt_asgd", "--non-monotone-interval=0"], "interval must be 1 or more"),
        (["--valid-subset=dev"], "dev.bin: no such file"),
        (["--batch-size=2000"], "cannot be cut into 2000 streams"),
    ],
)
def test_bad_options_end_in_one_sentence(folder, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        train(folder, tmp_path, "--optimizer=adam", "--max-update=1", *options)


def test_a_batch_needs_a_size(folder, tmp_path):
    options = [option for option in SMALL if not option.startswith("--batch-size")]
    with pytest.raises(InputError, match="needs --batch-size, its streams"):
        run("train", folder / "data-bin", "--arch=on_lstm_lm", f"--save-dir={tmp_path}", *options,
            "--chunk-size=4", "--optimizer=adam", "--max-update=1", "--max-tokens=100")  # fmt: skip


def test_presets_are_the_papers(folder, tmp_path):
    from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

    for arch in ("on_lstm_lm", "on_lstm_lm_ptb", "on_lstm_lm_syneval", "awd_lstm_lm_syneval"):
        assert arch in ARCH_MODEL_REGISTRY or arch in ARCH_CONFIG_REGISTRY
    sizes = dict(words=10_000, padding=1)
    millions = {
        cell: sum(p.numel() for p in RecurrentLanguageModel(**sizes, cell=cell).parameters()) / 1e6
        for cell in ("on_lstm", "lstm")
    }
    assert round(millions["on_lstm"]) == 25 and round(millions["lstm"]) == 24  # table 1


def test_preparation(tmp_path):
    script = ROOT / "preprocess" / "penn_treebank.py"
    source = tmp_path / "source"
    source.mkdir()
    for split in LENGTHS:
        (source / f"ptb.{split}.txt").write_text(" the N cats \n\n of <unk> \n")
    done = start(sys.executable, script, "lm", source, tmp_path / "lm")
    output = done.communicate()[0]
    assert done.returncode == 0 and "train: 2 sentences, 5 words" in output
    assert (tmp_path / "lm" / "text" / "valid.txt").read_text() == "the N cats\nof <unk>\n"
    assert "of 1" in (tmp_path / "lm" / "data-bin" / "dict.txt").read_text()
    done = start(sys.executable, script, "lm", tmp_path, tmp_path / "other")
    assert "train.txt: no such file (the train split)" in done.communicate()[0]
    done = start(sys.executable, script, "lm", source, tmp_path / "lm")
    assert "replace it (--overwrite)" in done.communicate()[0]
    (source / "wsj_0101.mrg").write_text(
        "( (S (NP-SBJ-1 (DT The) (CD 1,000.5) (NNS 30-day-runs)) (VP (VBD ran) (NP (-NONE- *-1)) "
        "($ $)) (. .)) )\n(FRAG (. .))\n"
    )
    (source / "wsj_2301.mrg").write_text("( (NP (NN Oil)) )\n")
    done = start(sys.executable, script, "trees", source, tmp_path / "wsj")
    output = done.communicate()[0]
    assert done.returncode == 0 and "2 sentences, 5 words" in output
    expected = "(S (NP (DT the) (CD N) (NNS 30-day-runs)) (VP (VBD ran)))\n(NP (NN oil))\n"
    assert (tmp_path / "wsj" / "trees.txt").read_text() == expected
    assert (tmp_path / "wsj" / "words.txt").read_text() == "the N 30-day-runs ran\noil\n"
    for options, message in (
        (["--sections", "23"], "1 sentences, 1 words"),
        (["--sections", "7"], "no .mrg file of these sections"),
        (["--longest", "1"], "1 sentences"),
    ):
        done = start(sys.executable, script, "trees", source, tmp_path / "x", "--overwrite",
                     *options)  # fmt: skip
        assert message in done.communicate()[0]
