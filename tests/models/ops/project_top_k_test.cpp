#include "op_harness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <dragoman/ops/linear.h>
#include <dragoman/ops/project_top_k.h>
#include <dragoman/ops/softmax.h>

namespace dragoman::testing {
namespace {

struct Problem {
  std::int64_t rows;
  std::int64_t width;
  std::int64_t vocabulary;
  bool with_bias = true;
};

struct Model {
  Tensor hidden;
  ops::Projection projection;
};

Model make_model(Rig& rig, const Problem& problem) {
  const auto constant = [&](std::int64_t rows, std::int64_t cols, std::uint64_t stream) {
    return rig.constant(rows, cols, random_values(rows * cols, stream, -2, 2));
  };
  const Variable bias = problem.with_bias ? constant(1, problem.vocabulary, 3) : Variable{};
  return {constant(problem.rows, problem.width, 1).value,
          {{constant(problem.vocabulary, problem.width, 2), nullptr}, bias}};
}

struct Candidates {
  std::vector<std::vector<std::int32_t>> tokens;
  std::vector<std::vector<double>> log_probabilities;
  std::vector<double> scored;
};

Candidates read(const ops::TopK& result) {
  Candidates candidates;
  for (std::int64_t r = 0; r < result.tokens.rows; ++r) {
    const std::vector<double> tokens = values_of(result.tokens.row_range(r, r + 1));
    candidates.tokens.emplace_back(tokens.begin(), tokens.end());
    candidates.log_probabilities.push_back(values_of(result.log_probabilities.row_range(r, r + 1)));
  }
  if (!result.scored_log_probabilities.empty()) candidates.scored = values_of(result.scored_log_probabilities);
  return candidates;
}

/// What project_top_k must find, together with every token's own figures.
struct Expected : Candidates {
  std::vector<std::vector<double>> ranks;                  ///< [row][token]: log probability plus noise
  std::vector<std::vector<double>> all_log_probabilities;  ///< [row][token]
};

/// Full softmax and sort in plain C++.
Expected expected_candidates(const Problem& problem, const ops::TopKOptions& options) {
  Rig rig(Device::kReference);
  const Model model = make_model(rig, problem);
  Expected result;
  for (std::int64_t r = 0; r < problem.rows; ++r) {
    std::vector<double> logits;
    for (std::int64_t v = 0; v < problem.vocabulary; ++v) {
      double logit = problem.with_bias ? tensor::element(model.projection.bias.value, 0, v) : 0;
      for (std::int64_t k = 0; k < problem.width; ++k)
        logit += tensor::element(model.hidden, r, k) * tensor::element(model.projection.weight.value.value, v, k);
      for (const ops::LogitEdit& edit : options.edits)
        if (edit.row == r && edit.token == v)
          logit = (logit > 0 ? logit / edit.penalty : logit * edit.penalty) + edit.bias;
      logits.push_back(options.temperatures.empty() ? logit
                                                    : logit / options.temperatures[static_cast<std::size_t>(r)]);
    }
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    auto& log_probabilities = result.all_log_probabilities.emplace_back();
    auto& ranks = result.ranks.emplace_back();
    std::vector<std::pair<double, std::int32_t>> ranked;
    for (std::int64_t v = 0; v < problem.vocabulary; ++v) {
      const bool noisy = !options.noise.empty() && options.noise[static_cast<std::size_t>(r)].drawn;
      const double noise =
          noisy ? ops::gumbel_noise(options.noise[static_cast<std::size_t>(r)], problem.vocabulary, v) : 0;
      log_probabilities.push_back(logits[static_cast<std::size_t>(v)] - std::log(sum));
      ranks.push_back(log_probabilities.back() + noise);
      ranked.emplace_back(-ranks.back(), static_cast<std::int32_t>(v));
    }
    std::sort(ranked.begin(), ranked.end());
    auto& tokens = result.tokens.emplace_back();
    auto& chosen = result.log_probabilities.emplace_back();
    for (std::int64_t i = 0; i < options.k; ++i) {
      tokens.push_back(ranked[static_cast<std::size_t>(i)].second);
      chosen.push_back(log_probabilities[static_cast<std::size_t>(tokens.back())]);
    }
  }
  for (const ops::ScoredToken& scored : options.scored)
    result.scored.push_back(
        result.all_log_probabilities[static_cast<std::size_t>(scored.row)][static_cast<std::size_t>(scored.token)]);
  return result;
}

/// Two tokens may change places only if they rank within the tolerance of each other.
void expect_same(const Candidates& actual, const Expected& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(actual.tokens.size(), expected.tokens.size()) << what;
  ASSERT_GE(actual.scored.size(), expected.scored.size()) << what << ": a recording device may have filled a bucket";
  expect_close(std::vector<double>(actual.scored.begin(),
                                   actual.scored.begin() + static_cast<std::ptrdiff_t>(expected.scored.size())),
               expected.scored, tolerance, what + ", wanted tokens");
  for (std::size_t r = 0; r < expected.tokens.size(); ++r) {
    const auto& tokens = actual.tokens[r];
    ASSERT_EQ(std::set<std::int32_t>(tokens.begin(), tokens.end()).size(), expected.tokens[r].size()) << what;
    std::vector<double> found_ranks;
    std::vector<double> right_ranks;
    std::vector<double> log_probabilities;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      found_ranks.push_back(expected.ranks[r].at(static_cast<std::size_t>(tokens[i])));
      right_ranks.push_back(expected.ranks[r].at(static_cast<std::size_t>(expected.tokens[r][i])));
      log_probabilities.push_back(expected.all_log_probabilities[r].at(static_cast<std::size_t>(tokens[i])));
    }
    expect_close(found_ranks, right_ranks, tolerance, what + ", ranks of row " + std::to_string(r));
    expect_close(actual.log_probabilities[r], log_probabilities, tolerance, what + ", row " + std::to_string(r));
  }
}

enum class Form { kPlain, kPacked, kComposite };

Candidates find(Rig& rig, const Problem& problem, const ops::TopKOptions& options, Form form) {
  Model model = make_model(rig, problem);
  if (form == Form::kComposite)
    return read(ops::project_top_k_composite(rig.context(), model.hidden, model.projection, options));
  if (form == Form::kPlain) return read(ops::project_top_k(rig.context(), model.hidden, model.projection, options));
  const auto packed = rig.context().kernels().get(ops::kPackWeight)(rig.context(), model.projection.weight.value.value,
                                                                    tensor::ComputeType::kF32);
  model.projection.weight = {{}, packed.get()};
  return read(ops::project_top_k(rig.context(), model.hidden, model.projection, options));
}

void expect_right(Device device, const Problem& problem, const ops::TopKOptions& options, const std::string& what) {
  const Expected expected = expected_candidates(problem, options);
  const double tolerance = device == Device::kReference ? 1e-11 : 2e-5;
  for (const Form form : {Form::kPlain, Form::kPacked, Form::kComposite}) {
    Rig rig(device);
    const std::string where = fmt::format("{}, k = {}, V = {}, {}, form {}", what, options.k, problem.vocabulary,
                                          name_of(device), static_cast<int>(form));
    expect_same(find(rig, problem, options, form), expected, tolerance, where);
  }
}

class TopKTest : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(ProjectTopK, TopKTest, kAllDevices, device_name);

TEST_P(TopKTest, FindsWhatSoftmaxAndSortFind) {
  const std::vector<Problem> problems = {{1, 3, 5}, {7, 16, 33, false}, {4, 32, 2100}, {3, 33, 1025}, {0, 8, 20}};
  for (const Problem& problem : problems)
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{5}, problem.vocabulary / 2, problem.vocabulary})
      if (k <= problem.vocabulary) expect_right(GetParam(), problem, {.k = k}, "plain");
}

