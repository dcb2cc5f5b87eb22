"""Links to what is in the checkout and is no page: files are carried along, folders become their name; and drawings stand on paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class LinksToFolders(SphinxTransform):
    """A folder cannot be opened in a site: its name is shown."""

    default_priority = 5

    def apply(self, **kwargs: Any) -> None:  # noqa: ANN401  (docutils' signature)
        """Replace each link to a folder by its text."""
        del kwargs
        here = Path(self.env.doc2path(self.env.docname)).parent
        for link in list(self.document.findall(addnodes.pending_xref)):
            target = link.get("reftarget", "")
            if link.get("reftype") == "myst" and target and not target.startswith("#") and (here / target).is_dir():
                link.replace_self(link.children)


class PicturesOnPaper(SphinxTransform):
    """A drawing without colours for dark pages is set on white."""

    default_priority = 6
    suffixes: ClassVar[set[str]] = {".svg"}

    def apply(self, **kwargs: Any) -> None:  # noqa: ANN401  (docutils' signature)
        """Mark such drawings."""
        del kwargs
        here = Path(self.env.doc2path(self.env.docname)).parent
        for image in self.document.findall(nodes.image):
            file = here / image["uri"]
            if file.suffix in self.suffixes and file.is_file() and "prefers-color-scheme" not in file.read_text(encoding="utf-8"):
                image["classes"].append("paper")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    # The worked example of contract/artifact.md has meanings beside its bytes, which Pygments' own lexer takes for faults.
    app.add_lexer("hexdump", TextLexer)
    app.add_transform(LinksToFolders)
    app.add_transform(PicturesOnPaper)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
