#include "onednn.h"

#include <sys/mman.h>

#include <cstddef>
#include <new>

#include <oneapi/dnnl/dnnl_debug.h>

#include <dragoman/core/error.h>

namespace dragoman::backend::cpu::onednn {

void require_memory_for_code() {
  constexpr std::size_t kHeadroom = std::size_t{8} << 20;
  void* block = ::mmap(nullptr, kHeadroom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
  ::munmap(block, kHeadroom);
}

void check(dnnl_status_t status, const char* what) {
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  core::require(status == dnnl_success, core::ErrorCode::kInternal, "oneDNN: {} failed: {}", what,
                dnnl_status2str(status));
}

void rethrow(const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
  core::fail(core::ErrorCode::kInternal, "oneDNN: {} ({})", error.what(), dnnl_status2str(error.status));
}

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& thread_stream() {
  thread_local dnnl::stream stream(cpu_engine());
  return stream;
}

Layout strided(Element element, Dimension rows, Dimension cols, Dimension row_stride, Dimension col_stride) {
  return {{rows, cols}, element, {row_stride, col_stride}};
}

dnnl::matmul::primitive_desc describe_matmul(const Layout& source, const Layout& weights, const Layout& destination) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  return {cpu_engine(), source, weights, destination, attributes};
#else
  return {dnnl::matmul::desc(source, weights, destination), attributes, cpu_engine()};
#endif
}

}  // namespace dragoman::backend::cpu::onednn