/// The power of two that is sorted may lie beyond the last panel of a vocabulary.
TEST_P(TopKTest, SortsWhatPanelsDoNotFill) {
  const Problem problem{1, 8, 9001};
  for (const std::int64_t k : {65, 1024}) {
    Rig rig(GetParam());
    {
      // Candidates that an earlier step has left, better than all of this one.
      const tensor::ScratchScope scope(rig.context().arena());
      const std::vector<double> left(std::size_t{1} << 19, 1e9);
      rig.context().memory().copy_in(rig.context().arena().allocate(left.size() * sizeof(double)), left.data(),
                                     left.size() * sizeof(double));
    }
    const double tolerance = GetParam() == Device::kReference ? 1e-11 : 2e-5;
    const ops::TopKOptions options{.k = k};
    expect_same(find(rig, problem, options, Form::kPlain), expected_candidates(problem, options), tolerance, "panels");
  }
}

/// A plain weight is multiplied in the context's type by the kernel and by the composite.
TEST_P(TopKTest, MultipliesAPlainWeightInTheTypeOfTheContext) {
  const Problem problem{5, 16, 300};
  const auto in_type = [&](tensor::ComputeType type, Form form) {
    Rig rig(GetParam());
    autograd::training_mode(rig.context()).set_compute_type(type);
    return find(rig, problem, {.k = 300}, form);
  };
  const Candidates exact = in_type(tensor::ComputeType::kF32, Form::kPlain);
  const Candidates fused = in_type(tensor::ComputeType::kBF16, Form::kPlain);
  const Candidates composite = in_type(tensor::ComputeType::kBF16, Form::kComposite);
  for (std::size_t row = 0; row < 5; ++row) {
    expect_close(fused.log_probabilities[row], composite.log_probabilities[row], 2e-5, "fused and composite");
    EXPECT_NE(fused.log_probabilities[row], exact.log_probabilities[row]) << "rounded";
  }
}

