"""The script behind ``make install``: what it installs, what it skips, and its messages.

Here it runs with a simulated interpreter: environments are empty, and pip only records its
requests. Disk space, a compiler and Python's headers are simulated, too.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_struct import compat

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = compat.fairseq_requirement()
OTHER = next(one for one in compat.FAIRSEQ_BUILDS.values() if one != DEFAULT)

# The second line starts Python where the shell reads it, and is a string where Python does: the
# first line of a script cannot name an interpreter with a space in its path.
INTERPRETER = """\
#!/bin/sh
"exec" "{python}" "-S" "$0" "$@"
import os, re, shutil, subprocess, sys
from pathlib import Path

ROOT = Path({root!r})
match sys.argv[1:]:
    case ["-m", "venv", folder]:
        (Path(folder) / "bin").mkdir(parents=True)
        shutil.copy(__file__, Path(folder) / "bin" / "python")
    case ["-m", "pip", verb, *arguments]:
        line = " ".join([verb, *arguments])
        with open(ROOT / "pip.log", "a") as log:
            print(line, file=log)
        failing, _, message = os.environ.get("FAILURE", "").partition(": ")
        if failing and failing in line:
            sys.exit(print(message) or 1)
        for name, version in re.findall(r"\\b([\\w-]+)={{2,3}}(\\S+)", line):
            metadata = ROOT / "site" / f"{{name.replace('-', '_')}}-{{version}}.dist-info"
            metadata.mkdir(parents=True, exist_ok=True)
            text = f"Metadata-Version: 2.1\\nName: {{name}}\\nVersion: {{version}}\\n"
            (metadata / "METADATA").write_text(text)
        if verb == "uninstall":
            for build in (ROOT / "site").glob("*fairseq*"):
                shutil.rmtree(build)
    case ["-m", "fairseq_struct.cli.main", *arguments]:
        with open(ROOT / "pip.log", "a") as log:
            print("fairseq-struct", *arguments, file=log)
        sys.exit("compile" in os.environ.get("FAILURE", ""))
    case ["-c", code] if "Python.h" in code:
        sys.exit("headers" in os.environ.get("FAILURE", ""))
    case ["-c", code]:
        path = [str(ROOT / "site"), str(ROOT)]
        environment = {{**os.environ, "PYTHONPATH": os.pathsep.join(path)}}
        sys.exit(subprocess.run([{python!r}, "-S", "-c", code], env=environment).returncode)
    case ["--version"]:
        print("Python", sys.version.split()[0])
"""


@pytest.fixture
def checkout(tmp_path):
    """A folder with the script's input files, and an interpreter ``python-of-tests`` beside it."""
    root = tmp_path / "checkout"
    (root / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "install.sh", root / ".ci")
    for name in ("setup.cfg", "pyproject.toml"):
        shutil.copy(ROOT / name, root)
    (root / "fairseq_struct").symlink_to(ROOT / "fairseq_struct")
    command(root, "python-of-tests", INTERPRETER.format(python=sys.executable, root=str(root)))
    command(root, "c++-of-tests", "#!/bin/sh\n")
    leave_room(root, gigabytes=100)
    return root


def leave_room(root, gigabytes):
    command(root, "df", f"#!/bin/sh\necho\necho disk 1 1 {gigabytes * 1_000_000}\n")


def command(root, name, text):
    (root / "bin").mkdir(exist_ok=True)
    (root / "bin" / name).write_text(text)
    (root / "bin" / name).chmod(0o755)


def install(root, verb="packages", **variables):
    """Run the script; return the requests to pip, the output, and the exit status."""
    variables = {"PYTHON": "python-of-tests", "CXX": "c++-of-tests", **variables}
    ours = {"FAIRSEQ", "TORCH_INDEX", "TORCH_VERSION", "FAILURE"}  # as make passes them on
    environment = {
        **{key: value for key, value in os.environ.items() if key not in ours},
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}",
        **variables,
    }
    (root / "pip.log").write_text("")
    done = subprocess.run(
        ["bash", root / ".ci" / "install.sh", verb], env=environment, capture_output=True, text=True
    )
    return (root / "pip.log").read_text().splitlines(), done.stdout + done.stderr, done.returncode


def fairseq_of(root):
    return sorted(path.name.split("-")[0] for path in (root / "site").glob("*fairseq*"))


def test_from_nothing_and_again(checkout):
    asked, printed, status = install(checkout)
    assert status == 0, printed
    assert any("torch==" in line for line in asked)
    assert any(line.endswith("-e .[dev]") for line in asked)
    assert not any(OTHER in line for line in asked)
    assert fairseq_of(checkout) == [DEFAULT.split("==")[0].replace("-", "_")]
    assert install(checkout) == ([], "", 0)


