"""Craft as environments of gymnasium: its checks, and single against vectorised."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="needs gymnasium (the extra rl)")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

from fairseq_struct.environments.craft import CraftEnv  # noqa: E402
from fairseq_struct.environments.craft_vector import CraftVectorEnv  # noqa: E402
from fairseq_struct.environments.craft_worlds import CraftWorlds  # noqa: E402
from fairseq_struct.errors import InputError  # noqa: E402

NAME = "fairseq_struct.environments:fairseq_struct/Craft-v0"
COUNT = 6
# Episodes that end soon, in every way.
LIVELY = {
    "task": "AB", "size": 5, "kinds": "AB", "objects_per_kind": 2, "time_limit": 17,
    "reward": "dense",
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("render_mode", ["rgb_array", "ansi"])
@pytest.mark.parametrize("options", [{}, {"observation": "grid", "done_action": True}])
def test_gymnasium_finds_no_fault(render_mode, options):
    check_env(gymnasium.make(NAME, render_mode=render_mode, **options).unwrapped)


def test_no_step_comes_before_an_episode():
    env = CraftEnv(task="A")
    with pytest.raises(ValueError, match="must be reset before its first step"):
        env.step(0)
    env.reset(seed=1)
    assert len(env.step(0)) == 5


@pytest.mark.parametrize("action", [1.5, 1.0, "1", None, True])
def test_actions_are_integers(action):
    env, envs = CraftEnv(task="A"), CraftVectorEnv(2, task="A")
    env.reset(seed=1)
    envs.reset(seed=1)
    before = env.worlds.steps
    for ours, given in ((env, action), (envs, [action, action])):
        with pytest.raises(ValueError, match="actions must be integers, not"):
            ours.step(given)
    assert env.worlds.steps == before


@pytest.mark.filterwarnings("error")
def test_both_are_made_by_name():
    single = gymnasium.make(NAME, task="DCA", size=8)
    assert isinstance(single.unwrapped, CraftEnv) and single.unwrapped.options.task == "DCA"
    assert single.action_space == gymnasium.spaces.Discrete(5)
    many = gymnasium.make_vec(
        NAME, num_envs=3, vectorization_mode="vector_entry_point", task="DCA", reward="dense"
    )
    assert isinstance(many.unwrapped, CraftVectorEnv)
    assert many.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert many.reset(seed=1)[0] in many.observation_space
    again = gymnasium.make_vec(many.spec)
    assert again.num_envs == 3 and again.unwrapped.options == many.unwrapped.options


def equal(one, other):
    """Whether both are the same, dictionaries and arrays of objects included."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[name], other[name]) for name in one)
    if isinstance(one, np.ndarray) and one.dtype == object:
        return len(one) == len(other) and all(map(equal, one, other))
    same_kind = not isinstance(one, np.ndarray) or one.dtype == other.dtype
    return same_kind and np.array_equal(one, other)


@pytest.mark.parametrize("options", [LIVELY, LIVELY | {"done_action": True, "reward": "sparse"}])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_it_is_what_gymnasium_makes_of_single_ones(mode, options):
    """Observations, rewards, ends and information; also after a seed, and after a reset without."""
    sync = SyncVectorEnv([lambda: CraftEnv(**options)] * COUNT, autoreset_mode=mode)
    ours = CraftVectorEnv(COUNT, autoreset_mode=mode.value, **options)
    assert ours.observation_space == sync.observation_space
    assert ours.action_space == sync.action_space
    assert ours.metadata == sync.metadata
    random = np.random.default_rng(1)
    endings = np.zeros(2, int)
    for seed in (7, None, 7, [1, None, 3, 4, None, 6]):
        assert all(map(equal, ours.reset(seed=seed), sync.reset(seed=seed)))
        for actions in random.integers(0, ours.single_action_space.n, (150, COUNT)):
            one, other = ours.step(actions), sync.step(actions)
            assert all(map(equal, one, other))
            endings += one[2].sum(), one[3].sum()
        assert ours.np_random_seed == sync.np_random_seed
    assert endings.min() > 20