TEST_P(TopKTest, DividesByTheTemperatureOfEachRow) {
  const std::vector<double> temperatures{0.25, 1.5, 8.0};
  expect_right(GetParam(), {3, 16, 700}, {.k = 6, .temperatures = temperatures}, "temperatures");
}

TEST_P(TopKTest, MoreCandidatesThanARowNeedsBeginWithThoseThatItNeeds) {
  for (const Form form : {Form::kPlain, Form::kPacked, Form::kComposite}) {
    Rig rig(GetParam());
    const Candidates few = find(rig, {5, 16, 2100}, {.k = 3}, form);
    const Candidates many = find(rig, {5, 16, 2100}, {.k = 1024}, form);
    for (std::size_t row = 0; row < few.tokens.size(); ++row)
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(few.tokens[row][i], many.tokens[row][i]);
        EXPECT_EQ(few.log_probabilities[row][i], many.log_probabilities[row][i]);
      }
  }
}

TEST_P(TopKTest, AppliesEditsBeforeTheSoftmax) {
  const Problem problem{3, 16, 300};
  const Candidates unedited = expected_candidates(problem, {.k = 3});
  std::vector<ops::LogitEdit> edits;
  edits.push_back({.row = 0, .token = 4, .penalty = 1.5F});
  edits.push_back({.row = 1, .token = unedited.tokens[1][0], .bias = ops::LogitEdit::kSuppress});
  edits.push_back({.row = 2, .token = unedited.tokens[2][0], .penalty = 2.5F, .bias = -0.75F});
  edits.push_back({.row = 2, .token = (unedited.tokens[2][0] + 1) % 300, .bias = 200});
  std::sort(edits.begin(), edits.end(),
            [](const auto& a, const auto& b) { return std::pair(a.row, a.token) < std::pair(b.row, b.token); });
  const Candidates expected = expected_candidates(problem, {.k = 3, .edits = edits});
  EXPECT_EQ(expected.tokens[1][0], unedited.tokens[1][1]);
  EXPECT_EQ(expected.tokens[2][0], (unedited.tokens[2][0] + 1) % 300);
  expect_right(GetParam(), problem, {.k = 3, .edits = edits}, "edits");
  expect_right(GetParam(), problem, {.k = 300, .edits = std::span(edits).first(1)}, "one edit");
  const std::vector<double> temperatures(3, 2.0);
  expect_right(GetParam(), problem, {.k = 3, .temperatures = temperatures, .edits = edits}, "edits and temperature");
}

