"""A new controller over frozen options, as reinforcement learns it, and acting with it."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from fairseq_struct.errors import NotFiniteScores
from fairseq_struct.modules.option_controller.cell import CellSizes
from fairseq_struct.modules.option_controller.controller import Controller
from fairseq_struct.modules.option_controller.imitation import log_of
from fairseq_struct.modules.option_controller.options import Pool
from fairseq_struct.structure.precision import at_least_float32


class PolicyOutput(NamedTuple):
    """What a policy says of decisions.

    Args:
        log_probabilities: (actors, decisions, options) log p^c, in float32 or more.
        values: (actors, decisions) estimated returns, in float32 or more.
    """

    log_probabilities: Tensor
    values: Tensor


class OptionPolicy(nn.Module):
    """A controller c(x, h^c) that learns to choose among frozen options (algorithm 4).

    Source: Shen's thesis, section 5.2.3. h^c moves on with every choice, not with every step. The
    thesis does not describe the value network: here it is an MLP of the controller's sizes that
    reads x and h^c, through which no gradient of the values flows.

    Args:
        pool: the options, which are frozen; None for a policy whose choices are the actions.
        observation, actions: sizes of the environment.
        hidden: d_hid of the controller.
        mlp: d_MLP of controller and value network.
        depth: l_MLP.
        temperature: T of eq. 5.2.7.

    Raises:
        ValueError: the options have other observations or actions, or a size is out of range.
    """

    def __init__(
        self, pool: Pool | None, observation: int, actions: int, hidden: int = 128,
        mlp: int = 128, depth: int = 2, temperature: float = 10.0,
    ):  # fmt: skip
        super().__init__()
        if pool is not None:
            own = pool.sizes.observation, pool.sizes.outputs
            if own != (observation, actions):
                raise ValueError(
                    f"options of {own[0]} observed numbers and {own[1]} actions do not fit an "
                    f"environment with {observation} and {actions}"
                )
            pool.requires_grad_(False)
        self.options, self.observation, self.actions = pool, observation, actions
        self._sizes = observation, actions, hidden, mlp, depth, temperature
        outputs = actions if pool is None else len(pool)
        sizes = CellSizes(observation, outputs, hidden, mlp, depth, ends=False)
        self.controller = Controller(sizes, 1, temperature)
        layers: list[nn.Module] = []
        width = observation + hidden
        for _ in range(depth):
            layers += [nn.Linear(width, mlp), nn.Tanh()]
            width = mlp
        self.value = nn.Sequential(*layers, nn.Linear(width, 1))

    def over(self, pool: Pool) -> "OptionPolicy":
        """A new policy of these sizes over other options.

        Raises:
            ValueError: the options do not fit.
        """
        return OptionPolicy(pool, *self._sizes)

    def forward(self, observations: Tensor, starts: Tensor, states: Tensor) -> PolicyOutput:
        """Probabilities and values of decisions in order.

        Args:
            observations: (actors, decisions, size) x where each decision was made.
            starts: (actors, decisions) whether an episode begins there.
            states: (actors, d_hid) h^c before the first decision.
        """
        cells = self.controller.stacked()
        observed = cells.observe(observations)
        initial = self._initial(len(observations))
        states = states.to(initial.dtype)
        before, chances = [], []
        for t in range(observations.shape[1]):
            states = torch.where(starts[:, t, None], initial, states)
            before.append(states)
            found = cells.run(observed[:, :, t], states[None])
            chances.append(found.probabilities[0])
            states = found.states[0]
        return PolicyOutput(
            log_of(torch.stack(chances, 1)), self.estimate(observations, torch.stack(before, 1))
        )

    def estimate(self, observations: Tensor, states: Tensor) -> Tensor:
        """V(x, h^c) (..) in float32 or more, of observations (.., size) and states (.., d_hid)."""
        read = torch.cat([observations.to(states.dtype), states.detach()], -1)
        values = self.value(read).squeeze(-1)
        return at_least_float32(values)

    def _initial(self, count: int) -> Tensor:
        device = self.controller.initial.weight.device
        return self.controller.initial(torch.zeros(count, dtype=torch.long, device=device))


class ActingPolicy:
    """An :class:`OptionPolicy` with the states of several actors; it reads and gives arrays.

    It is what :class:`.Actors` calls a policy.

    Args:
        policy: the controller and its options.
        count: number of actors.

    Attributes:
        switch: (count,) e_t of the last step; 1 before the first.
        choice: (count, K) p^c of the last choice.
    """

    def __init__(self, policy: OptionPolicy, count: int):
        self.policy, self.count = policy, count
        self.switch = np.ones(count, np.float32)
        self.choice: np.ndarray | None = None
        self.device = next(policy.parameters()).device
        self.chosen = torch.zeros(count, dtype=torch.long, device=self.device)
        with torch.no_grad():
            self.states = policy._initial(count).clone()
        # Experts of a mixture have no end: each acts for one step.
        self._running = policy.options is not None and policy.options.sizes.ends
        if self._running:
            self.option_states = self.states.new_zeros(count, policy.options.sizes.hidden)
        self._acts: Tensor | None = None

    def state(self) -> dict[str, Tensor]:
        """States of controllers; no option runs between rollouts."""
        return {"controllers": self.states.detach().cpu().clone()}

    def load_state(self, state: dict[str, Tensor]):
        """Go on from a :meth:`state`."""
        self.states = state["controllers"].to(self.states)

    @torch.no_grad()
    def forget(self, which: np.ndarray):
        """Begin an episode in the rows ``which`` (actors,), with the controller's initial state."""
        rows = self._tensor(which)[:, None]
        self.states = torch.where(rows, self.policy._initial(self.count), self.states)

    @torch.no_grad()
    def ends(self, observations: np.ndarray) -> np.ndarray:
        """(actors,) probability that the running option is done; prepares its next action."""
        if not self._running:
            return np.ones(self.count, np.float32)
        found = self.policy.options.go_on(
            self._tensor(observations), self.option_states, self.chosen
        )
        self._acts, self.option_states, ends = found
        self.switch = ends.cpu().numpy()
        return self.switch

    @torch.no_grad()
    def choose(
        self, observations: np.ndarray, which: np.ndarray, noise: np.ndarray
    ) -> list[np.ndarray]:
        """Let the controllers of ``which`` (actors,) choose, by uniform noise (actors,).

        Returns:
            (actors,) options, their log-probabilities, and values; other rows have any.
        """
        seen, rows = self._tensor(observations), self._tensor(which)
        values = self.policy.estimate(seen, self.states)
        chances, states, _ = self.policy.controller.step(seen, self.states)
        chosen = sampled(chances, self._tensor(noise))
        now = chances.cpu().numpy()
        self.choice = now if self.choice is None else np.where(which[:, None], now, self.choice)
        self.states = torch.where(rows[:, None], states, self.states)
        self.chosen = torch.where(rows, chosen, self.chosen)
        self._start(seen, rows)
        logs = log_of(chances).gather(1, chosen[:, None])[:, 0]
        return [part.cpu().numpy() for part in (chosen, logs, values)]

    def _start(self, seen: Tensor, rows: Tensor):
        """Start the chosen options of ``rows``."""
        if self.policy.options is None:
            self._acts = one_hot(self.chosen, self.policy.actions).float()
            return
        acts, states = self.policy.options.start(seen, self.chosen)
        everywhere = self._acts is None or not self._running
        self._acts = acts if everywhere else torch.where(rows[:, None], acts, self._acts)
        if self._running:
            self.option_states = torch.where(rows[:, None], states, self.option_states)

    @torch.no_grad()
    def actions(self, observations: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """(actors,) actions of the running options, by uniform noise (actors,)."""
        return sampled(self._acts, self._tensor(noise)).cpu().numpy()

    @torch.no_grad()
    def values(self, observations: np.ndarray) -> np.ndarray:
        """(actors,) estimated returns where the controllers are to choose next."""
        return self.policy.estimate(self._tensor(observations), self.states).cpu().numpy()

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.device)


def sampled(probabilities: Tensor, noise: Tensor) -> Tensor:
    """Numbers (count,) drawn from rows of probabilities (count, n), by uniform noise (count,)."""
    if probabilities.isnan().any():
        raise NotFiniteScores("the policy's probabilities are NaN: its training has diverged")
    sums = probabilities.cumsum(1)
    below = sums < (noise.to(sums) * sums[:, -1])[:, None]
    return below.sum(1).clamp(max=probabilities.shape[1] - 1)
