#include "block.h"
#include "gemm/packed_matrix.h"
#include "listed_library.h"
#include "test_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>

// The seam between ops and whatever multiplies: what both sides of it promise, and how an algorithm of a library is
// chosen. The library is one of ours, whose algorithms differ in the order of their sums.
namespace dragoman::backend::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

enum class Side { kPlain, kLibrary };

class GemmContract : public ::testing::TestWithParam<Side> {
 protected:
  Gemm& gemm() {
    if (GetParam() == Side::kPlain) return plain_;
    return library_;
  }
  Listed listed_{.candidates = {kForwards, kBackwards}, .seconds = {{kForwards, 1}, {kBackwards, 2}}};
  PlainGemm plain_;
  LibraryGemm library_{std::make_unique<ListedLibrary>(listed_), tensor::host_memory(), {}};
};
INSTANTIATE_TEST_SUITE_P(Sides, GemmContract, ::testing::Values(Side::kPlain, Side::kLibrary), [](const auto& side) {
  return std::string(side.param == Side::kPlain ? "plain" : "library");
});

TEST_P(GemmContract, ComputesWhatTheOpsSay) {
  using ops::Activation;
  const auto activated = [](Activation activation, bool bias, bool keep_input, std::int64_t cols) {
    return Task{.rows = 6,
                .cols = cols,
                .inner = 16,
                .transpose_b = true,
                .bias = bias,
                .keep_input = keep_input,
                .activation = activation};
  };
  for (const Task& task :
       {Task{.rows = 3, .cols = 5, .inner = 7}, Task{.rows = 3, .cols = 8, .inner = 7, .bias = true, .bias_offset = 1},
        Task{.rows = 3, .cols = 8, .inner = 7, .bias = true, .accumulate = true, .bias_offset = 3},
        Task{.rows = 3,
        .cols = 8,
        .inner = 7,
        .bias = true,
        .keep_input = true,
        .activation = Activation::kGeluTanh,
        .bias_offset = 2},
        activated(Activation::kRelu, false, false, 12), activated(Activation::kRelu, true, true, 16),
        activated(Activation::kGeluTanh, true, false, 12), activated(Activation::kGeluTanh, false, false, 5),
        activated(Activation::kGeluTanh, true, true, 16), activated(Activation::kGeluTanh, false, true, 8),
        activated(Activation::kGeluTanh, true, true, 12),
        Task{.rows = 17, .cols = 20, .inner = 33, .transpose_b = true, .bias = true},
        Task{.rows = 4, .cols = 9, .inner = 70, .transpose_a = true, .accumulate = true},
        Task{.rows = 8, .cols = 4, .inner = 5, .transpose_a = true, .transpose_b = true},
        Task{.rows = 6, .cols = 12, .inner = 16, .bias = true, .activation = Activation::kRelu},
        Task{.rows = 6,
        .cols = 12,
        .inner = 16,
        .transpose_b = true,
        .bias = true,
        .keep_input = true,
        .activation = Activation::kGelu},
        Task{.rows = 2, .cols = 3, .inner = 4, .accumulate = true, .activation = Activation::kRelu}})
    for (const RowBits bits : {RowBits::kStable, RowBits::kOfShape}) {
      const Outcome actual = computed(gemm(), task, bits), wanted = expected(task);
      EXPECT_THAT(actual.c, ::testing::Pointwise(::testing::FloatNear(1e-5F), wanted.c)) << task.rows;
      EXPECT_THAT(actual.before_activation,
                  ::testing::Pointwise(::testing::FloatNear(1e-5F), wanted.before_activation));
    }
}

TEST_P(GemmContract, NanInIsNanOut) {
  Host host;
  std::vector<float> a{1, NAN, 2, 3}, b{1, 1}, c(2);
  gemm().multiply(host.context,
                  {.a = matrix(a, 2, 2),
                   .b = matrix(b, 2, 1),
                   .c = matrix(c, 2, 1),
                   .epilogue = {.activation = ops::Activation::kRelu}},
                  RowBits::kStable);
  EXPECT_TRUE(std::isnan(c[0]));
  EXPECT_EQ(c[1], 5);
}

