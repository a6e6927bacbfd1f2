"""Settings for all tests."""

import os
import tempfile

# Tiny tensors gain nothing from threads, and two programs with two threads each on two cores
# mostly wait for one another. Set before torch is imported; programs that tests start inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Processes meet at sockets in the temporary folder. Their paths have at most 107 bytes; the
# longest that Python makes there is "/pymp-abcdefgh/listener-abcdefgh".
if len(os.fsencode(tempfile.gettempdir())) > 107 - 32:
    tempfile.tempdir = os.environ["TMPDIR"] = "/tmp"

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
