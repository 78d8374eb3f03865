#pragma once

#include <utility>

#include <oneapi/dnnl/dnnl.hpp>
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
#include <omp.h>
#elif DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_TBB
#include <tbb/task_arena.h>
#endif

/// How oneDNN is called: on one thread, with memory for the code that it generates, its errors as ours. Only what
/// stands behind gemm.h includes it.
namespace dragoman::backend::cpu::onednn {

using Dimension = dnnl::memory::dim;
using Element = dnnl::memory::data_type;
using Layout = dnnl::memory::desc;

/// Runs `body` with oneDNN held to one thread. The OpenMP thread count is a property of the calling thread; it is put
/// back, since the thread may belong to a program that uses OpenMP itself.
template <class Body>
decltype(auto) on_one_thread(Body&& body) {
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
  struct Guard {
    int before = omp_get_max_threads();
    Guard() { omp_set_num_threads(1); }
    ~Guard() { omp_set_num_threads(before); }
  } const guard;
  return body();
#elif DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_TBB
  thread_local tbb::task_arena arena(1);
  return arena.execute(std::forward<Body>(body));
#else
  return body();
#endif
}

/// oneDNN (2.6.3) writes generated code into memory without looking whether it got any, and calls kernels that it could
/// not generate: both end the program. So before it generates code there must be more memory than that takes;
/// std::bad_alloc if there is not.
void require_memory_for_code();

/// Of the C interface: std::bad_alloc or Error{kInternal} unless `status` is success.
void check(dnnl_status_t status, const char* what);
/// The same of what the C++ interface throws.
[[noreturn]] void rethrow(const dnnl::error& error);

/// Runs what oneDNN's C++ interface may throw from; running out of memory is what it is everywhere else.
template <class Body>
decltype(auto) translating_errors(Body&& body) {
  try {
    return body();
  } catch (const dnnl::error& error) {
    rethrow(error);
  }
}

const dnnl::engine& cpu_engine();
/// That of this thread.
dnnl::stream& thread_stream();

/// Of a matrix [rows, cols].
Layout strided(Element element, Dimension rows, Dimension cols, Dimension row_stride, Dimension col_stride);

/// With scratch memory that the caller gives.
dnnl::matmul::primitive_desc describe_matmul(const Layout& source, const Layout& weights, const Layout& destination,
                                             dnnl::primitive_attr attributes = {});

}  // namespace dragoman::backend::cpu::onednn