/// Words as product ops make them, and the sums of int8 exactly.
TEST_P(GemmContract, MultipliesWords) {
  Host host;
  constexpr std::int64_t kRows = 5, kCols = 8, kInner = 40;
  auto a = random_floats(kRows * kInner, 1), b = random_floats(kCols * kInner, 2), bias = random_floats(kCols, 3);
  const auto words = [&](std::int64_t rows, int of_word) {
    const std::int64_t of_row = device::words_of(kInner, of_word);
    auto* const data = static_cast<std::uint32_t*>(
        host.context.arena().allocate(static_cast<std::size_t>(rows * of_row) * sizeof(std::uint32_t)));
    return device::WordMatrix{data, rows, of_row, of_row};
  };
  const device::WordMatrix a2 = words(kRows, 2), b2 = words(kCols, 2), a4 = words(kRows, 4), b4 = words(kCols, 4);
  device::narrow_words(device::Half::kBf16, matrix(a, kRows, kInner), a2);
  device::narrow_words(device::Half::kBf16, matrix(b, kCols, kInner), b2);
  std::vector<float> a_scales(kRows), b_scales(kCols), c(kRows * kCols), wanted(kRows * kCols);
  const device::Epilogue epilogue{.bias = matrix(bias, 1, kCols)};
  gemm().multiply_halves(host.context,
                         {.a = a2, .b = b2, .transpose_b = true, .c = matrix(c, kRows, kCols), .epilogue = epilogue},
                         RowBits::kStable);
  device::product_of_halves(device::Half::kBf16, a2, b2, matrix(wanted, kRows, kCols), epilogue);
  EXPECT_THAT(c, ::testing::Pointwise(::testing::FloatNear(1e-5F), wanted));
  device::quantize_words(matrix(a, kRows, kInner), 127, a4, a_scales.data());
  device::quantize_words(matrix(b, kCols, kInner), 127, b4, b_scales.data());
  device::Int8Product product{a4, a_scales.data(), b4, b_scales.data(), matrix(c, kRows, kCols), epilogue};
  gemm().multiply_int8(host.context, product);
  product.c = matrix(wanted, kRows, kCols);
  device::product_int8(product);
  EXPECT_EQ(c, wanted);
}

/// A vocabulary of 32,001: the library multiplies, since a packed weight has rows behind its last one.
TEST_P(GemmContract, ColumnsOfInt8NeedBeNoMultiples) {
  constexpr std::int64_t kInner = 40;
  for (const tensor::ComputeType type : {tensor::ComputeType::kI8, tensor::ComputeType::kF32})
    for (const std::int64_t cols : {1, 7, 8, 10}) {
      Host host;
      const tensor::Device device = host.context.device();
      set_gemm(device, &gemm());
      auto weight = random_floats(cols * kInner, 1), x = random_floats(3 * kInner, 2), bias = random_floats(cols, 3);
      const PackedMatrix packed(tensor::host_memory(), matrix(weight, cols, kInner), type);
      EXPECT_EQ(packed.rows(), cols);
      std::vector<float> c(static_cast<std::size_t>(3 * cols)), wanted(c.size());
      const int runs_before = listed_.runs;
      packed.multiply(host.context, matrix(x, 3, kInner), matrix(c, 3, cols), {.bias = matrix(bias, 1, cols)});
      EXPECT_EQ(listed_.runs > runs_before, GetParam() == Side::kLibrary) << cols << " in " << tensor::name_of(type);
      set_gemm(device, &plain_);
      packed.multiply(host.context, matrix(x, 3, kInner), matrix(wanted, 3, cols), {.bias = matrix(bias, 1, cols)});
      set_gemm(device, nullptr);
      EXPECT_THAT(c, ::testing::Pointwise(::testing::FloatNear(1e-5F), wanted)) << cols;
      // The first columns alone, as of a list of outputs: those behind them are of other outputs.
      if (type == tensor::ComputeType::kF32 || cols < 3) continue;
      std::vector<float> part(3 * 3);
      set_gemm(device, &gemm());
      packed.multiply(host.context, matrix(x, 3, kInner), matrix(part, 3, 3), {.bias = matrix(bias, 1, 3)});
      set_gemm(device, nullptr);
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j)
          EXPECT_EQ(part[i * 3 + j], c[i * static_cast<std::size_t>(cols) + j]) << cols;
    }
}

