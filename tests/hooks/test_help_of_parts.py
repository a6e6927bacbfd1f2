"""``--help`` of fairseq's programs has the options of the parts that the command line names."""

import argparse

import pytest
from fairseq_commands import USER_DIR, run

from fairseq_struct.hooks.help_of_parts import _helping


@pytest.fixture(scope="module")
def help_of_training():
    return run("train", f"--user-dir={USER_DIR}", "--arch=udgn_ptb", "--task=structured_masked_lm",
               "--criterion=structured_masked_lm", "--optimizer=nt_asgd", "--help")  # fmt: skip


def section(text, title):
    """The part of a help text below a title."""
    _, found, rest = text.partition(f"\n{title}:\n")
    assert found, title
    return rest.partition("\n\n")[0]


@pytest.mark.parametrize(
    ("title", "option"),
    [
        ("options of --arch udgn_ptb", "--channel-size"),
        ("options of --task structured_masked_lm", "--treebank"),
        ("options of --optimizer nt_asgd", "--non-monotone-interval"),
    ],
)
def test_each_part_has_its_options_after_those_of_fairseq(help_of_training, title, option):
    assert option in section(help_of_training, title)
    assert option not in section(help_of_training, "options")
    usage = help_of_training.index("\noptimization:\n")
    assert help_of_training.index(f"\n{title}:\n") > usage
    assert "--max-update" in help_of_training[usage:]


def test_generation_shows_the_options_of_its_task_and_of_no_model():
    text = run("generate", f"--user-dir={USER_DIR}", "--task=structured_masked_lm", "-h")
    assert "--treebank" in section(text, "options of --task structured_masked_lm")
    assert "options of --arch" not in text and "--beam" in text


def test_unknown_parts_are_refused_as_before():
    with pytest.raises(SystemExit, match="invalid choice: 'udgm'"):
        run("train", f"--user-dir={USER_DIR}", "--arch=udgm", "--help")


def test_a_build_that_looks_at_the_parser_once_prints_help_and_trains_nothing(capsys):
    parser = argparse.ArgumentParser()
    parser.add_argument("--arch")
    once = lambda parser, words, modify_parser: modify_parser(parser)  # noqa: E731
    with pytest.raises(SystemExit) as ended:
        _helping(once, parser, ["--arch", "udgn", "--help"])
    assert ended.value.code == 0 and "--arch ARCH" in capsys.readouterr().out
