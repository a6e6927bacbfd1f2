"""compILE against loops over segments and steps, its invariances, and what it learns."""

import math

import pytest
import torch
from demonstrations_by_hand import check_padding_and_batch, random_demonstrations, two_subtasks
from torch import nn
from torch.autograd import gradcheck
from torch.nn import functional

from fairseq_struct.modules.option_controller import compile_recognition
from fairseq_struct.modules.option_controller.compile_policy import CompilePolicy
from fairseq_struct.modules.option_controller.compile_recognition import Recognition, poisson_logs

SIZE, SEGMENTS, OPTIONS, ACTIONS = 4, 3, 2, 5


def policy_of(**options):
    torch.manual_seed(4)
    policy = CompilePolicy(4, ACTIONS, 2, OPTIONS, SEGMENTS, SIZE, **options).double()
    for parameter in policy.parameters():
        nn.init.normal_(parameter, std=0.8)
    return policy


@pytest.fixture
def without_noise(monkeypatch):
    """Relaxed samples are the distributions themselves."""
    monkeypatch.setattr(compile_recognition, "own_gumbel_noise", torch.zeros_like)


def encoded_by_hand(recognition, read, starts):
    """States of a pass that starts anew after every place where ``starts`` is 0."""
    hidden, cell, found = read.new_zeros(1, SIZE), read.new_zeros(1, SIZE), []
    for vector, weight in zip(read, starts, strict=True):
        hidden, cell = recognition.cell(vector[None], (hidden, cell))
        hidden, cell = weight * hidden, weight * cell
        found.append(hidden[0])
    return found


def segments_by_hand(recognition, read, relaxed):
    """Boundaries, latents and masks of one demonstration, whose last place is the end."""
    places = len(read)
    earlier, boundaries, latents, masks = [], [], [], []
    for segment in range(SEGMENTS):
        reached = [math.prod(sum(b[: t + 1]) for b in earlier) for t in range(places)]
        states = encoded_by_hand(recognition, read, reached)
        boundary = [0.0] * (places - 1) + [1.0]
        if segment < SEGMENTS - 1:
            scores = torch.stack([recognition.boundary(state)[0] for state in states[1:]])
            boundary = [0.0, *drawn(scores, relaxed)]
        readout = sum(boundary[t] * states[t - 1] for t in range(1, places))
        latents.append(drawn(recognition.latent(readout), relaxed))
        masks.append([reached[t] * (1 - sum(boundary[: t + 1])) for t in range(places)])
        earlier.append(boundary)
        boundaries.append(boundary)
    return boundaries[:-1], latents, masks


def drawn(scores, relaxed):
    if relaxed:
        return scores.softmax(0).tolist()
    best = int(scores.argmax())
    return [float(place == best) for place in range(len(scores))]


@pytest.mark.parametrize("training", [False, True])
def test_recognition(training, without_noise):
    recognition = policy_of().recognition.train(training)
    lengths = torch.tensor([5, 1, 3])
    read = torch.randn(3, 8, SIZE, dtype=torch.double)
    found = recognition(read, lengths)
    for row, length in enumerate(lengths.tolist()):
        expected = segments_by_hand(recognition, read[row, : length + 1], training)
        for name, value in zip(("boundaries", "latents", "masks"), expected, strict=True):
            of_row = getattr(found, name)[:, row]
            if name != "latents":
                assert (of_row[:, length + 1 :].abs() < 1e-12).all()
                of_row = of_row[:, : length + 1]
            torch.testing.assert_close(of_row, torch.tensor(value, dtype=torch.double))
        inside = torch.arange(8) < length
        torch.testing.assert_close(found.masks[:, row].sum(0), inside.double())
    sums = found.boundaries.sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))


def test_training_draws_relaxed_samples():
    torch.manual_seed(1)
    recognition = Recognition(SIZE, OPTIONS, SEGMENTS, temperature=0.5).double()
    found = recognition(torch.randn(2000, 6, SIZE).double(), torch.full((2000,), 5))
    assert ((found.boundaries[..., 1:] > 0) & (found.boundaries[..., 1:] < 1)).all()
    # The largest part of a relaxed sample is an exact sample.
    shares = functional.one_hot(found.boundaries[0].argmax(-1), 6).double().mean(0)
    torch.testing.assert_close(
        shares, found.boundary_logs[0].exp().double().mean(0), atol=0.06, rtol=0
    )