/// Whichever way operands lie; of the plain kernels the bits are the same. Sizes are no multiples of anything.
TEST_P(GemmContract, MultipliesWordsThatLieEitherWay) {
  for (const auto& [rows, cols, inner] :
       {std::array<std::int64_t, 3>{1, 1, 1}, {3, 17, 33}, {33, 130, 3}, {70, 5, 131}})
    for (const bool accumulate : {false, true}) {
      std::vector<float> first;
      for (const bool transpose_a : {false, true})
        for (const bool transpose_b : {true, false}) {
          Host host;
          auto c = random_floats(rows * cols, 3);
          const auto lying = [&](std::uint64_t seed, std::int64_t lines, bool by_rows) {
            auto values = random_floats(lines * inner, seed);
            if (by_rows) {
              const auto straight = values;
              for (std::int64_t i = 0; i < lines; ++i)
                for (std::int64_t k = 0; k < inner; ++k)
                  values[static_cast<std::size_t>(k * lines + i)] = straight[static_cast<std::size_t>(i * inner + k)];
            }
            const device::Matrix floats = by_rows ? matrix(values, inner, lines) : matrix(values, lines, inner);
            const std::int64_t of_row = device::words_of(floats.cols, 2);
            const device::WordMatrix made{static_cast<std::uint32_t*>(host.context.arena().allocate(
                                              static_cast<std::size_t>(floats.rows * of_row) * 4)),
                                          floats.rows, of_row, of_row};
            device::narrow_words(device::Half::kBf16, floats, made);
            return made;
          };
          gemm().multiply_halves(host.context,
                                 {.a = lying(1, rows, transpose_a),
                                  .transpose_a = transpose_a,
                                  .b = lying(2, cols, !transpose_b),
                                  .transpose_b = transpose_b,
                                  .c = matrix(c, rows, cols),
                                  .epilogue = {.accumulate = accumulate}},
                                 RowBits::kOfShape);
          if (first.empty()) first = c;
          if (GetParam() == Side::kPlain)
            EXPECT_EQ(c, first) << transpose_a << transpose_b;
          else
            EXPECT_THAT(c, ::testing::Pointwise(::testing::FloatNear(1e-5F), first)) << transpose_a << transpose_b;
        }
    }
}

/// Products of `cols` by 32, of all numbers of rows that buckets tell apart.
std::vector<std::vector<float>> products(Gemm& gemm, RowBits bits = RowBits::kStable) {
  std::vector<std::vector<float>> all;
  for (const std::int64_t rows : {1, 2, 16, 17, 64, 65, 200})
    all.push_back(computed(gemm, {.rows = rows, .cols = 4, .inner = 32, .transpose_b = true}, bits).c);
  return all;
}
std::vector<std::vector<float>> products_of(Listed& listed, const std::filesystem::path& folder = {},
                                            RowBits bits = RowBits::kStable, const std::string& identity = "listed 1") {
  LibraryGemm gemm(std::make_unique<ListedLibrary>(listed, identity), tensor::host_memory(), folder);
  return products(gemm, bits);
}

/// The fastest has other bits than the first, and so is never taken; the next one is.
TEST(LibraryGemm, TimeDecidesAmongEqualBitsOnly) {
  Listed first{.candidates = {kForwards}, .seconds = {{kForwards, 3}}};
  Listed all{.candidates = {kForwards, kBackwards, kForwardsToo},
             .seconds = {{kForwards, 3}, {kForwardsToo, 2}, {kBackwards, 1}}};
  Listed backwards{.candidates = {kBackwards, kForwards}, .seconds = {{kForwards, 1}, {kBackwards, 2}}};
  const auto wanted = products_of(first);
  EXPECT_EQ(products_of(all), wanted);
  EXPECT_NE(products_of(backwards), wanted) << "the test sees no difference between orders";
}

