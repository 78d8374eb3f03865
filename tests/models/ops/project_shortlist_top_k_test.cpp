#include "op_harness.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include <dragoman/backend_cpu/install.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/ops/project_shortlist_top_k.h>

namespace dragoman::testing {
namespace {

using tensor::ComputeType;

/// More than go through the gathered outputs together.
constexpr std::int64_t kShortlistRows = 150;

/// Reproducible whole numbers.
class Draws {
 public:
  std::int32_t below(std::int64_t limit) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<std::int32_t>((state_ >> 33) % static_cast<std::uint64_t>(limit));
  }

 private:
  std::uint64_t state_ = 11;
};

/// Rows that choose from lists, and where the tokens of all lists are gathered, among others.
struct Lists {
  std::vector<std::int32_t> shortlist;
  std::vector<ops::ShortlistRange> of_row;
  std::vector<ops::ShortlistSource> gathered;
  std::vector<ops::ShortlistColumn> shortlist_columns;

  /// Every third row shares the list of the one before it; lists have 1 to `longest` tokens.
  Lists(std::int64_t vocabulary, std::int64_t longest) {
    Draws draws;
    std::vector<std::int32_t> columns(static_cast<std::size_t>(vocabulary), -1);
    for (std::int64_t r = 0; r < kShortlistRows; ++r) {
      if (r % 3 == 2) {
        of_row.push_back(of_row.back());
        continue;
      }
      std::vector<std::int32_t> list;
      for (std::int32_t count = 1 + draws.below(longest); count > 0; --count) list.push_back(draws.below(vocabulary));
      if (r % 4 == 0) list.push_back(static_cast<std::int32_t>(vocabulary) - 1);
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
      const auto begin = static_cast<std::int32_t>(shortlist.size());
      shortlist.insert(shortlist.end(), list.begin(), list.end());
      of_row.push_back({begin, static_cast<std::int32_t>(shortlist.size())});
    }
    std::vector<std::int32_t> tokens = shortlist;
    for (int i = 0; i < 20; ++i) tokens.push_back(draws.below(vocabulary));
    for (std::size_t i = 0; i < tokens.size(); ++i)
      std::swap(tokens[i], tokens[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(tokens.size())))]);
    for (const std::int32_t token : tokens) {
      std::int32_t& column = columns[static_cast<std::size_t>(token)];
      if (column >= 0) continue;
      column = static_cast<std::int32_t>(gathered.size());
      gathered.push_back({token, column});
    }
    shortlist_columns.resize(shortlist.size());
    for (const ops::ShortlistRange& range : of_row) {
      for (std::int32_t i = range.begin; i < range.end; ++i)
        shortlist_columns[static_cast<std::size_t>(i)] = {
            columns[static_cast<std::size_t>(shortlist[static_cast<std::size_t>(i)])], i - range.begin};
      std::sort(shortlist_columns.begin() + range.begin, shortlist_columns.begin() + range.end,
                [](const auto& a, const auto& b) { return a.column < b.column; });
    }
  }
};

struct Found {
  std::vector<double> tokens;
  std::vector<double> log_probabilities;
  std::vector<double> scored;
  bool operator==(const Found&) const = default;
};

Found read(const ops::TopK& result, std::size_t scored) {
  Found found{values_of(result.tokens), values_of(result.log_probabilities), {}};
  if (scored > 0) found.scored = values_of(result.scored_log_probabilities);
  found.scored.resize(scored);
  return found;
}

/// Both ways, in one context.
class Projections {
 public:
  Projections(Device device, std::int64_t vocabulary, std::int64_t width, ComputeType type, bool with_bias = true,
              int threads = 1)
      : rig_(device, threads) {
    Context& context = rig_.context();
    hidden_ = rig_.constant(kShortlistRows, width, random_values(kShortlistRows * width, 1, -2, 2)).value;
    weight_ = rig_.constant(vocabulary, width, random_values(vocabulary * width, 2, -2, 2)).value;
    packed_ = context.kernels().get(ops::kPackWeight)(context, weight_, type);
    projection_.weight.packed = packed_.get();
    if (with_bias) projection_.bias = rig_.constant(1, vocabulary, random_values(vocabulary, 3, -2, 2));
  }

  Found masked(const Lists& lists, ops::TopKOptions options) {
    add(lists, options);
    return read(ops::project_top_k(rig_.context(), hidden_, projection_, options), options.scored.size());
  }
  Found shortlist_columns(const Lists& lists, ops::TopKOptions options) {
    add(lists, options);
    Context& context = rig_.context();
    const ops::UploadedTopKOptions uploaded = ops::upload(context, options, kShortlistRows, projection_.vocabulary());
    return read(ops::project_shortlist_top_k(
                    context, hidden_, projection_, uploaded,
                    {outputs_.get(), columns_, ops::upload(context, std::span(lists.shortlist_columns))}),
                options.scored.size());
  }
  /// In two parts, after others that are taken back. False where the backend has no gathering, or none that keeps bits,
  /// as oneDNN's floats on old processors have not.
  bool gather(const Lists& lists) {
    Context& context = rig_.context();
    const auto count = static_cast<std::int64_t>(lists.gathered.size());
    if (auto* make = context.kernels().find(ops::kMakeShortlistOutputs); make != nullptr)
      outputs_ = make(context, *packed_, count);
    if (outputs_ == nullptr) return false;
    columns_ = (count + outputs_->panel() - 1) / outputs_->panel() * outputs_->panel();
    std::vector<ops::ShortlistSource> wrong = lists.gathered;
    for (ops::ShortlistSource& at : wrong) at.token = (at.token + 5) % static_cast<std::int32_t>(packed_->rows());
    gather(wrong);
    const auto half = lists.gathered.begin() + count / 2;
    gather({lists.gathered.begin(), half});
    gather({half, lists.gathered.end()});
    return true;
  }

