"""Options as actions: gymnasium's checks, inner steps, single against vectorised, and learning."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from small_options import imitate, skills_of
from stored_models import STORED

gymnasium = pytest.importorskip("gymnasium", reason="needs gymnasium (the extra rl)")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

import fairseq_struct  # noqa: E402
from fairseq_struct.environments.craft import CraftEnv  # noqa: E402
from fairseq_struct.environments.craft_rules import CraftOptions  # noqa: E402
from fairseq_struct.environments.craft_vector import CraftVectorEnv  # noqa: E402
from fairseq_struct.errors import InputError  # noqa: E402
from fairseq_struct.inference.option_controller import OptionEnv, OptionPlayer  # noqa: E402
from fairseq_struct.modules.option_controller.compile_policy import CompilePolicy  # noqa: E402
from fairseq_struct.modules.option_controller.ordered_memory_policy import (  # noqa: E402
    OrderedMemoryPolicy,
)

NAME = "fairseq_struct.environments:fairseq_struct/Craft-v0"
COUNT = 5
# Episodes that end soon, in every way.
LIVELY = {
    "task": "AC", "size": 5, "kinds": "AC", "objects_per_kind": 2, "time_limit": 17,
    "reward": "dense",
}  # fmt: skip
ONE_LIST = ("inner_actions", "inner_rewards")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("skills")


@pytest.fixture(scope="module")
def skills(folder):
    return imitate(folder, "skills", "--arch=option_controller", "--options=2")


@pytest.fixture(scope="module")
def player(skills):
    return fairseq_struct.load(skills, ability="rollout")


def player_of(network, craft=None):
    """The tool of a network that nothing has trained."""
    from fairseq_struct.models.shared.imitation_model import ImitationModel

    craft = craft or CraftOptions(**LIVELY)
    about = {"tasks": ["AC"], "kinds": craft.kinds, "observation": craft.observation,
             "observation_size": craft.observation_size, "actions": craft.action_count}  # fmt: skip
    return OptionPlayer(ImitationModel(network, about), SimpleNamespace(craft=craft))


@pytest.fixture(scope="module")
def latents():
    torch.manual_seed(1)
    size = CraftOptions(**LIVELY).observation_size
    return player_of(CompilePolicy(size, 5, 1, options=3, size=8))


def test_gymnasium_finds_no_fault(skills):
    """A file's name is enough to make it again, as the checks of rendering do."""
    env = gymnasium.make(NAME, render_mode="rgb_array", **LIVELY).unwrapped
    check_env(OptionEnv(env, str(skills), discount=0.5))
    again = gymnasium.make(OptionEnv(env, str(skills), discount=0.5).spec)
    assert again.get_wrapper_attr("discount") == 0.5
    assert again.action_space == gymnasium.spaces.Discrete(2)
    assert again.observation_space == env.observation_space


def test_what_load_gives_acts_as_its_file_does(skills):
    """It can also be copied into the description of a wrapper around it."""
    makers = (lambda: CraftEnv(**LIVELY), lambda: CraftVectorEnv(COUNT, **LIVELY))
    for make, actions in zip(makers, (1, np.ones(COUNT, int)), strict=True):
        found = []
        for checkpoint in (skills, fairseq_struct.load(skills)):
            env = OptionEnv(make(), checkpoint)
            found.append((env.reset(seed=3)[0], *env.step(actions)[:4]))
        assert all(map(np.array_equal, *found))
    env = OptionEnv(gymnasium.make(NAME, **LIVELY), fairseq_struct.load(skills))
    assert gymnasium.wrappers.FrameStackObservation(env, 2).spec is not None


def test_inner_steps_are_steps_of_the_environment(player):
    """Taken one by one on the same map, they give what the calls gave."""
    env, bare = OptionEnv(CraftEnv(**LIVELY), player, discount=0.9), CraftEnv(**LIVELY)
    lengths, endings = [], 0
    for seed in range(12):
        over = False
        first, _ = env.reset(seed=seed)
        assert (bare.reset(seed=seed)[0] == first).all()
        for number in range(100):
            *found, info = env.step(number % 2)
            actions, rewards = info.pop("inner_actions"), info.pop("inner_rewards")
            assert info.pop("inner_steps") == len(actions) == len(rewards)
            steps = [bare.step(action) for action in actions]
            assert [step[1] for step in steps] == rewards
            assert found[1] == pytest.approx(sum(r * 0.9**k for k, r in enumerate(rewards)))
            assert (found[0] == steps[-1][0]).all()
            assert found[2:] == list(steps[-1][2:4]) and info == steps[-1][4]
            assert not any(step[2] or step[3] for step in steps[:-1])
            lengths.append(len(actions))
            if over := found[2] or found[3]:
                break
        endings += over
    assert endings == 12 and min(lengths) == 1 < max(lengths)


