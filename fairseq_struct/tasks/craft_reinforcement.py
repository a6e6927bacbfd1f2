"""Reinforcement learning of new tasks in Craft, over frozen options."""

from dataclasses import dataclass, field
from typing import Optional  # fairseq cannot read "str | None"

import numpy as np
import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.tasks import FairseqTask, register_task
from omegaconf import II

from fairseq_struct.data.datasets.numbered_steps import NumberedSteps
from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_worlds import CraftWorlds
from fairseq_struct.environments.rollouts.actors import Actors
from fairseq_struct.environments.rollouts.episodes import play
from fairseq_struct.errors import InputError, unknown_name
from fairseq_struct.option_checks import option_name, require_at_least
from fairseq_struct.tasks.shared.practice import Practice, sums_of, worker
from fairseq_struct.tasks.shared.strict_task import StrictTask

SPLITS = ("train", "valid")
VALIDATION_SEED = 1_000_003
# What a rollout is made with and cut by; gamma and lambda may change, for they are in its numbers.
OF_ROLLOUTS = (
    "subtasks", "reward", "map_size", "kinds", "objects_per_kind", "workshops", "obstacles",
    "time_limit", "observation", "done_action", "actors", "decisions", "rollout_epochs",
    "batch_size",
)  # fmt: skip


@dataclass
class CraftReinforcementConfig(FairseqDataclass):
    """Options of the task. Shen's thesis gives a batch of 1024, and no other value."""

    subtasks: str = field(
        default="DCA", metadata={"help": "the task: its subtasks in order, such as DCA"}
    )
    reward: str = field(
        default="sparse",
        metadata={"help": "dense: 1 for each subtask; sparse: 1 at the end of the last one"},
    )
    map_size: int = field(default=10, metadata={"help": "side of the map, with its boundary"})
    kinds: str = field(default="ABCD", metadata={"help": "kinds of objects that lie on the map"})
    objects_per_kind: int = field(default=1, metadata={"help": "objects of each kind"})
    workshops: int = field(default=0, metadata={"help": "workshops on the map"})
    obstacles: int = field(default=0, metadata={"help": "further obstacles on the map"})
    time_limit: int = field(default=64, metadata={"help": "steps after which an episode is cut"})
    observation: str = field(
        default="windows", metadata={"help": "windows around the agent, or the whole grid"}
    )
    done_action: bool = field(
        default=False, metadata={"help": "episodes end with an action of its own, done"}
    )
    actors: int = field(
        default=64, metadata={"help": "worlds in which each worker acts at the same time"}
    )
    decisions: int = field(
        default=16,
        metadata={"help": "decisions of each actor in an iteration; --batch-size counts decisions"},
    )
    rollout_epochs: int = field(
        default=4, metadata={"help": "K: how many times the decisions of an iteration are used"}
    )
    iterations_per_epoch: int = field(
        default=10, metadata={"help": "rollouts in what fairseq calls an epoch"}
    )
    discount: float = field(
        default=0.99,
        metadata={"help": "gamma; a call of an option is discounted by gamma to its length"},
    )
    gae_decay: float = field(
        default=0.95, metadata={"help": "lambda of generalised advantage estimation"}
    )
    valid_episodes: int = field(
        default=256, metadata={"help": "episodes of a validation, on the same maps every time"}
    )
    batch_size: Optional[int] = II("dataset.batch_size")  # noqa: UP045
    seed: int = II("common.seed")


