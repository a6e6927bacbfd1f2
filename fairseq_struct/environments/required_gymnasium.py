"""gymnasium, or one error that says how to install it; for the files that cannot do without it."""

from fairseq_struct.errors import DependencyError

INSTALL_LINE = "pip install 'gymnasium>=1.1'"

try:
    import gymnasium
    from gymnasium.utils import seeding
    from gymnasium.vector import AutoresetMode
except ImportError as error:
    raise DependencyError(
        f"environments of gymnasium need a package that cannot be imported ({error})", INSTALL_LINE
    ) from None

__all__ = ["INSTALL_LINE", "AutoresetMode", "gymnasium", "seeding"]
