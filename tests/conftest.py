"""Settings for all tests."""

import os
import sys
import tempfile

# Set before torch is imported; programs that tests start inherit it. Tiny tensors gain nothing
# from threads: two programs with two threads each on two cores mostly wait for one another. And
# what the tests compare to the last bit is what processors compute, also where there is a GPU.
# ON_GPU=0 names the one for the tests in gpu/.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each program would compile this package again
# Help is wrapped at the width of the terminal; in narrow ones words of it would be cut apart.
os.environ["COLUMNS"] = "80"
os.environ.setdefault("GPUS_OF_USER", os.environ.get("CUDA_VISIBLE_DEVICES", "0"))
os.environ["CUDA_VISIBLE_DEVICES"] = os.environ.get("ON_GPU", "")

# Processes meet at sockets in the temporary folder. Their paths have at most 107 bytes; the
# longest that Python makes there is "/pymp-abcdefgh/listener-abcdefgh".
if len(os.fsencode(tempfile.gettempdir())) > 107 - 32:
    tempfile.tempdir = os.environ["TMPDIR"] = "/tmp"

# Kernels are compiled into this folder and run from there.
with tempfile.NamedTemporaryFile() as program:
    os.chmod(program.name, 0o700)
    if not os.access(program.name, os.X_OK):
        sys.exit(f"{tempfile.gettempdir()}: programs cannot run from this folder; name one in "
                 "TMPDIR where they can")  # fmt: skip

import pytest  # noqa: E402

from fairseq_struct import compat  # noqa: E402


def pytest_report_header():
    """The build of fairseq that the tests run on."""
    return f"fairseq: {', '.join(compat.installed_fairseq()) or 'from a checkout'}"


@pytest.fixture(scope="session")
def language_folder(tmp_path_factory):
    """A small prepared corpus of a language model."""
    from small_language_models import make_folder

    return make_folder(tmp_path_factory.mktemp("language"))


@pytest.fixture(scope="session")
def language_models(language_folder, tmp_path_factory):
    """Folders of trained language models, by architecture."""
    from small_language_models import train_all

    return train_all(language_folder, tmp_path_factory.mktemp("models"))
