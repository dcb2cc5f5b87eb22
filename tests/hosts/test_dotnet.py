"""The .NET binding: its own tests on CoreCLR, and that it declares the C ABI as the header does. The vectors are asked by its testee."""

from __future__ import annotations

import re
import subprocess

import pytest

from hosts.toolchain import CAPI, ROOT, build_dotnet

pytestmark = pytest.mark.xdist_group("hosts")

SOURCES = ROOT / "bindings" / "dotnet"
HEADER = CAPI / "include" / "slm2.h"


def functions_of_header() -> dict[str, int]:
    """Each function with the number of its parameters."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)
    declared = re.findall(r"\b(slm2_\w+)\(([^)]*)\);", text)
    return {name: 0 if parameters.strip() == "void" else parameters.count(",") + 1 for name, parameters in declared}


# Where .NET has a way of its own: arrays are copied out of the view, and memory is its own.
NOT_NEEDED = {"slm2_alloc", "slm2_contract_adopt", "slm2_free", "slm2_result"}


def test_the_library_declares_what_the_header_does() -> None:
    text = (SOURCES / "Slm2" / "Native.cs").read_text(encoding="utf-8")
    declared = dict(re.findall(r"extern \w+ (slm2_\w+)\(([^)]*)\);", text))
    counts = {name: parameters.count(",") + 1 if parameters else 0 for name, parameters in declared.items()}
    header = functions_of_header()
    assert len(header) > 80
    assert header.keys() - counts.keys() == NOT_NEEDED
    assert {name: header[name] for name in counts} == counts


def test_the_binding_on_coreclr() -> None:
    build_dotnet()
    done = subprocess.run([ROOT / "target" / "hosts" / "dotnet" / "tests"], capture_output=True, text=True, encoding="utf-8", check=False)
    found = re.fullmatch(r"(\d+) passed, 0 failed\n", done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert found is not None, done.stdout + done.stderr
    assert int(found[1]) >= 25
