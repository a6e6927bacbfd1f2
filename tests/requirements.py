"""The requirements in setup.cfg."""

import configparser
from pathlib import Path

from packaging.requirements import Requirement


def requirements_of_setup_cfg() -> list[Requirement]:
    """All dependencies with their environment markers."""
    config = configparser.ConfigParser()
    config.read(Path(__file__).resolve().parent.parent / "setup.cfg")
    return [Requirement(line) for line in config["options"]["install_requires"].split("\n") if line]
