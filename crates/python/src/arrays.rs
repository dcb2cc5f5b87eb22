//! Arrays of ids for `NumPy`, by its C interface: `numpy.frombuffer` alone takes as long as encoding a short message.
//!
//! Two places of one table and the beginning of an array are used, which have stayed what they are from `NumPy` 1 to 2. `NumPy` is imported when the first array is made.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use pyo3::exceptions::PyImportError;
use pyo3::ffi::{Py_ssize_t, PyObject, PyTypeObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyType};
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

/// `PyArrayObject_fields` up to the flags, as both layouts have it.
#[repr(C)]
struct Fields {
    object: PyObject,
    data: *mut u32,
    dimensions: c_int,
    shape: *mut Py_ssize_t,
    strides: *mut Py_ssize_t,
    base: *mut PyObject,
    descr: *mut PyObject,
    flags: c_int,
}

const VERSION: usize = 0;
const NEW_FROM_DESCR: usize = 94;
/// `NPY_ARRAY_WRITEABLE`.
const WRITEABLE: c_int = 0x0400;

/// What makes arrays.
struct Maker {
    ndarray: Py<PyType>,
    uint32: Py<PyAny>,
    new_from_descr: NewFromDescr,
}

static MAKER: PyOnceLock<Maker> = PyOnceLock::new();

/// Ids as a one-dimensional read-only array of uint32.
pub(crate) fn array<'py>(py: Python<'py>, ids: &[TokenId]) -> PyResult<Bound<'py, PyAny>> {
    let maker = MAKER.get_or_try_init(py, || Maker::of_numpy(py))?;
    maker.copy(py, ids)
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
        // SAFETY: in layouts 1 and 2 the function of this type stands at this place.
        let new_from_descr =
            unsafe { std::mem::transmute::<*const c_void, NewFromDescr>(*table.as_ptr().add(NEW_FROM_DESCR)) };
        Ok(Self {
            ndarray: numpy.getattr("ndarray")?.cast_into::<PyType>()?.unbind(),
            uint32: numpy.call_method1("dtype", ("uint32",))?.unbind(),
            new_from_descr,
        })
    }

    /// An array with memory of its own, which `NumPy` keeps at hand where it is small.
    fn copy<'py>(&self, py: Python<'py>, ids: &[TokenId]) -> PyResult<Bound<'py, PyAny>> {
        let shape = [Py_ssize_t::try_from(ids.len())?];
        let (class, uint32) = (self.ndarray.as_ptr().cast(), self.uint32.clone_ref(py).into_ptr());
        // SAFETY: the class is numpy.ndarray, the type of the elements one of its own with a reference more, which it takes. The shape is
        // read during the call. Failure is answered with an exception that is set. The new array, which nobody else knows yet, has memory
        // for so many uint32, one after the other, and an id is a u32 in memory.
        unsafe {
            let (none, of_its_own) = (ptr::null_mut(), ptr::null_mut());
            let made = (self.new_from_descr)(class, uint32, 1, shape.as_ptr(), ptr::null(), of_its_own, 0, none);
            let array = Bound::from_owned_ptr_or_err(py, made)?;
            let fields = array.as_ptr().cast::<Fields>();
            ptr::copy_nonoverlapping(ids.as_ptr().cast::<u32>(), (*fields).data, ids.len());
            (*fields).flags &= !WRITEABLE;
            Ok(array)
        }
    }
}