def test_losses_and_probabilities_of_single_segments():
    policy = policy_of().eval()
    observations, lengths, tasks, actions = random_demonstrations((6, 2, 4))
    said = policy(observations, lengths, tasks, actions)
    outside = torch.arange(observations.size(1)) >= lengths[:, None]
    seen = observations.masked_fill(outside[..., None], 0.0)
    read = policy._read(seen, lengths, tasks, actions)
    found = policy.recognition(read, lengths)
    extra = 0.0
    for row, length in enumerate(lengths.tolist()):
        boundaries = found.boundaries[:, row].argmax(-1).tolist()
        here = [None, *segments_of(boundaries, length)]  # before the first step there is none
        for t, segment in enumerate(here[1:]):
            x, z = observations[row, t], found.latents[segment, row]
            logs = policy.options.action_logs(x, z)
            torch.testing.assert_close(said.log_probabilities[row, t], logs)
            q = found.latent_logs[segment, row].exp()
            torch.testing.assert_close(said.options[row, t], q)
            assert said.ends[row, t] == float(here[t] not in (None, segment))
            if here[t] is not None:
                extra -= log_of_end(policy, x, found.latents[here[t], row], here[t] != segment)
        extra += expected_divergences(policy, found, row, length)
        for segment in range(SEGMENTS):
            q = found.latent_logs[segment, row].exp()
            extra -= (q @ policy.prior_scores[tasks[row], segment].log_softmax(-1)).item()
    torch.testing.assert_close(said.extra_loss.item(), extra)


def segments_of(boundaries, length):
    """The segment of each step: as many as the boundaries that were passed in order."""
    current, found = 0, []
    for t in range(length):
        while current < len(boundaries) and boundaries[current] <= t:
            current += 1
        found.append(current)
    return found


def log_of_end(policy, observation, latent, ended):
    score = float(policy.options.end_scores(observation, latent).detach())
    return -math.log1p(math.exp(-score if ended else score))


def expected_divergences(policy, found, row, length):
    total = 0.0
    for logs in found.latent_logs[:, row]:
        total += 0.1 * sum(math.exp(q) * (q + math.log(OPTIONS)) for q in logs.tolist())
    weights = [3.0**t / math.factorial(t) for t in range(1, length + 1)]
    for q, weight in zip(found.boundary_logs[0, row, 1:].tolist(), weights, strict=False):
        total += 0.1 * SEGMENTS * math.exp(q) * (q - math.log(weight / sum(weights)))
    return total


def test_the_prior_of_boundaries_is_a_cut_poisson_distribution():
    logs = poisson_logs(torch.tensor([2, 4]), 6, 3.0)
    expected = torch.tensor([[0, 3, 4.5, 0, 0, 0], [0, 3, 4.5, 4.5, 3.375, 0]])
    torch.testing.assert_close(logs.exp().float(), expected / expected.sum(1, keepdim=True))


@pytest.mark.parametrize("training", [False, True])
def test_padding_and_batch(training, without_noise):
    def objective(said, given):
        chosen = said.log_probabilities.gather(2, given[3].clamp(min=0)[..., None])
        return said.extra_loss - chosen.sum()

    policy = policy_of(reads_actions=True).train(training)
    check_padding_and_batch(policy, random_demonstrations(), objective)


def test_gradients(without_noise):
    policy = policy_of()
    observations, lengths, tasks, actions = random_demonstrations((3, 2))
    # What learns beside is taught by constants, whose gradients are none of its own.
    names, parameters = zip(
        *((name, one) for name, one in policy.named_parameters()
          if "termination" not in name and name != "prior_scores"), strict=True
    )  # fmt: skip

    def said(*values):
        given = observations, lengths, tasks, actions
        found = torch.func.functional_call(policy, dict(zip(names, values, strict=True)), given)
        again = policy_of().train()
        read = torch.func.functional_call(again, dict(zip(names, values, strict=True)), given)
        return found.log_probabilities, read.ends, read.options

    assert gradcheck(said, parameters, fast_mode=True)


def test_what_learns_beside_moves_nothing_else(without_noise):
    policy = policy_of()
    given = random_demonstrations()
    beside = [*policy.options.termination.parameters(), policy.prior_scores]
    found = policy.recognition(policy._read(*given), given[1])
    outside = torch.arange(5) >= given[1][:, None]
    loss = policy._learned_beside(found, given[0], given[2], outside)
    moved = torch.autograd.grad(loss, list(policy.parameters()), allow_unused=True)
    for parameter, gradient in zip(policy.parameters(), moved, strict=True):
        assert (gradient is not None) == any(parameter is one for one in beside)


def act(policy, observations, tasks):
    state, said = policy.begin(len(tasks), tasks), []
    for seen in observations.unbind(1):
        one, state = policy.step(seen, state)
        said.append(one)
    return said


