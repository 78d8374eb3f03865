#include "access.h"

// Gathers rows of packed weights for a list of outputs.
namespace dragoman::backend::cuda::device {
namespace {

struct GatherWords {
  ShortlistRows arguments;
  SIMT_DEVICE void operator()() const {
    const auto [token, column] = arguments.columns[simt::block_index()];
    const std::uint32_t* const from = arguments.from + token * arguments.words;
    std::uint32_t* const to = arguments.to + column * arguments.words;
    for (std::int64_t i = simt::thread_index(); i < arguments.words; i += kThreads) to[i] = from[i];
    if (simt::thread_index() != 0) return;
    if (arguments.from_scales != nullptr) arguments.to_scales[column] = arguments.from_scales[token];
    if (arguments.from_bias != nullptr) arguments.to_bias[column] = arguments.from_bias[token];
  }
};

}  // namespace

void gather_rows_of_words(const ShortlistRows& arguments, std::int64_t count) {
  for_each_row(count, 0, GatherWords{arguments});
}

}  // namespace dragoman::backend::cuda::device
