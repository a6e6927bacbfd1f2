"""New controllers over frozen options from the command line: train, resume, workers, rollout."""

import json
import re

import numpy as np
import pytest
import torch
from fairseq_commands import USER_DIR, in_this_process, run
from small_options import imitate
from two_processes import train as train_together

import fairseq_struct
from fairseq_struct import compat, plugin
from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError
from fairseq_struct.models.shared.imitation_model import ImitationModel
from fairseq_struct.modules.option_controller.compile_policy import CompilePolicy

WORLD = ["--map-size=6", "--kinds=AC", "--time-limit=20"]
SMALL = [
    f"--user-dir={USER_DIR}", "--task=craft_reinforcement", "--criterion=craft_reinforcement",
    "--arch=option_policy", "--hidden-size=8", "--mlp-size=12", "--subtasks=CA", *WORLD,
    "--decisions=4", "--rollout-epochs=2", "--iterations-per-epoch=2", "--valid-episodes=20",
    "--no-epoch-checkpoints", "--no-progress-bar", "--log-format=json", "--log-interval=1",
]  # fmt: skip
ALONE = [*SMALL, "--optimizer=adam", "--lr=0.01", "--actors=6", "--batch-size=8"]


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    return tmp_path_factory.mktemp("skills")


@pytest.fixture(scope="module")
def skills(places):
    return imitate(places, "skills", "--arch=option_controller", "--options=2")


@pytest.fixture(scope="module")
def experts(places):
    return imitate(places, "experts", "--arch=mixture_of_experts", "--options=3")


def logged(log: str, name: str) -> list[dict[str, float]]:
    lines = re.findall(rf'^\{{"epoch".*"{name}_?.*\}}$', log, re.MULTILINE)
    # Speeds of the first moments are unknown.
    return [
        {key: float(value) for key, value in json.loads(line).items() if value is not None}
        for line in lines
    ]


@pytest.fixture(scope="module")
def trained(skills, tmp_path_factory):
    folder = tmp_path_factory.mktemp("controller")
    log = run("train", *ALONE, f"--options-from={skills}", "--max-update=10",
              f"--save-dir={folder}")  # fmt: skip
    return folder / "checkpoint_last.pt", log


def test_options_do_not_move_and_the_controller_does(trained, skills):
    """Six actors of four decisions, in minibatches of two actors: a rollout lasts six updates."""
    checkpoint, log = trained
    before = compat.load_state(skills)["model"]
    after = compat.load_state(checkpoint)["model"]
    names = [name for name in after if name.startswith("policy.options.")]
    assert len(names) == sum(name.startswith("network.options.") for name in before) > 10
    for name in names:
        assert torch.equal(after[name], before[name.replace("policy.", "network.")])
    steps = [line for line in logged(log, "divergence") if "divergence" in line]
    assert len(steps) == 10
    # Nothing has moved at the first update of each rollout, and then it has.
    assert [k for k, line in enumerate(steps) if "environment_steps" in line] == [0, 6]
    for first in (0, 6):
        assert steps[first]["divergence"] == 0
        assert max(line["divergence"] for line in steps[first + 1 : first + 4]) > 0
        assert steps[first]["clipped"] == 0
    total = steps[6]["environment_steps"]
    assert total > steps[0]["environment_steps"] >= 24
    assert all(line["option_length"] >= 1 for line in steps)


@pytest.mark.parametrize("options", [[], ["--reset-meters"]])
def test_a_run_that_stops_within_a_rollout_goes_on_as_if_it_had_not(
    trained, skills, tmp_path, options
):
    whole, _ = trained
    for updates in (3, 10):
        run("train", *ALONE, f"--options-from={skills}", f"--max-update={updates}",
            f"--save-dir={tmp_path}", *options)  # fmt: skip
    first, second = (compat.load_state(path) for path in (whole, tmp_path / "checkpoint_last.pt"))
    for name, value in first["model"].items():
        assert torch.equal(value, second["model"][name]), name
    first, second = (state["extra_state"]["task"] for state in (first, second))
    assert first["steps"] == second["steps"] and first["position"] == second["position"] == 4
    for name, value in first["workers"][0]["actors"].items():
        assert torch.equal(value, second["workers"][0]["actors"][name]), name


