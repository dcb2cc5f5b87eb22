"""Build the documentation site, and check every link inside what came out.

python tools/build_site.py                  into target/site; open target/site/index.html
python tools/build_site.py --output DIR

Warnings are errors. Nothing is fetched: the site has its own fonts, scripts and search.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
START = '<!doctype html><meta charset="utf-8"><title>SLM2</title><meta http-equiv="refresh" content="0; url=docs/index.html">\n'
# Attributes that make a browser open something.
LINKS = {"a": "href", "img": "src", "link": "href", "script": "src", "source": "srcset"}


class Page(HTMLParser):
    """What a page leads to, and what can be led to in it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.targets: list[tuple[str, str]] = []
        self.anchors = {""}
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note links and ids."""
        named = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := named.get(key))}
        if target := named.get(LINKS.get(tag, "")):
            self.targets.append((tag, target))


def broken_links(site: Path) -> list[str]:
    """Each link that leads nowhere, and each thing that would be loaded from elsewhere."""
    pages = {file: Page(file) for file in site.rglob("*.html")}
    broken = []
    for file, page in pages.items():
        for tag, target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if tag != "a" and parts.scheme != "data":
                    broken.append(f"{file.relative_to(site)}: {target} would be loaded from elsewhere")
                continue
            aim = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            known = pages[aim].anchors if aim in pages else None
            if not aim.exists() or (known is not None and unquote(parts.fragment) not in known):
                broken.append(f"{file.relative_to(site)}: {target}")
    return broken


def main() -> int:
    """Build and check; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "target" / "site")
    output = parser.parse_args().output.resolve()
    strict = ("--fail-on-warning", "--keep-going", "--quiet", "--fresh-env", "--jobs", str(min(os.cpu_count() or 1, 4)))
    folders = ("--conf-dir", str(ROOT / "docs"), "--doctree-dir", str(output.with_name(f"{output.name}-doctrees")))
    command = [sys.executable, "-m", "sphinx", "--builder", "html", *strict, *folders, str(ROOT), str(output)]
    built = subprocess.run(command, cwd=ROOT, env={**os.environ, "TRANSFORMERS_VERBOSITY": "error"}, check=False)
    if built.returncode != 0:
        return built.returncode
    (output / "index.html").write_text(START, encoding="utf-8")
    broken = broken_links(output)
    print(*broken, f"{output}: {len(list(output.rglob('*.html')))} pages, {len(broken)} broken links", sep="\n")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