def test_acting_follows_segments_and_latents():
    policy = policy_of()
    observations, _, tasks, _ = random_demonstrations((6, 6, 6))
    said = act(policy, observations, tasks)
    prior = policy.prior_scores.detach().softmax(-1)
    for row, task in enumerate(tasks.tolist()):
        belief = {(0, z): float(prior[task, 0, z]) for z in range(OPTIONS)}
        for t, observation in enumerate(observations[row]):
            every = torch.eye(OPTIONS, dtype=torch.double)
            ends = policy.options.end_scores(observation, every).sigmoid().tolist()
            after, ended = {}, 0.0
            for (segment, z), mass in belief.items():
                goes = ends[z] * mass if t and segment < SEGMENTS - 1 else 0.0
                after[segment, z] = after.get((segment, z), 0.0) + mass - goes
                for other in range(OPTIONS) if goes else ():
                    place = segment + 1, other
                    share = goes * float(prior[task, segment + 1, other])
                    after[place] = after.get(place, 0.0) + share
                ended += goes
            belief = after
            options = [sum(m for (_, z), m in belief.items() if z == k) for k in range(OPTIONS)]
            logs = policy.options.action_logs(observation, every)
            torch.testing.assert_close(said[t].options[row].tolist(), options)
            torch.testing.assert_close(said[t].ends[row].item(), ended)
            mixed = torch.tensor(options, dtype=torch.double) @ logs.exp()
            torch.testing.assert_close(said[t].log_probabilities[row].exp(), mixed)


def test_two_subtasks_are_learned_and_executed():
    torch.manual_seed(3)
    observations, lengths, tasks, actions, _ = two_subtasks(128)
    policy = CompilePolicy(3, 2, 2, 2, 2, 16, depth=1)
    optimizer = torch.optim.Adam(policy.parameters(), 0.02)
    for _ in range(150):
        said = policy(observations, lengths, tasks, actions)
        loss = functional.nll_loss(
            said.log_probabilities.flatten(0, 1), actions.flatten(), reduction="sum"
        )
        optimizer.zero_grad()
        ((loss + said.extra_loss) / lengths.sum()).backward()
        optimizer.step()
    policy.eval()
    observations, lengths, tasks, actions, switch = two_subtasks(seed=9)
    said = policy(observations, lengths, tasks, actions)
    assert (said.log_probabilities.argmax(-1) == actions).float().mean() > 0.95
    assert (said.ends.argmax(-1) == switch).float().mean() > 0.95
    # Now without seeing what was done.
    acted = torch.stack([one.log_probabilities for one in act(policy, observations, tasks)], 1)
    assert (acted.argmax(-1) == actions).float().mean() > 0.95


def test_recognition_without_actions():
    observations, lengths, tasks, actions = random_demonstrations()
    policy = policy_of(reads_actions=False).eval()
    without = policy(observations, lengths, tasks)
    torch.testing.assert_close(without, policy(observations, lengths, tasks, actions))
    with pytest.raises(ValueError, match="reads the actions"):
        policy_of()(observations, lengths, tasks)


def test_probabilities_are_exact_in_half_precision():
    observations, lengths, tasks, actions = random_demonstrations()
    policy = policy_of().bfloat16()
    said = policy(observations.bfloat16(), lengths, tasks, actions)
    # Environments give observations in float32.
    one, _ = policy.step(observations[:, 0].float(), policy.begin(3, tasks))
    for logs in (said.log_probabilities, one.log_probabilities):
        assert logs.dtype == torch.float32 and logs.isfinite().all()


def test_recognition_draws_with_exact_noise_in_half_precision(monkeypatch):
    draw, kinds = compile_recognition.own_gumbel_noise, []
    monkeypatch.setattr(
        compile_recognition, "own_gumbel_noise",
        lambda scores: kinds.append(scores.dtype) or draw(scores),
    )  # fmt: skip
    recognition = Recognition(SIZE, OPTIONS, SEGMENTS).half()
    found = recognition(torch.randn(2, 6, SIZE).half(), torch.tensor([5, 3]))
    assert len(kinds) == 2 * SEGMENTS - 1  # the last segment ends with the demonstration
    assert {*kinds, found.boundary_logs.dtype, found.latent_logs.dtype} == {torch.float32}
    assert found.masks.dtype == torch.float16


@pytest.mark.parametrize(
    ("options", "told"),
    [({"segments": 1}, "2 segments"), ({"options": 0}, "1 option"), ({"rate": 0.0}, "rate 0.0")],
)
def test_bad_options(options, told):
    with pytest.raises(ValueError, match=told):
        CompilePolicy(4, ACTIONS, 2, **{"options": OPTIONS, "segments": SEGMENTS, **options})
