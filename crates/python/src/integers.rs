//! Lists of ids.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyList};
use slm2_core::TokenId;

/// The `int` of each id that a list has had: making one costs several times as much as giving out one that is there.
#[derive(Default)]
pub(crate) struct Integers {
    blocks: PyOnceLock<Box<[Block]>>,
}

/// The ints of neighbouring ids, made when the first of them is needed.
type Block = PyOnceLock<Box<[Py<PyInt>]>>;

/// Ids of a block.
const BLOCK: u32 = 256;
/// Ids are below 2^21.
const BLOCKS: u32 = (1 << 21) / BLOCK;

impl Integers {
    /// A list of these ids.
    pub(crate) fn list<'py>(&self, py: Python<'py>, ids: &[TokenId]) -> PyResult<Bound<'py, PyList>> {
        let blocks = self.blocks.get_or_init(py, || (0..BLOCKS).map(|_| Block::new()).collect());
        PyList::new(py, ids.iter().map(|id| integer(py, blocks, id.get())))
    }
}

fn integer<'py>(py: Python<'py>, blocks: &[Block], id: u32) -> Bound<'py, PyInt> {
    let first = id - id % BLOCK;
    let make = || (first..first + BLOCK).map(|id| PyInt::new(py, id).unbind()).collect();
    let block = blocks.get((id / BLOCK) as usize).map(|block| block.get_or_init(py, make));
    let known = block.and_then(|block| block.get((id % BLOCK) as usize));
    known.map_or_else(|| PyInt::new(py, id), |known| known.bind(py).clone())
}
