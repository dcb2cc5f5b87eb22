"""The directive ``error-table``: every error code with its fields and its message, from contract/errors.toml's generated table."""

from __future__ import annotations

from typing import ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from slm2.error_table import ERRORS


class ErrorTable(SphinxDirective):
    """A definition list, one entry a code, in the order of the table."""

    has_content: ClassVar[bool] = False

    def run(self) -> list[nodes.Node]:
        """The list."""
        entries = nodes.definition_list()
        for code, (fields, message) in ERRORS.items():
            name = nodes.term("", "", nodes.literal(code, code), ids=[nodes.make_id(f"error-{code}")])
            told = nodes.definition("", nodes.paragraph("", message))
            if fields:
                names = [nodes.literal(field, field) for field in fields]
                told += nodes.paragraph("", "fields: ", *[part for name_ in names for part in (name_, nodes.Text(" "))])
            entries += nodes.definition_list_item("", name, told)
        return [entries]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("error-table", ErrorTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