def test_world_i_is_the_single_environment_with_seed_s_plus_i():
    ours = CraftVectorEnv(COUNT, **LIVELY)
    observed, _ = ours.reset(seed=40)
    for i in range(COUNT):
        single = CraftEnv(**LIVELY)
        assert (single.reset(seed=40 + i)[0] == observed[i]).all()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_chosen_worlds_can_be_reset(mode):
    sync = SyncVectorEnv([lambda: CraftEnv(**LIVELY)] * COUNT, autoreset_mode=mode)
    ours = CraftVectorEnv(COUNT, autoreset_mode=mode, **LIVELY)
    ours.reset(seed=1), sync.reset(seed=1)
    random, resets = np.random.default_rng(1), 0
    for actions in random.integers(0, 5, (60, COUNT)):
        one, other = ours.step(actions), sync.step(actions)
        assert all(map(equal, one, other))
        mask = one[2] | one[3]
        if mask.any() and mode is not AutoresetMode.SAME_STEP:
            resets += 1
            options = [{"reset_mask": mask.copy()} for _ in range(2)]
            assert all(map(equal, ours.reset(options=options[0]), sync.reset(options=options[1])))
    assert resets > 5 or mode is AutoresetMode.SAME_STEP


def test_what_has_ended_must_be_reset_where_nothing_resets_itself():
    ours = CraftVectorEnv(2, autoreset_mode="Disabled", time_limit=1, size=5, kinds="AC")
    ours.reset(seed=1)
    assert ours.step(np.zeros(2, int))[3].all()
    with pytest.raises(ValueError, match="world 0 has ended"):
        ours.step(np.zeros(2, int))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_worlds_must_be_reset_before_their_first_step(mode):
    ours = CraftVectorEnv(2, autoreset_mode=mode, size=5, kinds="AC")
    with pytest.raises(ValueError, match="must be reset before their first step"):
        ours.step(np.zeros(2, int))


def test_the_next_step_after_an_end_only_resets():
    ours = CraftVectorEnv(2, task="C", size=5, kinds="AC", time_limit=3)
    ours.reset(seed=1)
    for _ in range(2):
        ours.step(np.zeros(2, int))
    *_, truncated, _ = ours.step(np.zeros(2, int))
    assert truncated.all()
    observed, rewards, terminated, truncated, info = ours.step(np.full(2, 4))
    assert not (rewards.any() or terminated.any() or truncated.any())
    assert ours.worlds.steps.tolist() == [0, 0] and not info["done_subtasks"].any()
    assert (observed == ours.worlds.observe()).all()


def test_what_was_returned_does_not_change():
    ours = CraftVectorEnv(COUNT, autoreset_mode="SameStep", **LIVELY)
    ours.reset(seed=1)
    kept = []
    for _ in range(40):
        step = ours.step(np.full(COUNT, 4))
        kept.append((step, [np.copy(array) for array in step[:4]]))
    assert all(map(equal, now, then) for step, then in kept for now in [step[:4]])


def test_single_and_many_have_the_same_pictures():
    for mode in ("rgb_array", "ansi"):
        ours = CraftVectorEnv(2, render_mode=mode)
        ours.reset(seed=5)
        for i, picture in enumerate(ours.render()):
            single = CraftEnv(render_mode=mode)
            single.reset(seed=5 + i)
            assert np.array_equal(single.render(), picture)
    assert picture.split("\n")[-1] == "done -, to do AC, has A=0 B=0 C=0 D=0"
    assert CraftVectorEnv(2).render() is None and CraftEnv().render() is None


def test_the_worlds_without_gymnasium_are_the_same():
    env, worlds = CraftEnv(**LIVELY), CraftWorlds(CraftEnv(**LIVELY).options, 1)
    observed, _ = env.reset(seed=3)
    worlds.reset(np.array([0]), [np.random.default_rng(3)])
    assert (observed == worlds.observe()[0]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "AX"}, "no subtask 'X'"),
        ({"taks": "AC"}, "unknown option 'taks'.*did you mean 'task'"),
        ({"render_mode": "human"}, "unknown render_mode 'human'"),
    ],
)
def test_impossible_options_are_refused(options, message):
    for make in (CraftEnv, CraftVectorEnv):
        with pytest.raises(InputError, match=message):
            make(**options)


def test_impossible_batches_are_refused():
    with pytest.raises(InputError, match="unknown autoreset_mode 'Next'"):
        CraftVectorEnv(2, autoreset_mode="Next")
    with pytest.raises(InputError, match="num_envs 0"):
        CraftVectorEnv(0)
    ours = CraftVectorEnv(2)
    with pytest.raises(ValueError, match="3 seeds for 2 worlds"):
        ours.reset(seed=[1, 2, 3])
    for mask in (np.zeros(2, bool), np.ones(3, bool), [1, 0]):
        with pytest.raises(ValueError, match="reset_mask must be 2 booleans"):
            ours.reset(options={"reset_mask": mask})
