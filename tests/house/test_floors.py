"""Rooms import only from lower floors; networks and inference never load fairseq."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "fairseq_struct"

# Room -> the rooms it may import besides itself. Every room may import the exceptions.
FLOORS = {
    "cli": {"inference", "evaluation", "modules", "metrics", "records", "pages", "structure"}
    | {"data", "environments", "hooks", "compat", "plugin", "presets", "user_dir", "__init__"},
    "inference": {"data", "environments", "pages", "records", "structure", "compat", "plugin"},
    "models": {"modules", "structure"},
    "tasks": {"data", "environments", "evaluation", "metrics", "structure"},
    "criterions": {"metrics"},
    "optim": set(),
    "evaluation": {"data", "metrics", "structure"},
    "modules": {"structure"},
    "metrics": {"structure"},
    "records": set(),
    "pages": {"structure"},
    "data": {"environments", "compat"},
    "environments": {"structure"},
    "structure": set(),
    "presets": set(),
    "plugin": {"compat", "hooks"},
    "user_dir": {"plugin"},
    "hooks": {"compat"},
    "compat": set(),
    "files": set(),
    "processor": set(),
    "hugging_face": set(),
    "errors": set(),
    "option_checks": set(),
    "__init__": {"inference"},
}
# The lowest first: rooms inside data import only those before them.
ROOMS_OF_DATA = ("readers", "generators", "prepared", "datasets")
OF_ALL = {"errors", "files", "hugging_face", "option_checks", "processor"}
STRUCTURE_MAY_USE = {"torch", "numpy", "numba", "entmax", "fairseq_struct"}
STRUCTURE_MAY_USE |= sys.stdlib_module_names
WITHOUT_FAIRSEQ = (
    "structure", "environments", "modules", "metrics", "records", "pages", "files", "errors",
    "option_checks", "processor", "hugging_face", "presets", "__init__",
)  # fmt: skip
# Only the enclosing room may import from inside a sub-room.
# Packages that are imported as such, and their sub-rooms that are not behind them.
DOORS = {"structure.dependency": {"valence"}, "modules.on_lstm": set()}
MOST_FILES_OF_A_ROOM = 15
# gymnasium is optional.
NEED_GYMNASIUM = {
    f"fairseq_struct.environments.{name}"
    for name in ("required_gymnasium", "craft", "craft_spaces", "craft_vector")
} | {"fairseq_struct.inference.option_controller.option_env"}
# triton comes with torch where there is a GPU.
NEED_TRITON = {"fairseq_struct.modules.on_lstm.gpu_steps"}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Dotted names that a file imports anywhere, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import in line {node.lineno}"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def rooms_imported(path: Path) -> set[str]:
    # The version is a plain string of the package itself, and the package loads before any room.
    parts = [name.split(".") for name in imports_of(path) - {"fairseq_struct.__version__"}]
    inner = {name[1] for name in parts if name[0] == "fairseq_struct" and len(name) > 1}
    known = {entry.stem for entry in PACKAGE.iterdir()}
    return {name if name in known else "__init__" for name in inner}


SOURCES = sorted(PACKAGE.rglob("*.py"))


def test_every_room_has_a_floor():
    assert {room_of(path) for path in SOURCES} == set(FLOORS)


def test_the_map_for_contributors_is_the_same():
    """The column "may import" of its table; names of other packages are no rooms."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    drawn = {}
    for row in re.findall(r"^\| \d \|(.*)\|$", text, re.MULTILINE):
        rooms, _, below = row.split(" | ")
        for room in re.findall(r"`(\w+)(?:/|\.py)`", rooms):
            drawn[room] = set(re.findall(r"\w+", below)) & set(FLOORS)
    assert drawn == FLOORS
    order = list(drawn)
    up = {(room, own) for room in order for own in drawn[room] if own in order[: order.index(room)]}
    assert not up
    given = text.replace(".py", "")
    (exceptions,) = re.findall(r"Every\s+room may import (.*?)\.\s", given, re.DOTALL)
    assert set(re.findall(r"`(\w+)/?`", exceptions)) == OF_ALL


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_go_down(path):
    room = room_of(path)
    above = rooms_imported(path) - FLOORS[room] - {room} - OF_ALL
    assert not above, f"{path} imports from {sorted(above)}"
    if room in WITHOUT_FAIRSEQ:
        fairseq = [name for name in imports_of(path) if name.split(".")[0].startswith("fairseq")]
        assert all(name.startswith("fairseq_struct.") for name in fairseq), fairseq
    if room == "structure":
        outside = {name.split(".")[0] for name in imports_of(path)} - STRUCTURE_MAY_USE
        assert not outside, f"{path} imports {sorted(outside)}"


