"""Recipes at their own settings train what the preset of the same name trains."""

import os
import subprocess

import pytest
from fairseq import options as fairseq_options
from fairseq_commands import REAL, ROOT

from fairseq_struct import plugin, presets
from fairseq_struct.models.shared import scheduled_sampling_options

# In place of programs that prepare, train, translate and score.
PROGRAMS = {
    "fairseq-train": """
while [ "$1" != --save-dir ]; do shift; done
touch "$2/checkpoint_last.pt"
""",
    "fairseq-generate": "printf 'D-0\\t0\\ta\\n'",
    "python": """
if [[ $1 = */preprocess/* ]]; then
    mkdir -p "${@: -1}/data-bin"
    touch "${@: -1}/manifest.json" "${@: -1}/data-bin/dict.txt"
fi
""",
}
# Options that recipes add to log more, or by which they count the same updates.
OF_RECIPES = {"seed", "valid-subset"}
CPU = {"SIZE": "cpu", "SEEDS": "1"}
PAPER = {"SEEDS": "1"}
# Recipe and arguments, environment, preset, options in which they differ on purpose.
RUNS = [
    ("scheduled_sampling/iwslt17_de_en top_k .", PAPER,
     "scheduled_sampling_transformer_iwslt_de_en", set()),
    ("scheduled_sampling/kftt_ja_en top_k .", PAPER,
     "scheduled_sampling_transformer_kftt_ja_en", set()),
    ("scheduled_sampling/multi30k_en_de top_k .", PAPER, "scheduled_sampling_transformer_cpu",
     set()),
    ("scheduled_sampling/multi30k_en_de_to_0 top_k .", PAPER, "scheduled_sampling_transformer_cpu",
     {"schedule-end-update"}),
    ("scheduled_sampling/multi30k_en_de_to_0_slowly top_k .", PAPER,
     "scheduled_sampling_transformer_cpu", {"schedule-end-update", "max-update"}),
    ("scheduled_sampling/multi30k_en_de three_passes .", PAPER,
     "scheduled_sampling_transformer_cpu", {"decoder-passes"}),
    ("scheduled_sampling/multi30k_en_de_base top_k .", PAPER, "scheduled_sampling_transformer",
     {"schedule-end-update", "max-update", "warmup-updates", "dropout", "validate-interval",
      "save-interval"}),
    # Its text has no byte pairs, and this recipe says so by empty options.
    ("scheduled_sampling/synthetic top_k", PAPER, "scheduled_sampling_transformer_tiny", set()),
    ("latent_clusters/table spigot_ce",
     PAPER | {"LEARNING_RATES": "0.001", "STEP_SIZES": "0.00002"}, "latent_clusters", set()),
    # The architecture sets these two.
    ("latent_tree/sst marginals .", PAPER | {"GLOVE": "FILE"}, "latent_tree_classifier_sst",
     {"pullback-step-size", "pullback-weight"}),
    ("latent_tree/sst marginals .", PAPER, "latent_tree_classifier_sst_cpu",
     {"pullback-step-size", "pullback-weight"}),
    ("latent_tree/snli marginals .", PAPER | {"GLOVE": "FILE"}, "latent_tree_entailment_snli",
     {"pullback-step-size", "pullback-weight"}),
    ("latent_tree/snli marginals .", PAPER, "latent_tree_entailment_snli_cpu",
     {"pullback-step-size", "pullback-weight"}),
    ("latent_tree/sick marginals .", PAPER, "latent_tree_entailment_sick_cpu",
     {"pullback-step-size", "pullback-weight"}),
    ("latent_tree/translation marginals", PAPER, "latent_tree_transformer_tiny", set()),
    ("on_lstm/ptb_lm on_lstm_lm .", PAPER, "on_lstm_lm_ptb", set()),
    ("on_lstm/ptb_lm_small awd_lstm_lm .", PAPER, "awd_lstm_lm_cpu", set()),
    ("on_lstm/mixed_text on_lstm_lm . .", PAPER, "on_lstm_lm_cpu",
     {"lr", "lr-scheduler", "max-epoch"}),
    ("on_lstm/logical_inference on_lstm .", PAPER, "recurrent_classifier_proplogic", set()),
    ("udgn/ptb udgn .", PAPER, "udgn_ptb", set()),
    ("udgn/ptb masked_transformer .", PAPER, "masked_transformer", set()),
    ("udgn/ptb structformer .", CPU, "structformer_cpu", set()),
    ("udgn/ptb udgn .", CPU, "udgn_cpu", set()),
    ("udgn/sts udgn FILE .", CPU, "udgn_sts_cpu", set()),
    ("udgn/sts structformer FILE .", PAPER, "structformer_sts", set()),
    # The recipe gives all models of an experiment their sizes.
    ("ordered_memory/listops ordered_memory .", PAPER, "ordered_memory_classifier_listops",
     {"embed-dim", "hidden-size"}),
    ("ordered_memory/listops ordered_memory .", CPU, "ordered_memory_classifier_listops_cpu",
     set()),
    ("ordered_memory/logical_inference ordered_memory .", CPU,
     "ordered_memory_classifier_proplogic_cpu", set()),
    ("undirected/mnist 3 .", PAPER, "undirected_convnet_mnist", {"second-channels"}),
    ("undirected/mnist 3 .", CPU, "undirected_convnet_mnist_cpu", {"second-channels"}),
    ("undirected/attention 1", PAPER, "undirected_attention_completion",
     {"passes", "hidden-size"}),
    ("undirected/attention 1", CPU, "undirected_attention_completion_cpu", {"passes"}),
    # The recipe counts epochs.
    ("undirected/parsing te_mtg 2 .", PAPER | {"ENCODER": "."}, "undirected_parser_ud",
     {"max-epoch", "max-update", "hidden-size"}),
    ("undirected/parsing te_mtg 2 .", CPU, "undirected_parser_ud_cpu",
     {"max-epoch", "max-update", "hidden-size"}),
    # The recipe takes the last checkpoint.
    ("option_controller/s1 ocn", CPU, "option_controller_craft_cpu",
     {"best-checkpoint-metric", "maximize-best-checkpoint-metric"}),
    ("option_controller/s1 ocn", PAPER, "option_controller_craft",
     {"best-checkpoint-metric", "maximize-best-checkpoint-metric", "hidden-size", "mlp-size"}),
    ("option_controller/s1 ocn DCA sparse", CPU, "option_policy_craft_cpu", set()),
    ("option_controller/s1 ocn DCA sparse", PAPER, "option_policy_craft",
     {"hidden-size", "mlp-size"}),
    ("rim/main one_layer .", PAPER | {"EMBEDDINGS": "FILE"}, "rim_composer_wsj", set()),
    ("rim/main one_layer .", CPU, "rim_composer_cpu", set()),
    ("rim/free_running positions .", CPU, "rim_parser_cpu", set()),
]  # fmt: skip


