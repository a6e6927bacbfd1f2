"""The option-controller network: soft choices among options, and when to choose again."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from fairseq_struct.modules.option_controller.cell import StackedCells
from fairseq_struct.modules.option_controller.controller import Controller
from fairseq_struct.modules.option_controller.imitation import Imitation, log_of
from fairseq_struct.modules.option_controller.options import OptionPool
from fairseq_struct.modules.option_controller.recursion import Recursion, State
from fairseq_struct.modules.recurrent.steps_of_batch import StepsOfBatch


class OptionController(nn.Module):
    """Options under a controller (Shen's thesis, section 5.2).

    At step t, all options make a step, and e_t = sum_i p_{t-1,i}^c e_{i,t} (eqs. 5.2.11, 5.2.12) is
    the probability that the last subtask is done. If so, the controller makes a step and chooses
    again, and options start anew (eqs. 5.2.14 to 5.2.16); else all go on (eq. 5.2.13). States and
    probabilities are the mixture of both by e_t (eq. 5.2.17), where e_1 = 1. All options are
    computed in one product; what does not depend on the past is computed for all steps at once, and
    demonstrations that are at their end take no part any more.

    Where the equations are loose: eq. 5.2.16 sums with p_t'^c, because p_t^c is not known before
    eq. 5.2.17; and h_t^o of all options is set back in proportion to e_t, although the options that
    did not act have not ended.

    With further levels, controllers are the options of higher controllers, as section 5.2.1
    proposes without doing it. A controller below another one is an option: a box with states of its
    own, among them those of its own run of the options, which emits actions by eq. 5.2.17 and an
    end. Ours is the form of that end: the product of e_t, that its subtask is done, and its own
    e_t^c, because a task can only be done when its last subtask is. Given that the task is not
    done, its actions are those of eq. 5.2.17, as for an option, whose p_t and e_t are independent
    given x_t and h_{t-1}.

    Args:
        options: the pool.
        controller: of the highest level; it chooses among the pool, or the last of ``between``.
        between: pools of controllers, from the lowest to the highest level; the outputs of each are
            as many as the cells of the pool below. They use the temperature of ``controller``.

    Raises:
        ValueError: the parts do not fit each other.
    """

    def __init__(
        self, options: OptionPool, controller: Controller, between: Iterable[OptionPool] = ()
    ):
        super().__init__()
        self.options, self.controller = options, controller
        self.between = nn.ModuleList(between)
        self._check()

    def _check(self):
        if not self.options.sizes.ends or not self.options.sizes.hidden:
            raise ValueError("options need an end and a hidden state")
        cells = [self.options, *self.between, [self.controller.cell]]
        for below, above in zip(cells, cells[1:], strict=False):
            sizes = above[0].sizes
            if sizes.outputs != len(below):
                raise ValueError(f"a controller of {sizes.outputs} options is above {len(below)}")
            if sizes.observation != self.options.sizes.observation:
                raise ValueError("options and controllers observe vectors of different sizes")
        if not all(pool.sizes.ends and pool.sizes.hidden for pool in self.between):
            raise ValueError("controllers below others need an end and a hidden state")

    def forward(self, observations: Tensor, lengths: Tensor, tasks: Tensor) -> Imitation:
        """Probabilities of actions at all steps of demonstrations.

        For more than one level, ``ends`` and ``options`` are those of the options, in expectation
        over the controllers above.

        Args:
            observations: (batch, steps, size).
            lengths: (batch,) steps; what lies beyond is padding, on the right.
            tasks: (batch,) numbers of tasks.

        Raises:
            ValueError: an empty batch, lengths out of range, or no task of such a number.
        """
        batch = StepsOfBatch(observations, lengths)
        recursion = self._recursion()
        (observed, begun), *later = recursion.prepare(batch.given, batch.rows)
        first = self.controller.begin(batch.sorted(tasks))
        steps = [recursion.first(observed, begun, first[None])]
        for observed, begun in later:
            steps.append(recursion.next(observed, begun, steps[-1].state))
        _, actions, ends, options = zip(*steps, strict=True)
        return Imitation(
            batch.padded([log_of(part) for part in actions]), batch.padded(ends),
            batch.padded(options),
        )  # fmt: skip

    def begin(self, count: int, tasks: Tensor) -> dict[str, Tensor]:
        """The state of ``count`` actors before their first step; tasks (count,).

        Every tensor has the actors as its first axis.
        """
        pools = [self.options, *self.between]
        widths = [len(pool) for pool in pools] + [1]
        new = self.controller.initial.weight.new_zeros
        hidden = [
            new(*widths[level:], count, pool.sizes.hidden) for level, pool in enumerate(pools)
        ]
        hidden.append(self.controller.begin(tasks)[None])
        exact = torch.promote_types(hidden[0].dtype, torch.float32)
        choices = [new(*widths[level:], count, dtype=exact) for level in range(len(pools))]
        state = _as_rows(State(hidden, choices))
        return state | {"begun": torch.zeros(count, dtype=torch.bool, device=tasks.device)}

    def step(self, observations: Tensor, state: dict[str, Tensor]) -> tuple[Imitation, dict]:
        """One step of actors.

        Args:
            observations: (count, size).
            state: from :meth:`begin`, or from the step before.

        Returns:
            The same as :meth:`forward`, without the axis of steps; and the next state.
        """
        recursion = self._recursion()
        ((observed, begun),) = recursion.prepare(observations, [len(observations)])
        before, anew = _of_rows(state), ~state["begun"]
        after, actions, ends, options = recursion.next(observed, begun, before, anew)
        rows = _as_rows(after) | {"begun": torch.ones_like(anew)}
        return Imitation(log_of(actions), ends, options), rows

    def _recursion(self) -> Recursion:
        temperature = self.controller.temperature
        between = [StackedCells(pool, temperature) for pool in self.between]
        return Recursion([StackedCells(self.options), *between, self.controller.stacked()])


def _as_rows(state: State) -> dict[str, Tensor]:
    """A state as named tensors, with the batch as first axis."""
    hidden = {f"hidden.{level}": part.movedim(-2, 0) for level, part in enumerate(state.hidden)}
    return hidden | {
        f"choices.{level}": part.movedim(-1, 0) for level, part in enumerate(state.choices)
    }


def _of_rows(rows: dict[str, Tensor]) -> State:
    """The state of :func:`_as_rows`."""
    levels = range(sum(name.startswith("choices.") for name in rows))
    return State(
        [rows[f"hidden.{level}"].movedim(0, -2) for level in range(len(levels) + 1)],
        [rows[f"choices.{level}"].movedim(0, -1) for level in levels],
    )
