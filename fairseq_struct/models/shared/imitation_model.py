"""The base of models that imitate demonstrations, which know what they were trained on."""

from collections.abc import Mapping

import numpy as np
from fairseq.models import BaseFairseqModel
from torch import Tensor, nn

from fairseq_struct.errors import InputError
from fairseq_struct.files.stored_text import as_bytes, content_of
from fairseq_struct.models.shared.other_checkpoint import read_other
from fairseq_struct.modules.option_controller import Imitation
from fairseq_struct.modules.option_controller.imitating import ImitatingPolicy, SingleOption
from fairseq_struct.modules.option_controller.stored_options import has_options
from fairseq_struct.option_checks import require_task

ABOUT = "about"


class ImitationModel(BaseFairseqModel):
    """A policy on ``--task craft_imitation``.

    The buffer ``about`` of its checkpoints holds, as JSON, what the demonstrations were of, so that
    a checkpoint is never used on others.

    Args:
        network: the policy, with ``forward``, ``begin`` and ``step`` as of
            :class:`.OptionController`.
        about: ``tasks`` by name, ``kinds``, ``observation``, ``observation_size``, ``actions``.

    Attributes:
        ends_are_probabilities: whether e_t is one, so that 0.5 is a threshold.
        reads_actions: whether ``forward`` takes the actions of demonstrations, too.
    """

    for_tasks = ("craft_imitation",)
    ends_are_probabilities = True
    reads_actions = False

    def __init__(self, network: nn.Module, about: Mapping):
        super().__init__()
        self.network, self.subject = network, dict(about)
        self.register_buffer(ABOUT, as_bytes(self.subject))

    @classmethod
    def check_task(cls, task):
        """Refuse another task.

        Raises:
            InputError: the task is none of :attr:`for_tasks`.
        """
        require_task(cls, task)

    def forward(self, observations: Tensor, lengths: Tensor, tasks: Tensor, **more) -> Imitation:
        """What the policy says of demonstrations."""
        return self.network(observations, lengths, tasks, **more)

    def begin(self, count: int, tasks: Tensor) -> dict[str, Tensor]:
        """The state of ``count`` actors before their first step; tasks (count,)."""
        return self.network.begin(count, tasks)

    def step(self, observations: Tensor, state: dict[str, Tensor]) -> tuple[Imitation, dict]:
        """What the policy says of one step of actors, and the next state."""
        return self.network.step(observations, state)

    @property
    def option_count(self) -> int:
        """K, the number of options that can act by themselves; 0 for networks without any."""
        return len(getattr(self.network, "options", ()))

    def acting(self, count: int, task: int = 0) -> ImitatingPolicy:
        """The policy for ``count`` worlds of the task with this number."""
        return ImitatingPolicy(self.network, count, task)

    def single_option(self, number: int | np.ndarray, count: int) -> SingleOption:
        """One option for ``count`` worlds, or one of its own (count,) for each."""
        return SingleOption(self.network.options, number, count)

    def upgrade_state_dict_named(self, state_dict: dict, name: str):
        """Refuse parameters of a model of other demonstrations; fairseq calls it before loading.

        Raises:
            InputError: the demonstrations differ in what the parameters depend on.
        """
        super().upgrade_state_dict_named(state_dict, name)
        if ABOUT in state_dict:
            check_same(self.subject, about_of(state_dict), "the checkpoint")


def about_of(parameters: Mapping[str, Tensor]) -> dict:
    """What the demonstrations of a model's parameters were of.

    Raises:
        InputError: the parameters are not of a model that imitates, or they are damaged.
    """
    if ABOUT not in parameters:
        more = "; name the checkpoints that its options are from" if has_options(parameters) else ""
        raise InputError(f"it is no model that imitates demonstrations{more}")
    try:
        return content_of(parameters[ABOUT])
    except ValueError:
        raise InputError("what it says about its demonstrations is damaged") from None


def read_imitation(path: str, option: str) -> tuple[Mapping[str, Tensor], dict]:
    """Parameters of another checkpoint, and what its demonstrations were of.

    Args:
        path: of the checkpoint.
        option: that names it, for messages.

    Raises:
        InputError: it cannot be read (:func:`.read_other`), or is not of a model that imitates.
    """
    _, parameters = read_other(path, option)
    try:
        return parameters, about_of(parameters)
    except InputError as error:
        raise InputError(f"{option} {path}: {error}") from None


def check_same(ours: Mapping, theirs: Mapping, who: str, but: tuple[str, ...] = ()):
    """Refuse a model of other demonstrations.

    Args:
        ours: of the demonstrations here.
        theirs: of the other model.
        who: the other model, for the message.
        but: what may differ.

    Raises:
        InputError: something else differs.
    """
    for name, value in ours.items():
        if name not in but and theirs.get(name) != value:
            raise InputError(
                f"{who} is of demonstrations with {name} {theirs.get(name)}, but these have {value}"
            )
