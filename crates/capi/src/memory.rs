//! Addresses of callers as what Rust works with. Each function trusts what the crate's documentation says of addresses.

use std::alloc::{Layout, alloc_zeroed};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::slice;

use slm2_core::Error;

/// Bytes that the library or a host reserved: aligned to 8, so that any numbers can stand there.
pub(crate) struct Memory {
    words: Box<[u64]>,
    length: usize,
}

impl Memory {
    /// Zeros; none where there is no memory.
    pub(crate) fn new(length: usize) -> Option<Self> {
        let layout = Layout::array::<u64>(length.div_ceil(8).max(1)).ok()?;
        // SAFETY: the layout has a size. What the system gives is zero as it comes, or made so at once.
        let address = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(unsafe { Self::from_raw(address.as_ptr().cast(), length) })
    }

    pub(crate) fn copy(bytes: &[u8]) -> Option<Self> {
        let mut memory = Self::new(bytes.len())?;
        // SAFETY: there are at least as many bytes in the words.
        unsafe { slice::from_raw_parts_mut(memory.words.as_mut_ptr().cast::<u8>(), bytes.len()) }.copy_from_slice(bytes);
        Some(memory)
    }

    pub(crate) fn into_raw(self) -> *mut c_void {
        Box::into_raw(self.words).cast()
    }

    /// Memory of [`Memory::into_raw`] of the same length.
    pub(crate) unsafe fn from_raw(address: *mut c_void, length: usize) -> Self {
        let words = std::ptr::slice_from_raw_parts_mut(address.cast::<u64>(), length.div_ceil(8).max(1));
        Self { words: unsafe { Box::from_raw(words) }, length }
    }
}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: there are at least as many bytes in the words.
        unsafe { slice::from_raw_parts(self.words.as_ptr().cast(), self.length) }
    }
}

/// Refuse what no value can be at.
pub(crate) fn usable<T>(address: *const T, name: &str) -> Result<(), Error> {
    match (address.is_null(), address.is_aligned()) {
        (true, _) => Err(Error::invalid_value(name, "an address", "NULL")),
        (_, false) => Err(Error::invalid_value(name, "an aligned address", "another")),
        _ => Ok(()),
    }
}

/// A handle that is read.
pub(crate) unsafe fn shared<'a, T>(handle: *const T, name: &str) -> Result<&'a T, Error> {
    usable(handle, name)?;
    Ok(unsafe { &*handle })
}

/// A handle that is changed.
pub(crate) unsafe fn unique<'a, T>(handle: *mut T, name: &str) -> Result<&'a mut T, Error> {
    usable(handle, name)?;
    Ok(unsafe { &mut *handle })
}

/// Elements that are read; without one the address may be NULL.
pub(crate) unsafe fn slice<'a, T>(address: *const T, count: usize, name: &str) -> Result<&'a [T], Error> {
    if count == 0 {
        return Ok(&[]);
    }
    usable(address, name)?;
    Ok(unsafe { slice::from_raw_parts(address, count) })
}

/// Elements that are changed where they are.
pub(crate) unsafe fn slice_mut<'a, T>(address: *mut T, count: usize, name: &str) -> Result<&'a mut [T], Error> {
    if count == 0 {
        return Ok(&mut []);
    }
    usable(address, name)?;
    Ok(unsafe { slice::from_raw_parts_mut(address, count) })
}

/// Elements that are written and need not hold anything before: they are zero now.
pub(crate) unsafe fn fresh<'a, T: Number>(address: *mut T, count: usize, name: &str) -> Result<&'a mut [T], Error> {
    if count > 0 {
        usable(address, name)?;
        unsafe { address.write_bytes(0, count) };
    }
    unsafe { slice_mut(address, count, name) }
}

/// What zero bytes are a value of.
pub(crate) trait Number: Copy {}
impl Number for u8 {}
impl Number for u32 {}
impl Number for u64 {}
impl Number for f32 {}

/// Elements that are copied to a caller.
pub(crate) unsafe fn put_all<T: Copy>(address: *mut T, elements: &[T], name: &str) -> Result<(), Error> {
    if elements.is_empty() {
        return Ok(());
    }
    usable(address, name)?;
    unsafe { address.copy_from_nonoverlapping(elements.as_ptr(), elements.len()) };
    Ok(())
}

/// One value that is written.
pub(crate) unsafe fn put<T>(address: *mut T, name: &str, value: T) -> Result<(), Error> {
    usable(address, name)?;
    unsafe { address.write(value) };
    Ok(())
}

/// A new handle, or NULL where it is refused.
pub(crate) unsafe fn put_handle<T>(address: *mut *mut T, value: Result<T, Error>) -> Result<(), Error> {
    usable(address, "handle")?;
    let (handle, done) = match value {
        Ok(value) => (Box::into_raw(Box::new(value)), Ok(())),
        Err(error) => (std::ptr::null_mut(), Err(error)),
    };
    unsafe { address.write(handle) };
    done
}

/// Free a handle; NULL is none.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        drop(unsafe { Box::from_raw(handle) });
    }
}
