"""Every architecture trains on a GPU in float32, fp16 and bf16, and with workers that read data."""

import math
import re

import pytest
from fairseq_commands import in_this_process, run
from gpu import needs_gpu
from stored_models import COMMON, MODELS, STORED

pytestmark = needs_gpu
WAYS = {"float32": [], "fp16": ["--fp16"], "bf16": ["--bf16"], "workers": ["--num-workers=2"]}
# Its batches are episodes that the policy plays: one other action, and all else differs.
PLAYS = "option_policy"
REFUSES_FP16 = "undirected_attention"


def losses(log: str) -> list[float]:
    """The losses of the updates, and of the validation."""
    return [float(loss) for loss in re.findall(r'"(?:valid_)?loss": "(\S+)"', log)]


def trained(arch: str, folder, *options: str) -> list[float]:
    data, own = MODELS[arch]
    place = [STORED / data / "data-bin"] if data else []
    with in_this_process():
        log = run(
            "train", *place, *own, f"--arch={arch}", *COMMON, f"--save-dir={folder}",
            "--max-update=10", "--log-interval=1", "--no-epoch-checkpoints", "--no-save", *options,
        )  # fmt: skip
    assert "training on 1 devices (GPUs/TPUs)" in log, log
    return losses(log)


@pytest.mark.parametrize("arch", MODELS)
def test_ten_updates(arch, tmp_path):
    ways = {name: own for name, own in WAYS.items() if (arch, name) != (REFUSES_FP16, "fp16")}
    found = {name: trained(arch, tmp_path, *options) for name, options in ways.items()}
    print(arch, {name: values[-1] for name, values in found.items()})
    for name, values in found.items():
        assert len(values) > 1 and all(map(math.isfinite, values)), (name, values)
    if arch != PLAYS:
        assert found["workers"] == pytest.approx(found["float32"], rel=0.01)
        for name in found.keys() & {"fp16", "bf16"}:
            assert found[name][-1] == pytest.approx(found["float32"][-1], rel=0.05), name