@register_task("craft_reinforcement", dataclass=CraftReinforcementConfig)
class CraftReinforcementTask(StrictTask, FairseqTask):
    """Algorithm 4 of Shen's thesis (chapter 5) on fairseq's trainer.

    fairseq's trainer reads batches from a data set; here the data are made by the model that is
    trained. So the data set is a row of numbers, and the batches are made where the trainer hands
    the model over, in :meth:`train_step`: the first of them calls the options in all worlds
    (:class:`.Actors`), the following ones use what came of it. An iterator could not do this: it
    runs ahead of training (in a thread, or in workers), with parameters of the past, and a resumed
    run would make the rollouts of the batches that it skips. Everything else is fairseq's: its
    optimizer, schedule, clipping, checkpoints, logging, update frequency and several workers, each
    of which has its own actors. An update is a minibatch of ``--batch-size`` decisions in the order
    in which an actor made them, so that the controller's state can be learned through; an iteration
    is ``actors * decisions / batch size * rollout epochs`` updates, an epoch some iterations.

    The state of the worlds and of the rollout in use is stored in checkpoints
    (:meth:`training_state`), so a resumed run repeats the uninterrupted one, bit for bit.

    Args:
        cfg: the options.

    Raises:
        InputError: an option is out of range, or the numbers do not divide.
    """

    own_criterion = "craft_reinforcement"
    carries_state = True
    kind_of_models = "controllers of options such as option_policy"

    def __init__(self, cfg: CraftReinforcementConfig):
        super().__init__(cfg)
        names = "reward", "kinds", "objects_per_kind", "workshops", "obstacles", "time_limit"
        self.craft = CraftOptions(
            cfg.subtasks, cfg.map_size, observation=cfg.observation, done_action=cfg.done_action,
            **{name: getattr(cfg, name) for name in names},
        )  # fmt: skip
        require_at_least(
            cfg, 1, "actors", "decisions", "rollout_epochs", "iterations_per_epoch",
            "valid_episodes",
        )  # fmt: skip
        for name in ("discount", "gae_decay"):
            if not 0 <= getattr(cfg, name) <= 1:
                raise InputError(
                    f"{option_name(name)} must be from 0 to 1, not {getattr(cfg, name)}"
                )
        CraftWorlds(self.craft, 1).reset([0], [np.random.default_rng(0)])  # maps can be drawn
        self._practice: Practice | None = None
        self._loaded: dict | None = None

    @classmethod
    def setup_task(cls, cfg: CraftReinforcementConfig, **kwargs):
        """Build the task."""
        return cls(cfg)

    @property
    def minibatches(self) -> int:
        """Minibatches of one use of the decisions of an iteration, and of each worker.

        Raises:
            InputError: ``--batch-size`` is not given, or does not divide the decisions of a worker,
                or is not a multiple of those of an actor.
        """
        size, decisions, actors = self.cfg.batch_size, self.cfg.decisions, self.cfg.actors
        if size is None:
            raise InputError("this task needs --batch-size, the decisions of a minibatch")
        if size < 1 or size % decisions or (actors * decisions) % size:
            raise InputError(
                f"--batch-size {size} must be a multiple of --decisions {decisions} and divide "
                f"--actors times --decisions, {actors * decisions}"
            )
        return actors * decisions // size

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs):
        """Make the numbers of updates of an epoch (train), or of episodes (valid).

        Raises:
            InputError: there is no such subset.
        """
        if split not in SPLITS:
            raise InputError(unknown_name("split", split, SPLITS))
        if split == "valid":
            self.datasets[split] = NumberedSteps(self.cfg.valid_episodes)
            return
        updates = self.cfg.iterations_per_epoch * self.cfg.rollout_epochs * self.minibatches
        _, workers = worker()
        self.datasets[split] = NumberedSteps(updates * workers, together=1)

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        """Take the next minibatch of the rollout, after making a new one where it is due."""
        del sample
        batch = self._practised(model).minibatch(model, ignore_grad)
        return super().train_step(batch, model, criterion, optimizer, update_num, ignore_grad)

    def valid_step(self, sample, model, criterion):
        """Play the episodes of a batch on their maps."""
        model.eval()
        numbers = sample["id"].tolist()
        worlds = CraftWorlds(self.craft, len(numbers))
        seen = play(worlds, model.acting(len(numbers)), VALIDATION_SEED, numbers)
        count = len(numbers)
        logged = sums_of(seen) | {
            "loss": -float(seen.returns.sum()), "sample_size": count, "nsentences": count,
            "ntokens": int(seen.steps.sum()),
        }  # fmt: skip
        return torch.zeros(()), count, logged

    def training_state(self) -> dict:
        """What a checkpoint keeps beside the model: worlds, and the rollout that is in use."""
        return self._loaded or {} if self._practice is None else self._practice.state()

    def load_training_state(self, state: dict):
        """Go on from a :meth:`training_state` once training begins."""
        self._loaded = state or None

    def _practised(self, model) -> Practice:
        if self._practice is None:
            (rank, workers), own = worker(), self.cfg.actors
            actors = Actors(
                CraftWorlds(self.craft, own), self.cfg.seed, self.cfg.discount, self.cfg.gae_decay,
                rank * own, workers * own,
            )  # fmt: skip
            self._practice = Practice(
                actors, model, self.cfg.decisions, self.cfg.rollout_epochs, self.minibatches,
                {name: getattr(self.cfg, name) for name in OF_ROLLOUTS},
            )  # fmt: skip
            if self._loaded is not None:
                self._practice.load_state(self._loaded)
                self._loaded = None
        return self._practice
