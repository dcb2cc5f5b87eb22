"""Each package in an empty project, by the means of its users, answers one vector as the contract says."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tools import build_dotnet
from tools.packages.archives import read_tar, read_zip
from tools.packages.project import version

from machine import ROOT, programs

ENCODE = "import json, sys, slm2\nc = slm2.load(engine=sys.argv[1])\nprint(json.dumps([slm2.__file__, c.tokenizer.encode(sys.argv[2])]))\n"


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """A command in the project; its output."""
    left_out = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CARGO_TARGET_DIR", "RUSTFLAGS")
    environment = {name: value for name, value in os.environ.items() if name not in left_out} | variables
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, f"{command[0]} failed with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def environment(only, tmp_path_factory) -> Path:
    """An environment of Python in which the wheel alone was asked for."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    run(sys.executable, "-m", "pip", "--python", folder / "venv", "install", "--quiet", only("*.whl"), cwd=folder)
    return folder


def python(environment: Path) -> Path:
    return environment / "venv" / "bin" / "python"


@pytest.mark.xdist_group("release-python")
def test_wheel(environment: Path, vector) -> None:
    file, ids = json.loads(run(python(environment), "-c", ENCODE, "native", vector["text"], cwd=environment))
    assert ids == vector["expect"]["ids"]
    assert Path(file).is_relative_to(environment)


@pytest.mark.xdist_group("release-python")
def test_wheel_keeps_its_bill_of_materials(environment: Path, only) -> None:
    (bill,) = environment.glob(f"venv/lib/python3*/site-packages/slm2-{version()}.dist-info/sboms/slm2.cdx.json")
    assert bill.read_bytes() == only("*.whl.cdx.json").read_bytes()


