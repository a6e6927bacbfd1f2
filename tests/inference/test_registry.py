"""Tools are found by the attributes of models; other packages add models and tools."""

import json
import re
import sys

import numpy as np
import pytest
import torch
from fairseq.data import Dictionary
from fairseq.tasks import TASK_REGISTRY
from fairseq_commands import ROOT, run, start
from stored_models import STORED

from fairseq_struct import load, plugin
from fairseq_struct.data.datasets.similar_lengths import similar_lengths
from fairseq_struct.data.readers.bracket_trees import to_line, tree_of
from fairseq_struct.data.readers.conllu import Sentence
from fairseq_struct.errors import InputError
from fairseq_struct.inference import Option, reading, register_tool, registry
from fairseq_struct.inference.registry import (
    ABILITIES,
    given_options,
    options_for,
    refuse_foreign,
    tool_for,
)
from fairseq_struct.structure.spans import tree_of_distances

TOY = ROOT / "tests" / "toy_plugin"
TEXT = ["the cats in the house sing", "birds", "the dog runs"]
GOLD = "(S (NP (DT the) (NNS cats) (PP (IN in) (NP (DT the) (NN house)))) (VP (VBP sing)))\n" \
       "(NP (NNS birds))\n(S (NP (DT the) (NN dog)) (VP (VBZ runs)))\n"  # fmt: skip

# For each ability: one of our stored models, its data, and its input.
MANY = ["a b c", "a", "a b c d e a", "b b", "c d", "e"]
TREES = [Sentence(tuple(line.split()), tuple(range(len(line.split()))),
                  relations=("dep",) * len(line.split())) for line in MANY]  # fmt: skip
READING = {
    "parse": ("udgn", "language", "trees", MANY),
    "classify": ("recurrent_classifier", "pairs", "analyse", [(line, "a b") for line in MANY]),
    "score": ("awd_lstm_lm", "language", "log_probabilities", [line.split() for line in MANY]),
    "channels": ("masked_transformer", "language", "arcs", TREES),
    "draw": ("ordered_memory_classifier", "pairs", "memories", MANY),
}


@pytest.fixture(scope="module")
def checkpoints(language_folder, tmp_path_factory):
    """A trained model of each architecture of the folder."""
    made = {}
    for arch in ("toy_spans", "toy_distances"):
        folder = tmp_path_factory.mktemp(arch)
        run("train", language_folder / "data-bin", f"--user-dir={TOY}", f"--arch={arch}",
            "--task=language_modeling", "--sample-break-mode=eos", "--criterion=cross_entropy",
            "--optimizer=adam", "--lr=0.1", "--batch-size=30", "--max-epoch=4", "--num-workers=0",
            f"--save-dir={folder}", "--no-epoch-checkpoints", "--no-progress-bar")  # fmt: skip
        made[arch] = folder / "checkpoint_last.pt"
    return made


def command(*arguments, lines=None, folder=None):
    """``fairseq-struct`` as a separate program, in which nothing is registered yet."""
    words = [sys.executable, "-m", "fairseq_struct.cli.main", *arguments]
    if lines is not None:
        (folder / "text").write_text("".join(f"{line}\n" for line in lines))
        quoted = " ".join(f"'{word}'" for word in ["python", *words[1:]])
        words = ["bash", "-c", f"{quoted} < '{folder / 'text'}'"]
    done = start(*words)
    return done.communicate()[0], done.returncode


def expected(checkpoint, folder, split="word"):
    """The trees that the weights determine, one a line."""
    scores = torch.load(checkpoint, weights_only=True)["model"]["decoder.scores"]
    words = Dictionary.load(str(folder / "data-bin" / "dict.txt"))
    lines = [line.split() for line in TEXT]
    distances = [(-scores[[words.index(word) for word in line]]).tolist() for line in lines]
    return [to_line(tree_of(line, tree_of_distances(own, split)))
            for line, own in zip(lines, distances, strict=True)]  # fmt: skip


@pytest.mark.parametrize("arch", ["toy_spans", "toy_distances"])
def test_a_model_of_another_package_is_parsed_and_evaluated(
    checkpoints, language_folder, tmp_path, arch
):
    """One model has its own tool; the tool for our language models serves the other."""
    output, status = command("parse", checkpoints[arch], f"--user-dir={TOY}", lines=TEXT,
                             folder=tmp_path)  # fmt: skip
    *trees, said = output.splitlines()
    assert status == 0 and trees == expected(checkpoints[arch], language_folder)
    assert re.fullmatch(r"3 trees, mean depth [\d.]+", said)
    (tmp_path / "gold").write_text(GOLD)
    (tmp_path / "predicted").write_text("".join(f"{tree}\n" for tree in trees))
    output, status = command("evaluate", tmp_path / "gold", tmp_path / "predicted", "--json")
    scores = json.loads(output)
    assert status == 0 and scores["sentences"] == 3 and 0 <= scores["f1_sentence"] <= 100


