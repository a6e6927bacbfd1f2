"""Option-controller networks as fairseq's models: what is built, and what is refused."""

import json
import re
from types import SimpleNamespace

import pytest
import torch
from fairseq_commands import ROOT

from fairseq_struct.errors import InputError
from fairseq_struct.models.option_controller.compile_policy import (
    CompilePolicyConfig,
    CompilePolicyModel,
)
from fairseq_struct.models.option_controller.mixture_of_experts import MixtureOfExpertsModel
from fairseq_struct.models.option_controller.option_controller import (
    OptionControllerConfig,
    OptionControllerModel,
)
from fairseq_struct.models.option_controller.option_policy import OptionPolicyModel
from fairseq_struct.models.option_controller.ordered_memory_policy import (
    OrderedMemoryPolicyConfig,
    OrderedMemoryPolicyModel,
)
from fairseq_struct.models.shared.option_model import OptionConfig
from fairseq_struct.modules.option_controller import (
    CellSizes,
    Controller,
    OptionController,
    OptionPool,
)
from fairseq_struct.modules.option_controller.policy import OptionPolicy

ABOUT = {"tasks": ["AC", "CD"], "kinds": "ACD", "observation": "windows", "observation_size": 9,
         "actions": 5}  # fmt: skip
TASK = SimpleNamespace(about=ABOUT, done_action=None, own_criterion="craft_imitation")
SMALL = {"hidden_size": 4, "mlp_size": 6}
GIVEN = torch.linspace(-1, 1, 2 * 3 * 9).view(2, 3, 9), torch.tensor([3, 2]), torch.tensor([1, 0])


def build(**options):
    torch.manual_seed(1)
    return OptionControllerModel.build_model(OptionControllerConfig(**SMALL, **options), TASK)


def test_one_level_is_the_network_without_levels():
    """Bit for bit: parameters, their names, and all outputs."""
    model = build(levels=1, options=3)
    torch.manual_seed(1)
    pool = OptionPool.of(3, CellSizes(9, 5, 4, 6))
    alone = OptionController(pool, Controller(CellSizes(9, 3, 4, 6, ends=False), 2))
    assert alone.state_dict().keys() == model.network.state_dict().keys()
    assert all(model.network.state_dict()[name].equal(w) for name, w in alone.state_dict().items())
    for ours, theirs in zip(model(*GIVEN)[:3], alone(*GIVEN)[:3], strict=True):
        assert ours.equal(theirs)


def test_options_may_begin_by_ending():
    plain, eager = build(), build(end_bias=20.0)
    assert (eager(*GIVEN).ends[0] > 0.99).all() and (plain(*GIVEN).ends[0, 1:] < 0.9).all()
    for option, other in zip(plain.network.options, eager.network.options, strict=True):
        torch.testing.assert_close(other.end.bias, option.end.bias + 20)
        other.reset_parameters()
        assert other.end.bias > 15


def test_parameters_of_options_have_readable_names():
    names = [name for name, _ in build(options=2).named_parameters()]
    parts = ["act.bias", "act.weight", "end.bias", "end.weight", "hid.bias", "hid.weight",
             "layers.0.bias", "layers.0.weight", "observed.bias", "observed.weight",
             "recurrent.weight"]  # fmt: skip
    assert sorted(name for name in names if "options" in name) == [
        f"network.options.{number}.{part}" for number in (0, 1) for part in parts
    ]


@pytest.mark.parametrize(
    "model",
    [
        build(),
        build(levels=3),
        MixtureOfExpertsModel.build_model(OptionConfig(**SMALL), TASK),
        OrderedMemoryPolicyModel.build_model(OrderedMemoryPolicyConfig(hidden_size=4), TASK),
        CompilePolicyModel.build_model(CompilePolicyConfig(hidden_size=4), TASK),
    ],
)
def test_every_parameter_gets_a_gradient(model):
    """So that several workers need no option for parameters without one."""
    more = {"actions": torch.tensor([[0, 1, 2], [3, 4, -1]])} if model.reads_actions else {}
    model.train()
    found = model(*GIVEN, **more)
    loss = found.log_probabilities.sum() + (0 if found.extra_loss is None else found.extra_loss)
    loss.backward()
    assert not [name for name, weight in model.named_parameters() if weight.grad is None]
    said, state = model.step(GIVEN[0][:, 0], model.begin(2, GIVEN[2]))
    assert said.log_probabilities.shape == (2, 5) and all(len(part) == 2 for part in state.values())


