"""Option-controller networks: the thesis's equations one by one, extremes, padding, and pools."""

import copy
from dataclasses import replace

import pytest
import torch
from option_controllers_by_hand import (
    ACTIONS,
    HIDDEN,
    OptionByHand,
    by_hand,
    demonstrations,
    network,
    sizes,
)

from fairseq_struct.modules.option_controller import (
    Cell,
    CellSizes,
    Controller,
    MixtureOfExperts,
    OptionController,
    OptionPool,
    merge,
)
from fairseq_struct.modules.option_controller.ordered_memory_policy import OrderedMemoryPolicy


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_the_equations(levels):
    made, (observations, lengths, tasks) = network(levels=levels), demonstrations()
    found, hand = made(observations, lengths, tasks), by_hand(made)
    for row, (x, length, task) in enumerate(zip(observations, lengths, tasks, strict=True)):
        hand.beginning = made.controller.initial.weight[task]
        p, state = hand.start(x[0])
        for t in range(length):
            if t:
                p, state, _ = hand.go_on(x[t], state)
                torch.testing.assert_close(found.ends[row, t], hand.low_end)
            torch.testing.assert_close(found.log_probabilities[row, t].exp(), p)
            torch.testing.assert_close(found.options[row, t], hand.over_options(state))
        assert found.ends[row, 0] == 1
        assert all(not part[row, length:].any() for part in found[:3])
    assert found.ends[0].std() > 0.05 and found.options[0].std(0).max() > 0.05


@pytest.mark.parametrize("levels", [1, 2])
def test_probabilities_sum_to_one(levels):
    found = network(levels=levels).float()(demonstrations()[0].float(), *demonstrations()[1:])
    real = found.log_probabilities.any(-1)
    for part in (found.log_probabilities.exp(), found.options):
        torch.testing.assert_close(part.sum(-1)[real], torch.ones(12))
    assert real.sum() == 12 and 0 <= found.ends.min() and found.ends.max() <= 1


def without_memory(made):
    """A mixture of experts with the parameters of a network."""
    pool = OptionPool.of(len(made.options), sizes(hidden=0, ends=False)).double()
    for option, other in zip(pool, made.options, strict=True):
        option.load_state_dict(other.state_dict(), strict=False)
    return MixtureOfExperts(pool, made.controller)


def test_options_that_always_end_are_a_mixture_of_experts():
    made, given = network(), demonstrations()
    with torch.no_grad():
        for option in made.options:
            option.end.bias.fill_(1e3)
    found, expected = made(*given), without_memory(made)(*given)
    for ours, theirs in zip(found[:3], expected[:3], strict=True):
        torch.testing.assert_close(ours, theirs)
    assert expected.ends.equal((torch.arange(7) < given[1][:, None]).double())


@pytest.mark.parametrize("levels", [1, 2])
def test_options_that_never_end_keep_the_first_choice(levels):
    made, given = network(levels=levels), demonstrations(lengths=(7,))
    with torch.no_grad():
        for option in made.options:
            option.end.bias.fill_(-1e3)
    found = made(*given)
    assert not found.ends[:, 1:].any()
    assert found.options.equal(found.options[:, :1].expand(-1, 7, -1))


@pytest.mark.parametrize("made", [network(), network(levels=2), without_memory(network())])
def test_padding_and_batch_change_nothing(made):
    observations, lengths, tasks = demonstrations()
    padded = torch.cat([observations, torch.full_like(observations, torch.inf)], 1)
    for row, length in enumerate(lengths):
        padded[row, length:] = torch.nan
    together = made(padded, lengths, tasks)
    weights = torch.linspace(1, 2, ACTIONS, dtype=torch.double)
    (together.log_probabilities * weights).sum().backward()
    summed = {name: weight.grad.clone() for name, weight in made.named_parameters()}
    made.zero_grad()
    for row, length in enumerate(lengths.tolist()):
        one = slice(row, row + 1)
        alone = made(observations[one, :length], lengths[one], tasks[one])
        for ours, theirs in zip(together[:3], alone[:3], strict=True):
            torch.testing.assert_close(ours[one, :length], theirs)
            assert not ours[row, length:].any()
        (alone.log_probabilities * weights).sum().backward()
    for name, weight in made.named_parameters():
        torch.testing.assert_close(summed[name], weight.grad)


