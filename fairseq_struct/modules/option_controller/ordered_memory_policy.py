"""Ordered Memory Policy Networks (OMPN): a policy whose memory is a stack of subtasks.

Source: Lu, Shen, Zhou, Courville, Tenenbaum, Gan, "Learning Task Decomposition with Ordered Memory
Policy Network", ICLR 2021, section 3. The paper leaves sizes open; they are those of its published
code. Slot 0 is the top of the memory, the whole task; the last slot is the lowest, the action.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from fairseq_struct.modules.dropouts import unit_dropout
from fairseq_struct.modules.option_controller.imitation import Imitation, known_tasks
from fairseq_struct.modules.recurrent.steps_of_batch import StepsOfBatch
from fairseq_struct.structure.precision import at_least_float32

# The least probability of ending, as in the published code; at the first step it is this.
_LEAST = 1e-9
# The least probability of all other actions together, so that their logarithms stay finite.
_LEAST_LEFT = torch.finfo(torch.float32).eps


class GatedUpdate(nn.Module):
    """A new vector from vectors that may be kept, and from what is read.

    [g; u] = W_2 ReLU(W_1 [v_1; ..; v_n; x] + b_1) + b_2 and
    o = LN(sum_k sigma(LN'(g))_k * v_k + sigma(LN'(g))_{n+1} * u), with a hidden layer of 4 D. LN
    has no parameters, LN' has. Both recurrences of the published code have this form.

    Args:
        size: D.
        kept: n, the number of vectors v.
        context: size of x.
        dropout: probability, before both layers.
    """

    def __init__(self, size: int, kept: int, context: int, dropout: float = 0.0):
        super().__init__()
        self.size, self.kept, self.dropout = size, kept, unit_dropout(dropout)
        self.hidden = nn.Linear(kept * size + context, 4 * size)
        self.output = nn.Linear(4 * size, (kept + 2) * size)
        self.gate_norm = nn.LayerNorm((kept + 1) * size)
        self.norm = nn.LayerNorm(size, elementwise_affine=False)

    def forward(self, kept: tuple[Tensor, ...], context: Tensor) -> Tensor:
        """o, (batch, D).

        Args:
            kept: n vectors v, each (batch, D).
            context: (batch, context) x.
        """
        given = self.dropout(torch.cat([*kept, context], -1))
        output = self.output(self.dropout(self.hidden(given).relu()))
        gates, candidate = output.split([(self.kept + 1) * self.size, self.size], -1)
        gates = self.gate_norm(gates).sigmoid().chunk(self.kept + 1, -1)
        return self.norm(
            sum(gate * one for gate, one in zip(gates, (*kept, candidate), strict=True))
        )


def expanding_distribution(scores: Tensor) -> Tensor:
    """Break a stick from the lowest slot up to the top; log-probabilities, (.., slots + 1).

    With beta_i = sigma(s_i), p_i = beta_i prod_{j > i} (1 - beta_j) is in place i + 1. What is left
    of the stick, prod_j (1 - beta_j), is in place 0: the whole task has ended.

    Args:
        scores: (.., slots) s, of the top slot first.
    """
    breaks, goes_on = functional.logsigmoid(scores), functional.logsigmoid(-scores)
    below = goes_on.flip(-1).cumsum(-1).flip(-1)  # of this slot and all below it
    return torch.cat([below[..., :1], breaks + functional.pad(below[..., 1:], (0, 1))], -1)


class OrderedMemoryPolicy(nn.Module):
    """Reads observations with a memory M of n slots, and says actions.

    With the task's embedding tau and c_t = [W_x x_t; tau], at a step t > 1:

    - bottom-up recurrence: C_t^i = F_i(C_t^{i+1}, M_{t-1}^i, c_t) from C_t^{n+1} = W_x x_t;
    - expanding distribution: s_t^i = MLP([c_t; M_{t-1}^i; C_t^i]), and pi_t the distribution of
      :func:`expanding_distribution` over the slots alone;
    - top-down expansion: E_t^{i+1} = G_i(pi_t^{>=i} C_t^i + pi_t^{<i} E_t^i, c_t), E_t^1 = 0, where
      pi_t^{<i} = sum_{j < i} pi_t^j;
    - M_t^i = pi_t^{>i} M_{t-1}^i + pi_t^i C_t^i + pi_t^{<i} E_t^i: slots above the one that expands
      are kept, it is updated, those below it are made anew;
    - p_t^a = softmax(W_a [M_t^n; tau; W_x x_t] + b_a).

    M_0 has LN(tau) in its top slot, zeros below. At the first step the top slot expands as it is:
    C_1 = M_0, and pi_1 is one at the top.

    Departures. The published code writes C_t into the tensor that holds M_{t-1}, so that slots
    above the one that expands become C_t^i; here they are kept, as the paper's idea and figures
    say. There, the environment has an action ``done`` whose probability is what is left of the
    stick; here this is so if ``done_action`` is given, and otherwise what is left is divided among
    the slots. The code's last cell of the top-down recurrence, which nothing reads, is left out.

    ``ends`` is the expected height of the slot that expands, (n - i) / (n - 1) of slot i = 1..n,
    and 1 where the task has ended; 0 at the first step, before which nothing can have ended. The
    published measure orders steps by the same mean, but ranks the end one slot above the top.

    Args:
        observation_size: numbers in an observation.
        actions: number of actions.
        tasks: number of tasks.
        size: D, of a slot.
        slots: n, 2 or more.
        dropout: probability, in all recurrences.
        done_action: index of the action that ends an episode; None if there is none.

    Raises:
        ValueError: fewer than two slots, or an action ``done`` that is none of the actions.
    """

    def __init__(
        self, observation_size: int, actions: int, tasks: int, size: int = 128, slots: int = 3,
        dropout: float = 0.0, done_action: int | None = None,
    ):  # fmt: skip
        super().__init__()
        if slots < 2:
            raise ValueError(f"an ordered memory policy needs 2 slots or more, not {slots}")
        if done_action is not None and not 0 <= done_action < actions:
            raise ValueError(f"the action done must be one of 0..{actions - 1}, not {done_action}")
        self.slots, self.done_action = slots, done_action
        self.observation = nn.Linear(observation_size, size)
        self.task = nn.Embedding(tasks, size)
        self.norm = nn.LayerNorm(size, elementwise_affine=False)
        self.composing = nn.ModuleList(
            GatedUpdate(size, 2, 2 * size, dropout) for _ in range(slots)
        )
        self.expanding = nn.ModuleList(
            GatedUpdate(size, 1, 2 * size, dropout) for _ in range(slots - 1)
        )
        self.score = nn.Sequential(
            unit_dropout(dropout), nn.Linear(4 * size, size), nn.LeakyReLU(),
            unit_dropout(dropout), nn.Linear(size, 1),
        )  # fmt: skip
        self.action = nn.Linear(3 * size, actions - (done_action is not None))

    def forward(self, observations: Tensor, lengths: Tensor, tasks: Tensor) -> Imitation:
        """Read whole demonstrations.

        Args:
            observations: (batch, steps, observation_size), padded at the end.
            lengths: (batch,) numbers of steps.
            tasks: (batch,) indices.

        Raises:
            ValueError: an empty batch, lengths out of range, or no task of such an index.
        """
        batch = StepsOfBatch(observations, lengths)
        state = self.begin(len(tasks), batch.sorted(tasks))
        steps = []
        for read in self._read(batch.given).split(batch.rows):
            going_on = {name: part[: len(read)] for name, part in state.items()}
            step, state = self._step(read, going_on)
            steps.append(step)
        logs, ends, *_ = zip(*steps, strict=True)
        return Imitation(batch.padded(logs), batch.padded(ends))

    def begin(self, count: int, tasks: Tensor) -> dict[str, Tensor]:
        """The state before the first step.

        Args:
            count: number of episodes.
            tasks: (count,) indices.

        Raises:
            ValueError: there is no task of such an index.
        """
        tasks = known_tasks(tasks, self.task.num_embeddings)
        memory = functional.pad(self.norm(self.task(tasks))[:, None], (0, 0, 0, self.slots - 1))
        begun = torch.zeros(count, dtype=torch.bool, device=tasks.device)
        return {"memory": memory, "tasks": tasks, "begun": begun}

    def step(
        self, observation: Tensor, state: dict[str, Tensor]
    ) -> tuple[Imitation, dict[str, Tensor]]:
        """Act: what is said of one step, and the state after it.

        Args:
            observation: (count, observation_size).
            state: of :meth:`begin` or of the step before.
        """
        return self._step(self._read(observation), state)

    def _read(self, observations: Tensor) -> Tensor:
        return self.observation(observations.to(self.observation.weight.dtype))

    def _step(self, read: Tensor, state: dict[str, Tensor]):
        memory, fresh = state["memory"], ~state["begun"]
        task = self.task(state["tasks"])
        context = torch.cat([read, task], -1)
        candidates = self._compose(read, memory, context)
        stick = expanding_distribution(self._scores(context, memory, candidates))
        expansion = torch.where(fresh[:, None], _top(stick[:, 1:]), stick[:, 1:].softmax(-1))
        candidates = torch.where(fresh[:, None, None], memory, candidates)
        memory = self._expand(memory, candidates, expansion.to(memory.dtype), context)
        bounds = math.log(_LEAST), math.log1p(-_LEAST_LEFT)
        left = torch.where(fresh, bounds[0], stick[:, 0].clamp(*bounds))
        log_probabilities = self._actions(torch.cat([memory[:, -1], task, read], -1), left)
        ends = self._height(expansion, left).masked_fill(fresh, 0.0)
        begun = torch.ones_like(state["begun"])
        return Imitation(log_probabilities, ends), {
            "memory": memory, "tasks": state["tasks"], "begun": begun,
        }  # fmt: skip

    def _compose(self, read: Tensor, memory: Tensor, context: Tensor) -> Tensor:
        """The bottom-up recurrence, (count, slots, D)."""
        below, composed = read, []
        for cell, slot in zip(reversed(self.composing), reversed(memory.unbind(1)), strict=True):
            below = cell((below, slot), context)
            composed.append(below)
        return torch.stack(composed[::-1], 1)

    def _scores(self, context: Tensor, memory: Tensor, candidates: Tensor) -> Tensor:
        repeated = context[:, None].expand(-1, self.slots, -1)
        scores = self.score(torch.cat([repeated, memory, candidates], -1)).squeeze(-1)
        return at_least_float32(scores)

    def _expand(
        self, memory: Tensor, candidates: Tensor, expansion: Tensor, context: Tensor
    ) -> Tensor:
        """M_t by the top-down expansion, (count, slots, D)."""
        above = functional.pad(expansion[:, :-1], (1, 0)).cumsum(1)
        below = functional.pad(expansion[:, 1:], (0, 1)).flip(1).cumsum(1).flip(1)
        expanded = torch.zeros_like(candidates[:, 0])
        parts = [expanded]
        for slot, cell in enumerate(self.expanding):
            here = (expansion + below)[:, slot, None]
            parent = here * candidates[:, slot] + above[:, slot, None] * expanded
            expanded = cell((parent,), context)
            parts.append(expanded)
        shares = torch.stack([below, expansion, above], -1)
        sources = torch.stack([memory, candidates, torch.stack(parts, 1)], 2)
        return (shares[..., None] * sources).sum(2)

    def _actions(self, given: Tensor, left: Tensor) -> Tensor:
        scores = self.action(given)
        logs = scores.log_softmax(-1, torch.promote_types(scores.dtype, torch.float32))
        if self.done_action is None:
            return logs
        rest = logs + torch.log1p(-left.exp())[:, None]
        before, after = rest[:, : self.done_action], rest[:, self.done_action :]
        return torch.cat([before, left[:, None], after], 1)

    def _height(self, expansion: Tensor, left: Tensor) -> Tensor:
        heights = torch.linspace(1, 0, self.slots, dtype=expansion.dtype, device=expansion.device)
        height = expansion @ heights
        if self.done_action is None:
            return height
        return height + left.exp() * (1 - height)


def _top(like: Tensor) -> Tensor:
    """One at the top slot, shaped as ``like`` (count, slots)."""
    return functional.pad(torch.ones_like(like[:, :1]), (0, like.size(1) - 1))