@pytest.mark.parametrize("door", DOORS)
def test_what_is_behind_a_door_is_imported_by_its_own_room_only(door):
    inside = PACKAGE.joinpath(*door.split("."))
    behind = {entry.stem for entry in inside.iterdir()} - DOORS[door] - {"__init__"}
    assert len(behind) > 4
    for path in SOURCES:
        if not path.is_relative_to(inside):
            names = [n for n in imports_of(path) if n.startswith(f"fairseq_struct.{door}.")]
            reached = [n for n in names if n.split(".")[3] in behind]
            assert not reached, f"{path} imports {reached} from behind {door}"


def rooms_of_data_above(path: Path) -> set[str]:
    """What a file of a room of data/ imports from higher ones."""
    own = path.relative_to(PACKAGE / "data").parts[0]
    parts = [name.split(".") for name in imports_of(path)]
    imported = {name[2] for name in parts if name[:2] == ["fairseq_struct", "data"]}
    return imported & set(ROOMS_OF_DATA[ROOMS_OF_DATA.index(own) + 1 :])


def test_rooms_of_data_import_only_lower_ones():
    sources = [path for path in SOURCES if path.parent.is_relative_to(PACKAGE / "data")]
    sources.remove(PACKAGE / "data" / "__init__.py")
    assert {path.relative_to(PACKAGE / "data").parts[0] for path in sources} == set(ROOMS_OF_DATA)
    assert not {path: above for path in sources if (above := rooms_of_data_above(path))}
    named = ", ".join(f"`{room}/`" for room in ROOMS_OF_DATA)
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text().split())
    assert f"The rooms of `data/` import only those before them: {named}." in text


def test_rooms_are_small_enough_to_be_searched_by_eye():
    sizes = {room: len(list(room.glob("*.py"))) for room in {path.parent for path in SOURCES}}
    sizes = {str(room.relative_to(PACKAGE)): n for room, n in sizes.items() if room != PACKAGE}
    crowded = {room: n - 1 for room, n in sizes.items() if n - 1 > MOST_FILES_OF_A_ROOM}
    assert not crowded  # without its __init__.py


def test_kernels_are_made_of_kernels_alone():
    """The cache does not notice changes of other code that their machine code is made from."""
    kernels = [path for path in SOURCES if path.name.endswith("_kernels.py")]
    assert len(kernels) > 5
    makers = {f"fairseq_struct.structure.kernels.compiled.{name}" for name in ("compiled", "inner")}
    for path in SOURCES:
        if path not in kernels:
            assert not makers & imports_of(path), path
            continue
        for name in imports_of(path) - {"numpy", "typing.NamedTuple"}:
            file = name.split(".")[-2]
            assert file == "compiled" or file.endswith("_kernels"), f"{path} imports {name}"