def test_options_end_as_often_as_they_say(player):
    """With e_t = p at every step, the mean length of a call is 1 / p; it is at least one step."""
    craft = LIVELY | {"time_limit": 300, "objects_per_kind": 1, "task": "A"}
    for chance, expected in ((1.0, 1.0), (0.25, 4.0)):
        model = _with_ends(player.model, chance)
        env = OptionEnv(CraftEnv(**craft), OptionPlayer(model, SimpleNamespace(
            craft=CraftOptions(**LIVELY))))  # fmt: skip
        env.reset(seed=1)
        lengths = []
        for _ in range(300):
            _, _, _, truncated, info = env.step(0)
            if truncated:
                env.reset()
            else:
                lengths.append(info["inner_steps"])
        assert np.mean(lengths) == pytest.approx(expected, rel=0.2)


def _with_ends(model, chance):
    """A copy of a model whose options end by a given chance."""
    import copy

    model = copy.deepcopy(model)
    for option in model.network.options:
        option.end.weight.data.zero_()
        option.end.bias.data.fill_(torch.logit(torch.tensor(chance), 1e-12).item())
        option.act.bias.data[-1] = -100  # nothing is used, so the episode goes on
    return model


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("which", ["player", "latents"])
def test_many_are_what_gymnasium_makes_of_single_ones(mode, which, request):
    """Observations, rewards, ends and information; also after a seed, and after a reset without."""
    tool = request.getfixturevalue(which)
    single = [lambda: OptionEnv(CraftEnv(**LIVELY), tool, 0.9)] * COUNT
    sync = SyncVectorEnv(single, autoreset_mode=mode)
    ours = OptionEnv(CraftVectorEnv(COUNT, autoreset_mode=mode, **LIVELY), tool, 0.9)
    assert isinstance(ours, gymnasium.vector.VectorEnv) and ours.num_envs == COUNT
    assert ours.observation_space == sync.observation_space
    assert ours.action_space == sync.action_space
    assert ours.single_action_space == gymnasium.spaces.Discrete(tool.model.option_count)
    assert ours.metadata["autoreset_mode"] is mode
    random, endings, inner = np.random.default_rng(1), np.zeros(2, int), set()
    for seed in (7, None, 7, [1, None, 3, 4, None]):
        assert all(map(equal, ours.reset(seed=seed), sync.reset(seed=seed)))
        for actions in random.integers(0, ours.single_action_space.n, (25, COUNT)):
            one, other = ours.step(actions), sync.step(actions)
            assert all(map(equal, one, other))
            endings += one[2].sum(), one[3].sum()
            inner.update(one[4].get("inner_steps", ()))
    assert endings.min() > 2 and len(inner) > 3


def equal(one, other):
    """Whether both are the same, but for the lists that single ones alone have."""
    if isinstance(one, dict):
        names = {name for name in other if name.removeprefix("_") not in ONE_LIST}
        return one.keys() == names and all(equal(one[name], other[name]) for name in one)
    if isinstance(one, np.ndarray) and one.dtype == object:
        return len(one) == len(other) and all(map(equal, one, other))
    same_kind = not isinstance(one, np.ndarray) or one.dtype == other.dtype
    return same_kind and np.array_equal(one, other)


def test_chosen_worlds_can_be_reset(player):
    """Those begin the episode of their new seed; the others go on."""
    ours = OptionEnv(CraftVectorEnv(3, autoreset_mode="Disabled", **LIVELY), player)
    expected = [OptionEnv(CraftEnv(**LIVELY), player) for _ in range(3)]
    ours.reset(seed=1)
    for i, env in enumerate(expected):
        env.reset(seed=1 + i)
    for mask in ([True, False, True], [False, True, False]):
        mask = np.array(mask)
        ours.reset(seed=20, options={"reset_mask": mask})
        for i in np.flatnonzero(mask):
            expected[i].reset(seed=20 + int(i))
        observed, rewards, *_ = ours.step(np.array([0, 1, 0]))
        for i, env in enumerate(expected):
            found = env.step(i % 2)
            assert (found[0] == observed[i]).all() and found[1] == rewards[i]