def test_options_of_another_package(checkpoints, language_folder, tmp_path):
    def parse(arch, *options):
        return command("parse", checkpoints[arch], f"--user-dir={TOY}", *options, lines=TEXT,
                       folder=tmp_path)  # fmt: skip

    output, status = parse("toy_spans", "--shout", "--split=gap")
    trees = expected(checkpoints["toy_spans"], language_folder, "gap")
    shouted = [re.sub(r"\b(?!X)[a-z]+", lambda word: word[0].upper(), tree) for tree in trees]
    assert status == 0 and output.splitlines()[:3] == shouted
    assert parse("toy_spans", "--format=html")[0].count("<svg") == 3
    output, status = parse("toy_distances", "--shout")
    assert status == 2 and "--shout does not apply to this model; it is for toys" in output
    output, status = parse("toy_spans", "--layer=1")
    assert status == 2 and "--layer does not apply to this model; it is for language" in output
    output, status = command("parse", f"--user-dir={TOY}", "--help")
    assert status == 0 and "--shout" in output and "toy: write words in capitals" in output
    output, status = command("parse", checkpoints["toy_spans"], "--shout")
    assert status == 2 and "unrecognized arguments: --shout" in output
    output, status = command("parse", checkpoints["toy_spans"], lines=TEXT, folder=tmp_path)
    assert status == 2 and f"not registered here; it was trained with --user-dir {TOY}" in output
    output, status = command("parse", checkpoints["toy_spans"], "--user-dir=nowhere")
    assert status == 2 and output == "error: nowhere: no such folder\n"


SCRIPT = """
import sys, fairseq_struct
spans, distances, folder = sys.argv[1:]
tool = fairseq_struct.load(spans, user_dir=folder, shout=True, batch_words=7)
print(type(tool.tool).__name__, tool.batch_words, next(tool.trees(["the cats"])).words)
tool = fairseq_struct.load(distances, user_dir=folder, device="cpu")
print(type(tool.tool).__name__, tool.parse(["the cats"]))
"""


