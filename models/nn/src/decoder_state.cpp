#include "dragoman/nn/decoder_state.h"

namespace dragoman::nn {

HistoryId StateLayout::add_history(std::int64_t width) {
  histories_.push_back(width);
  return {static_cast<int>(histories_.size()) - 1};
}

MemoryId StateLayout::add_memory(std::int64_t width) {
  memories_.push_back(width);
  return {static_cast<int>(memories_.size()) - 1};
}

RowStateId StateLayout::add_row_state(std::int64_t width) {
  row_states_.push_back(width);
  return {static_cast<int>(row_states_.size()) - 1};
}

DecoderState::~DecoderState() = default;

}  // namespace dragoman::nn
