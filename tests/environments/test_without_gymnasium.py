"""Worlds, bot and demonstrations work where gymnasium is not installed; its classes say so."""

import subprocess
import sys
from pathlib import Path

from fairseq_commands import USER_DIR, start

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
sys.modules["gymnasium"] = None  # an import of it fails
import fairseq_struct.environments
from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError
assert main(["prepare", "craft_demonstrations", "AC", sys.argv[1], "--number=5"]) == 0
for name in ("environments.craft", "environments.craft_vector",
             "inference.option_controller.option_env"):
    try:
        __import__(f"fairseq_struct.{name}")
    except ImportError as error:
        assert isinstance(error, InputError)
        print(error, file=sys.stderr)
"""
# From demonstrations to an episode of a new controller, by programs that users call.
WHOLE_WAY = """
import sys
for name in list(sys.modules):
    if name.split(".")[0] == "gymnasium":
        del sys.modules[name]
sys.modules["gymnasium"] = None
import fairseq_cli.train
from fairseq_struct.cli.main import main
out, user_dir = sys.argv[1:]
def train(*arguments):
    sys.argv = ["fairseq-train", "--user-dir", user_dir, "--optimizer=adam", "--max-update=2",
                "--no-epoch-checkpoints", "--hidden-size=6", "--mlp-size=6", *arguments]
    fairseq_cli.train.cli_main()
world = ["--kinds=AC", "--number=8", "--size=6"]
assert main(["prepare", "craft_demonstrations", "AC,CA", f"{out}/data", *world]) == 0
train(f"{out}/data/data-bin", "--task=craft_imitation", "--criterion=craft_imitation",
      "--arch=option_controller", "--batch-size=8", f"--save-dir={out}/skills")
skills = f"{out}/skills/checkpoint_last.pt"
train("--task=craft_reinforcement", "--criterion=craft_reinforcement", "--arch=option_policy",
      f"--options-from={skills}", "--kinds=AC", "--subtasks=CA", "--map-size=6", "--actors=2",
      "--decisions=4", "--batch-size=8", "--iterations-per-epoch=2", "--time-limit=20",
      "--valid-episodes=4", f"--save-dir={out}/new")
for checkpoint in (skills, f"{out}/new/checkpoint_last.pt"):
    given = [checkpoint, "--episodes=3", "--options-by-subtasks", f"--picture={out}/a.gif"]
    assert main(["rollout", *given]) == 0
assert sys.modules["gymnasium"] is None
"""
INSTALL = "; to fix it: pip install 'gymnasium>=1.1'"


def test_all_but_its_classes_works_and_those_say_how_to_install_it(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "manifest.json").is_file()
    messages = [line for line in done.stderr.splitlines() if "compiling" not in line]
    assert len(messages) == 3
    assert all("gymnasium" in line and line.endswith(INSTALL) for line in messages)


def test_skills_are_learned_and_reused(tmp_path):
    """That no file asks for gymnasium when it is imported is tested with the floors."""
    done = start(sys.executable, "-c", WHOLE_WAY, tmp_path, USER_DIR)
    said, _ = done.communicate()
    assert done.returncode == 0, said
    assert said.count("option\tA\tC\n") == 2 and (tmp_path / "a.gif").is_file()