@pytest.fixture
def options_of(tmp_path):
    """Runs a recipe with stand-ins, and returns the options of each of its trainings."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in PROGRAMS.items():
        (programs / name).write_text(f"#!/usr/bin/env bash\n{text}")
        (programs / name).chmod(0o755)
    (tmp_path / "file").touch()
    dictionary = tmp_path / "out" / "ptb_lm" / "data" / "data-bin" / "dict.txt"
    dictionary.parent.mkdir(parents=True)
    dictionary.touch()
    # As many sentences as the treebank has by which the preset counts its updates.
    (tmp_path / "UD").mkdir()
    for split in ("train", "dev", "test"):
        (tmp_path / "UD" / f"te_mtg-ud-{split}.conllu").write_text("1\tx\n\n" * 1051)

    def run(command, settings):
        recipe, *arguments = command.replace("FILE", "file").split()
        done = subprocess.run(
            ["bash", ROOT / "recipes" / f"{recipe}.sh", *arguments], cwd=tmp_path,
            capture_output=True, text=True,
            env={name: value.replace("FILE", "file") for name, value in settings.items()}
            | {"PATH": f"{programs}:{REAL}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
               "OUT": str(tmp_path / "out"), "RECORD": "0"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return [cut(file.read_text().split()) for file in (tmp_path / "out").rglob("options")]

    return run


def cut(words):
    """The last value of each option."""
    return {name: " ".join(group[1:]) for name, group in presets.options_in(words)}


@pytest.mark.parametrize(
    ("command", "settings", "name", "differ"), RUNS,
    ids=[f"{command.split()[0]}-{name}" for command, _, name, _ in RUNS],
)  # fmt: skip
def test_recipe_and_preset_agree(command, settings, name, differ, options_of):
    preset = presets.preset(name)
    needs = set(preset.needs or {})
    given = [word for need in needs for word in (f"--{need}", "x")]
    mine = cut(" ".join(presets.arguments_of(preset, given)).split())
    # Recipes of several trainings have one like this.
    theirs = min(options_of(command, settings), key=lambda one: len(mine.items() ^ one.items()))
    # Otherwise what is left out here is a mistake.
    assert all(mine.get(option) != theirs.get(option) for option in differ)
    left_out = OF_RECIPES | differ | needs
    if mine["task"] == "translation":  # which is fairseq's own default
        left_out |= {"task"}
    assert {k: v for k, v in mine.items() if k not in left_out} == {
        k: v for k, v in theirs.items() if k not in left_out
    }


@pytest.mark.parametrize(
    "variant",
    ["teacher_forcing", "gumbel_softmax_10_grad", "inverse_sigmoid", "confidence", "three_passes"],
)
def test_the_options_of_a_variant_go_together(variant, options_of):
    plugin.load()
    trunk_and_branch = options_of(f"scheduled_sampling/multi30k_en_de {variant} .", PAPER)
    assert len(trunk_and_branch) == 2
    for options in trunk_and_branch:
        words = [word for name, value in options.items() for word in (f"--{name}", value) if word]
        parser = fairseq_options.get_training_parser()
        args = fairseq_options.parse_args_and_arch(parser, ["data", *words])
        scheduled_sampling_options.schedule_from_options(args)
        scheduled_sampling_options.check_options(args, 10_000)