 private:
  static void add(const Lists& lists, ops::TopKOptions& options) {
    options.shortlist = lists.shortlist;
    options.shortlist_of_row = lists.of_row;
  }
  void gather(const std::vector<ops::ShortlistSource>& columns) {
    Context& context = rig_.context();
    context.kernels().get(ops::kGatherOutputs)(
        context, {packed_.get(), projection_.bias.value, outputs_.get(), context.upload(std::span(columns))});
  }

  Rig rig_;
  Tensor hidden_;
  Tensor weight_;
  std::unique_ptr<tensor::PackedWeight> packed_;
  ops::Projection projection_;
  std::unique_ptr<ops::ShortlistOutputs> outputs_;
  std::int64_t columns_ = 0;
};

class ShortlistTopKTest : public ::testing::TestWithParam<Device> {
 protected:
  static std::vector<ComputeType> types() {
    return {ComputeType::kF32, ComputeType::kBF16, backend::cpu::inference_type(tensor::ComputeChoice::kI8)};
  }
};
INSTANTIATE_TEST_SUITE_P(ProjectShortlistTopK, ShortlistTopKTest, kAllDevices, device_name);

/// Vocabularies of one panel and of several with a narrow last one; odd widths; lists shorter than k; threads.
TEST_P(ShortlistTopKTest, FindsToTheBitWhatMaskingFinds) {
  struct Size {
    std::int64_t vocabulary, width, longest;
  };
  const bool on_host = GetParam().backend() != "cuda";  // emulated, a product takes a second
  for (const auto& [vocabulary, width, longest] : {Size{300, 48, 12}, Size{2100, 33, 300}, Size{9001, 64, 700}})
    for (const ComputeType type : types()) {
      const Lists lists(vocabulary, longest);
      Projections projections(GetParam(), vocabulary, width, type, vocabulary != 2100);
      std::optional<Projections> by_threads;  // of the host
      if (on_host) by_threads.emplace(GetParam(), vocabulary, width, type, vocabulary != 2100, 3);
      const std::string where = fmt::format("V = {}, {}, {}", vocabulary, name_of(type), name_of(GetParam()));
      if (!projections.gather(lists)) {
        EXPECT_TRUE(GetParam().backend() == "cuda" || !tensor::is_int8(type))
            << where << ": sums of whole numbers are exact";
        std::printf("%s: not gathered\n", where.c_str());
        continue;
      }
      if (by_threads) by_threads->gather(lists);
      for (const std::int64_t k : {1, 8, 40}) {
        if (!on_host && k == 8) continue;
        const Found masked = projections.masked(lists, {.k = k});
        EXPECT_EQ(projections.shortlist_columns(lists, {.k = k}), masked) << where << ", k = " << k;
        if (by_threads) {
          EXPECT_EQ(by_threads->shortlist_columns(lists, {.k = k}), masked) << where << ", k = " << k << ", 3 threads";
        }
      }
    }
}

/// Rank by rank: near ties may change places.
TEST_P(ShortlistTopKTest, FindsWhatDoublePrecisionFinds) {
  constexpr std::int64_t kVocabulary = 2100;
  constexpr std::int64_t k = 8;
  const Lists lists(kVocabulary, 120);
  Projections projections(GetParam(), kVocabulary, 48, ComputeType::kF32);
  Projections exact(Device::kReference, kVocabulary, 48, ComputeType::kF32);
  if (!projections.gather(lists)) GTEST_SKIP() << "not gathered";
  ASSERT_TRUE(exact.gather(lists));
  const Found found = projections.shortlist_columns(lists, {.k = k});
  const Found expected = exact.shortlist_columns(lists, {.k = k});
  for (std::size_t i = 0; i < expected.tokens.size(); ++i) {
    if (std::isinf(expected.log_probabilities[i]))
      EXPECT_EQ(found.log_probabilities[i], expected.log_probabilities[i]) << i;
    else
      EXPECT_NEAR(found.log_probabilities[i], expected.log_probabilities[i], 1e-4) << i;
    const ops::ShortlistRange range = lists.of_row[i / k];
    const auto list =
        std::span(lists.shortlist)
            .subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.end - range.begin));
    EXPECT_EQ(std::ranges::binary_search(list, static_cast<std::int32_t>(found.tokens[i])),
              !std::isinf(expected.log_probabilities[i]))
        << i;
  }
}

