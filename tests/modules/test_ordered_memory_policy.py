"""Ordered Memory Policy Networks against loops over slots and numbers, and their invariances."""

import math

import pytest
import torch
from demonstrations_by_hand import check_padding_and_batch, random_demonstrations, two_subtasks
from ordered_memory_by_hand import dot, linear, sigmoid
from torch import nn
from torch.autograd import gradcheck

from fairseq_struct.modules.option_controller.ordered_memory_policy import (
    OrderedMemoryPolicy,
    expanding_distribution,
)

SIZE, SLOTS, ACTIONS = 4, 3, 5


def policy_of(slots=SLOTS, **options):
    torch.manual_seed(4)
    policy = OrderedMemoryPolicy(4, ACTIONS, 2, SIZE, slots, **options).double()
    for parameter in policy.parameters():
        nn.init.normal_(parameter, std=0.6)
    return policy


def normalised(values, layer=None):
    mean = sum(values) / len(values)
    variance = sum((v - mean) ** 2 for v in values) / len(values)
    found = [(v - mean) / math.sqrt(variance + 1e-5) for v in values]
    if layer is None:
        return found
    rows = zip(found, layer.weight.tolist(), layer.bias.tolist(), strict=True)
    return [v * weight + bias for v, weight, bias in rows]


def updated(cell, kept, context):
    given = [value for vector in kept for value in vector] + context
    output = linear(cell.output, [max(0.0, h) for h in linear(cell.hidden, given)])
    cut = (len(kept) + 1) * SIZE
    gates = [sigmoid(g) for g in normalised(output[:cut], cell.gate_norm)]
    sources = [value for vector in kept for value in vector] + output[cut:]
    return normalised(
        [sum(gates[j::SIZE][k] * sources[j::SIZE][k] for k in range(len(kept) + 1))
         for j in range(SIZE)]
    )  # fmt: skip


def stick_by_hand(scores):
    """Probabilities of the end and of every slot, broken from the lowest slot upwards."""
    left, found = 1.0, []
    for score in reversed(scores):
        found.append(left * sigmoid(score))
        left *= 1 - sigmoid(score)
    return [left, *reversed(found)]


def read_by_hand(policy, observations, task):
    """Log-probabilities of actions, and expected heights, of every step of one demonstration."""
    tau = policy.task.weight[task].tolist()
    memory = [normalised(tau)] + [[0.0] * SIZE for _ in range(SLOTS - 1)]
    logs, heights = [], []
    for t, observation in enumerate(observations):
        read = linear(policy.observation, observation)
        context = read + tau
        candidates, pi, end = memory, [1.0] + [0.0] * (SLOTS - 1), 0.0
        if t:
            candidates, below = [None] * SLOTS, read
            for i in reversed(range(SLOTS)):
                below = candidates[i] = updated(policy.composing[i], (below, memory[i]), context)
            scores = []
            for old, new in zip(memory, candidates, strict=True):
                hidden = linear(policy.score[1], context + old + new)
                scores += linear(policy.score[4], [h if h > 0 else 0.01 * h for h in hidden])
            end, *pi = stick_by_hand(scores)
            pi = [p / (1 - end) for p in pi]
        made, new_memory = [0.0] * SIZE, []
        for i in range(SLOTS):
            over, under = sum(pi[:i]), sum(pi[i + 1 :])
            new_memory.append(
                [under * m + pi[i] * c + over * e
                 for m, c, e in zip(memory[i], candidates[i], made, strict=True)]
            )  # fmt: skip
            if i < SLOTS - 1:
                parent = [
                    (pi[i] + under) * c + over * e for c, e in zip(candidates[i], made, strict=True)
                ]
                made = updated(policy.expanding[i], (parent,), context)
        memory = new_memory
        scores = linear(policy.action, memory[-1] + tau + read)
        total = math.log(sum(math.exp(s) for s in scores))
        row = [s - total for s in scores]
        if policy.done_action is not None:
            end = max(end, 1e-9)
            row = [r + math.log(1 - end) for r in row]
            row.insert(policy.done_action, math.log(end))
        logs.append(row)
        height = dot([(SLOTS - 1 - i) / (SLOTS - 1) for i in range(SLOTS)], pi) if t else 0.0
        if t and policy.done_action is not None:
            height = end + (1 - end) * height
        heights.append(height)
    return logs, heights


@pytest.mark.parametrize("done", [None, 0, 3, ACTIONS - 1])
def test_equations(done):
    policy = policy_of(done_action=done)
    observations, lengths, tasks, _ = random_demonstrations()
    found = policy(observations, lengths, tasks)
    for row, length in enumerate(lengths.tolist()):
        logs, heights = read_by_hand(policy, observations[row, :length].tolist(), int(tasks[row]))
        expected = torch.tensor(logs, dtype=torch.double)
        torch.testing.assert_close(found.log_probabilities[row, :length], expected)
        torch.testing.assert_close(found.ends[row, :length].tolist(), heights)
    assert found.options is None and found.extra_loss is None


def test_the_stick_is_broken_from_the_lowest_slot_up():
    scores = torch.tensor([[0.3, -1.2, 2.0], [50.0, -50.0, -50.0], [-50.0, -50.0, -50.0]]).double()
    stick = expanding_distribution(scores).exp()
    torch.testing.assert_close(stick.sum(1), torch.ones(3).double())
    torch.testing.assert_close(stick[0].tolist(), stick_by_hand(scores[0].tolist()))
    torch.testing.assert_close(stick[1], torch.tensor([0.0, 1.0, 0.0, 0.0]).double())
    torch.testing.assert_close(stick[2], torch.tensor([1.0, 0.0, 0.0, 0.0]).double())
    # Even where nothing of the stick is left to single precision, slots have their shares.
    tiny = expanding_distribution(torch.tensor([[-300.0, -300.0]]))
    torch.testing.assert_close(tiny[:, 1:].softmax(-1), torch.tensor([[0.5, 0.5]]))


