"""The engine in Rust, which an install can do without; all else is in pyproject.toml.

Without a Rust toolchain, or with one that reaches no crate index, the build goes on without the extension and
``slm2.load()`` says so when it takes the reference in its place.
"""

from __future__ import annotations

import os
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools_rust import Binding, RustExtension

EXTENSION = "slm2._engine"
# Where no crate index answers, cargo would try for minutes before it gives up; what the caller has set goes first.
CARGO_ENVIRONMENT = {"CARGO_NET_RETRY": "1", "CARGO_HTTP_TIMEOUT": "10", **os.environ}


def built(package: Path) -> list[Path]:
    """The extension in the folder of a package, whatever its suffix; the stub beside it is none."""
    return [path for path in package.glob("_engine.*") if path.suffix in (".so", ".pyd")]


class BuildExtension(build_ext):
    """Begins by removing what an earlier build left, so that it cannot stand in for one that fails."""

    def run(self) -> None:
        """Remove; setuptools-rust builds after this."""
        for path in built(Path(self.get_ext_fullpath(EXTENSION)).parent):
            path.unlink()
        super().run()


class Wheel(bdist_wheel):
    """A wheel that says which machines it runs on: all of them where no extension was built."""

    def get_tag(self) -> tuple[str, str, str]:
        """Python, ABI and platform; ``cp310-abi3`` and this platform with the extension."""
        assert self.bdist_dir is not None
        return super().get_tag() if built(Path(self.bdist_dir, "slm2")) else ("py3", "none", "any")


setup(
    rust_extensions=[
        RustExtension(
            EXTENSION,
            path="crates/python/Cargo.toml",
            binding=Binding.PyO3,
            cargo_manifest_args=["--locked"],
            py_limited_api=True,
            rust_version=">=1.85",
            debug=False,
            optional=True,
            env=CARGO_ENVIRONMENT,
        )
    ],
    cmdclass={"bdist_wheel": Wheel, "build_ext": BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
