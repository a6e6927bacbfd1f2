"""Actors of a task of reinforcement learning, their last rollout, and its minibatches."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from fairseq.distributed import utils as distributed
from torch import Tensor

from fairseq_struct.environments.rollouts.actors import Actors, Episodes
from fairseq_struct.environments.rollouts.random_streams import stream
from fairseq_struct.option_checks import option_name

logger = logging.getLogger(__name__)


class Practice:
    """Rollouts of the actors of one worker, cut into minibatches of whole actors.

    Advantages are normalised over the rollouts of all workers. Every use of a rollout deals its
    actors to minibatches anew.

    Args:
        actors: of this worker.
        model: makes a policy for actors (``acting``).
        decisions: of each actor in a rollout.
        epochs: how many times a rollout is used.
        minibatches: of each use.
        settings: options that a rollout in use depends on, by name. A checkpoint's rollout is used
            only with the same ones.
    """

    def __init__(
        self, actors: Actors, model, decisions: int, epochs: int, minibatches: int,
        settings: Mapping[str, Any] | None = None,
    ):  # fmt: skip
        self.actors, self.decisions, self.settings = actors, decisions, dict(settings or {})
        self.epochs, self.minibatches = epochs, minibatches
        self.policy = model.acting(actors.count)
        self.position = epochs * minibatches  # of the next minibatch: the rollout is used up
        self.rollout: dict[str, np.ndarray] = {}
        self.log: dict[str, float] = {}
        self.environment_steps = 0
        self._all: list[dict] = []
        self._last: dict | None = None

    def minibatch(self, model, again: bool = False) -> dict[str, Any]:
        """The next minibatch, in the form that the criterion expects, on the model's device.

        Args:
            model: as it is now; a rollout is made with it where one is due.
            again: repeat the last minibatch.
        """
        if again and self._last is not None:
            return self._last
        if self.position >= self.epochs * self.minibatches:
            self._roll(model)
        first = self.position == 0
        epoch, number = divmod(self.position, self.minibatches)
        generator = stream("minibatches", self.actors.seed, self.actors.rollouts, epoch)
        order = generator.permutation(self.actors.count)
        rows = order.reshape(self.minibatches, -1)[number]
        self.position += 1
        self._last = self._batch(rows, next(model.parameters()).device, first)
        return self._last

    def state(self) -> dict[str, Any]:
        """What later minibatches of all workers depend on, as tensors."""
        if not self.rollout:
            return {}
        return {"workers": self._all, "position": self.position, "steps": self.environment_steps,
                "settings": self.settings}  # fmt: skip

    def load_state(self, state: dict[str, Any]):
        """Go on from a :meth:`state`; of other workers or settings, new episodes begin."""
        own = worker()[0]
        if other := self._other(state):
            logger.warning(f"the checkpoint is of {other}: new episodes begin")
            self.environment_steps = state["steps"]
            self.actors.go_on_anew([_arrays(one["actors"]) for one in state["workers"]])
            return
        mine = state["workers"][own]
        self.actors.load_state(_arrays(mine["actors"]))
        self.policy.load_state(mine["policy"])
        self.rollout = _arrays(mine["rollout"])
        self.position, self.environment_steps = state["position"], state["steps"]
        self.log = dict.fromkeys(("return", "success", "steps", "episodes"), 0.0)
        self._all = state["workers"]

    def _other(self, state: dict[str, Any]) -> str:
        """What a state was made with that is not so here."""
        if (workers := len(state["workers"])) != worker()[1]:
            return f"{workers} worker{'s' * (workers > 1)}"
        known = state.get("settings", self.settings)
        return ", ".join(
            f"{option_name(name)} {known.get(name)}"
            for name, value in self.settings.items()
            if known.get(name) != value
        )

    def _roll(self, model):
        """Make a rollout, and tell the other workers what a checkpoint needs of it."""
        training = model.training
        model.eval()
        before = self.policy.states.float().cpu().numpy()
        rollout, episodes = self.actors.run(self.policy, self.decisions)
        model.train(training)
        mine = {
            "actors": _tensors(self.actors.state()),
            "policy": self.policy.state(),
            "rollout": _tensors(rollout._asdict() | {"states": before}),
        }
        self._all = _gathered(mine)
        self.environment_steps += sum(int(one["rollout"]["lengths"].sum()) for one in self._all)
        advantages = torch.cat([one["rollout"]["advantages"].flatten() for one in self._all])
        mean, deviation = advantages.mean(), advantages.std(correction=0)
        for one in self._all:
            one["rollout"]["advantages"].sub_(mean).div_(deviation + 1e-8)
        own = self._all[worker()[0]]
        self.rollout = _arrays(own["rollout"])
        self.log = sums_of(episodes)
        self.position = 0

    def _batch(self, rows: np.ndarray, device: torch.device, first: bool) -> dict[str, Any]:
        def part(name: str) -> Tensor:
            return torch.from_numpy(self.rollout[name][rows]).to(device)

        episodes = self.log if first else dict.fromkeys(self.log, 0.0)
        return {
            "net_input": {name: part(name) for name in ("observations", "starts", "states")},
            "decisions": {
                "options": part("options"),
                "old_log_probabilities": part("log_probabilities"),
                "advantages": part("advantages"),
                "returns": part("returns"),
            },
            "option_length": int(self.rollout["lengths"][rows].sum()),
            "ntokens": rows.size * self.decisions,
            "nsentences": rows.size,
            "episodes": episodes
            | {
                "rollouts": int(first),
                "environment_steps": self.environment_steps if first else 0,
            },
        }


def worker() -> tuple[int, int]:
    """The number of this worker, and how many there are; fairseq knows no rank of one alone."""
    count = distributed.get_data_parallel_world_size()
    return (distributed.get_data_parallel_rank() if count > 1 else 0), count


def sums_of(episodes: Episodes) -> dict[str, float]:
    """Sums over episodes, by the names under which they are logged."""
    return {
        "episodes": float(len(episodes.returns)),
        "return": float(episodes.returns.sum()),
        "success": 100.0 * float(episodes.successes.sum()),
        "steps": float(episodes.steps.sum()),
    }


def _gathered(mine: dict) -> list[dict]:
    """What every worker has, in the order of their ranks."""
    _, count = worker()
    if count == 1:
        return [mine]
    found: list[Any] = [None] * count
    torch.distributed.all_gather_object(found, mine, distributed.get_data_parallel_group())
    return found


def _tensors(arrays: dict[str, np.ndarray]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}


def _arrays(tensors: dict[str, Tensor]) -> dict[str, np.ndarray]:
    return {name: tensor.numpy().copy() for name, tensor in tensors.items()}
