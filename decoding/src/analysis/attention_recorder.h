#pragma once

#include "dragoman/decoding/inner_states.h"

#include <functional>
#include <vector>

#include <dragoman/ops/attention.h>

namespace dragoman::decoding {

/// Stores the attention of one kind, layer by layer, on the host.
class AttentionRecorder final : public ops::AttentionObserver {
 public:
  AttentionRecorder(tensor::Context& context, const AttentionRequest& request);
  ~AttentionRecorder() override { ops::set_attention_observer(*context_, before_); }
  AttentionRecorder(const AttentionRecorder&) = delete;
  AttentionRecorder& operator=(const AttentionRecorder&) = delete;

  /// Marks the end of the encoder and the beginning of the decoder.
  void decoder_begins() { in_decoder_ = true; }
  /// Returns one entry per sentence.
  std::vector<AttentionMaps> take();

 private:
  /// The attention of one layer and one sentence.
  struct Map {
    int heads = 0;  ///< heads of the layer
    std::int64_t queries = 0;
    std::int64_t keys = 0;
    std::vector<float> values{};  ///< of the requested heads, or their mean
  };

  void before(ops::AttentionOptions& options) override;
  void after(tensor::Context& context, const ops::AttentionArguments& forward, const ops::Offsets& q_offsets,
             const ops::Offsets& k_offsets) override;
  std::vector<int> heads_of(int total) const;
  Map make_map(int heads, std::int64_t queries, std::int64_t keys,
               const std::function<double(int, std::int64_t, std::int64_t)>& value) const;
  std::vector<int> chosen_layers() const;

  tensor::Context* context_;
  ops::AttentionObserver* before_;
  AttentionRequest request_;
  bool in_decoder_ = false;
  bool wanted_ = false;
  bool causal_ = false;
  std::vector<std::vector<Map>> layers_;  ///< [layer][sentence]
};

}  // namespace dragoman::decoding