TEST_P(TopKTest, TellsLogProbabilitiesOfWantedTokens) {
  const Problem problem{4, 16, 2100};
  const std::vector<ops::LogitEdit> edits = {{.row = 1, .token = 900, .penalty = 1.5F, .bias = 2},
                                             {.row = 3, .token = 7, .bias = 9}};
  const std::vector<double> temperatures{1.0, 0.5, 2.0, 1.0};
  const std::vector<ops::ScoredToken> scored = {{0, 0}, {0, 2099}, {1, 900}, {1, 1030}, {3, 6}, {3, 7}};
  expect_right(GetParam(), problem, {.k = 3, .scored = scored}, "wanted");
  const ops::TopKOptions options{.k = 2100, .temperatures = temperatures, .edits = edits, .scored = scored};
  expect_right(GetParam(), problem, options, "wanted of edited and tempered rows");
  // The bits that they have as candidates.
  for (const Form form : {Form::kPlain, Form::kPacked, Form::kComposite}) {
    Rig rig(GetParam());
    const Candidates found = find(rig, problem, options, form);
    for (std::size_t i = 0; i < scored.size(); ++i) {
      const auto row = static_cast<std::size_t>(scored[i].row);
      const auto place = std::ranges::find(found.tokens[row], scored[i].token) - found.tokens[row].begin();
      EXPECT_EQ(found.scored[i], found.log_probabilities[row].at(static_cast<std::size_t>(place)));
    }
  }
  const ops::TopKOptions outside{.scored = std::span(scored).last(1)};
  Rig rig(GetParam());
  EXPECT_THROW(find(rig, {3, 16, 2100}, outside, Form::kPlain), core::Error);
}

TEST_P(TopKTest, AForcedTokenIsAllThatIsLeft) {
  // Everything but token 3 is suppressed, as a forced prefix does it.
  std::vector<ops::LogitEdit> edits;
  for (std::int32_t token = 0; token < 40; ++token)
    if (token != 3) edits.push_back({.row = 0, .token = token, .bias = ops::LogitEdit::kSuppress});
  for (const Form form : {Form::kPlain, Form::kPacked, Form::kComposite}) {
    Rig rig(GetParam());
    const Candidates result = find(rig, {1, 8, 40}, {.k = 2, .edits = edits}, form);
    EXPECT_EQ(result.tokens[0][0], 3);
    EXPECT_NEAR(result.log_probabilities[0][0], 0, 1e-6);
    EXPECT_EQ(result.log_probabilities[0][1], -std::numeric_limits<double>::infinity());
  }
}

TEST_P(TopKTest, TiesGoToTheSmallerToken) {
  for (const std::int64_t vocabulary : {5, 64, 1500})
    for (const Form form : {Form::kPlain, Form::kPacked, Form::kComposite}) {
      Rig rig(GetParam());
      const Tensor hidden = rig.matrix(2, 2, std::vector<double>{1, 0, 0, 0});
      std::vector<double> weights(static_cast<std::size_t>(2 * vocabulary), 0.0);
      weights[2 * 3] = 1;  // token 3 wins the first row; all others tie
      ops::Projection projection{{rig.constant(vocabulary, 2, weights), nullptr}, {}};
      const auto packed = rig.context().kernels().get(ops::kPackWeight)(rig.context(), projection.weight.value.value,
                                                                        tensor::ComputeType::kF32);
      if (form == Form::kPacked) projection.weight = {{}, packed.get()};
      const Candidates result =
          read(form == Form::kComposite ? ops::project_top_k_composite(rig.context(), hidden, projection, {.k = 4})
                                        : ops::project_top_k(rig.context(), hidden, projection, {.k = 4}));
      EXPECT_EQ(result.tokens[0], (std::vector<std::int32_t>{3, 0, 1, 2}));
      EXPECT_EQ(result.tokens[1], (std::vector<std::int32_t>{0, 1, 2, 3}));
    }
}

