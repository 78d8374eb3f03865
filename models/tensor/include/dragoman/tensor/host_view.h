#pragma once

#include <cstddef>
#include <memory>

#include <dragoman/tensor/arena.h>
#include <dragoman/tensor/tensor.h>

namespace dragoman::tensor {

/// A device's tensor as the host may read and write it: the tensor itself where the memory allows that, else a copy in
/// host memory. For what happens once or seldom: loading, saving, initialising, looking.
class HostView {
 public:
  /// Of values that are there. `tensor` must outlive the view; what lies between its rows is fetched and stored, too.
  static HostView of(DeviceMemory& memory, const Tensor& tensor);
  /// Of values that will be written, all of them; what is there is not fetched. `tensor` must be contiguous.
  static HostView to_be_written(DeviceMemory& memory, const Tensor& tensor);

  const Tensor& tensor() const noexcept { return host_; }
  /// Gives the device what was written. Without it the device keeps what it has, where that is not the same memory.
  void store() const;

 private:
  HostView(DeviceMemory& memory, const Tensor& tensor);

  DeviceMemory* memory_;
  Tensor device_;
  Tensor host_;
  std::unique_ptr<std::byte[]> copy_;
};

/// Bytes of a contiguous tensor.
std::size_t bytes_of(const Tensor& tensor);

/// Between tensors of the same shape and type in the same device's memory, both contiguous.
void copy(DeviceMemory& memory, const Tensor& to, const Tensor& from);
/// Sets all values of a contiguous tensor to 0.
void clear(DeviceMemory& memory, const Tensor& tensor);
/// The same for kernels that the calling thread launches afterwards (DeviceMemory::queue_copy()).
void queue_copy(DeviceMemory& memory, const Tensor& to, const Tensor& from);
void queue_clear(DeviceMemory& memory, const Tensor& tensor);

}  // namespace dragoman::tensor