def test_two_workers_do_what_one_does_with_all_their_actors(skills, tmp_path):
    """Each update uses all actors, so workers deal them alike."""
    options = [*SMALL, f"--options-from={skills}", "--optimizer=sgd", "--lr=0.1", "--max-update=4",
               "--time-limit=4"]  # episodes end in every rollout
    (one,) = train_together(tmp_path / "one", *options, "--actors=4", "--batch-size=16")
    two = train_together(tmp_path / "two", *options, "--actors=2", "--batch-size=8", workers=2)
    for name, value in one.state.items():
        torch.testing.assert_close(two[0].state[name], value, atol=1e-6, rtol=1e-5)
        assert torch.equal(two[0].state[name], two[1].state[name])
    mine, theirs = (found.logged("train") for found in (one, two[0]))
    for expected, found in zip(mine, theirs, strict=True):
        for name in ("train_environment_steps", "train_option_length", "train_steps"):
            assert found[name] == pytest.approx(expected[name])


def test_a_policy_acts_as_in_validation(trained, capsys):
    """The last validation's episodes, again."""
    checkpoint, log = trained
    assert main(["rollout", str(checkpoint), "--episodes=30", "--options-by-subtasks"]) == 0
    said = capsys.readouterr().out
    assert re.match(r"CA: success \d+\.\d\d %, return [01]\.\d{4}, \d+\.\d steps \(30 epi", said)
    assert re.search(r"^option\tA\tC\n0\t[\d.]+\t[\d.]+\n1\t[\d.]+\t[\d.]+\n", said, re.MULTILINE)
    tool = fairseq_struct.load(checkpoint)
    assert tool.abilities == ("rollout",)
    found = tool.rollout("CA", 20, seed=1_000_003)
    last = [line for line in logged(log, "valid_return") if "valid_return" in line][-1]
    assert last["valid_return"] == pytest.approx(found.returns.mean(), abs=1e-4)
    assert last["valid_steps"] == pytest.approx(found.steps.mean(), abs=1e-4)
    whole, part = tool.rollout(episodes=7, seed=5), tool.rollout(episodes=3, seed=5)
    assert whole.steps[:3].tolist() == part.steps.tolist()
    one = tool.trajectory(episode=2, seed=5)
    assert len(one.actions) == len(one.ends) == len(one.options) == whole.steps[2]
    assert len(one.pictures) == len(one.actions) + 1 and one.ends[0] == 1
    torch.testing.assert_close(torch.tensor(one.options).sum(1), torch.ones(len(one.ends)))


@pytest.mark.parametrize(("name", "begins"), [("a.png", b"\x89PNG"), ("a.gif", b"GIF89a"),
                                              ("a.html", b"<!DOCTYPE html>"),
                                              ("a.svg", b"<svg")])  # fmt: skip
def test_an_episode_is_drawn(trained, skills, tmp_path, name, begins, capsys):
    for checkpoint, task in ((trained[0], "CA"), (skills, "AC")):
        path = tmp_path / name
        options = ["--episodes=1", f"--picture={path}"]
        assert main(["rollout", str(checkpoint), task, *options]) == 0
        assert path.read_bytes().lower().startswith(begins.lower())