@pytest.mark.xdist_group("release-python")
def test_the_wheel_has_the_playground(environment: Path, packages: Path) -> None:
    command = [environment / "venv" / "bin" / "slm2", "web", "--port", "0"]
    with subprocess.Popen(command, cwd=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            names = ("index.html", "data/slm2.wasm", "data/qwen3-0.6b.slm2")
            served = {name: urllib.request.urlopen(address + name, timeout=60).read() for name in names}
        finally:
            server.terminate()
    assert b"<html" in served["index.html"]
    assert served["data/slm2.wasm"].startswith(b"\0asm")
    assert served["data/qwen3-0.6b.slm2"] == (packages / "qwen3-0.6b.slm2").read_bytes()


@pytest.mark.xdist_group("release-python")
def test_sdist_on_a_machine_without_rust(environment: Path, only, tmp_path: Path, vector) -> None:
    installed = tmp_path / "installed"
    path = programs(tmp_path / "programs", python3=Path(sys.executable))
    install = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", installed)
    run(*install, only("slm2-*.tar.gz"), cwd=tmp_path, PATH=path)
    file, ids = json.loads(run(python(environment), "-c", ENCODE, "reference", vector["text"], cwd=tmp_path, PYTHONPATH=str(installed)))
    assert ids == vector["expect"]["ids"]
    assert Path(file).is_relative_to(installed)


@pytest.mark.xdist_group("release-node")
def test_npm(only, tmp_path: Path, vector) -> None:
    (tmp_path / "package.json").write_text('{"name": "empty", "private": true, "type": "module"}', encoding="utf-8")
    run("npm", "install", "--offline", "--no-audit", "--no-fund", only("slm2-*.tgz"), cwd=tmp_path)
    program = "import { load } from 'slm2';\nconsole.log(JSON.stringify([...(await load()).tokenizer.encode(process.argv[2])]));\n"
    (tmp_path / "run.js").write_text(program, encoding="utf-8")
    assert json.loads(run("node", "run.js", vector["text"], cwd=tmp_path)) == vector["expect"]["ids"]


def directory_source(folder: Path, files: list[Path]) -> None:
    """The registry of an empty project: our files as they would be there, and others' as cargo got them."""
    run("cargo", "vendor", "--quiet", "--locked", "--versioned-dirs", folder, cwd=ROOT)
    for file in files:
        for name, content in read_tar(file).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        checksum = {"files": {}, "package": hashlib.sha256(file.read_bytes()).hexdigest()}
        (folder / file.stem / ".cargo-checksum.json").write_text(json.dumps(checksum), encoding="utf-8")


RUST = """\
use slm2_core::{Artifact, Profile, Scratch, Tokenizer};

fn main() {
    let artifact = Artifact::from_bytes(std::fs::read(std::env::args().nth(1).unwrap()).unwrap()).unwrap();
    let mut scratch = Scratch::new(1 << 20).unwrap();
    let text = std::env::args().nth(2).unwrap();
    let ids = Tokenizer::new(&artifact).encode(text.as_bytes(), Profile::Contract, &mut scratch).unwrap();
    println!("{:?}", ids.iter().map(|id| id.get()).collect::<Vec<_>>());
}
"""


@pytest.mark.xdist_group("release-rust")
def test_crates(only, packages: Path, tmp_path: Path, vector) -> None:
    """Source replacement stands in for the registry: neither the checkout nor a path dependency is in reach."""
    directory_source(tmp_path / "registry", [only("slm2-core-*.crate"), only("slm2-simd-*.crate")])
    (tmp_path / "app" / ".cargo").mkdir(parents=True)
    (tmp_path / "app" / "src").mkdir()
    replaced = '[source.crates-io]\nreplace-with = "here"\n\n[source.here]\ndirectory = "../registry"\n'
    (tmp_path / "app" / ".cargo" / "config.toml").write_text(replaced, encoding="utf-8")
    manifest = f'[package]\nname = "app"\nedition = "2024"\n\n[dependencies]\nslm2-core = "{version()}"\n'
    (tmp_path / "app" / "Cargo.toml").write_text(manifest, encoding="utf-8")
    (tmp_path / "app" / "src" / "main.rs").write_text(RUST, encoding="utf-8")
    command = ("cargo", "run", "--quiet", "--offline", "--", packages / "qwen3-0.6b.slm2", vector["text"])
    said = run(*command, cwd=tmp_path / "app", CARGO_PROFILE_DEV_DEBUG="0")
    assert json.loads(said) == vector["expect"]["ids"]


CSHARP = """\
using System;
using System.IO;
using System.Linq;
using Slm2;

public static class Program
{
    public static int Main(string[] arguments)
    {
        using (Contract contract = Contract.Load())
        {
            Console.WriteLine("[" + string.Join(", ", contract.Tokenizer.Encode(arguments[0])) + "]");
        }
        Console.WriteLine(typeof(Contract).Assembly.Location);
        Console.WriteLine(File.ReadLines("/proc/self/maps").First(line => line.Contains("slm2_capi")).Split(' ').Last());
        Console.WriteLine(string.Join(" ", typeof(Contract).Assembly.GetReferencedAssemblies().Select(name => name.Name)));
        Console.WriteLine(typeof(Contract).Assembly.GetName().Version);
        return 0;
    }
}
"""


def restore(package: Path, folder: Path) -> str:
    """Lay a package out as NuGet's global folder has it; the path in that folder."""
    place = f"slm2/{version()}"
    for name, content in read_zip(package).items():
        (folder / place / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / place / name).write_bytes(content)
    return place


def dependencies(place: str) -> dict[str, object]:
    """App.deps.json, as the SDK writes it for one package: the runtime's own host resolves assembly and native library by it."""
    target = ".NETCoreApp,Version=v3.1"
    native = {"runtimes/linux-x64/native/libslm2_capi.so": {"rid": "linux-x64", "assetType": "native", "fileVersion": "0.0.0.0"}}
    ours = {"runtime": {"lib/netstandard2.0/Slm2.dll": {}}, "runtimeTargets": native}
    app = {"dependencies": {"Slm2": version()}, "runtime": {"App.dll": {}}}
    return {
        "runtimeTarget": {"name": target, "signature": ""},
        "targets": {target: {"App/1.0.0": app, f"Slm2/{version()}": ours}},
        "libraries": {
            "App/1.0.0": {"type": "project", "serviceable": False, "sha512": ""},
            f"Slm2/{version()}": {"type": "package", "serviceable": False, "sha512": "", "path": place},
        },
    }


@pytest.mark.xdist_group("release-dotnet")
def test_nuget(only, tmp_path: Path, vector) -> None:
    """Compiled against the package's assembly, run by CoreCLR's host with the package's folder to look in, and nothing copied."""
    build_dotnet.get_toolchain()
    place = restore(only("Slm2.*.nupkg"), tmp_path / "packages")
    app = tmp_path / "app"
    app.mkdir()
    (app / "Program.cs").write_text(CSHARP, encoding="utf-8")
    library = tmp_path / "packages" / place / "lib" / "netstandard2.0" / "Slm2.dll"
    build_dotnet.compile_assembly(app / "App.dll", app, "-target:exe", against=(library,), spans=False)
    (app / "App.deps.json").write_text(json.dumps(dependencies(place)), encoding="utf-8")
    options = {
        "framework": {"name": build_dotnet.FRAMEWORK, "version": "3.1.0"},
        "configProperties": {"System.Globalization.Invariant": True},
        "additionalProbingPaths": [str(tmp_path / "packages")],
    }
    (app / "App.runtimeconfig.json").write_text(json.dumps({"runtimeOptions": options}), encoding="utf-8")
    ids, assembly, native, references, release = run(build_dotnet.dotnet(), app / "App.dll", vector["text"], cwd=tmp_path).splitlines()
    assert json.loads(ids) == vector["expect"]["ids"]
    assert Path(assembly) == library
    assert Path(native) == tmp_path / "packages" / place / "runtimes" / "linux-x64" / "native" / "libslm2_capi.so"
    # The ones that a project for netstandard2.0 refers to by itself; the runtime's private one would break a build with an SDK.
    assert set(references.split()) <= {"mscorlib", "System", "System.Core", "netstandard"}
    assert release == f"{version()}.0"
