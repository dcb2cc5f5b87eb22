"""What programs write for pages is what is committed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from machine import ROOT


@pytest.mark.parametrize("program", ["generate_prompt_schema.py", "prompt_picture.py", "site_pictures.py"])
def test_programs_write_what_is_there(program: str) -> None:
    done = subprocess.run([sys.executable, f"tools/{program}", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
