"""Every preset: fairseq knows its options, its data can be prepared, its command is whole."""

import shlex
import subprocess
import sys

import pytest

from fairseq_struct import plugin, presets
from fairseq_struct.cli.main import main
from fairseq_struct.cli.prepare import PREPARERS
from fairseq_struct.cli.training.running import Training
from fairseq_struct.errors import InputError
from fairseq_struct.presets.data_kinds import KINDS
from fairseq_struct.presets.preset import FOLDER

SYSTEMS = {
    "scheduled_sampling", "latent_clusters", "latent_tree", "on_lstm", "udgn", "ordered_memory",
    "undirected", "option_controller", "rim",
}  # fmt: skip
# What a user would give.
GIVEN = {
    "embed-path": "vectors.txt",
    "finetune-from-model": "model.pt",
    "encoder-folder": "encoder",
    "options-from": "options.pt",
}


def arguments(name: str, *further: str) -> list[str]:
    preset = presets.preset(name)
    needed = [word for need in preset.needs or {} for word in (f"--{need}", GIVEN[need])]
    return presets.arguments_of(preset, [*needed, *further])


@pytest.fixture(scope="module")
def parse():
    """Parses a command line as fairseq-train does; an unknown option or value is an error."""
    plugin.load()
    from fairseq import options

    def parse(words):
        def let_it_raise(parser):
            def error(message):
                raise AssertionError(message)

            parser.error = error

        parser = options.get_training_parser()
        return options.parse_args_and_arch(parser, words, modify_parser=let_it_raise)

    return parse


@pytest.mark.parametrize("name", presets.names())
def test_fairseq_knows_all_options_of_a_preset(name, parse):
    preset = presets.preset(name)
    data = ["data"] if preset.data else []
    parsed = vars(parse([*data, *arguments(name)]))
    ours = plugin.registered()
    assert preset.options["arch"] in ours["architectures"]
    assert preset.options["task"] in [*ours["tasks"], "translation"]
    for option, value in presets.preset(name).options.items():
        taken = parsed[option.replace("-", "_")]
        if value is None:
            assert taken  # True, or for one flag a word
        elif "{" not in value and not isinstance(taken, list):
            assert type(taken)(value) == taken if isinstance(taken, float | int) else taken == value
    assert parsed["max_update"] or parsed["max_epoch"]  # it ends
    assert parsed["batch_size"] or parsed["max_tokens"]


@pytest.mark.parametrize("name", presets.names())
def test_a_preset_says_what_it_is_and_what_it_takes(name):
    preset = presets.preset(name)
    assert preset.what and preset.source and preset.what[-1] != "."
    assert bool(preset.data) == bool(preset.prepare)
    if preset.data:
        assert preset.data in KINDS and preset.prepare.split()[0] in PREPARERS
    assert "{save-dir}" in preset.next or not preset.next


def test_every_system_has_the_papers_setting_and_one_for_a_cpu():
    every = [presets.preset(name) for name in presets.names()]
    assert {one.system for one in every} == SYSTEMS
    for system in SYSTEMS - {"latent_clusters"}:  # this one is small as it is
        of_system = {one.name for one in every if one.system == system}
        on_cpu = {name for name in of_system if name.endswith(("_cpu", "_tiny"))}
        assert on_cpu and on_cpu < of_system
    names = [path.stem for path in FOLDER.glob("*/*.toml")]
    assert len(names) == len(set(names)) == len(every)


def test_further_options_replace_those_of_the_preset():
    mine = arguments("udgn_cpu", "--lr=0.1", "-a", "structformer", "--max-update", "7", "--fp16")
    assert "0.003" not in mine and mine.count("--max-update") == 1
    assert mine[-6:] == ["--lr=0.1", "-a", "structformer", "--max-update", "7", "--fp16"]
    assert "--arch" not in mine
    # The end of the schedule is the end of the training.
    assert presets.value_of("total-num-update", mine) == "7"
    assert presets.value_of("total-num-update", arguments("udgn_cpu")) == "12000"
    assert presets.value_of("lr", mine) == "0.1" and presets.value_of("fp16", mine) == ""


@pytest.mark.parametrize("name", presets.names())
def test_options_of_a_preset_can_be_taken_away(name, parse):
    preset = presets.preset(name)
    off = [f"--no-{option}" for option in [*preset.options, *(preset.needs or {})]]
    assert presets.arguments_of(preset, [*off, "--seed=7"]) == ["--seed=7"]
    for word in off:  # fairseq has no such option, so that it cannot be meant
        with pytest.raises(AssertionError, match=f"unrecognized arguments: {word}"):
            parse([*(["data"] if preset.data else []), *arguments(name), word])