def test_parameters_of_other_demonstrations_are_refused():
    model, state = build(), build().state_dict()
    model.load_state_dict(state)
    for name, other in (("tasks", ["AC", "DA"]), ("kinds", "ABC"), ("observation", "grid")):
        task = SimpleNamespace(**vars(TASK) | {"about": ABOUT | {name: other}})
        config = OptionControllerConfig(**SMALL)
        with pytest.raises(InputError, match=f"demonstrations with {name} .*but these have"):
            OptionControllerModel.build_model(config, task).load_state_dict(state)
    state["about"] = torch.tensor([255, 1, 2], dtype=torch.uint8)
    with pytest.raises(InputError, match="is damaged"):
        model.load_state_dict(state)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"options": 0}, "--options must be 1 or more, not 0"),
        ({"hidden_size": 0}, "--hidden-size must be 1 or more, not 0"),
        ({"mlp_size": 0}, "--mlp-size must be 1 or more"),
        ({"mlp_depth": 0}, "--mlp-depth must be 1 or more"),
        ({"temperature": 0.0}, "--temperature must be above 0, not 0.0"),
        ({"levels": 0}, "--levels must be 1 or more"),
        ({"lower_controllers": 0}, "--lower-controllers must be 1 or more"),
        ({"lower_controllers": 3}, "--lower-controllers needs --levels 2 or more"),
        ({"train_options": "3"}, "--train-options 3: the options are 0 to 2"),
        ({"train_options": "0,1,2,3"}, "--train-options 0,1,2,3: the options are 0 to 2"),
        ({"train_options": "first"}, "--train-options first: the options are 0 to 2"),
        ({"train_options": "1"}, "--train-options needs --initial-model"),
        ({"initial_model": "no-such.pt", "train_options": "all"}, "no-such.pt: no such file"),
        ({"initial_model": "x.pt", "reset_options": True}, "needs --train-options"),
        ({"reset_options": True}, "--reset-options needs --initial-model"),
        ({"freeze_controller": True}, "--freeze-controller needs --initial-model"),
        ({"end_bias": float("nan")}, "--end-bias must be a number"),
        ({"initial_model": "no-such.pt"}, "no-such.pt: no such file (--initial-model)"),
    ],
)
def test_networks_that_cannot_be_built(options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        OptionControllerModel.build_model(OptionControllerConfig(**SMALL | options), TASK)


@pytest.mark.parametrize(
    ("family", "config", "message"),
    [
        (OrderedMemoryPolicyModel, OrderedMemoryPolicyConfig(slots=1), "needs 2 slots or more"),
        (OrderedMemoryPolicyModel, OrderedMemoryPolicyConfig(dropout=1.0),
         "--dropout must be 0 or more and below 1, not 1"),
        (CompilePolicyModel, CompilePolicyConfig(segments=1), "needs 2 segments"),
        (CompilePolicyModel, CompilePolicyConfig(latent_weight=-1.0), "must be 0 or more, not -1"),
        (CompilePolicyModel, CompilePolicyConfig(mlp_depth=0), "--mlp-depth must be 1 or more"),
        (MixtureOfExpertsModel, OptionConfig(options=0), "--options must be 1 or more"),
    ],
)  # fmt: skip
def test_baselines_that_cannot_be_built(family, config, message):
    with pytest.raises(InputError, match=message):
        family.build_model(config, TASK)
    with pytest.raises(InputError, match="is for --task craft_imitation"):
        family.build_model(config, SimpleNamespace())


def test_a_model_of_another_architecture_is_no_initial_one(tmp_path):
    given = ROOT / "tests" / "stored" / "ordered_memory_policy.pt"
    about = json.loads(bytes(torch.load(given, weights_only=False)["model"]["about"].tolist()))
    config = OptionControllerConfig(**SMALL, initial_model=str(given))
    with pytest.raises(InputError, match=r"policy.pt: it is of another architecture"):
        OptionControllerModel.build_model(config, SimpleNamespace(**vars(TASK) | {"about": about}))


@pytest.mark.filterwarnings("ignore:for policy")  # a meta tensor copies nothing
@pytest.mark.parametrize("place", [torch.float16, "meta"])
def test_options_come_to_the_precision_and_device_of_the_policy(place):
    pool = OptionPool.of(2, CellSizes(9, 5, 4, 6))
    state = OptionPolicyModel(OptionPolicy(pool, 9, 5, 4, 6)).state_dict()
    model = OptionPolicyModel(OptionPolicy(None, 9, 5, 4, 6)).to(place)
    model.load_state_dict(state)
    kinds = {(each.dtype, each.device.type) for each in model.parameters()}
    assert len(kinds) == 1 and place in {*kinds.pop()} and model.option_count == 2