TEST_P(TopKTest, NoiseChangesTheRankButNotTheProbabilities) {
  const Problem problem{4, 16, 700};
  std::vector<ops::RowNoise> noise;
  for (std::uint64_t row = 0; row < 4; ++row) noise.push_back({.seed = 42, .stream = row, .step = 3});
  expect_right(GetParam(), problem, {.k = 5, .noise = noise}, "noise");
  const std::vector<double> temperatures(4, 0.7);
  expect_right(GetParam(), problem, {.k = 5, .temperatures = temperatures, .noise = noise}, "noise and temperature");
  EXPECT_NE(expected_candidates(problem, {.k = 5, .noise = noise}).tokens,
            expected_candidates(problem, {.k = 5}).tokens);
}

TEST_P(TopKTest, ARowWithoutNoiseIsThatOfACallWithoutNoise) {
  const Problem problem{4, 16, 700};
  std::vector<ops::RowNoise> noise;
  for (std::uint64_t row = 0; row < 4; ++row)
    noise.push_back({.seed = 42, .stream = row, .step = 3, .drawn = row % 2 == 0});
  expect_right(GetParam(), problem, {.k = 5, .noise = noise}, "noise in some rows");
  for (const Form form : {Form::kPlain, Form::kPacked, Form::kComposite}) {
    Rig rig(GetParam());
    const Candidates mixed = find(rig, problem, {.k = 5, .noise = noise}, form);
    const Candidates without = find(rig, problem, {.k = 5}, form);
    for (const std::size_t row : {1, 3}) {
      EXPECT_EQ(mixed.tokens[row], without.tokens[row]);
      EXPECT_EQ(mixed.log_probabilities[row], without.log_probabilities[row]);
    }
  }
}

TEST_P(TopKTest, ARowDoesNotDependOnTheOthersNorOnThreads) {
  constexpr std::int64_t kRows = 33;
  const Problem problem{kRows, 64, 1300};
  for (const Form form : {Form::kPacked}) {
    Rig together(GetParam(), 3);
    const Candidates all = find(together, problem, {.k = 4}, form);
    Rig alone(GetParam());
    const Model model = make_model(alone, problem);
    const auto packed = alone.context().kernels().get(ops::kPackWeight)(
        alone.context(), model.projection.weight.value.value, tensor::ComputeType::kF32);
    for (std::int64_t r = 0; r < kRows; ++r) {
      const Candidates one = read(ops::project_top_k(alone.context(), model.hidden.row_range(r, r + 1),
                                                     {{{}, packed.get()}, model.projection.bias}, {.k = 4}));
      EXPECT_EQ(one.tokens[0], all.tokens[static_cast<std::size_t>(r)]);
      EXPECT_EQ(one.log_probabilities[0], all.log_probabilities[static_cast<std::size_t>(r)]) << "row " << r;
    }
  }
}

