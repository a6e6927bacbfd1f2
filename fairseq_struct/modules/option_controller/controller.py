"""The controller, which chooses among options."""

from torch import Tensor, nn

from fairseq_struct.modules.option_controller.cell import Cell, CellSizes, StackedCells
from fairseq_struct.modules.option_controller.imitation import known_tasks

# Of the initial states of tasks.
SPREAD = 0.1


class Controller(nn.Module):
    """p_t^c, h_t^c = c(x_t, h_{t-1}^c) with a temperature (Shen's thesis, eqs. 5.2.2 and 5.2.7).

    All tasks share the controller; each has its own learned initial state h_{tau,0}^c, the second
    method of section 5.2.3. These states are drawn with a standard deviation of 0.1, which the
    thesis does not give: tasks that begin nearly alike share their options from the beginning.

    Args:
        sizes: of its cell; ``outputs`` are the options. Without ``ends`` it has no e_t^c, which
            only a higher controller would read.
        tasks: number of tasks.
        temperature: T. A high one makes the controller learn more slowly than the options.

    Raises:
        ValueError: a number out of range, or no hidden state.
    """

    def __init__(self, sizes: CellSizes, tasks: int, temperature: float = 10.0):
        super().__init__()
        if not temperature > 0:
            raise ValueError(f"the temperature must be above 0, not {temperature}")
        if tasks < 1 or not sizes.hidden:
            raise ValueError("a controller needs a task and a hidden state")
        self.temperature = temperature
        self.cell = Cell(sizes)
        self.initial = nn.Embedding(tasks, sizes.hidden)
        nn.init.normal_(self.initial.weight, std=SPREAD)

    def begin(self, tasks: Tensor) -> Tensor:
        """Initial states (count, d_hid) of tasks (count,).

        Raises:
            ValueError: there is no task of such a number.
        """
        return self.initial(known_tasks(tasks, self.initial.num_embeddings))

    def stacked(self) -> StackedCells:
        """Its cell, as one of a stack."""
        return StackedCells([self.cell], self.temperature)

    def step(self, observations: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Probabilities (count, K), states (count, d_hid), and ends (count,) or None.

        Args:
            observations: (count, size).
            states: (count, d_hid) h_{t-1}^c, where t counts the choices, not the actions.
        """
        cells = self.stacked()
        found = cells.run(cells.observe(observations), states[None])
        return tuple(None if part is None else part[0] for part in found)
