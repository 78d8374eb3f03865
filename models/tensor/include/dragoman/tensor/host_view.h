#pragma once

#include <cstddef>
#include <memory>

#include <dragoman/tensor/arena.h>
#include <dragoman/tensor/tensor.h>

namespace dragoman::tensor {

/// Gives the host access to a device tensor. The view is the tensor itself if the host can access its memory, otherwise
/// a copy in host memory. For rare operations: loading, saving, initialising, inspecting.
///
///     void set_first(DeviceMemory& memory, const Tensor& weights) {
///       const HostView view = HostView::of(memory, weights);
///       set_element(view.tensor(), 0, 0, 1.5);     // context.h
///       view.store();
///     }
///
/// The memory must outlive the view. One thread at a time.
class HostView {
 public:
  /// A view of existing values. `tensor` must outlive the view. The gaps between its rows are fetched and stored, too.
  static HostView of(DeviceMemory& memory, const Tensor& tensor);
  /// A view for values that the caller writes completely. Existing values are not fetched. `tensor` must be contiguous.
  static HostView to_be_written(DeviceMemory& memory, const Tensor& tensor);

  const Tensor& tensor() const noexcept { return host_; }
  /// Copies the host's changes to the device. Without this call the device keeps its values, unless both share the
  /// memory.
  void store() const;

 private:
  HostView(DeviceMemory& memory, const Tensor& tensor);

  DeviceMemory* memory_;
  Tensor device_;
  Tensor host_;
  std::unique_ptr<std::byte[]> copy_;
};

/// The size in bytes of a contiguous tensor.
std::size_t bytes_of(const Tensor& tensor);

/// Copies between two contiguous tensors of the same shape and type in the memory of one device.
void copy(DeviceMemory& memory, const Tensor& to, const Tensor& from);
/// Sets all values of a contiguous tensor to 0.
void clear(DeviceMemory& memory, const Tensor& tensor);
/// Like copy() and clear(), but ordered before kernels that the calling thread launches later
/// (DeviceMemory::queue_copy()).
void queue_copy(DeviceMemory& memory, const Tensor& to, const Tensor& from);
void queue_clear(DeviceMemory& memory, const Tensor& tensor);

}  // namespace dragoman::tensor