/// Two that agree on one shape may differ on another.
TEST(LibraryGemm, TimeDecidesNothingWhereBitsAreOfTheShape) {
  Listed first{.candidates = {kForwards}, .seconds = {}};
  Listed all{.candidates = {kForwards, kByNumberOfRows, kBackwards}, .seconds = {}};
  EXPECT_EQ(products_of(all, {}, RowBits::kOfShape), products_of(first, {}, RowBits::kOfShape));
  EXPECT_EQ(all.timings, 0);
}

/// Of a large result both ends are looked at.
TEST(LibraryGemm, OtherBitsAtTheEndOfALargeResultAreFound) {
  Listed first{.candidates = {kForwards}, .seconds = {{kForwards, 2}}};
  Listed both{.candidates = {kForwards, kForwardsToTheLastRow},
              .seconds = {{kForwards, 2}, {kForwardsToTheLastRow, 1}}};
  const Task task{.rows = 4096, .cols = 640, .inner = 16};
  LibraryGemm wanted(std::make_unique<ListedLibrary>(first), tensor::host_memory(), {});
  LibraryGemm gemm(std::make_unique<ListedLibrary>(both), tensor::host_memory(), {});
  EXPECT_TRUE(computed(gemm, task).c == computed(wanted, task).c);
}

TEST(LibraryGemm, AnswersAreKeptAndTakeNoTimeAgain) {
  const testing::TemporaryFolder folder;
  Listed listed{.candidates = {kForwards, kBackwards, kForwardsToo},
                .seconds = {{kForwards, 3}, {kForwardsToo, 2}, {kBackwards, 1}}};
  const auto wanted = products_of(listed, folder.path() / "made");
  const int timings = std::exchange(listed.timings, 0);
  EXPECT_GT(timings, 0);
  EXPECT_EQ(products_of(listed, folder.path() / "made"), wanted);
  EXPECT_EQ(listed.timings, 0);
  EXPECT_EQ(products_of(listed, folder.path() / "made", RowBits::kStable, "listed 2"), wanted);
  EXPECT_EQ(listed.timings, timings) << "another library's answers were taken";
  // Without the file, and with one that is damaged, the same bits come at the price of the time.
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "made")) {
    if (entry.path().extension() != ".txt") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    std::ofstream(entry.path()) << text.str().substr(0, text.str().size() / 2) << "\nrubbish 1 2\n";
  }
  EXPECT_EQ(products_of(listed, folder.path() / "made"), wanted);
}

TEST(LibraryGemm, AFolderThatCannotBeWrittenChangesNothing) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "no folder";
  Listed listed{.candidates = {kForwards}, .seconds = {{kForwards, 3}}};
  const auto wanted = products_of(listed);
  LibraryGemm gemm(std::make_unique<ListedLibrary>(listed), tensor::host_memory(), folder.path() / "file");
  EXPECT_EQ(products(gemm), wanted);
  EXPECT_THAT(gemm.trouble(), HasSubstr("file"));
}

/// A candidate whose rows depend on how many they are is not one of a row-stable product.
TEST(LibraryGemm, RowsDoNotDependOnTheirNumber) {
  Listed listed{.candidates = {kForwards, kByNumberOfRows}, .seconds = {{kForwards, 3}, {kByNumberOfRows, 1}}};
  LibraryGemm gemm(std::make_unique<ListedLibrary>(listed), tensor::host_memory(), {});
  const Task whole{.rows = 200, .cols = 4, .inner = 32, .transpose_b = true};
  const std::vector<float> all = computed(gemm, whole).c;
  for (const std::int64_t rows : {1, 5, 16, 40, 64, 100}) {
    Task some = whole;
    some.rows = rows;
    const std::vector<float> last = computed(gemm, some, RowBits::kStable, 200 - rows).c;
    EXPECT_EQ(std::memcmp(last.data(), all.data() + (200 - rows) * 4, last.size() * sizeof(float)), 0) << rows;
  }
}