def test_an_episode_too_long_for_a_picture_is_refused(trained, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("fairseq_struct.pages.drawing.png._LONGEST", 10)
    path = tmp_path / "a.png"
    assert main(["rollout", str(trained[0]), "--episodes=1", f"--picture={path}"]) == 2
    assert "too large for one PNG; draw a .gif or .html" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_options_are_merged_experts_act_once_and_plain_policies_have_none(
    skills, experts, tmp_path, capsys
):
    def trained(name, *options):
        run("train", *ALONE, *options, "--max-update=1", f"--save-dir={tmp_path / name}")
        return fairseq_struct.load(tmp_path / name / "checkpoint_last.pt", ability="rollout")

    merged = trained("merged", f"--options-from={skills},{skills}")
    assert merged.model.option_count == 4
    assert trained("experts", f"--options-from={experts}").model.option_count == 3
    plain = trained("plain")
    assert plain.model.option_count == 0
    with pytest.raises(InputError, match="no options that act by themselves"):
        plain.option_success()
    capsys.readouterr()
    path = tmp_path / "plain" / "checkpoint_last.pt"
    assert main(["rollout", str(path), "--options-by-subtasks"]) == 2
    said = capsys.readouterr()
    assert "needs options that act alone" in said.err and not said.out
    for name in ("experts", "plain"):
        log = run("train", *ALONE, f"--save-dir={tmp_path / name}", "--max-update=2",
                  *([f"--options-from={experts}"] if name == "experts" else []))  # fmt: skip
        assert {line["option_length"] for line in logged(log, "divergence")
                if "option_length" in line} == {1}  # fmt: skip


def test_latents_of_compile_are_options(skills, tmp_path):
    """Two and three of them: frozen, learned over, and read again where their files are gone."""
    state, paths = compat.load_state(skills), []
    about = bytes(state["model"]["about"].tolist())
    for count in (2, 3):
        torch.manual_seed(count)
        network = CompilePolicy(json.loads(about)["observation_size"], 5, 2, count, size=8)
        state["model"] = ImitationModel(network, json.loads(about)).state_dict()
        torch.save(state, tmp_path / f"latents{count}.pt")
        paths.append(tmp_path / f"latents{count}.pt")
    both = f"--options-from={paths[0]},{paths[1]}"
    run("train", *ALONE, both, "--max-update=4", f"--save-dir={tmp_path}")
    checkpoint = tmp_path / "checkpoint_last.pt"
    after = compat.load_state(checkpoint)["model"]
    for number, path in enumerate(paths):
        for name, value in compat.load_state(path)["model"].items():
            if name.startswith("network.options."):
                other = name.replace("network.options", f"policy.options.parts.{number}")
                assert torch.equal(after[other], value)
        path.unlink()
    tool = fairseq_struct.load(checkpoint, ability="rollout")
    assert tool.model.option_count == 5
    assert tool.rollout(episodes=4).steps.max() <= 20
    assert tool.option_success(episodes=4).shape == (5, 2)
    with pytest.raises(InputError, match="are not of one pool"):
        torch.save(state, paths[0])
        run("train", *ALONE, f"--options-from={paths[0]},{skills}", f"--save-dir={tmp_path}")


def test_options_of_a_policy_are_actions_as_before(trained, skills):
    """In gymnasium's worlds, one call of each option in turn."""
    gymnasium = pytest.importorskip("gymnasium", reason="needs gymnasium (the extra rl)")
    from fairseq_struct.inference.option_controller import OptionEnv

    found = []
    for checkpoint in (skills, trained[0]):
        worlds = gymnasium.make_vec(
            "fairseq_struct.environments:fairseq_struct/Craft-v0", num_envs=3, task="CA", size=6,
            vectorization_mode="vector_entry_point", kinds="AC", time_limit=20,
        )  # fmt: skip
        env = OptionEnv(worlds, checkpoint)
        env.reset(seed=1)
        found.append([env.step(np.full(3, number % 2)) for number in range(20)])
    for (one, *_, told), (other, *_, again) in zip(*found, strict=True):
        assert (one == other).all() and told.keys() == again.keys()
        assert all((value == again[name]).all() for name, value in told.items())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"subtasks": "CC"}, "takes C 2 times, but there is 1 of it"),
        ({"subtasks": ""}, "must be subtasks in order"),
        ({"map_size": 3}, "too small"),
        ({"reward": "some"}, "unknown reward"),
        ({"actors": 0}, "--actors must be 1 or more"),
        ({"discount": 1.5}, "--discount must be from 0 to 1"),
        ({"batch_size": 10}, "--batch-size 10 must be a multiple of --decisions 4"),
        ({"batch_size": 0}, "--batch-size 0 must be a multiple"),
    ],
)
def test_tasks_out_of_range_are_refused(changes, message):
    plugin.load()
    from fairseq_struct.tasks.craft_reinforcement import (
        CraftReinforcementConfig,
        CraftReinforcementTask,
    )

    options = {"subtasks": "CA", "map_size": 6, "kinds": "AC", "actors": 6, "decisions": 4}
    config = CraftReinforcementConfig(**options | {"batch_size": 8} | changes)
    with pytest.raises(InputError, match=re.escape(message)):
        CraftReinforcementTask(config).load_dataset("train")


