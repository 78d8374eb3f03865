#include "dragoman/tensor/host_view.h"

#include <dragoman/core/error.h>

namespace dragoman::tensor {
namespace {

/// The size from the first value to the last one, including the gaps between rows.
std::size_t bytes_spanned(const Tensor& tensor) {
  if (tensor.size() == 0) return 0;
  return static_cast<std::size_t>((tensor.rows - 1) * tensor.stride + tensor.cols) * size_of(tensor.dtype);
}

}  // namespace

HostView::HostView(DeviceMemory& memory, const Tensor& tensor) : memory_(&memory), device_(tensor), host_(tensor) {
  if (memory.host_readable()) return;
  copy_ = std::make_unique<std::byte[]>(bytes_spanned(tensor));
  host_.data = copy_.get();
}

HostView HostView::of(DeviceMemory& memory, const Tensor& tensor) {
  HostView view(memory, tensor);
  if (view.copy_ != nullptr) memory.copy_out(view.copy_.get(), tensor.data, bytes_spanned(tensor));
  return view;
}

HostView HostView::to_be_written(DeviceMemory& memory, const Tensor& tensor) {
  if (!tensor.contiguous())
    core::fail(core::ErrorCode::kInternal, "{} is not contiguous and cannot be written from the host",
               describe(tensor));
  return HostView(memory, tensor);
}

void HostView::store() const {
  if (copy_ != nullptr) memory_->copy_in(device_.data, copy_.get(), bytes_spanned(device_));
}

std::size_t bytes_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype);
}

namespace {

void require_copyable(const Tensor& to, const Tensor& from) {
  if (to.size() != from.size() || to.dtype != from.dtype || !to.contiguous() || !from.contiguous())
    core::fail(core::ErrorCode::kInternal, "{} cannot be copied to {}", describe(from), describe(to));
}

void require_clearable(const Tensor& tensor) {
  if (!tensor.contiguous())
    core::fail(core::ErrorCode::kInternal, "{} is not contiguous and cannot be cleared", describe(tensor));
}

}  // namespace

void copy(DeviceMemory& memory, const Tensor& to, const Tensor& from) {
  require_copyable(to, from);
  memory.copy(to.data, from.data, bytes_of(from));
}

void queue_copy(DeviceMemory& memory, const Tensor& to, const Tensor& from) {
  require_copyable(to, from);
  memory.queue_copy(to.data, from.data, bytes_of(from));
}

void clear(DeviceMemory& memory, const Tensor& tensor) {
  require_clearable(tensor);
  memory.clear(tensor.data, bytes_of(tensor));
}

void queue_clear(DeviceMemory& memory, const Tensor& tensor) {
  require_clearable(tensor);
  memory.queue_clear(tensor.data, bytes_of(tensor));
}

}  // namespace dragoman::tensor
