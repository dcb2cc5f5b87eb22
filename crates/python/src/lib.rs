//! `slm2._engine`: the core for Python. It converts arguments, results and errors, and computes nothing.
//!
//! The members are those of the protocol in `src/slm2/engine.py`; `src/slm2/_engine.pyi` types them. Engine work runs without
//! the interpreter's lock. A panic would become Python's `PanicException`, but the core has no path to one.

mod arguments;
mod arrays;
mod batch;
mod engine;
mod errors;
mod generation;
mod held;
mod integers;
#[cfg(target_os = "linux")]
mod large_pages;
mod prompt;
mod reply;
mod sampler;
mod scratches;
mod session;
mod stream;
mod template;
mod text;
mod tokenizer;
mod values;

use pyo3::prelude::pymodule;

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: large_pages::LargePages = large_pages::LargePages;

// Nothing here relies on the interpreter's lock: what is shared is immutable or behind a lock of its own.
#[pymodule(gil_used = false)]
mod _engine {
    #[pymodule_export]
    use super::engine::NativeEngine;
    #[pymodule_export]
    use super::generation::NativeGeneratedText;
    #[pymodule_export]
    use super::prompt::NativeAssembly;
    #[pymodule_export]
    use super::reply::NativeReply;
    #[pymodule_export]
    use super::sampler::{NativeGenerator, NativeSampler};
    #[pymodule_export]
    use super::session::NativeSession;
    #[pymodule_export]
    use super::stream::NativeStream;
    #[pymodule_export]
    use super::template::NativeComposition;
    #[pymodule_export]
    use super::text::{NativeChunks, NativeText};
    #[pymodule_export]
    use super::tokenizer::NativeTokenizer;
}
