"""compILE: a policy for each segment of a demonstration, whose boundaries are latent.

Source: Kipf, Li, Dai, Zambaldi, Sanchez-Gonzalez, Grefenstette, Kohli, Battaglia, "CompILE:
Compositional Imitation Learning and Execution", ICML 2019, section 2.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from fairseq_struct.modules.masks import check_lengths_of, within
from fairseq_struct.modules.option_controller.compile_recognition import (
    Recognition,
    Segments,
    poisson_logs,
)
from fairseq_struct.modules.option_controller.imitation import Imitation, known_tasks, log_of
from fairseq_struct.modules.option_controller.latent_options import LatentOptions


class CompilePolicy(nn.Module):
    """A variational auto-encoder of demonstrations, with S segments and K latents.

    Its evidence bound, of one demonstration, is sum_t sum_i mask_i(t) log p(a_t | x_t, z_i)
    - beta_z sum_i KL(q(z_i) || uniform) - beta_b S KL(q(b_1) || Poisson). ``log_probabilities`` are
    the inner sums: in evaluation, where masks are 0 or 1, log-probabilities of one segment's
    policy; in training, where they are relaxed, their sum over actions of exp is below one.

    - Recognition reads observations, actions and the task (:class:`.Recognition`). It has seen the
      whole demonstration when it says z_i and where segments end, so the accuracy of its actions is
      that of a reconstruction, not of a prediction.
    - ``ends`` is how far a step belongs to a later segment than the step before it. Boundaries of
      segments that are empty do not count. ``options`` mixes the q(z_i) by the masks.
    - As in the published code, the KL of boundaries is that of the first one times S, because its
      prior alone does not depend on the others; beta_b, beta_z, the rate of the Poisson
      distribution and the temperature are its defaults. Its rate is that of segments of 3 steps.
    - Latents are categorical, as many as there are options, so that they can be compared with
      subtasks. (The paper uses Gaussian ones as well; the thesis compares with a
      "continuous latent variable".)

    Two parts learn beside it and change nothing of it. The termination of ``options`` learns by
    cross-entropy that a segment goes on at its own steps but the first, and ended at the boundary;
    where the demonstration itself ends, nothing is seen any more. A table p(z | task, i) learns the
    mean of q(z_i). Both act without a demonstration: :meth:`begin` and :meth:`step` keep the
    distribution over segments and latents that they imply,
    r_i(z) <- r_i(z) (1 - e_z) + p(z | task, i) sum_z' r_{i-1}(z') e_z', where the last segment does
    not end. The paper's agents learn to choose latents by reinforcement instead: give ``options``
    to a controller.

    Args:
        observation_size: numbers in an observation.
        actions: number of actions.
        tasks: number of tasks.
        options: K, 1 or more.
        segments: S, 2 or more.
        size: of all hidden layers.
        depth: hidden layers of policy and termination.
        temperature: of the relaxed samples.
        boundary_weight, latent_weight: beta_b and beta_z.
        rate: of the Poisson distribution.
        reads_actions: whether recognition reads actions, as in the paper.

    Raises:
        ValueError: a number out of range.
    """

    def __init__(
        self, observation_size: int, actions: int, tasks: int, options: int = 3, segments: int = 2,
        size: int = 128, depth: int = 2, temperature: float = 1.0, boundary_weight: float = 0.1,
        latent_weight: float = 0.1, rate: float = 3.0, reads_actions: bool = True,
    ):  # fmt: skip
        super().__init__()
        if segments < 2 or options < 1:
            raise ValueError(f"compILE needs 2 segments and 1 option, not {segments} and {options}")
        if not (temperature > 0 and rate > 0):
            raise ValueError(f"temperature {temperature} and rate {rate} must be above 0")
        self.segments, self.rate, self.reads_actions = segments, rate, reads_actions
        self.boundary_weight, self.latent_weight = boundary_weight, latent_weight
        self.observation = nn.Linear(observation_size, size)
        self.action = nn.Embedding(actions + 1, size)  # the last one is the end
        self.task = nn.Embedding(tasks, size)
        self.joint = nn.Sequential(
            nn.Linear(3 * size, size), nn.ReLU(), nn.LayerNorm(size, elementwise_affine=False)
        )
        self.recognition = Recognition(size, options, segments, temperature)
        self.options = LatentOptions(observation_size, actions, options, size, depth)
        self.prior_scores = nn.Parameter(torch.zeros(tasks, segments, options))

    def forward(
        self, observations: Tensor, lengths: Tensor, tasks: Tensor, actions: Tensor | None = None
    ) -> Imitation:
        """Recognise the segments of whole demonstrations, and imitate them.

        Args:
            observations: (batch, steps, observation_size), padded at the end.
            lengths: (batch,) numbers of steps.
            tasks: (batch,) indices.
            actions: (batch, steps), of any value at padding; needed if recognition reads them.

        Raises:
            ValueError: recognition reads actions, and there are none; lengths of another batch, or
                lengths, tasks or actions out of range.
        """
        check_lengths_of(observations, lengths)
        known_tasks(tasks, self.task.num_embeddings)
        outside = ~within(lengths, observations.size(1))
        # NaN there would pass the masks below as gradients.
        observations = observations.masked_fill(outside[..., None], 0.0)
        found = self.recognition(self._read(observations, lengths, tasks, actions), lengths)
        masks = found.masks[..., :-1]
        every = self.options.action_logs(observations, found.latents[:, :, None])
        logs = (masks[..., None] * every).sum(0)
        not_after = masks.cumsum(0)[:-1]  # each segment but the last, with those before it
        before = functional.pad(not_after[..., :-1], (1, 0), value=1.0)
        ends = (before - not_after).sum(0).clamp(max=1.0)
        shares = found.latent_logs.exp()
        latents = torch.einsum("sbt,sbk->btk", masks.to(shares.dtype), shares)
        extra = self._divergences(found, lengths).sum()
        extra = extra + self._learned_beside(found, observations, tasks, outside)
        return Imitation(
            logs.masked_fill(outside[..., None], 0.0), ends.masked_fill(outside, 0.0),
            latents.masked_fill(outside[..., None], 0.0), extra,
        )  # fmt: skip

    def begin(self, count: int, tasks: Tensor) -> dict[str, Tensor]:
        """The state before the first step.

        Args:
            count: number of episodes.
            tasks: (count,) indices.
        """
        known_tasks(tasks, self.task.num_embeddings)
        first = self.prior_scores[tasks, 0].softmax(-1)
        belief = functional.pad(first[:, None], (0, 0, 0, self.segments - 1))
        begun = torch.zeros(count, dtype=torch.bool, device=tasks.device)
        return {"belief": belief, "tasks": tasks, "begun": begun}

    def step(
        self, observation: Tensor, state: dict[str, Tensor]
    ) -> tuple[Imitation, dict[str, Tensor]]:
        """Act without a demonstration: what is said of one step, and the state after it.

        Args:
            observation: (count, observation_size).
            state: of :meth:`begin` or of the step before; ``belief`` is (count, S, K) r.
        """
        belief, tasks = state["belief"], state["tasks"]
        probabilities, _, ends = self.options.go_on(observation, belief[:, 0, :, None])
        ends = ends * state["begun"][:, None]
        leaving = belief[:, :-1] * ends[:, None]
        moved = leaving.sum(-1)
        entering = moved[..., None] * self.prior_scores[tasks, 1:].softmax(-1)
        belief = belief - functional.pad(leaving, (0, 0, 0, 1))
        belief = belief + functional.pad(entering, (0, 0, 1, 0))
        chosen = belief.sum(1)
        logs = log_of((chosen[..., None] * probabilities).sum(1))
        begun = torch.ones_like(state["begun"])
        said = Imitation(logs, moved.sum(-1), chosen)
        return said, {"belief": belief, "tasks": tasks, "begun": begun}

    def _read(
        self, observations: Tensor, lengths: Tensor, tasks: Tensor, actions: Tensor | None
    ) -> Tensor:
        """What recognition reads, (batch, steps + 1, size)."""
        if self.reads_actions and actions is None:
            raise ValueError("compILE's recognition reads the actions of demonstrations")
        outside = ~within(lengths, observations.size(1) + 1)
        seen = functional.pad(observations, (0, 0, 0, 1))
        done = torch.zeros_like(outside, dtype=torch.long)
        if self.reads_actions:
            known = self.action.num_embeddings - 1
            wrong = (actions < 0) | (actions >= known)
            if actions.device.type == "cpu" and wrong[~outside[:, :-1]].any():
                raise ValueError(f"actions are 0 to {known - 1}")
            done = functional.pad(actions, (0, 1))
        done = done.masked_fill(outside, self.action.num_embeddings - 1)
        task = self.task(tasks)[:, None].expand(-1, outside.size(1), -1)
        observed = self.observation(seen.to(task.dtype))
        return self.joint(torch.cat([observed, task, self.action(done)], -1))

    def _divergences(self, found: Segments, lengths: Tensor) -> Tensor:
        """beta_z sum_i KL(q(z_i) || uniform) + beta_b S KL(q(b_1) || Poisson), (batch,)."""
        uniform = torch.zeros_like(found.latent_logs).log_softmax(-1)
        latents = _divergence(found.latent_logs, uniform).sum(0)
        first = found.boundary_logs[0]
        prior = poisson_logs(lengths, first.size(-1), self.rate).to(first.dtype)
        boundaries = self.segments * _divergence(first, prior)
        return self.latent_weight * latents + self.boundary_weight * boundaries

    def _learned_beside(
        self, found: Segments, observations: Tensor, tasks: Tensor, outside: Tensor
    ) -> Tensor:
        """The losses of the termination and of the table of latents, summed over the batch."""
        boundaries, latents, masks = (
            part.detach() for part in (found.boundaries, found.latents, found.masks)
        )
        prior = self.prior_scores[tasks].log_softmax(-1).transpose(0, 1)
        table = -(found.latent_logs.detach().exp() * prior).sum()
        scores = self.options.end_scores(observations, latents[:, :, None])
        # Who was there at t - 1 is asked at t, as in acting: either it is still there, or b_i is t.
        before = functional.pad(masks[..., :-2], (1, 0))
        ended = functional.pad(boundaries[..., :-1], (0, 0, 0, 0, 0, 1))
        losses = masks[..., :-1] * functional.softplus(scores)
        losses = before * (losses + ended * functional.softplus(-scores))
        return table + losses.masked_fill(outside, 0.0).sum()


def _divergence(logs: Tensor, others: Tensor) -> Tensor:
    """KL over the last dimension; both are -inf at the same places."""
    return (logs.exp() * (logs - others).masked_fill(logs == -torch.inf, 0.0)).sum(-1)
