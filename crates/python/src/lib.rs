//! `slm2._engine`: the core for Python. It converts arguments, results and errors, and computes nothing.
//!
//! The members are those of the protocol in `src/slm2/engine.py`; `src/slm2/_engine.pyi` types them. Engine work runs without
//! the interpreter's lock. A panic would become Python's `PanicException`, but the core has no path to one.

mod arguments;
mod engine;
mod errors;
mod sampler;
mod stream;

use pyo3::prelude::pymodule;

#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::engine::NativeEngine;
    #[pymodule_export]
    use super::sampler::{NativeGenerator, NativeSampler};
    #[pymodule_export]
    use super::stream::NativeStream;
}
