//! `cargo run --manifest-path tools/header/Cargo.toml [-- --check]`: write crates/capi/include/slm2.h from the source of the ABI, or
//! compare it.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/capi");
    let header = root.join("include/slm2.h");
    let config = match cbindgen::Config::from_file(root.join("cbindgen.toml")) {
        Ok(config) => config,
        Err(reason) => {
            eprintln!("crates/capi/cbindgen.toml: {reason}");
            return ExitCode::FAILURE;
        }
    };
    let written = cbindgen::Builder::new().with_config(config).with_src(root.join("src/lib.rs"));
    let mut text = Vec::new();
    // Not with_crate: its order of modules and functions is that of the files named here.
    ["context", "contract", "tokenizer", "text", "stream", "template", "prompt", "sampling", "session", "conformance"]
        .iter()
        .fold(written, |builder, module| builder.with_src(root.join(format!("src/{module}.rs"))))
        .generate()
        .expect("the source is understood")
        .write(&mut text);
    // Links of Rust's documentation are names in C.
    let text = String::from_utf8(text).expect("the header is UTF-8");
    let text = text.replace("crate::context::", "").replace("[`", "`").replace("`]", "`").into_bytes();
    if !std::env::args().any(|argument| argument == "--check") {
        std::fs::write(&header, text).expect("the header is written");
    } else if std::fs::read(&header).ok() != Some(text) {
        eprintln!(
            "crates/capi/include/slm2.h is not what the source makes: cargo run --manifest-path tools/header/Cargo.toml"
        );
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
