//! Lists of ids.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::sync::critical_section::with_critical_section;
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

/// Append the numbers at the beginning of a list, up to the first that is no `int` or no u32.
///
/// Taking ids out of a list is half of what decoding costs. An iterator makes six calls into the interpreter for each of them; this one
/// makes two, by borrowing what the list holds.
pub(crate) fn add_leading(list: &Bound<'_, PyList>, numbers: &mut Vec<u32>) {
    let length = list.len();
    numbers.reserve(length);
    with_critical_section(list, || {
        numbers.extend((0..length).map_while(|place| number_at(list, place)));
    });
}

/// The number at a place of a list that nobody else changes meanwhile.
fn number_at(list: &Bound<'_, PyList>, place: usize) -> Option<u32> {
    let place = ffi::Py_ssize_t::try_from(place).ok()?;
    // SAFETY: the interpreter's lock, and where there is none that of the list, is held from here to the end of the block, so that the
    // list keeps what is borrowed of it: neither function gives the lock away or runs code of Python's. The first answers null for a
    // place that the list does not have, the second an error for what is no int; both errors are taken below.
    let number = unsafe {
        let item = ffi::PyList_GetItem(list.as_ptr(), place);
        if item.is_null() { FAILED } else { ffi::PyLong_AsUnsignedLong(item) }
    };
    if number == FAILED {
        drop(PyErr::take(list.py()));
    }
    u32::try_from(number).ok().filter(|_| number != FAILED)
}

/// What the interpreter answers where there is no number. It is no id either, where it has 32 bits.
const FAILED: std::ffi::c_ulong = std::ffi::c_ulong::MAX;
