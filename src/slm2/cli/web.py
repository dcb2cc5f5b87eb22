"""``slm2 web``: the playground in a browser, from this machine alone."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import click

from slm2.cli.common import write_bytes
from slm2.contract import EMBEDDED
from slm2.errors import Slm2Error

_DATA = Path(__file__).parents[1] / "data"
_ARTIFACT = _DATA / EMBEDDED
# In an installed wheel, then in a checkout where tools/build_web.py wrote it.
PACKAGED = _DATA / "web"
BUILT = Path(__file__).parents[3] / "target" / "web"

# Nothing but files of this server is loaded, by the page or by what it runs.
_POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data:; base-uri 'none'; form-action 'none'"
_ALWAYS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_NOT_BUILT = (
    "; published wheels have the page, an install from source has not: "
    "run `python tools/build_web.py` in a checkout, then `slm2 web target/web` there"
)
# With these a page may share memory with its workers.
_ISOLATION = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}


@click.command("web")
@click.argument("site", required=False, metavar="[FOLDER]")
@click.option("--port", type=click.IntRange(0, 65535), default=8642, show_default=True, help="0 takes any that is free.")
@click.option("--isolated/--not-isolated", default=True, show_default=True, help="Whether workers of the page may share memory.")
def command(site: str | None, port: int, isolated: bool) -> None:
    """Serve the playground at http://localhost, until it is interrupted.

    FOLDER is a site that tools/build_web.py wrote; without it, the one that came with the wheel or was built in the checkout. Only this
    machine can reach it.
    """
    folder = _site(site)
    handler = partial(_Handler, directory=str(folder), isolated=isolated)
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise Slm2Error("invalid_value", field="port", expected="a port that is free", found=f"{port} ({error.strerror})") from None
    with server:
        write_bytes(f"http://localhost:{server.server_address[1]}/\n".encode("ascii"))
        server.serve_forever()


def _site(given: str | None) -> Path:
    """The folder to serve.

    Raises:
        Slm2Error: ``file_unreadable``.
    """
    tried = [Path(given)] if given is not None else [PACKAGED, BUILT]
    for folder in tried:
        if (folder / "index.html").is_file():
            return folder
    reason = os.strerror(errno.ENOENT) + ("" if given is not None else _NOT_BUILT)
    raise Slm2Error("file_unreadable", path=str(tried[-1] / "index.html"), reason=reason)


class _Handler(SimpleHTTPRequestHandler):
    """Files of one folder, with the headers; no list of a folder is given."""

    extensions_map = {  # noqa: RUF012  (as the base class has it)
        "": "application/octet-stream",
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".json": "application/json; charset=utf-8",
        ".svg": "image/svg+xml",
        ".wasm": "application/wasm",
    }

    def __init__(self, *args: object, directory: str, isolated: bool) -> None:
        self._isolated = isolated
        super().__init__(*args, directory=directory)  # type: ignore[arg-type]  # what the server passes on

    def end_headers(self) -> None:
        """Add the headers to every answer, a refusal too."""
        for name, value in self._headers():
            self.send_header(name, value)
        super().end_headers()

    def _headers(self) -> Iterator[tuple[str, str]]:
        yield from _ALWAYS.items()
        if self._isolated:
            yield from _ISOLATION.items()

    def translate_path(self, path: str) -> str:
        """The file; a wheel holds the artifact once, outside the page."""
        found = super().translate_path(path)
        return str(_ARTIFACT) if Path(found) == PACKAGED / "data" / _ARTIFACT.name else found

    def list_directory(self, path: str | os.PathLike[str]) -> None:
        """Refuse."""
        del path
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what is asked for is in the browser's own tools."""