def test_the_last_word_about_an_option_counts():
    flag = "maximize-best-checkpoint-metric"
    preset = presets.Preset("x", "", "", "", {flag: None, "no-epoch-checkpoints": None})

    def mine(*words):
        return presets.arguments_of(preset, words)

    assert mine(f"--no-{flag}", "--epoch-checkpoints") == []
    assert mine("--lr", "1", f"--{flag}", "--fp16", f"--no-{flag}") == [
        "--no-epoch-checkpoints", "--lr", "1", "--fp16"
    ]  # fmt: skip
    assert mine(f"--no-{flag}", f"--{flag}") == ["--no-epoch-checkpoints", f"--{flag}"]
    assert mine("--no-cpu") == [f"--{flag}", "--no-epoch-checkpoints", "--no-cpu"]
    assert "--arch" not in arguments("udgn_cpu", "--no-arch")
    with pytest.raises(InputError, match="^udgn_cpu needs --max-update above 0"):
        arguments("udgn_cpu", "--no-max-update")
    assert "--max-update" not in arguments("udgn_cpu", "--no-max-update", "--total-num-update", "9")
    for words in ([f"--no-{flag}=1"], [f"--no-{flag}", "1"]):
        with pytest.raises(InputError, match=f"^--no-{flag} takes no value, but is given as"):
            mine(*words)


def test_checkpoints_of_all_epochs_can_be_kept():
    def whole(*words):
        return presets.training_arguments(presets.preset("udgn_cpu"), ["data"], words, FOLDER)

    assert "--no-epoch-checkpoints" in whole()
    kept = whole("--epoch-checkpoints")
    assert kept == [word for word in whole() if word != "--no-epoch-checkpoints"]


def test_numbers_stay_as_they_are_written():
    assert presets.preset("udgn_ptb").options["weight-decay"] == "1.2e-6"
    assert presets.preset("latent_clusters").options["pullback-step-size"] == "0.00002"


def test_a_preset_like_another_can_take_its_options_away():
    assert "lr-shrink" in presets.preset("udgn_ptb").options
    assert "lr-shrink" not in presets.preset("udgn_cpu").options
    assert "--false" not in " ".join(arguments("udgn_cpu")) and not presets.preset("udgn_cpu").needs


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--lr", "-1", "--fp16"], [("lr", ["--lr", "-1"]), ("fp16", ["--fp16"])]),
        (["data", "-s", "de"], [("", ["data"]), ("source-lang", ["-s", "de"])]),
        (["--max-sentences=3"], [("batch-size", ["--max-sentences=3"])]),
    ],
)
def test_command_lines_are_cut_into_options(words, expected):
    assert presets.options_in(words) == expected


def test_commands_can_be_pasted():
    words = arguments("scheduled_sampling_transformer_cpu")
    assert shlex.split(presets.command("fairseq-train", words)) == ["fairseq-train", *words]


@pytest.mark.parametrize(("words", "possible"), [([], True), (["--no-options"], False)])
def test_options_by_subtasks_are_next_where_there_are_options(words, possible):
    preset = presets.preset("option_controller_craft_cpu")
    training = Training(preset, presets.training_arguments(preset, ["data"], words, FOLDER))
    assert "--options-by-subtasks" in preset.next and training._next_is_possible() == possible


def test_what_is_missing_is_said():
    with pytest.raises(InputError, match="'udgn_tni'; did you mean 'udgn_tiny'"):
        presets.preset("udgn_tni")
    with pytest.raises(InputError, match="needs --embed-path: a text file of 300-dim"):
        presets.arguments_of(presets.preset("latent_tree_classifier_sst"))


def test_arguments_are_those_of_a_named_preset(capsys):
    assert main(["presets", "--arguments", "--lr", "0.1"]) == 2
    told = "error: --arguments needs the NAME of a preset before it\n"
    assert capsys.readouterr() == ("", told)


def test_presets_are_read_without_heavy_packages():
    script = (
        "import sys; from fairseq_struct import presets\n"
        "for name in presets.names(): presets.preset(name)\n"
        "print(*{'torch', 'numpy', 'fairseq'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "\n" and done.returncode == 0, done.stderr
