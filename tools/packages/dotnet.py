"""The NuGet package: a zip archive by the Open Packaging Conventions, with a .nuspec, laid out as NuGet reads it.

Without a .NET SDK at hand it is written here, and has the one assembly that this machine's compiler makes fit for others' projects: that
for netstandard2.0. `dotnet pack bindings/dotnet/Slm2` adds one for net8.0, with spans.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timezone
from pathlib import Path
from xml.sax.saxutils import escape

from tools.packages import sbom
from tools.packages.archives import write_zip
from tools.packages.crates import host, linked
from tools.packages.project import AUTHORS, LICENCE, ROOT, Build, PackageError, description, licence_files, version

ID = "Slm2"
FRAMEWORK = "netstandard2.0"
BUILT = ROOT / "target" / "hosts" / "dotnet"
# NuGet's names of the platforms that cargo builds the C library for, and what the library is called there.
PLATFORMS = {
    "x86_64-unknown-linux-gnu": ("linux-x64", "libslm2_capi.so"),
    "aarch64-unknown-linux-gnu": ("linux-arm64", "libslm2_capi.so"),
    "aarch64-apple-darwin": ("osx-arm64", "libslm2_capi.dylib"),
    "x86_64-pc-windows-msvc": ("win-x64", "slm2_capi.dll"),
}
TAGS = "tokenizer llm qwen3 sampling chat-template"
NUSPEC = """\
<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata>
    <id>{id}</id>
    <version>{version}</version>
    <authors>{authors}</authors>
    <description>{description}</description>
    <license type="expression">{licence}</license>
    <readme>README.md</readme>
    <copyright>Copyright 2026 {authors}</copyright>
    <tags>{tags}</tags>
    <dependencies>
      <group targetFramework="{framework}" />
    </dependencies>
  </metadata>
</package>
"""
PROPERTIES = """\
<?xml version="1.0" encoding="utf-8"?>
<coreProperties xmlns="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" \
xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" \
xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <dc:creator>{authors}</dc:creator>
  <dc:description>{description}</dc:description>
  <dc:identifier>{id}</dc:identifier>
  <version>{version}</version>
  <keywords>{tags}</keywords>
  <dcterms:created xsi:type="dcterms:W3CDTF">{created}</dcterms:created>
</coreProperties>
"""
RELATIONSHIPS = """\
<?xml version="1.0" encoding="utf-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
  <Relationship Type="http://schemas.microsoft.com/packaging/2010/07/manifest" Target="/{nuspec}" Id="R1" />
  <Relationship Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties" \
Target="/{properties}" Id="R2" />
</Relationships>
"""
CONTENT_TYPES = {
    "rels": "application/vnd.openxmlformats-package.relationships+xml",
    "psmdcp": "application/vnd.openxmlformats-package.core-properties+xml",
}
OTHER_CONTENT = "application/octet"


def nuget(build: Build) -> tuple[Path, bytes]:
    """The .nupkg, and its bill of materials.

    Raises:
        PackageError: tools/build_dotnet.py has not run.
    """
    facts = {
        "id": ID, "version": version(), "authors": AUTHORS, "description": escape(description()), "licence": LICENCE, "tags": TAGS,
        "framework": FRAMEWORK, "created": datetime.fromtimestamp(build.epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }  # fmt: skip
    nuspec, entries = f"{ID}.nuspec", _files()
    entries[nuspec] = NUSPEC.format(**facts).encode("utf-8")
    named = hashlib.sha256(entries[nuspec]).hexdigest()[:32]
    properties = f"package/services/metadata/core-properties/{named}.psmdcp"
    entries[properties] = PROPERTIES.format(**facts).encode("utf-8")
    entries["_rels/.rels"] = RELATIONSHIPS.format(nuspec=nuspec, properties=properties).encode("utf-8")
    entries["[Content_Types].xml"] = _content_types(entries)
    path = build.output / f"{ID}.{version()}.nupkg"
    write_zip(path, entries, build.epoch, first=("[Content_Types].xml", "_rels/.rels", nuspec))
    crates = sbom.crate_parts(linked("slm2-capi", host()), "in the package")
    return path, sbom.bill(f"pkg:nuget/{ID}@{version()}", [*crates, *sbom.standard_libraries("rustc"), *sbom.artifact_parts()], build.epoch)


def _files() -> dict[str, bytes]:
    """What the package is for: assembly, documentation, native library, texts."""
    platform = PLATFORMS.get(host())
    if platform is None:
        raise PackageError(f"NuGet's name of {host()} is not known here (tools/packages/dotnet.py)")
    folder, library = platform
    places = {
        f"lib/{FRAMEWORK}/Slm2.dll": BUILT / FRAMEWORK / "Slm2.dll",
        f"lib/{FRAMEWORK}/Slm2.xml": BUILT / FRAMEWORK / "Slm2.xml",
        f"runtimes/{folder}/native/{library}": BUILT / library,
        "README.md": ROOT / "bindings" / "dotnet" / "README.md",
    }
    missing = [str(path.relative_to(ROOT)) for path in places.values() if not path.exists()]
    if missing:
        raise PackageError(f"{', '.join(missing)} is not there: run tools/build_dotnet.py")
    return {name: path.read_bytes() for name, path in places.items()} | licence_files()


def _content_types(entries: dict[str, bytes]) -> bytes:
    """A type for every extension, and for every file that has none."""
    extensions = {name.rpartition(".")[2] for name in entries if "." in name.rpartition("/")[2]} | {"rels"}
    bare = [name for name in entries if "." not in name.rpartition("/")[2]]
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">',
        *(f'  <Default Extension="{each}" ContentType="{CONTENT_TYPES.get(each, OTHER_CONTENT)}" />' for each in sorted(extensions)),
        *(f'  <Override PartName="/{name}" ContentType="{OTHER_CONTENT}" />' for name in sorted(bare)),
        "</Types>",
        "",
    ]
    return "\n".join(lines).encode("utf-8")
