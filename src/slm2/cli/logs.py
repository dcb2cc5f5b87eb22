"""``slm2 -v``: the records of the logger ``slm2`` on stderr, one JSON object a line, as errors and warnings are."""

from __future__ import annotations

import logging

from slm2.cli.messages import print_log

LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


class _Lines(logging.Handler):
    """Writes each record as a line."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one."""
        print_log(record.levelname.lower(), record.getMessage())


class Logs:
    """Shows the records of a level and above until it is closed."""

    def __init__(self, verbosity: int) -> None:
        """Begin.

        Args:
            verbosity: how often ``-v`` was given: 1 counts and times, 2 and more the texts of users and tools too.
        """
        self._handler = _Lines()
        self._logger = logging.getLogger("slm2")
        self._before = self._logger.level
        self._logger.setLevel(LEVELS[min(verbosity, len(LEVELS) - 1)])
        self._logger.addHandler(self._handler)

    def close(self) -> None:
        """Leave the logger as it was."""
        self._logger.removeHandler(self._handler)
        self._logger.setLevel(self._before)