/// Rows 0 and 1 share a list, row 2 chooses from everything, row 3 from another list; the last two tokens are of no
/// row.
TEST_P(TopKTest, AllowedTokensAreThoseThatNoEditForbids) {
  const Problem problem{4, 16, 2100};
  const std::vector<std::int32_t> shortlist = {0, 3, 64, 65, 1023, 1024, 2000, 2099, 5, 6, 7, 1500, 1, 2};
  const std::vector<ops::ShortlistRange> ranges = {{0, 8}, {0, 8}, {12, 12}, {8, 12}};
  std::vector<ops::LogitEdit> suppressing;
  for (const std::int32_t row : {0, 1, 3}) {
    const auto [begin, end] = ranges[static_cast<std::size_t>(row)];
    for (std::int32_t token = 0; token < 2100; ++token)
      if (!std::binary_search(shortlist.begin() + begin, shortlist.begin() + end, token))
        suppressing.push_back({.row = row, .token = token, .bias = ops::LogitEdit::kSuppress});
  }
  std::vector<ops::RowNoise> noise(4, {.seed = 5});
  noise[1].drawn = false;
  const std::vector<double> temperatures(4, 1.5);
  // Fewer candidates than a list has, as many, and more.
  for (const std::int64_t k : {1, 4, 8, 20}) {
    const Expected expected = expected_candidates(problem, {.k = k, .edits = suppressing});
    for (const Form form : {Form::kPlain, Form::kPacked, Form::kComposite}) {
      Rig rig(GetParam());
      const auto found = find(rig, problem, {.k = k, .shortlist = shortlist, .shortlist_of_row = ranges}, form);
      for (std::size_t row = 0; row < 4; ++row) EXPECT_EQ(found.tokens[row], expected.tokens[row]) << row;
      const auto both = [&](ops::TopKOptions options) {
        options.k = k, options.temperatures = temperatures, options.noise = noise;
        return find(rig, problem, options, form);
      };
      const Candidates shortlist_columns = both({.shortlist = shortlist, .shortlist_of_row = ranges});
      const Candidates edited = both({.edits = suppressing});
      EXPECT_EQ(shortlist_columns.tokens, edited.tokens);
      EXPECT_EQ(shortlist_columns.log_probabilities, edited.log_probabilities);
    }
  }
}

TEST_P(TopKTest, AListOfAllTokensChangesNothing) {
  std::vector<std::int32_t> all(1300);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
  const std::vector<ops::ShortlistRange> ranges(5, {.begin = 0, .end = 1300});
  for (const Form form : {Form::kPlain, Form::kPacked, Form::kComposite}) {
    Rig rig(GetParam());
    const Candidates without = find(rig, {5, 32, 1300}, {.k = 9}, form);
    const Candidates with = find(rig, {5, 32, 1300}, {.k = 9, .shortlist = all, .shortlist_of_row = ranges}, form);
    EXPECT_EQ(with.tokens, without.tokens);
    EXPECT_EQ(with.log_probabilities, without.log_probabilities);
  }
}

TEST_P(TopKTest, GumbelNoiseSamplesFromTheSoftmax) {
  // The best of "log p + Gumbel noise" over 20,000 draws against the probabilities themselves: Pearson's chi-square
  // with 7 degrees of freedom stays below 24.3 with probability 0.999.
  constexpr std::int64_t kVocabulary = 8;
  constexpr std::int64_t kDraws = 20000;
  const std::vector<double> bias{0.5, -1, 1.5, 0, -0.5, 1, -2, 0.25};
  double sum = 0;
  for (const double value : bias) sum += std::exp(value);
  std::vector<std::int64_t> counts(kVocabulary, 0);
  Rig rig(GetParam());
  constexpr std::int64_t kBatch = 100;
  const Tensor hidden = rig.matrix(kBatch, 1, std::vector<double>(kBatch, 0.0));
  const ops::Projection projection{{rig.constant(kVocabulary, 1, std::vector<double>(kVocabulary, 0.0)), nullptr},
                                   rig.constant(1, kVocabulary, bias)};
  for (std::int64_t batch = 0; batch < kDraws / kBatch; ++batch) {
    std::vector<ops::RowNoise> noise;
    for (std::int64_t row = 0; row < kBatch; ++row)
      noise.push_back(
          {.seed = 7, .stream = static_cast<std::uint64_t>(row), .step = static_cast<std::uint64_t>(batch)});
    const tensor::ScratchScope scope(rig.context().arena());
    const ops::TopK result = ops::project_top_k(rig.context(), hidden, projection, {.k = 1, .noise = noise});
    for (const double token : values_of(result.tokens)) ++counts[static_cast<std::size_t>(token)];
  }
  double chi_square = 0;
  for (std::size_t token = 0; token < kVocabulary; ++token) {
    const double expected = std::exp(bias[token]) / sum * kDraws;
    chi_square += std::pow(static_cast<double>(counts[token]) - expected, 2) / expected;
  }
  EXPECT_LT(chi_square, 24.3);
}

