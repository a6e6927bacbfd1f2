"""Imitation of demonstrations in Craft (Shen's thesis, section 5.2.3)."""

from dataclasses import dataclass, field
from typing import Optional  # fairseq cannot read "str | None"

from fairseq.tasks import FairseqTask, register_task

from fairseq_struct.data.datasets.demonstrations import Demonstrations
from fairseq_struct.data.prepared.demonstration_folder import read_part, read_tasks
from fairseq_struct.errors import InputError
from fairseq_struct.tasks.shared.strict_task import StrictTask, TrainedConfig


@dataclass
class CraftImitationConfig(TrainedConfig):
    """Options of the task."""

    data: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={"help": "folder data-bin made by fairseq-struct prepare craft_demonstrations"},
    )


@register_task("craft_imitation", dataclass=CraftImitationConfig)
class CraftImitationTask(StrictTask, FairseqTask):
    """Imitation of demonstrations of several tasks, whose subtasks are only known for scores.

    Use it with the criterion of the same name.

    Args:
        cfg: the options.

    Attributes:
        environments: :class:`.CraftOptions` of the demonstrations, one for each task.
        about: what a model of these demonstrations depends on: ``tasks`` by name, ``kinds``,
            ``observation``, ``observation_size`` and ``actions`` (their number).
        done_action: number of the action ``done``; None without one.

    Raises:
        InputError: the folder does not exist, or is damaged.
    """

    own_criterion = "craft_imitation"
    kind_of_models = "policies such as option_controller"

    def __init__(self, cfg: CraftImitationConfig):
        super().__init__(cfg)
        if not cfg.data:
            raise InputError("the task needs a folder with demonstrations")
        self.environments = read_tasks(cfg.data)
        first = self.environments[0]
        self.done_action = first.action_count - 1 if first.done_action else None
        self.about = {
            "tasks": [options.task for options in self.environments],
            "kinds": first.kinds,
            "observation": first.observation,
            "observation_size": first.observation_size,
            "actions": first.action_count,
        }

    @classmethod
    def setup_task(cls, cfg: CraftImitationConfig, **kwargs):
        """Build the task."""
        return cls(cfg)

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs):
        """Load a part of the folder.

        Raises:
            InputError: the part does not exist, or a file is damaged.
        """
        part = read_part(self.cfg.data, split, self.environments)
        self.datasets[split] = Demonstrations(part, self.trains_on(split), self.cfg.seed)
