"""Small demonstrations whose subtasks are known, and a check of padding that policies share."""

import torch


def random_demonstrations(lengths=(5, 1, 3), size=4, actions=5, tasks=2, seed=1):
    """Observations (batch, steps, size) in float64, lengths, tasks and actions; no padding yet."""
    generator = torch.Generator().manual_seed(seed)
    count, steps = len(lengths), max(lengths)
    return (
        torch.randn(count, steps, size, generator=generator, dtype=torch.double),
        torch.tensor(lengths),
        torch.randint(tasks, (count,), generator=generator),
        torch.randint(actions, (count, steps), generator=generator),
    )


def two_subtasks(count=64, steps=8, seed=2):
    """Demonstrations of tasks AB and BA: subtask A does action 0, B action 1.

    The first observation after the first subtask has a flag, as if something were now in the
    inventory; the rest of it is noise. All have ``steps`` steps; the flag comes at any step but
    the first.

    Returns:
        observations (count, steps, 3), lengths, tasks, actions, and the step with the flag.
    """
    generator = torch.Generator().manual_seed(seed)
    tasks = torch.arange(count) % 2
    switch = torch.randint(2, steps - 1, (count,), generator=generator)
    places = torch.arange(steps)
    second = places >= switch[:, None]
    observations = torch.rand(count, steps, 3, generator=generator)
    observations[..., 0] = (places == switch[:, None]).float()
    return (
        observations,
        torch.full((count,), steps),
        tasks,
        (second.long() + tasks[:, None]) % 2,
        switch,
    )


def gradients(loss, module):
    """Gradients of all parameters; zeros where there is none."""
    found = torch.autograd.grad(loss, list(module.parameters()), allow_unused=True)
    return [
        torch.zeros_like(one) if grad is None else grad
        for one, grad in zip(module.parameters(), found, strict=True)
    ]


def check_padding_and_batch(model, given, objective):
    """Values and gradients of a batch are those of its demonstrations alone, whatever the padding.

    Args:
        model: a policy, in float64.
        given: observations, lengths, tasks, and anything else with an axis of steps.
        objective: of an imitation and the batch that it is of, the loss.
    """
    observations, lengths, tasks, *others = given
    far = torch.full_like(observations[:, :2], 1e3)
    padded = [torch.cat([observations, far], 1), lengths, tasks]
    padded += [torch.cat([one, one.new_full((len(one), 2), -1)], 1) for one in others]
    for row, length in enumerate(lengths.tolist()):
        padded[0][row, length:] = 1e3
        for one in padded[3:]:
            one[row, length:] = -1
    together = model(*padded)
    batch_gradients = gradients(objective(together, padded), model)
    summed = [torch.zeros_like(one) for one in batch_gradients]
    for row, length in enumerate(lengths.tolist()):
        alone = [padded[0][row : row + 1, :length], lengths[row : row + 1], tasks[row : row + 1]]
        alone += [one[row : row + 1, :length] for one in padded[3:]]
        single = model(*alone)
        for name in ("log_probabilities", "ends", "options"):
            of_batch, of_one = getattr(together, name), getattr(single, name)
            if of_one is None:
                assert of_batch is None
                continue
            torch.testing.assert_close(of_batch[row, :length], of_one[0])
            assert not of_batch[row, length:].any()
        for total, one in zip(summed, gradients(objective(single, alone), model), strict=True):
            total += one
    for one, other in zip(batch_gradients, summed, strict=True):
        torch.testing.assert_close(one, other)
