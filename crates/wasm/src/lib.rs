//! `slm2.wasm`: the C ABI (`crates/capi/include/slm2.h`) as exports that take numbers and addresses, and nothing else.
//!
//! A host reserves memory with `slm2_alloc`, writes there, and calls. `size_t` and addresses have 32 bits, all is little-endian. The plain
//! module has a memory of its own and is used by one thread. The shared one imports `env.memory`, a shared memory; an instance on another
//! thread, before its first call, sets `__stack_pointer` to the end of a stack of its own and gives `__wasm_init_tls` a block of
//! `__tls_size` bytes, both of which a thread that has a stack reserves with `slm2_alloc`. No call here waits for another thread but for
//! the allocator's lock, which spins, so that a browser's main thread may call too.

pub use slm2_capi::*;
