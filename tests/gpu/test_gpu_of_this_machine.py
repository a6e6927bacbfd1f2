"""Where there is a GPU, the tests of this folder run on it, also with all others."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not shutil.which("nvidia-smi"), reason="this machine has no GPU")
@pytest.mark.skipif(not os.environ["GPUS_OF_USER"], reason="CUDA_VISIBLE_DEVICES is empty")
@pytest.mark.skipif(bool(os.environ.get("ON_GPU")), reason="the other tests here run on the GPU")
def test_this_folder_on_the_gpu():
    options = ["-q", "-n", "4", "-p", "no:cacheprovider", str(Path(__file__).parent)]
    command = [sys.executable, "-m", "pytest", *options]
    own = {**os.environ, "ON_GPU": os.environ["GPUS_OF_USER"].split(",")[0]}
    done = subprocess.run(command, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    if not re.search(r"\d+ passed", done.stdout):
        pytest.skip("torch does not find the GPU of this machine")