/// Nothing is remembered of a product whose probe had no memory, so that free memory decides about no bits.
TEST(LibraryGemm, AProbeThatHasNoMemoryFailsAndIsMadeLater) {
  const testing::TemporaryFolder folder;
  // Without probes, the first algorithm would compute all numbers of rows.
  Listed listed{.candidates = {kByNumberOfRows, kForwards}, .seconds = {{kByNumberOfRows, 1}, {kForwards, 2}}};
  const auto wanted = products_of(listed);
  BoundedMemory memory;
  LibraryGemm gemm(std::make_unique<ListedLibrary>(listed), memory, folder.path());
  for (const std::size_t bytes : {0, 1'000, 5'000, 20'000}) {
    memory.allow(bytes);
    EXPECT_THROW(products(gemm), core::Error) << bytes;
  }
  memory.allow(std::size_t{1} << 30);
  EXPECT_EQ(products(gemm), wanted);
  EXPECT_EQ(products_of(listed, folder.path()), wanted);
}

/// If a number of rows has no algorithm with the bits of the others, the plain kernel computes all of them.
TEST(LibraryGemm, WithoutAStableAlgorithmTheKernelsOfOursCompute) {
  Listed listed{.candidates = {kByNumberOfRows}, .seconds = {{kByNumberOfRows, 1}}};
  PlainGemm plain;
  EXPECT_EQ(products_of(listed), products(plain));
  Listed none{};
  EXPECT_EQ(products_of(none), products(plain));
}

/// What a bucket's algorithm cannot do is done by another of the same bits.
TEST(LibraryGemm, AnAlgorithmThatCannotDoTheShapeIsReplaced) {
  Listed listed{.candidates = {kForwardsToo, kForwards},
                .seconds = {{kForwardsToo, 1}, {kForwards, 2}},
                .most_rows_of_first = 100};
  Listed first{.candidates = {kForwards}, .seconds = {{kForwards, 3}}};
  EXPECT_EQ(products_of(listed), products_of(first));
}

TEST(LibraryGemm, NothingIsTriedWhileAStepIsRecorded) {
  Listed listed{.candidates = {kForwards}, .seconds = {{kForwards, 3}}};
  LibraryGemm gemm(std::make_unique<ListedLibrary>(listed), tensor::host_memory(), {});
  const Task known{.rows = 3, .cols = 4, .inner = 5}, unknown{.rows = 3, .cols = 4, .inner = 6};
  const auto wanted = computed(gemm, known).c;
  listed.recording = true;
  EXPECT_EQ(computed(gemm, known).c, wanted);
  EXPECT_THROW(computed(gemm, unknown), core::Error);
}

TEST(GemmAnswers, ArePartOfNothingButTheirOwnFile) {
  GemmAnswers answers;
  answers[{{.type = GemmType::kI8, .transpose_b = true, .cols = 512, .inner = 64}}] = {3, 0, 63};
  answers[{{.type = GemmType::kBF16, .bias = true, .alignment = 4, .cols = 6, .inner = 7}}] = {};
  answers[{{.activation = GemmActivation::kGeluTanh, .keeps_input = true, .cols = 8, .inner = 7}}] = {1};
  const std::string text = format_answers(answers, "library, device");
  EXPECT_EQ(parse_answers(text, "library, device"), answers);
  EXPECT_THAT(parse_answers(text, "library"), IsEmpty());
  EXPECT_THAT(parse_answers("", ""), IsEmpty());
  EXPECT_THAT(parse_answers(text.substr(0, text.find('\n') + 1) + "9 0 0 0 0 0 0 16 1 1 1 0\n", "library, device"),
              IsEmpty())
      << "a type that is none";
  // Cut anywhere it gives some of them, and never another.
  for (std::size_t size = 0; size < text.size(); ++size)
    for (const auto& [question, answer] : parse_answers(std::string_view(text).substr(0, size), "library, device"))
      EXPECT_TRUE(answers.contains(question) || size + 8 > text.size());
}

}  // namespace
}  // namespace dragoman::backend::cuda
