"""Two processes train and validate like one process that takes their batches in turn.

Each process draws its own noise, dropout and random replacements, so the options here switch all of
them off. Language models that carry a state give each process separate streams.
"""

import random

import pytest
from fairseq_commands import SMALL as SMALL_TRANSLATION
from fairseq_commands import USER_DIR, write_data_bin
from formula_models import write_formulas
from small_masked_models import OF_MODEL
from small_treebanks import PARSER, write_treebank
from two_processes import assert_close, assert_trained_alike, train

from fairseq_struct.cli.main import main
from fairseq_struct.compat import load_state
from fairseq_struct.data.prepared.completion_folder import write_completion_folder
from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.readers.labelled_text import Instance, LabelledCorpus
from fairseq_struct.data.readers.scored_pairs import Pair, write_pairs

COMMON = ["--no-progress-bar", "--log-format=json", "--num-workers=0", "--no-epoch-checkpoints",
          "--required-batch-size-multiple=1", f"--user-dir={USER_DIR}"]  # fmt: skip
SGD = ["--optimizer=sgd", "--lr=0.1"]
CLUSTERS = [
    "--task=latent_clusters", "--arch=latent_clusters", "--criterion=latent_clusters",
    "--clusters=3", "--dim=20", "--train-size=130", "--valid-size=50", "--test-size=50",
    "--batches-per-epoch=0", "--batch-size=30", "--batch-size-valid=20",
]  # fmt: skip
CLASSIFIER = [
    "--task=structured_classification", "--criterion=structured_classification",
    "--arch=latent_tree_classifier", "--embed-dim=12", "--hidden-size=12", "--dropout=0",
    "--batch-size=7",
]  # fmt: skip
TRANSLATION = ["--dropout=0", "--batch-size=14"]
MASKED = ["--arch=udgn", "--embed-dim=16", "--layers=2", "--dropout=0", "--attention-dropout=0",
          "--parser-dropout=0", *OF_MODEL["udgn"]]  # fmt: skip
IMAGES = ["--task=image_classification", "--criterion=image_classification",
          "--arch=undirected_convnet_mnist", "--first-channels=4", "--second-channels=6",
          "--passes=2", "--dropout=0", "--batch-size=16"]  # fmt: skip
NO_DROPOUT = [f"--dropout{where}=0" for where in
              ("-words", "-embedding", "-between", "-output", "-weights")]  # fmt: skip
RECURRENT = [
    "--task=recurrent_language_modeling", "--criterion=recurrent_language_modeling",
    "--arch=on_lstm_lm", "--embed-dim=16", "--hidden-size=20", "--layers=2", "--chunk-size=4",
    "--tokens-per-sample=12",
]  # fmt: skip


@pytest.fixture(scope="module")
def translation(tmp_path_factory):
    # The first epoch's last batch has no partner.
    return write_data_bin(tmp_path_factory.mktemp("numbers"), train=64, held_out=29)


@pytest.fixture(scope="module")
def classification(tmp_path_factory):
    draw = random.Random(1)
    words = {"good": "pos", "fine": "pos", "bad": "neg", "odd": "other"}
    corpus = LabelledCorpus("small", {})
    for split, count in (("train", 33), ("valid", 17), ("test", 2)):
        corpus.splits[split] = [
            Instance((" ".join(["the", "film", "is"][draw.randrange(3) :] + [word]),), words[word])
            for word in draw.choices(list(words), k=count)
        ]  # fmt: skip
    folder = tmp_path_factory.mktemp("labels") / "data"
    write_labelled_folder(corpus, folder)
    return folder / "data-bin"


