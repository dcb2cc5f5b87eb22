//! Arrays of ids for `NumPy`, by its C interface: `numpy.frombuffer` alone takes as long as encoding a short message.
//!
//! Three places of one table are used, which have stayed where they are from `NumPy` 1 to 2. `NumPy` is imported when the first array is made.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use pyo3::exceptions::PyImportError;
use pyo3::ffi::{self, Py_ssize_t, PyObject, PyTypeObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyCapsule, PyCapsuleMethods, PyType};
use slm2_core::TokenId;

/// `PyArray_GetNDArrayCVersion`.
type Version = unsafe extern "C" fn() -> c_uint;
/// `PyArray_NewFromDescr`: class, type of the elements (whose reference it takes), dimensions, shape, strides, memory, flags, of a subclass.
type NewFromDescr = unsafe extern "C" fn(
    *mut PyTypeObject,
    *mut PyObject,
    c_int,
    *const Py_ssize_t,
    *const Py_ssize_t,
    *mut c_void,
    c_int,
    *mut PyObject,
) -> *mut PyObject;
/// `PyArray_SetBaseObject`: array, and what holds its memory (whose reference it takes).
type SetBaseObject = unsafe extern "C" fn(*mut PyObject, *mut PyObject) -> c_int;

const VERSION: usize = 0;
const NEW_FROM_DESCR: usize = 94;
const SET_BASE_OBJECT: usize = 282;
/// `NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED`, and not writeable.
const FLAGS: c_int = 0x0001 | 0x0100;

/// What makes arrays.
struct Maker {
    ndarray: Py<PyType>,
    uint32: Py<PyAny>,
    new_from_descr: NewFromDescr,
    set_base_object: SetBaseObject,
}

static MAKER: PyOnceLock<Maker> = PyOnceLock::new();

/// Ids as a one-dimensional read-only array of uint32.
pub(crate) fn array<'py>(py: Python<'py>, ids: &[TokenId]) -> PyResult<Bound<'py, PyAny>> {
    let maker = MAKER.get_or_try_init(py, || Maker::of_numpy(py))?;
    // SAFETY: an id is a u32 in memory, and of its bytes any value is one of u8.
    let memory = unsafe { std::slice::from_raw_parts(ids.as_ptr().cast::<u8>(), 4 * ids.len()) };
    maker.over(PyBytes::new(py, memory), ids.len())
}

impl Maker {
    fn of_numpy(py: Python<'_>) -> PyResult<Self> {
        let numpy = py.import("numpy")?;
        let core = py.import("numpy._core._multiarray_umath").or_else(|_| py.import("numpy.core._multiarray_umath"))?;
        let capsule = core.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?;
        let table = capsule.pointer_checked(None)?.cast::<*const c_void>();
        // SAFETY: the capsule holds NumPy's table of functions, which is never freed; its first place tells how it is laid out, in every
        // release.
        let version = unsafe { std::mem::transmute::<*const c_void, Version>(*table.as_ptr().add(VERSION))() } >> 24;
        if !(1..=2).contains(&version) {
            return Err(PyImportError::new_err(format!("NumPy has a C interface {version}; 1 and 2 are known")));
        }
        // SAFETY: in layouts 1 and 2 the functions of these types stand at these places.
        let (new_from_descr, set_base_object) = unsafe {
            let at = |place| *table.as_ptr().add(place);
            (
                std::mem::transmute::<*const c_void, NewFromDescr>(at(NEW_FROM_DESCR)),
                std::mem::transmute::<*const c_void, SetBaseObject>(at(SET_BASE_OBJECT)),
            )
        };
        Ok(Self {
            ndarray: numpy.getattr("ndarray")?.cast_into::<PyType>()?.unbind(),
            uint32: numpy.call_method1("dtype", ("uint32",))?.unbind(),
            new_from_descr,
            set_base_object,
        })
    }

    /// An array of so many uint32 over memory that has them, and that nothing changes.
    fn over<'py>(&self, memory: Bound<'py, PyBytes>, length: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = memory.py();
        let shape = [Py_ssize_t::try_from(length)?];
        // SAFETY: the class is numpy.ndarray, the type of the elements one of its own with a reference more, which it takes. The shape is
        // read during the call. The memory has as many bytes as are told, and lives as long as the array, which gets a reference to it
        // below and, by its flags, never writes there. Either function answers failure with an exception that is set.
        unsafe {
            let address = ffi::PyBytes_AsString(memory.as_ptr()).cast::<c_void>();
            let (class, uint32) = (self.ndarray.as_ptr().cast(), self.uint32.clone_ref(py).into_ptr());
            let made =
                (self.new_from_descr)(class, uint32, 1, shape.as_ptr(), ptr::null(), address, FLAGS, ptr::null_mut());
            let array = Bound::from_owned_ptr_or_err(py, made)?;
            if (self.set_base_object)(array.as_ptr(), memory.into_ptr()) < 0 {
                return Err(PyErr::fetch(py));
            }
            Ok(array)
        }
    }
}