def test_bad_input_is_refused_before_training(skills, experts, trained, tmp_path):
    state = compat.load_state(skills)
    state["model"]["network.options.1.act.bias"][0] = torch.nan
    torch.save(state, diverged := tmp_path / "diverged")
    state["model"] = {"about": state["model"]["about"]}  # as of OMPN, which has none
    torch.save(state, tmp_path / "none")
    cases = [
        (["--subtasks=CB"], r"no subtask 'B'"),
        (["--batch-size=16"], "divide --actors times --decisions, 24"),
        (["--clip=0"], "--clip must be between 0 and 1"),
        (["--temperature=0"], "--temperature must be above 0"),
        ([f"--options-from={diverged}"], "options.1.act.bias is not finite"),
        (["--options-from=none.pt"], "none.pt: no such file"),
        ([f"--options-from={trained[0]}"], "name the checkpoints that its options are from"),
        ([f"--options-from={tmp_path}/none"], "none: no options"),
        ([f"--options-from={skills},{experts}"], "option 2 has hidden 0, not 6; ends False, not"),
        ([f"--options-from={skills}", "--kinds=CA"], "demonstrations with kinds AC"),
        ([f"--options-from={skills}", "--done-action"], "with actions 5"),
        (["--criterion=craft_imitation"], "needs --criterion craft_reinforcement"),
        (["--arch=option_controller"], "this task is for controllers of options"),
    ]
    for options, message in cases:
        with in_this_process(), pytest.raises(InputError, match=re.escape(message)):
            run("train", *ALONE, *options, "--max-update=1", f"--save-dir={tmp_path}")
    assert not list(tmp_path.glob("*.pt"))


def test_rollouts_refuse_what_the_policy_does_not_know(trained, skills, tmp_path, capsys):
    cases = [
        ([trained[0], "AC"], "knows CA; train a new controller over its options with --task cra"),
        ([skills, "CC"], "takes C 2 times"),
        ([skills, "CA", "--objects-per-kind=0"], "must be a whole number, at least 1"),
        ([skills, ""], "must be subtasks in order"),
        ([skills, "--episode=3"], "--episode needs --picture"),
        ([skills, "--episode=2", "--episodes=2", "--picture=a.svg"], "is not among --episodes 2"),
        ([skills, "--episodes=0"], "--episodes must be 1 or more"),
        ([skills, "--picture=a.tex"], "--picture ends in .gif, .html, .png, .svg"),
        ([skills, "--picture=none/a.gif"], "none: no such folder"),
        (["none.pt"], "none.pt: no such file"),
        ([trained[0], "--data", tmp_path], "trained without a folder of data; leave out --data"),
    ]
    for arguments, message in cases:
        assert main(["rollout", *map(str, arguments)]) == 2
        assert message in capsys.readouterr().err