@pytest.fixture(scope="module")
def treebank(language_folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("treebank") / "gold.conllu"
    path.write_text("".join(
        "".join(f"{place}\t{word}\t_\tNOUN\tNN\t_\t{place - 1}\t_\t_\t_\n"
                for place, word in enumerate(words.split(), 1)) + "\n"
        for words in ("the cat sings", "the dogs in the house run")
    ))  # fmt: skip
    return path


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    return write_treebank(tmp_path_factory.mktemp("trees"), train=13, held_out=8)


@pytest.fixture(scope="module")
def similarity(language_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    draw = random.Random(2)
    animals = ["cat", "dog", "bird", "cats", "dogs"]
    for name, size in (("train", 33), ("valid", 17)):
        write_pairs(folder / f"{name}.tsv", [
            Pair(f"the {draw.choice(animals)} runs", f"the {draw.choice(animals)} in the tree sing",
                 round(draw.random() * 5, 1))
            for _ in range(size)
        ])  # fmt: skip
    (folder / "dict.txt").write_text((language_folder / "data-bin" / "dict.txt").read_text())
    return folder


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    out = tmp_path_factory.mktemp("images") / "digits"
    options = ["--images", "90", "10", "--size", "12"]
    assert main(["prepare", "image_classification", "generate", str(out), *options]) == 0
    return out


@pytest.fixture(scope="module")
def craft(tmp_path_factory):
    out = tmp_path_factory.mktemp("craft") / "data"
    options = ["--size=5", "--kinds=AB", "--number=45"]
    assert main(["prepare", "craft_demonstrations", "AB,BA", str(out), *options]) == 0
    return out / "data-bin"


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    out = tmp_path_factory.mktemp("lists") / "data"
    assert main(["prepare", "transformation_lists", "generated", str(out), "--sentences=70"]) == 0
    return out / "data-bin"


@pytest.fixture(scope="module")
def completion(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion") / "data"
    write_completion_folder(folder, symbols=9)
    return folder / "data-bin"


@pytest.fixture
def options(request):
    """Options of ``fairseq-train`` for the task under test."""

    def data(name):
        return request.getfixturevalue(name)

    def translate(arch, *others):
        return [data("translation"), f"--arch={arch}", *SMALL_TRANSLATION, *TRANSLATION, *others]

    match request.param:
        case "scheduled_sampling":
            # Every input replaced, by a mix without noise.
            return translate("scheduled_sampling_transformer", "--mix=softmax", *SGD,
                             "--first-pass-gradient", "--schedule=constant", "--schedule-k=0")
        case "latent_tree_translation":
            return translate("latent_tree_transformer", "--latent-method=spigot_ce", *SGD,
                             "--criterion=latent_tree_translation", "--parser-hidden-size=8",
                             "--report-accuracy")  # fmt: skip
        case "latent_clusters":
            return [*CLUSTERS, "--latent-method=spigot_ce", *SGD]
        case "structured_classification":
            return [data("classification"), *CLASSIFIER, "--latent-method=spigot", *SGD]
        case "sequence_completion":
            return [data("completion"), "--task=sequence_completion", *SGD, "--lr=0.01",
                    "--arch=undirected_attention", "--hidden-size=8", "--passes=2",
                    "--criterion=sequence_completion", "--batch-size=9"]  # fmt: skip
        case "structured_masked_lm":
            return [data("language_folder") / "data-bin", *MASKED, *SGD,
                    "--task=structured_masked_lm", "--batch-size=22",
                    "--criterion=structured_masked_lm", "--valid-draws=2",
                    f"--treebank={data('treebank')}"]  # fmt: skip
        case "semantic_similarity":
            return [data("similarity"), *MASKED, *SGD,
                    "--task=semantic_similarity", "--criterion=semantic_similarity",
                    "--batch-size=7"]  # fmt: skip
        case "image_classification":
            return [data("images"), *IMAGES, *SGD]
        case "craft_imitation":
            return [data("craft"), "--task=craft_imitation", "--criterion=craft_imitation",
                    "--arch=option_controller", "--hidden-size=8", "--mlp-size=8", "--levels=2",
                    "--batch-size=8", *SGD]  # fmt: skip
        case "grammar_induction":
            return [data("lists"), "--task=grammar_induction", "--criterion=grammar_induction",
                    "--arch=rim_composer", "--embed-dim=8", "--units=3", "--top-k=2",
                    "--key-size=4", "--layers=2", "--predict-category", "--batch-size=11",
                    *SGD]  # fmt: skip
        case "dependency_parsing":
            return [data("trees"), *PARSER, "--passes=2", "--dropout=0", "--encoder-dropout=0",
                    "--unknown-rate=0", "--test-passes=converge", "--most-passes=3", *SGD,
                    "--batch-size=3"]  # fmt: skip


BACKENDS = ["legacy_ddp", "pytorch_ddp"]
TASKS = ["scheduled_sampling", "latent_tree_translation", "latent_clusters",
         "structured_classification", "structured_masked_lm", "semantic_similarity",
         "image_classification", "sequence_completion", "dependency_parsing",
         "craft_imitation", "grammar_induction"]  # fmt: skip


@pytest.mark.parametrize("options", TASKS, indirect=True)
def test_two_processes_make_the_updates_of_one_with_update_freq_two(options, tmp_path):
    """Weights, training logs and validations are the same, also with an odd number of batches."""
    one = train(tmp_path / "one", *options, *COMMON, "--max-epoch=2", "--update-freq=2")
    for ddp in BACKENDS:
        two = train(tmp_path / ddp, *options, *COMMON, "--max-epoch=2", workers=2, ddp=ddp)
        assert_trained_alike(one, two)


def test_two_processes_are_one_with_twice_the_streams(language_folder, tmp_path):
    """The two processes also agree on when to average weights."""
    # TAR is a mean of the pairs of words in a window; the last stream's last window has fewer.
    # Validation gets worse for two epochs, so that averaging starts.
    several = [language_folder / "data-bin", *RECURRENT, *NO_DROPOUT, *COMMON, "--max-epoch=5",
               "--optimizer=nt_asgd", "--non-monotone-interval=1", "--lr=1,1,-0.3,-0.3,1",
               "--temporal-regularization=0"]  # fmt: skip
    one = train(tmp_path / "one", *several, "--batch-size=6", "--batch-size-valid=2")
    for ddp in BACKENDS:
        two = train(tmp_path / ddp, *several, "--batch-size=3", "--batch-size-valid=1", workers=2,
                    ddp=ddp)  # fmt: skip
        assert_trained_alike(one, two)
    averaged = [load_state(tmp_path / name / "checkpoint_last.pt")["last_optimizer_state"]
                ["param_groups"][0].get("averaged") for name in ("one", *BACKENDS)]  # fmt: skip
    assert averaged[0] and len(set(averaged)) == 1


def test_two_processes_train_an_adaptive_softmax_as_one(language_folder, tmp_path):
    """A cluster whose words only one of the processes has, or none, has its gradient in both."""
    options = [language_folder / "data-bin", *RECURRENT, *NO_DROPOUT, *COMMON, "--max-update=9",
               "--arch=awd_lstm_lm", "--untied", "--adaptive-softmax-cutoff=6,23", *SGD,
               "--adaptive-softmax-factor=2", "--temporal-regularization=0"]  # fmt: skip
    options.remove("--chunk-size=4")
    one = train(tmp_path / "one", *options, "--batch-size=6", "--batch-size-valid=2")
    two = train(tmp_path / "two", *options, "--batch-size=3", "--batch-size-valid=1", workers=2,
                ddp="pytorch_ddp")  # fmt: skip
    assert_trained_alike(one, two)


@pytest.mark.parametrize("case", ["recurrent", "score_function"])
def test_two_processes_resume_where_they_stopped(language_folder, classification, tmp_path, case):
    """They stop in the middle of an epoch; all workers restore their states and averages."""
    options = {
        "recurrent": [language_folder / "data-bin", *RECURRENT, "--optimizer=nt_asgd", "--lr=20",
                      "--batch-size=3", "--batch-size-valid=1", "--non-monotone-interval=1"],
        "score_function": [classification, *CLASSIFIER, "--latent-method=score_function", *SGD,
                           "--dropout=0.1"],
    }[case]  # fmt: skip
    options = [*options, *COMMON, "--save-interval-updates=8"]
    whole = train(tmp_path / "whole", *options, "--max-update=13", workers=2)
    train(tmp_path / "parts", *options, "--max-update=8", workers=2)
    parts = train(tmp_path / "parts", *options, "--max-update=13", workers=2)
    assert "Loaded checkpoint" in parts[0].log
    assert_close(whole[0].state, whole[1].state, 0.0)
    for rank in range(2):
        assert_close(whole[rank].state, parts[rank].state, 0.0)
        for subset in ("train", "valid"):
            assert whole[rank].logged(subset)[-1] == parts[rank].logged(subset)[-1]


def test_two_workers_score_trees_of_formulas_like_one(tmp_path):
    plugin, data = write_formulas(tmp_path)
    options = [data, *COMMON, f"--user-dir={plugin}", "--arch=toy_right", *SGD, "--max-epoch=1",
               "--task=structured_classification", "--criterion=structured_classification",
               "--gold-trees=proplogic", "--batch-size=1", "--no-save"]  # fmt: skip
    one, two = (
        train(tmp_path / str(workers), *options, workers=workers)[0].logged("valid")[-1]
        for workers in (1, 2)
    )
    for name in ("valid_f1", "valid_pointer_entropy", "valid_tree_depth"):
        assert one[name] == two[name] > 0