def test_options_without_an_end_act_once(folder):
    experts = imitate(folder, "experts", "--arch=mixture_of_experts", "--options=3")
    env = OptionEnv(CraftEnv(**LIVELY), experts)
    env.reset(seed=1)
    assert [env.step(number)[4]["inner_steps"] for number in (0, 1, 2, 2)] == [1] * 4


def test_a_plain_learner_puts_skills_in_order():
    """Q-learning over what was taken so far; the reward comes at the end of both alone."""
    craft = CraftOptions("CA", 5, "CA", time_limit=30)
    pool = skills_of(CraftOptions("CA", 5, "CA", time_limit=1000))
    player = OptionPlayer(_Pool(pool), SimpleNamespace(craft=craft))
    env = OptionEnv(gymnasium.make(NAME, task="CA", size=5, kinds="CA", time_limit=30), player)
    draw, values = np.random.default_rng(1), np.zeros((2, 2, 2))
    inventory = craft.layout()["inventory"]

    def episode(explores, seed=None):
        observed, _ = env.reset(seed=seed)
        while True:
            before = tuple(observed[inventory].astype(int))
            greedy = int(values[before].argmax())
            action = int(draw.integers(2)) if draw.random() < explores else greedy
            observed, reward, terminated, truncated, info = env.step(action)
            after = values[tuple(observed[inventory].astype(int))].max() * (not terminated)
            target = reward + 0.95 ** info["inner_steps"] * after
            if explores:
                values[before][action] += 0.2 * (target - values[before][action])
            if terminated or truncated:
                return reward

    untaught = np.mean([episode(1.0, seed) for seed in range(120)])
    taught = np.mean([episode(0.0, 1000 + seed) for seed in range(60)])
    assert values[0, 0].argmax() == 0 and values[1, 0].argmax() == 1
    assert untaught < 0.7 and taught > 0.9


class _Pool(torch.nn.Module):
    """A model that is nothing but options."""

    def __init__(self, pool):
        super().__init__()
        self.pool, self.option_count = pool, len(pool)

    def single_option(self, number, count):
        from fairseq_struct.modules.option_controller.imitating import SingleOption

        return SingleOption(self.pool, number, count)


def test_bad_input_is_refused(skills, player, tmp_path):
    craft = CraftOptions(**LIVELY)
    memory = player_of(OrderedMemoryPolicy(craft.observation_size, 5, 1, 4, 2))
    stack = gymnasium.wrappers.FrameStackObservation
    parser = fairseq_struct.load(STORED / "udgn.pt", STORED / "language" / "data-bin")
    cases = [
        (lambda: CraftEnv(), skills, "made with kinds 'AC', but the environment has 'ABCD'"),
        (lambda: CraftVectorEnv(2), player, "the checkpoint: made with kinds 'AC'"),
        (lambda: CraftEnv(**LIVELY, observation="grid"), skills, "made with observation 'windows'"),
        (lambda: CraftEnv(**LIVELY, done_action=True), skills, "made with done_action False"),
        (lambda: stack(CraftEnv(**LIVELY), 2), skills, "a wrapper has changed observations"),
        (lambda: CraftEnv(**LIVELY), memory, "no options that act by themselves"),
        (lambda: CraftEnv(**LIVELY), parser, "is no policy that acts; it can parse"),
        (lambda: CraftVectorEnv(2), parser, "is no policy that acts; it can parse"),
        (lambda: CraftEnv(**LIVELY), parser.tool, "is no policy that acts"),
        (lambda: CraftEnv(**LIVELY), tmp_path / "none.pt", "none.pt: no such file"),
        (lambda: gymnasium.make("CartPole-v1"), skills, "this is another environment"),
        (lambda: SyncVectorEnv([lambda: CraftEnv(**LIVELY)]), skills, "CraftVectorEnv itself"),
    ]
    for make, checkpoint, message in cases:
        with pytest.raises(InputError, match=re.escape(message)):
            OptionEnv(make(), checkpoint)
    with pytest.raises(InputError, match="discount must be from 0 to 1, not 2"):
        OptionEnv(CraftEnv(**LIVELY), player, discount=2)
    single, many = (
        OptionEnv(env, player) for env in (CraftEnv(**LIVELY), CraftVectorEnv(2, **LIVELY))
    )
    with pytest.raises(ValueError, match="must be reset"):
        single.step(0)
    single.reset(seed=1), many.reset(seed=1)
    for env, actions in ((single, 2), (single, -1), (single, 0.0), (many, [0, 2]), (many, [0]),
                         (many, [0.0, 0.5])):  # fmt: skip
        with pytest.raises(ValueError, match="options are numbers of"):
            env.step(actions)