@pytest.mark.parametrize("slot", range(SLOTS))
def test_one_slot_expands_those_above_are_kept_those_below_are_new(slot):
    policy = policy_of()
    memory, candidates = torch.randn(2, 1, SLOTS, SIZE, dtype=torch.double)
    context = torch.randn(1, 2 * SIZE, dtype=torch.double)
    expansion = torch.eye(SLOTS, dtype=torch.double)[slot : slot + 1]
    found = policy._expand(memory, candidates, expansion, context)
    torch.testing.assert_close(found[:, :slot], memory[:, :slot])
    torch.testing.assert_close(found[:, slot], candidates[:, slot])
    above = candidates[:, slot]
    for lower in range(slot + 1, SLOTS):
        above = policy.expanding[lower - 1]((above,), context)
        torch.testing.assert_close(found[:, lower], above)


def test_at_first_the_whole_task_expands():
    policy = policy_of()
    observations, _, tasks, _ = random_demonstrations()
    state = policy.begin(3, tasks)
    torch.testing.assert_close(state["memory"][:, 0], policy.norm(policy.task(tasks)))
    assert not state["memory"][:, 1:].any()
    _, after = policy.step(observations[:, 0], state)
    torch.testing.assert_close(after["memory"][:, 0], state["memory"][:, 0])
    assert after["memory"][:, 1:].any()


def test_probabilities_and_steps_as_in_a_batch():
    policy = policy_of(done_action=4)
    observations, lengths, tasks, _ = random_demonstrations((5, 5))
    together = policy(observations, lengths, tasks)
    sums = together.log_probabilities.exp().sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))
    assert (together.ends >= 0).all() and (together.ends <= 1).all()
    # Two episodes that do not begin at the same time.
    state = policy.begin(2, tasks)
    for t in range(2):
        said, state = policy.step(observations[:, t], state)
    fresh = policy.begin(2, tasks)
    state = {name: torch.stack([fresh[name][0], value[1]]) for name, value in state.items()}
    for t in range(2):
        seen = torch.stack([observations[0, t], observations[1, t + 2]])
        said, state = policy.step(seen, state)
        torch.testing.assert_close(said.log_probabilities[0], together.log_probabilities[0, t])
        torch.testing.assert_close(said.log_probabilities[1], together.log_probabilities[1, t + 2])
        torch.testing.assert_close(said.ends[1], together.ends[1, t + 2])


@pytest.mark.parametrize("done", [None, 2])
def test_padding_and_batch(done):
    def objective(said, given):
        return -(said.log_probabilities * (said.log_probabilities != 0)).sum() + said.ends.sum()

    observations, lengths, tasks, _ = random_demonstrations()
    check_padding_and_batch(policy_of(done_action=done), [observations, lengths, tasks], objective)


def test_gradients():
    policy = policy_of(slots=2, done_action=1)
    observations, lengths, tasks, _ = random_demonstrations((3, 2))
    observations.requires_grad_()

    def said(seen, *parameters):
        found = torch.func.functional_call(
            policy, dict(zip(names, parameters, strict=True)), (seen, lengths, tasks)
        )
        return found.log_probabilities, found.ends

    names, parameters = zip(*policy.named_parameters(), strict=True)
    assert gradcheck(said, (observations, *parameters), fast_mode=True)


def test_two_subtasks_are_learned():
    torch.manual_seed(0)
    observations, lengths, tasks, actions, _ = two_subtasks()
    policy = OrderedMemoryPolicy(3, 2, 2, 16, 2)
    optimizer = torch.optim.Adam(policy.parameters(), 0.02)
    for _ in range(80):
        logs = policy(observations, lengths, tasks).log_probabilities
        loss = nn.functional.nll_loss(logs.flatten(0, 1), actions.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert all(parameter.grad is not None for parameter in policy.parameters())
    observations, lengths, tasks, actions, _ = two_subtasks(seed=9)
    logs = policy(observations, lengths, tasks).log_probabilities
    assert (logs.argmax(-1) == actions).float().mean() > 0.95


def test_certainty_that_all_is_done_leaves_finite_numbers():
    observations, lengths, tasks, _ = random_demonstrations()
    policy = policy_of(done_action=1).float()
    nn.init.zeros_(policy.score[-1].weight)
    nn.init.constant_(policy.score[-1].bias, -40.0)
    logs = policy(observations.float(), lengths, tasks).log_probabilities
    assert logs.isfinite().all() and logs[0, 1, 1] > -1e-6
    logs[0, 1, 1].backward()
    assert all(weight.grad.isfinite().all() for weight in policy.parameters()
               if weight.grad is not None)  # fmt: skip


def test_probabilities_are_exact_in_half_precision():
    observations, lengths, tasks, _ = random_demonstrations()
    policy = policy_of(done_action=1).bfloat16()
    said = policy(observations.bfloat16(), lengths, tasks)
    # Environments give observations in float32.
    one, _ = policy.step(observations[:, 0].float(), policy.begin(3, tasks))
    for logs in (said.log_probabilities, one.log_probabilities):
        assert logs.dtype == torch.float32 and logs.isfinite().all()


@pytest.mark.parametrize(
    ("options", "told"), [({"slots": 1}, "2 slots or more"), ({"done_action": 5}, "one of 0..4")]
)
def test_bad_options(options, told):
    with pytest.raises(ValueError, match=told):
        OrderedMemoryPolicy(4, ACTIONS, 2, SIZE, **options)