@pytest.mark.parametrize(
    "missing",
    ["No matching distribution found for torch==2.13.0+cpu", "ERROR: ResolutionImpossible"],
)
def test_the_default_build_of_torch_stands_in_for_a_missing_one(checkout, missing):
    if Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi"):
        pytest.skip("with a CUDA device the default build is asked for at once")
    asked, printed, status = install(checkout, FAILURE=f"+cpu: {missing}")
    assert status == 0, printed
    assert "no build for processors only is at hand" in printed
    assert sum("torch==2.13.0 numpy" in line for line in asked) == 1


def test_kernels_are_compiled_once_and_may_fail(checkout):
    install(checkout)
    asked, printed, status = install(checkout, "kernels", FAILURE="compile")
    assert status == 0 and "compiled at its first use" in printed
    asked, printed, status = install(checkout, "kernels")
    assert (asked, status) == (["fairseq-struct doctor --compile"], 0)
    assert install(checkout, "kernels") == ([], "", 0)


def test_kernels_that_were_changed_are_compiled_again_wherever_they_lie(checkout):
    package = checkout / "fairseq_struct"
    package.unlink()
    shutil.copytree(ROOT / "fairseq_struct", package, ignore=shutil.ignore_patterns("__pycache__"))
    install(checkout)
    install(checkout, "kernels")
    kernels = sorted(package.rglob("*_kernels.py"))
    rooms = {path.relative_to(package).parts[0] for path in kernels}
    assert rooms == {"environments", "modules", "structure"}
    for path in (kernels[0], kernels[-1]):
        path.write_text(path.read_text() + "\n")
        assert install(checkout, "kernels")[0] == ["fairseq-struct doctor --compile"]
        assert install(checkout, "kernels") == ([], "", 0)
    plain = package / "errors.py"
    plain.write_text(plain.read_text() + "\n")
    assert install(checkout, "kernels") == ([], "", 0)


def test_other_build_of_fairseq_takes_the_place_of_the_first(checkout):
    install(checkout)
    for build in (OTHER.split("==")[0], ""):
        asked, printed, status = install(checkout, FAIRSEQ=build)
        assert status == 0, printed
        assert asked[0].startswith("uninstall -y ")
        assert not any("-e ." in line for line in asked)
        assert fairseq_of(checkout) == [
            compat.fairseq_requirement(build).split("==")[0].replace("-", "_")
        ]
        assert install(checkout, FAIRSEQ=build) == ([], "", 0)


def test_source_is_built_against_the_torch_that_is_here(checkout):
    asked, printed, status = install(checkout, FAIRSEQ="fairseq-fixed")
    assert status == 0, printed
    built = next(line for line in asked if "fairseq-fixed==" in line and "install" in line)
    assert "--no-build-isolation" in built and "-c .venv/constraints.txt" in built
    constraints = (checkout / ".venv" / "constraints.txt").read_text()
    assert constraints.startswith("torch===2.13.0")


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"FAIRSEQ": "fairseq"}, "FAIRSEQ=fairseq is not a known build of fairseq"),
        ({"PYTHON": "no-such-python"}, "no suitable Python"),
        ({"FAIRSEQ": "fairseq-fixed", "CXX": "no-such-compiler"}, "no C++ compiler"),
        ({"FAIRSEQ": "fairseq-fixed", "FAILURE": "headers"}, "the headers of python-of-tests are"),
        ({"FAILURE": "torch: Temporary failure in name resolution"}, "no network"),
        ({"FAILURE": "torch: No space left on device"}, "disk full: pip ran out"),
        ({"FAILURE": "dev: the moon is full"}, "pip failed, as shown above"),
        (
            {"FAILURE": f"{DEFAULT}: No matching distribution found for {DEFAULT}"},
            f"pip's package index has no {DEFAULT} for python3.",
        ),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(checkout, variables, message):
    _, printed, status = install(checkout, **variables)
    assert status == 1
    assert printed.splitlines()[-1].startswith(f"error: {message}")


def test_full_disk_is_told_before_anything_is_loaded(checkout):
    leave_room(checkout, gigabytes=1)
    asked, printed, status = install(checkout)
    assert (asked, status) == ([], 1)
    assert "has 1 GB left, but 3 GB are needed" in printed


def test_interrupted_installation_goes_on(checkout):
    assert install(checkout, FAILURE="-e .: interrupted")[2] == 1
    asked, printed, status = install(checkout)
    assert status == 0 and not any("torch==2" in line for line in asked)


def test_wheel_of_fairseq_needs_no_compiler(checkout):
    if DEFAULT.startswith("fairseq-fixed"):
        pytest.skip("there is no wheel for this interpreter")
    assert install(checkout, CXX="no-such-compiler")[2] == 0


def test_shellcheck_accepts_the_scripts():
    shellcheck = shutil.which("shellcheck")
    if not shellcheck:
        pytest.skip("shellcheck is not installed")
    # Files that are only sourced are checked with the scripts that source them.
    recipes = [path for path in (ROOT / "recipes").rglob("*.sh") if path.name != "common.sh"]
    assert len(recipes) > 20
    done = subprocess.run(
        [shellcheck, "-x", "-P", "SCRIPTDIR", ROOT / ".ci" / "install.sh", ROOT / ".ci" / "run",
         *recipes], capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