TEST_P(ShortlistTopKTest, EditsTemperaturesNoiseAndWantedTokensAreAsWithMasking) {
  constexpr std::int64_t kVocabulary = 5003;
  const Lists lists(kVocabulary, 200);
  std::vector<ops::LogitEdit> edits;
  std::vector<ops::ScoredToken> scored;
  std::vector<ops::RowNoise> noise;
  std::vector<double> temperatures;
  for (std::int32_t r = 0; r < kShortlistRows; ++r) {
    const ops::ShortlistRange range = lists.of_row[static_cast<std::size_t>(r)];
    for (std::int32_t i = range.begin; i < range.end; ++i) {
      const std::int32_t token = lists.shortlist[static_cast<std::size_t>(i)];
      // In row 6 all are suppressed; in others a few are changed, and an unlisted one.
      if (r == 6 || i % 7 == 0)
        edits.push_back({.row = r, .token = token, .bias = ops::LogitEdit::kSuppress});
      else if (i % 7 == 3)
        edits.push_back({.row = r, .token = token, .penalty = 1.7F, .bias = 0.25F});
      if (i % 5 == 0) scored.push_back({r, token});
    }
    const auto shortlist_columns =
        std::span(lists.shortlist)
            .subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.end - range.begin));
    if (!std::ranges::binary_search(shortlist_columns, 4000)) {
      edits.push_back({.row = r, .token = 4000, .penalty = 1.5F});
      scored.push_back({r, 4000});
    }
    noise.push_back({.seed = 5, .stream = static_cast<std::uint64_t>(r), .step = 3, .drawn = r % 3 != 1});
    temperatures.push_back(r % 2 == 0 ? 1 : 0.7);
  }
  const auto place = [](const auto& entry) { return std::pair(entry.row, entry.token); };
  std::ranges::sort(edits, {}, place);
  std::ranges::sort(scored, {}, place);
  for (const ComputeType type : types()) {
    Projections projections(GetParam(), kVocabulary, 40, type);
    if (!projections.gather(lists)) continue;
    for (const ops::TopKOptions& options :
         {ops::TopKOptions{.k = 5, .edits = edits}, ops::TopKOptions{.k = 5, .temperatures = temperatures},
          ops::TopKOptions{.k = 5, .temperatures = temperatures, .edits = edits, .scored = scored},
          ops::TopKOptions{.k = 20, .noise = noise},
          ops::TopKOptions{.k = 5, .temperatures = temperatures, .edits = edits, .noise = noise, .scored = scored}}) {
      // Where everything is suppressed there is no probability but NaN, which equals nothing.
      const auto comparable = [](Found found) {
        for (std::vector<double>* values : {&found.log_probabilities, &found.scored})
          for (double& value : *values)
            if (std::isnan(value)) value = 77;
        return found;
      };
      EXPECT_EQ(comparable(projections.shortlist_columns(lists, options)),
                comparable(projections.masked(lists, options)))
          << fmt::format("{}, {}, k = {}, {} edits, {} noise", name_of(GetParam()), name_of(type), options.k,
                         options.edits.size(), options.noise.size());
    }
  }
}

TEST_P(ShortlistTopKTest, TiesGoToTheSmallerTokenWhereverItIsGathered) {
  constexpr std::int64_t kVocabulary = 400;
  const Lists lists(kVocabulary, 60);
  Rig rig(GetParam());
  Context& context = rig.context();
  const Tensor hidden = rig.matrix(kShortlistRows, 8, std::vector<double>(kShortlistRows * 8, 0.5));
  const Tensor weight = rig.matrix(kVocabulary, 8, std::vector<double>(kVocabulary * 8, 0.25));
  const auto packed = context.kernels().get(ops::kPackWeight)(context, weight, ComputeType::kF32);
  auto* make = context.kernels().find(ops::kMakeShortlistOutputs);
  if (make == nullptr) GTEST_SKIP() << "not gathered";
  const auto outputs = make(context, *packed, static_cast<std::int64_t>(lists.gathered.size()));
  if (outputs == nullptr) GTEST_SKIP() << "not gathered, since that would change bits";
  context.kernels().get(ops::kGatherOutputs)(
      context, {packed.get(), {}, outputs.get(), context.upload(std::span(lists.gathered))});
  const ops::TopKOptions options{.k = 1, .shortlist = lists.shortlist, .shortlist_of_row = lists.of_row};
  const ops::TopK best = ops::project_shortlist_top_k(
      context, hidden, {{{}, packed.get()}, {}}, ops::upload(context, options, kShortlistRows, kVocabulary),
      {outputs.get(), outputs->columns(), ops::upload(context, std::span(lists.shortlist_columns))});
  const std::vector<double> tokens = values_of(best.tokens);
  for (std::size_t r = 0; r < tokens.size(); ++r)
    EXPECT_EQ(tokens[r], lists.shortlist[static_cast<std::size_t>(lists.of_row[r].begin)]) << r;
}

}  // namespace
}  // namespace dragoman::testing
