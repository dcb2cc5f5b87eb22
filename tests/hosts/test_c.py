"""The C ABI from a program of C: every function of the header, NULL in each place, too little room (crates/capi/tests/abi.c)."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from hosts.toolchain import ARTIFACT, CAPI, compile_c, library, missing, run

pytestmark = pytest.mark.xdist_group("hosts")

ABI = CAPI / "tests" / "abi.c"
HEADER = CAPI / "include" / "slm2.h"
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.mark.parametrize("options", [(), SANITIZED], ids=["plain", "sanitized"])
def test_every_function_does_what_it_says(tmp_path: Path, options: tuple[str, ...]) -> None:
    program = compile_c(tmp_path / "abi", ABI, options=options)
    output = run(program, ARTIFACT)
    found = re.fullmatch(r"(\d+) checks, 0 failures\n", output)
    assert found is not None, output
    assert int(found[1]) > 500


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    example = re.search(r"^```c\n(.*?)^```$", (CAPI / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert example is not None
    source = tmp_path / "example.c"
    source.write_text(example[1], encoding="utf-8")
    assert run(compile_c(tmp_path / "example", source), ARTIFACT) == "9707\n11\n1879\n"


def declared() -> set[str]:
    return set(re.findall(r"\b(slm2_\w+)\(", HEADER.read_text(encoding="utf-8")))


def test_no_function_is_left_out() -> None:
    """Each is called, and each that returns a status is refused something."""
    program = ABI.read_text(encoding="utf-8")
    helpers = {"slm2_render": "render(", "slm2_sampler_new": "new_sampler(", "slm2_generation_step": "STEP("}
    assert len(declared()) > 70
    for name in declared():
        assert f"{name}(" in program, name
    returning = set(re.findall(r"slm2_status (slm2_\w+)\(", HEADER.read_text(encoding="utf-8")))
    refused = {name for name in returning if re.search(rf"REFUSED\({name}\(|{name}\([^;]*\) == SLM2_(REFUSED|NO_CONTEXT)", program)}
    assert {name for name in returning - refused if f"REFUSED({helpers.get(name, name)}" not in program} == set()


def test_the_library_exports_what_the_header_declares() -> None:
    symbols = run("nm", "--dynamic", "--defined-only", library("libslm2_capi.so"))
    assert declared() <= set(re.findall(r" T (slm2_\w+)", symbols))


def test_the_header_is_c_and_cpp(tmp_path: Path) -> None:
    source = tmp_path / "both.c"
    source.write_text('#include "slm2.h"\nint main(void) { return slm2_abi_version() != SLM2_ABI_VERSION; }\n', encoding="utf-8")
    run(compile_c(tmp_path / "both", source))
    if shutil.which("c++") is None:
        missing("a C++ compiler", "install c++")
    run("c++", "-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{HEADER.parent}", source)
