"""Libraries of the extras, each imported where it is first needed: ``import slm2`` needs none of them."""

from __future__ import annotations

import importlib
from types import ModuleType

from slm2.errors import Slm2Error

__all__ = ["library"]


def library(module: str, package: str, extra: str) -> ModuleType:
    """A module of an optional library.

    Args:
        module: as it is imported.
        package: as it is installed.
        extra: of this package, that brings it.

    Raises:
        Slm2Error: ``dependency_missing``.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Slm2Error("dependency_missing", package=package, extra=extra) from error
