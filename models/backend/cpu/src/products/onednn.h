#pragma once

#include <utility>

#include <oneapi/dnnl/dnnl.hpp>
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
#include <omp.h>
#elif DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_TBB
#include <tbb/task_arena.h>
#endif

/// Calls to oneDNN: on one thread, with enough memory for generated code, and with errors translated to Dragoman's.
/// Only the implementation of gemm.h includes this file.
namespace dragoman::backend::cpu::onednn {

using Dimension = dnnl::memory::dim;
using Element = dnnl::memory::data_type;
using Layout = dnnl::memory::desc;

/// Runs `body` with oneDNN limited to one thread. The OpenMP thread count is a property of the calling thread. It is
/// restored, because the thread may belong to a program that uses OpenMP itself.
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

/// Throws std::bad_alloc unless enough memory is available for the code that oneDNN generates. oneDNN (2.6.3) writes
/// generated code without checking the allocation, and calls kernels that it failed to generate. Both end the process.
void require_memory_for_code();

/// Checks a result of the C interface. Throws std::bad_alloc or Error{kInternal} unless `status` is success.
void check(dnnl_status_t status, const char* what);
/// Translates an exception of the C++ interface in the same way.
[[noreturn]] void rethrow(const dnnl::error& error);

/// Runs `body` and translates exceptions of oneDNN's C++ interface. Lack of memory becomes std::bad_alloc, as
/// everywhere else.
template <class Body>
decltype(auto) translating_errors(Body&& body) {
  try {
    return body();
  } catch (const dnnl::error& error) {
    rethrow(error);
  }
}

const dnnl::engine& cpu_engine();
/// The stream of this thread.
dnnl::stream& thread_stream();

/// Returns the layout of a matrix [rows, cols].
Layout strided(Element element, Dimension rows, Dimension cols, Dimension row_stride, Dimension col_stride);

/// Describes a matmul whose scratch memory the caller provides.
dnnl::matmul::primitive_desc describe_matmul(const Layout& source, const Layout& weights, const Layout& destination);

}  // namespace dragoman::backend::cpu::onednn