def test_the_floors_catch_an_offender(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    for room in ("modules", "models"):
        (tmp_path / room).mkdir()
    offender = tmp_path / "modules" / "offender.py"
    offender.write_text("def f():\n    from fairseq_struct.models import x\n    import fairseq\n")
    with pytest.raises(AssertionError, match="imports from"):
        test_imports_only_go_down(offender)


@pytest.mark.parametrize(
    ("room", "imported", "above"),
    [("readers", "prepared", True), ("prepared", "datasets", True), ("prepared", "readers", False)],
)
def test_the_rooms_of_data_catch_an_offender(room, imported, above, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    file = tmp_path / "data" / room / "streams" / "file.py"
    file.parent.mkdir(parents=True)
    file.write_text(f"def f():\n    from fairseq_struct.data.{imported}.x import y\n")
    assert rooms_of_data_above(file) == ({imported} if above else set())


def test_networks_and_inference_never_load_fairseq():
    """Transitively, too: whatever these rooms import is loaded in a fresh interpreter."""
    optional = {"gymnasium": NEED_GYMNASIUM, "triton": NEED_TRITON}
    missing = set().union(*(
        files for package, files in optional.items() if not importlib.util.find_spec(package)
    ))  # fmt: skip
    names = [
        name_of(path)
        for path in SOURCES
        if room_of(path) in WITHOUT_FAIRSEQ and name_of(path) not in missing
    ]
    assert "fairseq" not in modules_after(f"for name in {names!r}: importlib.import_module(name)")


def name_of(path: Path) -> str:
    """The dotted name of a file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_only_classes_of_gymnasium_need_it():
    """By what they import, directly or not; what only registers these classes does without."""
    needs = {"gymnasium"}
    found = {name_of(path): imports_of(path) for path in SOURCES}
    del found["fairseq_struct.environments"]
    while True:
        more = {
            file
            for file, names in found.items()
            if any(name == need or name.startswith(f"{need}.") for name in names for need in needs)
        }
        if more <= needs:
            break
        needs |= more
    assert needs - {"gymnasium"} == NEED_GYMNASIUM


def test_package_and_command_line_start_light():
    loaded = modules_after("import fairseq_struct.cli.main as main; main.build_parser()")
    assert "fairseq_struct.cli.doctor" in loaded
    assert not {"fairseq", "torch", "numpy", "matplotlib"} & loaded


def modules_after(statement: str) -> set[str]:
    code = f"import importlib, json, sys\n{statement}\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["--help"], ""),
        (["parse", "--help"], ""),
        (["parse", "none.pt"], "none.pt: no such file"),
        (["parse", "HERE", "--data", "none"], "none: no such folder"),
        (["parse", "FOLDER"], "is a folder, not a file"),
        (["classify", "none.pt"], "none.pt: no such file"),
        (["classify", "HERE", "--trees", "none/trees"], "none: no such folder"),
        (["classify", "HERE", "--trees", "FOLDER"], "is a folder, not a file to write"),
        (["average-checkpoints", "--inputs", "HERE", "--output", "FOLDER"], "is a folder, not a"),
        (["channels", "HERE", "none.conllu"], "none.conllu: no such file"),
        (["channels", "none.pt", "HERE"], "none.pt: no such file"),
        (["syneval", "none.pt", "HERE"], "none.pt: no such file"),
        (["syneval", "HERE", "none"], "none: no such .tsv file"),
        (["evaluate", "none.txt", "random"], "none.txt: no such file"),
        (["evaluate", "HERE", "right_chian"], "no such file; did you mean 'right_chain'?"),
        (["average-checkpoints", "--inputs", "HERE", "none.pt", "--output=x"], "none.pt: no such"),
        (["average-checkpoints", "--last=2", "--directory=none", "--output=x"], "no such folder"),
        (["draw", "HERE", "none.pt"], "none.pt: no such file"),
        (["draw", "HERE", "--output", "none/x.png"], "none: no such folder"),
        (["report", "none.md"], "none.md: no such file"),
        (["doctor", "--data", "none"], "none: no such folder"),
    ],
)  # fmt: skip
def test_commands_look_at_paths_before_they_load_anything_heavy(command, message, tmp_path):
    (tmp_path / "here").write_text("")
    places = {"HERE": str(tmp_path / "here"), "FOLDER": str(tmp_path)}
    command = [places.get(word, word) for word in command]
    loaded = modules_after(
        "import contextlib, io\nfrom fairseq_struct.cli.main import main\n"
        "said = io.StringIO()\n"
        "with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):\n"
        f"    try:\n        status = main({command!r})\n"
        "    except SystemExit as ended:\n        status = ended.code\n"
        f"assert {message!r} in said.getvalue(), said.getvalue()\n"
        f"assert status == {2 if message else 0}, status"
    )
    assert not {"fairseq", "torch", "numpy", "numba", "matplotlib"} & loaded
