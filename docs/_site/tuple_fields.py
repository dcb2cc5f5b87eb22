"""Fields of named tuples are described once, in the docstring of their class."""

from __future__ import annotations

from sphinx.application import Sphinx


def skip(_app: Sphinx, _kind: str, _name: str, member: object, *_: object) -> bool | None:
    """True for a field that has only the docstring that Python made for it; None leaves it to others."""
    return True if (getattr(member, "__doc__", None) or "").startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