@pytest.mark.parametrize("made", [network(), network(levels=3), without_memory(network())])
def test_acting_step_by_step_is_the_same(made):
    observations, lengths, tasks = demonstrations()
    found, state = made(observations, lengths, tasks), made.begin(3, tasks)
    for t in range(7):
        if t == 3:  # the second actor begins another episode; the others go on
            fresh = made.begin(3, tasks)
            again = torch.tensor([False, True, False])
            state = {
                name: part.where(~again.view(-1, *[1] * (part.dim() - 1)), fresh[name])
                for name, part in state.items()
            }
        assert all(len(part) == 3 for part in state.values())
        said, state = made.step(observations[:, t], state)
        for ours, theirs in zip(said[:3], found[:3], strict=True):
            torch.testing.assert_close(ours[t < lengths], theirs[t < lengths, t])
        if t == 3:
            alone = made(observations[1:2, 3:4], torch.tensor([1]), tasks[1:2])
            torch.testing.assert_close(said.log_probabilities[1:2], alone.log_probabilities[:, 0])
            assert said.ends[1] == 1


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("levels", [1, 2])
def test_half_precision_keeps_exact_probabilities(kind, levels):
    made, (observations, lengths, tasks) = network(levels=levels), demonstrations()
    exact = made(observations, lengths, tasks)
    for part in (made, without_memory(made)) if levels == 1 else (made,):
        part.to(kind)
        found = part(observations.to(kind), lengths, tasks)
        assert all(value.dtype == torch.float32 for value in found[:3])
        torch.testing.assert_close(found.options.sum(-1)[0], torch.ones(7))
        said, state = part.step(observations[:, 0].to(kind), part.begin(3, tasks))
        torch.testing.assert_close(
            said.log_probabilities, found.log_probabilities[:, 0], atol=0.05, rtol=0.05
        )
        part.step(observations[:, 1].to(kind), state)
        if part is made:
            assert (found.log_probabilities - exact.log_probabilities).abs().max() < 0.5


@pytest.mark.parametrize("levels", [1, 2])
def test_acting_under_autocast(levels):
    made, (observations, lengths, tasks) = network(levels=levels).float(), demonstrations()
    exact = made(observations.float(), lengths, tasks)
    with torch.autocast("cpu", torch.bfloat16):
        state = made.begin(3, tasks)
        for t in range(2):
            said, state = made.step(observations[:, t].float(), state)
    both = lengths > 1
    torch.testing.assert_close(
        said.log_probabilities[both], exact.log_probabilities[both, 1], atol=0.05, rtol=0.05
    )


def test_very_sure_policies_have_finite_losses_and_gradients():
    made, given = network(temperature=1.0).float(), demonstrations()
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(1000)
    logs = made(given[0].float(), *given[1:]).log_probabilities
    assert logs.isfinite().all() and logs.min() < -50
    logs.sum().backward()
    assert all(weight.grad.isfinite().all() for weight in made.parameters())


def test_options_run_by_themselves_as_in_the_network():
    pool, (observations, _, _) = network().options, demonstrations((2, 2, 2, 2, 2))
    probabilities, states = pool.start(observations[:, 0])
    later = pool.go_on(observations[:, 1], states)
    assert [part.shape for part in (probabilities, states, later[2])] == [
        (5, 3, ACTIONS), (5, 3, HIDDEN), (5, 3)
    ]  # fmt: skip
    for number, option in enumerate(pool):
        hand = OptionByHand(option)
        for row, x in enumerate(observations):
            p, h = hand.start(x[0])
            torch.testing.assert_close(probabilities[row, number], p)
            for ours, theirs in zip(later, hand.go_on(x[1], h), strict=True):
                torch.testing.assert_close(ours[row, number], theirs)
    chosen, rows = torch.tensor([2, 0, 2, 2, 0]), torch.arange(5)
    own = pool.start(observations[:, 0], chosen)
    for ours, every in zip(own, (probabilities, states), strict=True):
        torch.testing.assert_close(ours, every[rows, chosen])
    for ours, every in zip(pool.go_on(observations[:, 1], own[1], chosen), later, strict=True):
        torch.testing.assert_close(ours, every[rows, chosen])


def test_experts_are_always_done():
    pool, (observations, _, _) = without_memory(network()).options, demonstrations((2, 2))
    probabilities, states = pool.start(observations[:, 0])
    again, _, ends = pool.go_on(observations[:, 0], states)
    assert ends.equal(torch.ones(2, 3, dtype=torch.double)) and again.equal(probabilities)


