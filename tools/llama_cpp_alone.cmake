# llama-cpp-python forces this library on, and its Python uses none of it. A normal variable goes before a forced cache entry.
set(LLAMA_BUILD_COMMON OFF)