TEST_P(TopKTest, RefusesWhatCannotBe) {
  Rig rig(GetParam());
  const Model model = make_model(rig, {2, 3, 5});
  const auto run = [&](const ops::TopKOptions& options) {
    ops::project_top_k(rig.context(), model.hidden, model.projection, options);
  };
  EXPECT_THROW(run({.k = 6}), core::Error);
  EXPECT_THROW(run({.k = 0}), core::Error);
  for (const std::vector<double>& temperatures : {std::vector<double>{1, 0}, std::vector<double>{1}})
    EXPECT_THROW(run({.k = 1, .temperatures = temperatures}), core::Error);
  const std::vector<ops::RowNoise> one(1);
  EXPECT_THROW(run({.k = 1, .noise = one}), core::Error);
  for (const ops::LogitEdit& bad : {ops::LogitEdit{.row = 2}, ops::LogitEdit{.token = 5}, ops::LogitEdit{.row = -1}})
    EXPECT_THROW(run({.k = 1, .edits = std::span(&bad, 1)}), core::Error);
  const auto allow = [&](const std::vector<std::int32_t>& shortlist, const std::vector<ops::ShortlistRange>& ranges) {
    run({.k = 1, .shortlist = shortlist, .shortlist_of_row = ranges});
  };
  allow({0, 4}, {{0, 2}, {1, 1}});
  EXPECT_THROW(allow({0, 4}, {{0, 2}}), core::Error) << "a row without a range";
  EXPECT_THROW(allow({0, 5}, {{0, 2}, {0, 2}}), core::Error) << "beyond the vocabulary";
  EXPECT_THROW(allow({-1, 4}, {{0, 2}, {0, 2}}), core::Error);
  EXPECT_THROW(allow({4, 0}, {{0, 2}, {0, 2}}), core::Error) << "not rising";
  EXPECT_THROW(allow({1, 1}, {{0, 2}, {0, 2}}), core::Error);
  for (const ops::ShortlistRange& bad :
       {ops::ShortlistRange{0, 3}, ops::ShortlistRange{-1, 1}, ops::ShortlistRange{2, 1}})
    EXPECT_THROW(allow({0, 4}, {bad, bad}), core::Error);
}

TEST(GumbelNoise, HasTheMomentsOfTheGumbelDistribution) {
  // Mean: Euler's constant; variance: pi^2 / 6.
  constexpr std::int64_t kCount = 200000;
  double sum = 0;
  double squares = 0;
  for (std::int64_t token = 0; token < kCount; ++token) {
    const double value = ops::gumbel_noise({.seed = 1, .stream = 2, .step = 3}, kCount, token);
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 0.5772156649, 4 * 1.2825 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount - mean * mean, 1.6449340668, 0.03);
}

TEST(GumbelNoise, StepsDoNotRepeatEachOthersDraws) {
  for (std::int64_t token = 0; token < 100; ++token)
    EXPECT_NE(ops::gumbel_noise({1, 2, 3}, 100, token), ops::gumbel_noise({1, 2, 4}, 100, token));
}

}  // namespace
}  // namespace dragoman::testing
