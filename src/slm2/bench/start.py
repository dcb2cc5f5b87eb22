"""Start a worker by the path of this file, with whatever interpreter: the modules beside it, without the package around them.

python start.py serve|once SUBJECT FOLDER
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

PACKAGE = "slm2_bench"


def main() -> None:
    """Import the folder as a package of its own: ``import slm2`` is something that a measure may time."""
    folder = Path(__file__).resolve().parent
    sys.path.remove(str(folder))  # else its modules could be taken for a subject's
    spec = importlib.util.spec_from_file_location(PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    importlib.import_module(f"{PACKAGE}.worker").main(*sys.argv[1:])


if __name__ == "__main__":
    main()
