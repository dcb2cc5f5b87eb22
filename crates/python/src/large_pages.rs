//! The allocator of the module on Linux: that of the system, and for large memory mappings that may come in pages of 2 MiB.
//!
//! The tables that an artifact is opened to and those of a scratch are written all over as soon as they are used. In pages of 4 KiB each
//! of their thousand pages is a fault of its own, which took a fourth of the time of the first megabyte (docs/performance.md). A system that
//! has no large pages, or none left, gives its usual ones: the hint changes how long things take, and nothing else.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;

/// Memory of at least that size is a mapping of its own and begins at a multiple of it.
const LARGE: usize = 2 << 20;
/// What is mapped is a multiple of it, and it of every usual page that Linux has: 4, 16 or 64 KiB.
const PAGE: usize = 64 << 10;

/// See the module.
pub(crate) struct LargePages;

// SAFETY: memory below `LARGE` is the system's from beginning to end; the rest is a mapping from beginning to end, which is aligned for
// every layout that there is. The size alone, which the caller repeats, says which of them it is.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        if is_large(layout) { map(layout.size()) } else { unsafe { present(System.alloc(layout), layout.size()) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise. A mapping is zero.
        if is_large(layout) {
            map(layout.size())
        } else {
            unsafe { present(System.alloc_zeroed(layout), layout.size()) }
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if is_large(layout) {
            // SAFETY: it was mapped with this size.
            unsafe { libc::munmap(memory.cast(), length(layout.size())) };
        } else {
            // SAFETY: the caller's promise.
            unsafe { System.dealloc(memory, layout) }
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size makes a layout.
        let asked = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if !is_large(layout) && !is_large(asked) {
            // SAFETY: the caller's promise.
            return unsafe { System.realloc(memory, layout, size) };
        }
        // SAFETY: both have at least the bytes that are copied and lie apart, and the first is given back after the last look at it.
        unsafe {
            let place = self.alloc(asked);
            if !place.is_null() {
                ptr::copy_nonoverlapping(memory, place, layout.size().min(size));
                self.dealloc(memory, layout);
            }
            place
        }
    }
}

fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= LARGE
}

/// What is mapped for so many bytes.
const fn length(size: usize) -> usize {
    size.next_multiple_of(PAGE)
}

/// A mapping of at least `size` bytes, all zero; null where the system has none.
fn map(size: usize) -> *mut u8 {
    let Some(reserved) = length(size).checked_add(LARGE) else { return ptr::null_mut() };
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: memory that nobody else has, of which what lies before the place and after its length is given back at once. Whether the
    // hint is taken changes nothing.
    unsafe {
        let memory = libc::mmap(ptr::null_mut(), reserved, protection, flags, -1, 0);
        if memory == libc::MAP_FAILED {
            return ptr::null_mut();
        }
        let before = memory.align_offset(LARGE);
        let place = memory.byte_add(before);
        if before > 0 {
            libc::munmap(memory, before);
        }
        libc::munmap(place.byte_add(length(size)), LARGE - before);
        libc::madvise(place, length(size), libc::MADV_HUGEPAGE);
        place.cast()
    }
}

/// More than that is not made present before it is used: a file of the wrong kind may say any length.
const MOST_PRESENT: usize = 64 << 20;
/// Less than that is not worth a call.
const LEAST_PRESENT: usize = 64 << 10;

thread_local! {
    static FILLING: Cell<bool> = const { Cell::new(false) };
}

/// Do something that writes to all memory that it asks for, which is made present as it is given out.
pub(crate) fn filling<T>(work: impl FnOnce() -> T) -> T {
    FILLING.set(true);
    let done = work();
    FILLING.set(false);
    done
}

/// Memory of the system's, present where all of it will be written.
///
/// # Safety
///
/// It has `size` bytes, or is null.
unsafe fn present(memory: *mut u8, size: usize) -> *mut u8 {
    if size >= LEAST_PRESENT && !memory.is_null() && FILLING.get() {
        // SAFETY: the caller's promise; it is nobody else's yet.
        populate(unsafe { std::slice::from_raw_parts_mut(memory.cast(), size) });
    }
    memory
}

/// Make memory that is about to be written present in one call: page by page each costs several times as much. A system that does not
/// know how goes on as without.
pub(crate) fn populate(memory: &mut [MaybeUninit<u8>]) {
    if memory.len() > MOST_PRESENT {
        return;
    }
    // SAFETY: the call is harmless for any number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(PAGE);
    let first = memory.as_mut_ptr().align_offset(page).min(memory.len());
    if let Some(pages) = memory.get_mut(first..) {
        // SAFETY: memory that the caller has alone, from the beginning of a page on; what it holds does not change.
        unsafe { libc::madvise(pages.as_mut_ptr().cast(), pages.len() / page * page, libc::MADV_POPULATE_WRITE) };
    }
}
