#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <dragoman/nn/decoder_state.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::nn {

/// Selects the attention that serves as word alignment: the mean of the first `heads` heads of one cross-attention.
struct AlignmentHeads {
  MemoryId memory{-1};
  int heads = 1;
};

/// The attention weights that a decoder state keeps from one decode() call, if requested, and reads on the host. Part
/// of WholeState and PooledState; belongs to the thread of the state.
class KeptAttention {
 public:
  void request(const AlignmentHeads& heads) noexcept { request_ = heads; }
  /// Returns true if the weights of this memory are requested.
  bool wants(MemoryId id) const noexcept { return request_.memory.index == id.index; }

  void clear() noexcept {
    weights_ = {};
    on_host_.reset();
  }
  void keep(const Tensor& weights) noexcept { weights_ = weights; }
  /// Sets the total number of heads of the attention whose weights are kept.
  void set_total_heads(int heads) noexcept { total_heads_ = heads; }
  int total_heads() const noexcept { return total_heads_; }
  const Tensor& weights() const noexcept { return weights_; }

  /// The position of one query's weights. The first head has `keys` elements of row `row`, starting at `column`. Each
  /// further head begins `head_stride` elements later.
  struct Place {
    std::int64_t row = 0;
    std::int64_t column = 0;
    std::int64_t head_stride = 0;
    std::int64_t keys = 0;
  };
  /// Returns the mean of the requested heads' weights, [keys]. Waits for the device.
  std::vector<float> mean(tensor::DeviceMemory& memory, const Place& place);
  /// Error{kInvalidArgument} if no weights were kept.
  void require_kept() const;

 private:
  AlignmentHeads request_;
  Tensor weights_;
  std::optional<tensor::HostView> on_host_;
  int total_heads_ = 1;
};

}  // namespace dragoman::nn