def test_merged_options_act_as_before():
    first, second = network(2), network(3)
    pool, x = merge([first.options, second.options]), demonstrations()[0][:, 0]
    together = pool.start(x)
    for place, part in ((slice(0, 2), first), (slice(2, 5), second)):
        alone = part.options.start(x)
        for ours, theirs in zip(together, alone, strict=True):
            torch.testing.assert_close(ours[:, place], theirs)
    assert list(pool.parameters())[0] is list(first.parameters())[0]
    made = OptionController(pool, Controller(sizes(5), 1).double())
    assert made(*demonstrations((3,))).options.shape == (1, 3, 5)


def test_gradients_reach_only_what_is_not_frozen():
    made = network()
    made.options[1].requires_grad_(False)
    made(*demonstrations()).log_probabilities.sum().backward()
    frozen = [name for name, weight in made.named_parameters() if weight.grad is None]
    assert frozen == [name for name, _ in made.named_parameters() if name.startswith("options.1.")]


@pytest.mark.parametrize("kind", ["controller", "experts", "memory"])
def test_tasks_that_there_are_not(kind):
    made = {
        "controller": lambda: OptionController(OptionPool.of(3, sizes()), Controller(sizes(3), 2)),
        "experts": lambda: MixtureOfExperts(
            OptionPool.of(3, sizes(hidden=0, ends=False)), Controller(sizes(3), 2)
        ),
        "memory": lambda: OrderedMemoryPolicy(sizes().observation, ACTIONS, 2, size=4),
    }[kind]().double()
    observations, lengths, tasks = demonstrations()
    for wrong in (-1, 2):
        with pytest.raises(ValueError, match=f"there is no task {wrong}; tasks are 0 to 1"):
            made(observations, lengths, tasks.clone().fill_(wrong))


def test_new_parameters_are_drawn_as_torch_draws_layers():
    torch.manual_seed(1)
    cell = Cell(CellSizes(300, 5, hidden=100))
    before = copy.deepcopy(cell.state_dict())
    cell.reset_parameters()
    assert not any(weight.equal(before[name]) for name, weight in cell.state_dict().items())
    for name in ("observed.weight", "recurrent.weight"):
        largest = cell.state_dict()[name].abs().max()
        assert 0.99 / 20 < largest <= 1 / 20  # 1 / sqrt(300 + 100)


def test_parts_that_do_not_fit():
    pool, controller = OptionPool.of(3, sizes()), Controller(sizes(3), 1)
    for changed in ({"mlp": 7}, {"observation": 9}, {"hidden": 0, "ends": False}):
        told = "; ".join(rf"{name} {value}, not \w+" for name, value in changed.items())
        with pytest.raises(ValueError, match=f"option 1 has {told} as option 0"):
            merge([OptionPool.of(1, sizes()), OptionPool.of(1, replace(sizes(), **changed))])
    with pytest.raises(ValueError, match="needs an option"):
        merge([])
    with pytest.raises(TypeError, match="such as model.options; not OptionController"):
        merge([OptionController(pool, controller)])
    with pytest.raises(ValueError, match="a controller of 2 options is above 3"):
        OptionController(pool, Controller(sizes(2), 1))
    with pytest.raises(ValueError, match="different sizes"):
        OptionController(pool, Controller(replace(sizes(3), observation=9), 1))
    with pytest.raises(ValueError, match="an end and a hidden state"):
        OptionController(OptionPool.of(3, sizes(ends=False)), controller)
    with pytest.raises(ValueError, match="controllers below others"):
        OptionController(pool, Controller(sizes(2), 1), [OptionPool.of(2, sizes(3, ends=False))])
    with pytest.raises(ValueError, match="neither a hidden state nor an end"):
        MixtureOfExperts(pool, controller)
    with pytest.raises(ValueError, match="does not fit"):
        MixtureOfExperts(OptionPool.of(2, sizes(hidden=0, ends=False)), controller)
    with pytest.raises(ValueError, match="temperature must be above 0"):
        Controller(sizes(3), 1, 0)
    with pytest.raises(ValueError, match="a task and a hidden state"):
        Controller(sizes(3, hidden=0), 1)
    with pytest.raises(ValueError, match="mlp of a cell must be 1 or more, not 0"):
        sizes(mlp=0)
    with pytest.raises(ValueError, match=r"mlp must be an integer, not 2\.5"):
        sizes(mlp=2.5)
    with pytest.raises(ValueError, match="observations have 3 numbers; the cells read"):
        pool.start(torch.ones(1, 3))
    with pytest.raises(ValueError, match="hidden of a cell must be 0 or more"):
        sizes(hidden=-1)
