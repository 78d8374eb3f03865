#include "ssru_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/autograd/tape.h>
#include <dragoman/core/random.h>
#include <dragoman/plugins/host.h>

namespace dragoman::ssru {
namespace {

/// Lengths of the sequences: one without tokens among them, and more than a panel of columns.
constexpr std::int64_t kWidth = 70;
const std::vector<std::int32_t> kOffsets = {0, 5, 5, 6, 9};
constexpr std::int64_t kTokens = 9;
constexpr std::int64_t kSequences = 4;

double drawn(std::uint64_t stream, std::int64_t row, std::int64_t col) {
  return core::random_uniform(3, stream, static_cast<std::uint64_t>(row * kWidth + col));
}

class ScanTest : public ::testing::TestWithParam<tensor::Device> {
 protected:
  ScanTest()
      : host_({.plugins = {DRAGOMAN_TESTED_PLUGIN}}), context_(host_.runtime().make_context(GetParam(), executor_)) {}

  Tensor matrix(std::int64_t rows, std::uint64_t stream) {
    const Tensor tensor = context_->allocate(rows, kWidth);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < kWidth; ++j) tensor::set_element(tensor, i, j, drawn(stream, i, j));
    return tensor;
  }
  double tolerance() const { return GetParam() == tensor::Device::kReference ? 1e-12 : 1e-5; }

  core::SequentialExecutor executor_;
  plugins::Host host_;
  std::unique_ptr<Context> context_;
};

/// The recurrence solved: the cell at t is a sum over all s <= t of what f lets through of each input.
double solved(std::int64_t begin, std::int64_t t, std::int64_t j, double initial) {
  double sum = initial;
  for (std::int64_t s = begin; s <= t; ++s) sum *= drawn(2, s, j);
  for (std::int64_t s = begin; s <= t; ++s) {
    double let_through = 1 - drawn(2, s, j);
    for (std::int64_t r = s + 1; r <= t; ++r) let_through *= drawn(2, r, j);
    sum += let_through * drawn(1, s, j);
  }
  return sum;
}

TEST_P(ScanTest, EqualsTheSolvedRecurrence) {
  const Tensor z = matrix(kTokens, 1);
  const Tensor f = matrix(kTokens, 2);
  const Tensor initial = matrix(kSequences, 4);
  const Tensor cells = context_->allocate(kTokens, kWidth);
  const Tensor latest = context_->allocate(kSequences, kWidth);
  context_->kernels().get(kScan)(*context_, {z, f, initial, context_->indices(kOffsets), cells, latest});
  for (std::int64_t b = 0; b < kSequences; ++b) {
    const std::int64_t begin = kOffsets[static_cast<std::size_t>(b)];
    const std::int64_t end = kOffsets[static_cast<std::size_t>(b) + 1];
    for (std::int64_t j = 0; j < kWidth; ++j) {
      for (std::int64_t t = begin; t < end; ++t)
        ASSERT_NEAR(tensor::element(cells, t, j), solved(begin, t, j, drawn(4, b, j)), tolerance());
      const double last = begin == end ? drawn(4, b, j) : solved(begin, end - 1, j, drawn(4, b, j));
      ASSERT_NEAR(tensor::element(latest, b, j), last, tolerance());
    }
  }
}

TEST_P(ScanTest, GradientsAreThoseOfTheSolvedRecurrence) {
  // With dcells = 1 at one element only, dcandidates is the share of each input in it.
  const Tensor z = matrix(kTokens, 1);
  const Tensor f = matrix(kTokens, 2);
  const Tensor cells = context_->allocate(kTokens, kWidth);
  const Offsets offsets = context_->indices(kOffsets);
  context_->kernels().get(kScan)(*context_, {z, f, {}, offsets, cells, {}});
  constexpr std::int64_t kAt = 3;
  const Tensor dcells = context_->allocate(kTokens, kWidth);
  for (std::int64_t i = 0; i < kTokens; ++i)
    for (std::int64_t j = 0; j < kWidth; ++j) tensor::set_element(dcells, i, j, i == kAt ? 1 : 0);
  const Tensor dz = context_->allocate(kTokens, kWidth);
  context_->kernels().get(kScanBackward)(*context_, {z, f, cells, offsets, dcells, {dz, false}, {}});
  for (std::int64_t j = 0; j < kWidth; ++j) {
    for (std::int64_t s = 0; s < kTokens; ++s) {
      double share = s <= kAt ? 1 - drawn(2, s, j) : 0;
      for (std::int64_t r = s + 1; r <= kAt; ++r) share *= drawn(2, r, j);
      ASSERT_NEAR(tensor::element(dz, s, j), share, tolerance()) << s << ", " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ScanTest, ::testing::Values(tensor::Device::kReference, tensor::Device::kCpu),
                         [](const auto& test) { return std::string(tensor::name_of(test.param)); });

TEST(Ssru, KeepsNothingPerTokenOfTheTarget) {
  const plugins::Host host({.plugins = {DRAGOMAN_TESTED_PLUGIN}});
  const plugins::ModelEntry& entry = host.registry().models().get("ssru");
  nn::SequenceSpec spec;
  spec.source_vocabulary = spec.target_vocabulary = 10;
  const auto model = entry.make(spec, entry.example);
  EXPECT_TRUE(model->state_layout().histories().empty());
  EXPECT_THAT(model->state_layout().row_states(), ::testing::ElementsAre(8, 8));
}

}  // namespace
}  // namespace dragoman::ssru