def test_the_same_from_python(checkpoints, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = start(sys.executable, tmp_path / "script.py", *checkpoints.values(), TOY)
    assert done.communicate()[0].splitlines()[-2:] == [
        "SpanParser 7 ('THE', 'CATS')",
        "ConstituencyParser [ConstituencyParse((X the cats))]",
    ]


def test_devices_and_sizes_that_there_are_not(language_models):
    checkpoint = language_models["on_lstm_lm"] / "checkpoint_last.pt"
    for options, message in (
        ({"device": "abacus"}, "--device abacus: "),
        ({"device": "cuda:99"}, "--device cuda:99: "),
        ({"batch_words": 0}, "--batch-words must be 1 or more, not 0"),
        ({"batch_words": 4000.0}, "--batch-words must be a whole number, not 4000.0"),
        ({"ability": "sing"}, "unknown ability 'sing'"),
        ({"layr": 1}, "unknown option 'layr'; choose one of .* did you mean 'layer'"),
        ({"split": "no"}, "unknown --split 'no'; choose one of word, gap"),
    ):
        with pytest.raises(InputError, match=message):
            load(checkpoint, **options)
    tools = [load(checkpoint, batch_words=size) for size in (1, 9, 4000)]
    found = [[one.distances for one in tool.trees(TEXT)] for tool in tools]
    for other in found[1:]:
        for ours, theirs in zip(found[0], other, strict=True):
            assert ours == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("ability", READING)
def test_every_tool_reads_as_many_words_at_once_as_it_is_told(ability, monkeypatch):
    sizes = []

    def batches(lengths, most):
        for batch in similar_lengths(lengths, most):
            sizes.append(len(batch) * max(lengths[place] for place in batch))
            yield batch

    monkeypatch.setattr(reading, "similar_lengths", batches)
    arch, data, method, items = READING[ability]
    checkpoint, data = STORED / f"{arch}.pt", STORED / data / "data-bin"
    for most, least in ((8, 6), (4000, 36)):
        tool = load(checkpoint, data, ability=ability, batch_words=most)
        assert len(list(getattr(tool, method)(items))) > 3
        assert least <= max(sizes) <= most
        sizes.clear()


@pytest.mark.parametrize(
    ("arch", "data", "group", "names"),
    [
        ("udgn", "language", "task", ["treebank"]),
        ("latent_tree_classifier", "single", "task", ["heads_path"]),
        ("latent_tree_classifier", "single", "model", ["embed_path"]),
        ("latent_tree_transformer", "translation", "model",
         ["encoder_embed_path", "decoder_embed_path"]),
    ],
)  # fmt: skip
def test_files_that_only_training_reads_may_be_gone(arch, data, group, names, tmp_path):
    plugin.load()
    state = torch.load(STORED / f"{arch}.pt", weights_only=True)
    options = state["cfg"][group]
    options = options if isinstance(options, dict) else vars(options)
    for name in names:
        assert name in options
        options[name] = str(tmp_path / "gone")
    torch.save(state, tmp_path / "x.pt")
    found = [load(path, STORED / data / "data-bin").parse(["a b"])
             for path in (tmp_path / "x.pt", STORED / f"{arch}.pt")]  # fmt: skip
    assert found[0] == found[1]


class Model:
    """A model with the given attributes."""

    def __init__(self, **said):
        vars(self).update(said)


@pytest.fixture
def tools(monkeypatch):
    monkeypatch.setattr(registry, "TOOLS", dict(registry.TOOLS))


def register(name, serves, ability="parse", *options):
    return register_tool(
        name, kind=f"models of {name}", abilities=[ability], serves=serves, options=options
    )(lambda model, task, **_: name)


def test_of_several_tools_the_latest_serves(tools):
    register("a", lambda model: hasattr(model, "x"))
    register("b", lambda model: hasattr(model, "y"))
    assert tool_for(Model(x=1), ["parse"]).name == "a"
    assert tool_for(Model(x=1, y=1), ["parse"]).name == "b"
    assert tool_for(Model(sides=1), ["parse"]).name == "classifier"
    register("c", lambda model: hasattr(model, "sides"))
    assert tool_for(Model(sides=1), ["parse"]).name == "c"
    assert tool_for(Model(sides=1), ["classify"]).name == "classifier"
    for ability, message in ABILITIES.items():
        with pytest.raises(InputError, match=f"Model {message}"):
            tool_for(Model(), [ability])


def test_tools_that_cannot_be_registered(tools):
    register("a", lambda model: True, "parse", Option("depth", "how deep", int))
    with pytest.raises(ValueError, match="a tool 'a' already"):
        register("a", lambda model: True)
    with pytest.raises(ValueError, match="unknown ability 'parze'.* did you mean 'parse'"):
        register("b", lambda model: True, "parze")
    with pytest.raises(ValueError, match="another tool has a different option 'depth'"):
        register("b", lambda model: True, "parse", Option("depth", "how deep", float))
    with pytest.raises(ValueError, match="another tool has a different option 'device'"):
        register("b", lambda model: True, "parse", Option("device", "which"))
    register("b", lambda model: True, "parse", Option("depth", "how deep", int))
    assert [one.name for one in options_for(["parse"])].count("depth") == 1


def test_options_that_ask_for_nothing_are_no_tools(tools):
    depth = Option("depth", "how deep", int, 3, least=2, flag="--tree-depth")
    register("a", lambda model: True, "parse", depth)
    assert given_options(["parse"], {"depth": 3, "layer": None, "truncate": False}) == {}
    given = given_options(["parse"], {"depth": 2})
    refuse_foreign([registry.TOOLS["a"]], given)
    with pytest.raises(InputError, match="^--tree-depth does not apply .* it is for models of a$"):
        refuse_foreign([registry.TOOLS["classifier"]], given)
    with pytest.raises(InputError, match="--tree-depth must be 2 or more, not 1"):
        given_options(["parse"], {"depth": 1})
    with pytest.raises(InputError, match="unknown option 'depth'"):
        given_options(["classify"], {"depth": 2})


@pytest.mark.parametrize("value", [True, False, 1.5, 3.0, float("nan"), "3", [3], None])
def test_whole_numbers_are_neither_switches_nor_fractions(tools, value):
    register("a", lambda model: True, "parse", Option("depth", "how deep", int, 3, least=0))
    wrong = re.escape(f"--depth must be a whole number, not {value!r}")
    with pytest.raises(InputError, match=f"^{wrong}$"):
        given_options(["parse"], {"depth": value})
    for number in (0, np.int64(4)):
        assert given_options(["parse"], {"depth": number}) == {"depth": number}


@pytest.mark.parametrize("value", ["no", 0, 1, None, [True]])
def test_switches_are_true_or_false(tools, value):
    register("a", lambda model: True, "parse", Option("deep", "whether deep", bool, False))
    wrong = re.escape(f"--deep must be True or False, not {value!r}")
    with pytest.raises(InputError, match=f"^{wrong}$"):
        given_options(["parse"], {"deep": value})
    assert given_options(["parse"], {"deep": True}) == {"deep": True}


@pytest.mark.parametrize("file", ["inference/loading.py", "cli/trained/parse.py"])
def test_no_model_and_no_option_of_one_is_named_where_models_are_loaded(file):
    plugin.load()
    from fairseq.models import ARCH_MODEL_REGISTRY

    ours = {arch: one for arch, one in ARCH_MODEL_REGISTRY.items()
            if one.__module__.startswith("fairseq_struct.")}  # fmt: skip
    training = [name for one in (*ours.values(), *TASK_REGISTRY.values())
                for name in getattr(one, "ONLY_FOR_TRAINING", ())]  # fmt: skip
    options = [option.name for option in options_for(ABILITIES)]
    names = {*ours, *(one.__name__ for one in ours.values()), *training, *options}
    assert {"udgn", "UDGNModel", "treebank", "embed_path", "layer"} <= names
    words = set(re.findall(r"\w+", (ROOT / "fairseq_struct" / file).read_text()))
    assert not words & names
