#include "gather_words.h"

#include "elements.h"

namespace dragoman::testing {
namespace {

struct GatherWordsKernel {
  GatherWords arguments;
  void operator()(std::int64_t row, std::int64_t word) const {
    backend::cuda::device::at(arguments.to, row, word) = value(row, 2 * word) | value(row, 2 * word + 1) << 16U;
  }
  std::uint32_t value(std::int64_t row, std::int64_t k) const {
    const auto& [from, stride, by_rows, inner, to] = arguments;
    return k >= inner ? 0 : from[by_rows ? k * stride + row : row * stride + k];
  }
};

}  // namespace

void gather_words(const GatherWords& arguments) {
  backend::cuda::device::for_each_element(arguments.to.rows, arguments.to.cols, GatherWordsKernel{arguments});
}

}  // namespace dragoman::testing
