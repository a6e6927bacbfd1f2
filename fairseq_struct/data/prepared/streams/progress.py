"""How far a preparation is, for what shows it."""


class Progress:
    """Shows nothing; what shows something overrides these."""

    def begin(self, name: str, total: int | None, done: int = 0) -> None:
        """A stage begins or goes on.

        Args:
            name: what is done.
            total: lines that there are; None if they have not been counted.
            done: lines that an interrupted run has finished.
        """

    def advance(self, lines: int) -> None:
        """Some more lines are finished."""

    def end(self) -> None:
        """The stage has ended, or was interrupted."""
