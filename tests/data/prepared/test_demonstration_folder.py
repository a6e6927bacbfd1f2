"""The prepared folder of demonstrations, and what reads it."""

import json

import numpy as np
import pytest
from preparers import check_fails, contents

from fairseq_struct.data.datasets.demonstrations import Demonstrations
from fairseq_struct.data.prepared.demonstration_folder import (
    read_part,
    read_tasks,
    write_demonstration_folder,
)
from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.errors import InputError

NAME = "craft_demonstrations"
SMALL = ["--number", 10, "--size", 6, "--kinds", "ACD"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A prepared folder that no test changes."""
    out = tmp_path_factory.mktemp("craft") / "out"
    tasks = [CraftOptions(task, 6, "ACD") for task in ("AC", "D")]
    write_demonstration_folder(tasks, out, 10)
    return out


@pytest.fixture
def data(folder, tmp_path):
    """A copy to damage."""
    (tmp_path / "data-bin").mkdir()
    for path in (folder / "data-bin").iterdir():
        (tmp_path / "data-bin" / path.name).write_bytes(path.read_bytes())
    return tmp_path / "data-bin"


def test_the_command_writes_the_same_folder_again_and_keeps_it(run, folder, tmp_path):
    out = tmp_path / "out"
    status, said, _ = run(NAME, ["AC,D", out, *SMALL])
    assert status == 0 and contents(out) == contents(folder)
    assert "train: 16 demonstrations, " in said and "valid: 4 demonstrations, " in said
    assert f"fairseq-struct train {out} --preset option_controller_craft_cpu" in said
    assert "nothing to do" in run(NAME, ["AC,D", out, *SMALL])[1]
    check_fails(run(NAME, ["AC,D", out, *SMALL, "--seed", 2]), "seed (1, now 2)")
    check_fails(run(NAME, ["AC,D", out, *SMALL, "--done-action"]), "done_action (False, now True)")
    assert run(NAME, ["AC,D", out, *SMALL, "--seed", 2, "--overwrite"])[0] == 0
    assert contents(out) != contents(folder)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["AX"], "task 'AX': there is no subtask 'X'; choose from A (wood), C (iron), D (grass)"),
        (["AC,,D"], "task '': must be subtasks in order"),
        (["AC,D,AC"], "tasks 'AC,D,AC': must be different ones"),
        (["AA"], "takes A 2 times, but there is 1 of it"),
        (["AC", "--size", 4, "--objects-per-kind", 2], "too small for 6 objects"),
        (["AC", "--kinds", "AACD"], "kinds 'AACD'"),
        (["AC", "--size", 5, "--time-limit", 0], "time_limit 0"),
        (["AC", "--number", 4], "4 is less than 5"),
    ],
)
def test_impossible_tasks_leave_nothing_behind(run, tmp_path, arguments, message):
    task, *options = arguments
    status, _, complaint = run(NAME, [task, tmp_path / "out", *SMALL, *options])
    assert status == 2 and message in complaint
    assert not any(tmp_path.iterdir())


def test_what_is_written_is_read(folder):
    tasks = read_tasks(folder / "data-bin")
    assert tasks == [CraftOptions(task, 6, "ACD") for task in ("AC", "D")]
    part = read_part(folder / "data-bin", "valid")
    assert part.observations.shape[1] == tasks[0].observation_size
    assert part.tasks.tolist() == [0, 0, 1, 1]


def test_batches(folder):
    part = read_part(folder / "data-bin", "train")
    dataset = Demonstrations(part)
    ids = dataset.ordered_indices()[::-3]
    batch = dataset.collater(ids)
    given = batch["net_input"]
    assert batch["id"].tolist() == ids.tolist() and batch["nsentences"] == len(ids)
    assert batch["ntokens"] == int(given["lengths"].sum())
    assert batch["actions"].shape == (len(ids), int(given["lengths"].max()))
    for row, index in enumerate(ids):
        first = part.lengths[:index].sum()
        steps = slice(first, first + part.lengths[index])
        length = int(given["lengths"][row])
        assert length == part.lengths[index] == dataset.num_tokens(index)
        assert given["tasks"][row] == part.tasks[index]
        for name, field, padding in (
            ("actions", part.actions, -1), ("subtasks", part.subtasks, -1),
            ("boundaries", part.boundaries, 0),
        ):  # fmt: skip
            assert (batch[name][row, :length].numpy() == field[steps]).all()
            assert (batch[name][row, length:] == padding).all()
        seen = given["observations"][row]
        assert (seen[:length].numpy() == part.observations[steps]).all()
        assert not seen[length:].any()
    assert dataset.collater([]) == {}


def test_every_epoch_has_its_own_order_which_the_seed_decides(folder):
    part = read_part(folder / "data-bin", "train")
    first, same, other = (Demonstrations(part, True, seed) for seed in (1, 1, 2))
    orders = [dataset.ordered_indices().tolist() for dataset in (first, same, other)]
    assert orders[0] == orders[1] != orders[2]
    assert all(sorted(order) == list(range(len(part.lengths))) for order in orders)
    plain = Demonstrations(part).ordered_indices()
    assert (np.diff(part.lengths[plain]) >= 0).all()
    first.set_epoch(2)
    assert first.ordered_indices().tolist() != orders[0]
    assert not first.can_reuse_epoch_itr_across_epochs
    assert Demonstrations(part).can_reuse_epoch_itr_across_epochs


def change(path, place, value):
    array = np.load(path)
    array[place] = value
    np.save(path, array)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda at: (at / "craft.json").unlink(), "craft.json: no such file; fairseq-struct"),
        (lambda at: (at / "craft.json").write_text("{"), "craft.json: damaged"),
        (lambda at: (at / "craft.json").write_text('{"tasks": []}'), "craft.json: damaged"),
        (lambda at: rewrite(at, size="6"), "craft.json: size '6': must be a whole number"),
        (lambda at: rewrite(at, kinds=["A"]), r"craft.json: kinds \['A'\]: must be"),
        (lambda at: rewrite(at, sise=6), "craft.json: unknown option 'sise'"),
        (lambda at: rewrite(at, kinds="AC"), "craft.json: task 'D': there is no subtask 'D'"),
        (lambda at: rewrite(at, kinds="ABCD"), "rows of 307 numbers, but craft.json says 358"),
        (lambda at: rewrite(at, observation="grid"), "craft.json says"),
        (lambda at: (at / "valid.steps.npy").unlink(), "valid.steps.npy: no such file"),
        (lambda at: (at / "valid.demonstrations.npy").unlink(), "there is no part 'valid'"),
        (lambda at: named_twice(at / "craft.json"), "craft.json: damaged"),
        (lambda at: cut(at / "valid.observations.npy"), "valid.observations.npy: damaged"),
        (lambda at: cut(at / "valid.steps.npy"), "valid.steps.npy: damaged"),
        (lambda at: (at / "valid.steps.npy").write_bytes(b""), "valid.steps.npy: damaged"),
        (lambda at: np.save(at / "valid.steps.npy", np.zeros((3, 3))), "steps.npy: damaged"),
        (lambda at: np.save(at / "valid.steps.npy", np.zeros((3, 3), np.uint8)), "of steps"),
        (lambda at: change(at / "valid.steps.npy", (0, 0), 5), "an action that does not exist"),
        (lambda at: change(at / "valid.steps.npy", (0, 2), 2), "the number of subtasks"),
        (lambda at: change(at / "valid.steps.npy", (-1, 2), 0), "the number of subtasks"),
        (lambda at: change(at / "valid.steps.npy", (-1, 1), 1), r"damaged \(a subtask\)"),
        (lambda at: change(at / "valid.demonstrations.npy", (0, 0), 2), "a task that does not"),
        (lambda at: change(at / "valid.demonstrations.npy", (0, 0), 1), "number of subtasks"),
        (lambda at: change(at / "valid.demonstrations.npy", (0, 1), 0), "the number of steps"),
    ],
)
def test_damaged_folders_are_refused(data, damage, message):
    read_part(data, "valid")
    damage(data)
    with pytest.raises(InputError, match=message):
        read_part(data, "valid")


def rewrite(data, **options):
    content = json.loads((data / "craft.json").read_text())
    content["options"] |= options
    (data / "craft.json").write_text(json.dumps(content))


def named_twice(path):
    content = json.loads(path.read_text())
    content["tasks"] *= 2
    path.write_text(json.dumps(content))


def cut(path):
    path.write_bytes(path.read_bytes()[:-10])


def test_there_is_no_other_part(data):
    with pytest.raises(InputError, match="there is no part 'test'"):
        read_part(data, "test")
