#include "budgeted_run.h"
#include "growth.h"
#include "meter.h"
#include "mutation.h"
#include "targets.h"
#include "test_data.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/quote.h>

namespace dragoman::fuzz {

/// What messages of the tests' framework call a target.
void PrintTo(const Target& target, std::ostream* out) {  // NOLINT(readability-identifier-naming): its caller names it
  *out << target.name;
}

namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

fs::path fuzz_folder() {
  return testing::source_folder() / "tests" / "fuzz";
}

/// The files of a folder by name; in this order, so that random changes are the same everywhere.
std::map<std::string, std::string> inputs_in(const fs::path& folder) {
  std::map<std::string, std::string> inputs;
  if (!fs::exists(folder)) return inputs;
  for (const auto& file : fs::directory_iterator(folder)) {
    std::ifstream in(file.path(), std::ios::binary);
    inputs[file.path().filename().string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return inputs;
}

std::map<std::string, std::string> seeds_of(const Target& target) {
  return inputs_in(fuzz_folder() / "corpus" / target.name);
}

/// "no fault", or what it was.
std::string fault_of(const Target& target, std::string_view bytes) {
  try {
    run(target, bytes);
    return "no fault";
  } catch (const std::exception& fault) {
    return fmt::format("{} in the {} bytes {}", fault.what(), bytes.size(), core::quote(bytes, 1000));
  }
}

class EveryTarget : public ::testing::TestWithParam<Target> {};

TEST_P(EveryTarget, AcceptsItsSeeds) {
  const auto seeds = seeds_of(GetParam());
  ASSERT_FALSE(seeds.empty());
  for (const auto& [name, bytes] : seeds) EXPECT_TRUE(run(GetParam(), bytes)) << name;
}

TEST_P(EveryTarget, ReadsOrRefusesWhatFuzzingFound) {
  const auto found = inputs_in(fs::path(testing::built("fuzz_found")) / GetParam().name);
  EXPECT_EQ(found.empty(), !fs::exists(fuzz_folder() / "found" / (std::string(GetParam().name) + ".tar.xz")));
  for (const auto& [name, bytes] : found) EXPECT_EQ(fault_of(GetParam(), bytes), "no fault") << name;
}

TEST_P(EveryTarget, ReadsOrRefusesCutsAndChanges) {
  for (const auto& [name, bytes] : seeds_of(GetParam())) {
    std::mt19937 random(1);
    for (int round = 0; round < GetParam().rounds; ++round) {
      ASSERT_EQ(fault_of(GetParam(), change(bytes, random)), "no fault") << name << ", round " << round;
      ASSERT_EQ(fault_of(GetParam(), bytes.substr(0, random() % bytes.size())), "no fault")
          << name << ", cut " << round;
    }
  }
}

/// An input of about so many bytes.
using MakeInput = std::function<std::string(std::size_t size)>;

/// What growing an input to twice and four times its size costs.
class GrowingCost {
 public:
  /// Four times the input takes at most eight times as much. The bound lies between linear growth, which is 4 and up to
  /// 8 where containers double their room, and quadratic growth, which is 16.
  static constexpr double kMaxGrowth = 8;

  /// The smallest input has `size` bytes, or more where the largest would take no time that can be measured or where
  /// costs are not comparable.
  GrowingCost(const Target& target, const MakeInput& make, std::size_t size) : target_(target) {
    constexpr std::size_t kLargest = std::size_t{1} << 18;
    const auto says_little = [&] { return costs_[2].milliseconds <= little() || !comparable(); };
    for (measure(make, size); size < kLargest && says_little(); measure(make, size)) size *= 4;
    if (!comparable()) return;
    // Another process may have been in the way of one of them.
    for (int trial = 0; trial < 3 && milliseconds() > kMaxGrowth; ++trial) {
      for (std::size_t i = 0; i < 3; ++i)
        costs_[i].milliseconds = std::min(costs_[i].milliseconds, cost_of(target, inputs_[i]).milliseconds);
    }
  }
  /// How many times as long as for the smallest the largest takes, beyond what is little.
  double milliseconds() const {
    return std::max(0.0, costs_[2].milliseconds - little()) / std::max(costs_[0].milliseconds, 0.01);
  }
  double bytes() const {
    constexpr double kNoise = 1 << 22;  // of tables that begin to be worth their room at some size
    return std::max(0.0, static_cast<double>(costs_[2].bytes) - kNoise) /
           std::max(static_cast<double>(costs_[0].bytes), 1.0);
  }
  /// Whether a reader accepts all three inputs or none. One that is refused at its beginning costs nothing, and says
  /// nothing about the cost of a larger one that happens to be right.
  bool comparable() const {
    return costs_[0].accepted == costs_[1].accepted && costs_[1].accepted == costs_[2].accepted;
  }
  const Cost& largest() const { return costs_[2]; }
  /// Why the smallest input was refused; empty if it was accepted. How large the largest is depends on the speed of the
  /// machine, and so does whether it meets a limit of size.
  const std::string& refusal() const { return refusal_; }
  std::size_t largest_size() const { return inputs_[2].size(); }
  std::string described() const {
    std::string text;
    for (std::size_t i = 0; i < 3; ++i)
      text +=
          fmt::format("{} bytes: {:.2f} ms, {} bytes; ", inputs_[i].size(), costs_[i].milliseconds, costs_[i].bytes);
    return text + core::quote(inputs_[0], 300);
  }

 private:
  /// Time that says nothing about growth: that of the clock, of tables that are made once, and of one look at each byte
  /// by a reader that refused the smaller input at its beginning.
  double little() const {
    constexpr double kMilliseconds = 10;
    constexpr double kMillisecondsPerByte = 5e-5;
    return slowdown() * std::max(kMilliseconds, kMillisecondsPerByte * static_cast<double>(inputs_[2].size()));
  }
  void measure(const MakeInput& make, std::size_t size) {
    for (std::size_t i = 0; i < 3; ++i) {
      inputs_[i] = make(size << i);
      costs_[i] = cost_of(target_, inputs_[i]);
      if (i == 0) refusal_ = costs_[i].accepted ? "" : last_refusal();
    }
  }

  const Target& target_;
  std::array<std::string, 3> inputs_;
  std::array<Cost, 3> costs_;
  std::string refusal_;
};

/// The smallest size of an input that has grown from the seed: what has grown is three quarters of it.
std::size_t smallest_size(std::string_view seed) {
  return std::max(std::size_t{16} << 10, 4 * seed.size());
}

/// The largest figures of the growths of a target.
struct GrowthTable {
  double time = 0;
  double memory = 0;
  double microseconds_per_byte = 0;
  double bytes_per_byte = 0;
  int inputs = 0;
  int accepted = 0;

  /// Returns without a figure if costs are not comparable.
  void add(const GrowingCost& cost, const std::string& what) {
    if (!cost.comparable()) return;
    EXPECT_LE(cost.milliseconds(), GrowingCost::kMaxGrowth) << what << ": " << cost.described();
    EXPECT_LE(cost.bytes(), GrowingCost::kMaxGrowth) << what << ": " << cost.described();
    const auto size = static_cast<double>(cost.largest_size());
    time = std::max(time, cost.milliseconds());
    memory = std::max(memory, cost.bytes());
    microseconds_per_byte = std::max(microseconds_per_byte, cost.largest().milliseconds * 1e3 / size);
    bytes_per_byte = std::max(bytes_per_byte, static_cast<double>(cost.largest().bytes) / size);
    ++inputs;
    accepted += cost.largest().accepted ? 1 : 0;
  }
};

TEST_P(EveryTarget, CostsGrowAtMostAsItsInputDoes) {
  const Target& target = GetParam();
  GrowthTable table;
  const auto add = [&](const std::string& what, const MakeInput& make, std::size_t size,
                       std::optional<std::string_view> refusal = {}) {
    try {
      const GrowingCost cost(target, make, size);
      table.add(cost, what);
      if (!refusal) return;
      EXPECT_TRUE(cost.comparable()) << what;
      EXPECT_EQ(cost.refusal().empty(), refusal->empty()) << what << ": " << cost.refusal();
      EXPECT_THAT(cost.refusal(), HasSubstr(*refusal)) << what;
    } catch (const std::exception& fault) {
      ADD_FAILURE() << fault.what() << " in " << what;
    }
  };
  const auto seeds = seeds_of(target);
  for (const auto& seed : seeds)
    for (const GrowthRule& rule : kGrowthRules)
      for (int pick = 0; pick < rule.picks; ++pick)
        add(
            fmt::format("{}, {}, pick {}", seed.first, rule.name, pick),
            [&](std::size_t size) { return grow(seed.second, rule.growth, static_cast<unsigned>(pick), size); },
            smallest_size(seed.second));
  for (const FormatGrowth& growth : target.growths) {
    const std::string& seed = seeds.at(std::string(growth.seed));
    add(
        std::string(growth.name), [&](std::size_t size) { return growth.make(seed, size); }, smallest_size(seed),
        growth.refusal);
  }
  if (target.refuses_growth.empty())
    EXPECT_GT(table.accepted, 0) << "add a growth to the harness that the reader accepts";
  else
    EXPECT_EQ(table.accepted, 0) << "remove refuses_growth: a grown input was accepted";
  RecordProperty("time_growth", fmt::format("{:.2f}", table.time));
  RecordProperty("memory_growth", fmt::format("{:.2f}", table.memory));
  RecordProperty("microseconds_per_byte", fmt::format("{:.3f}", table.microseconds_per_byte));
  RecordProperty("bytes_per_byte", fmt::format("{:.1f}", table.bytes_per_byte));
  RecordProperty("inputs", table.inputs);
  RecordProperty("accepted", table.accepted);
}

INSTANTIATE_TEST_SUITE_P(Readers, EveryTarget, ::testing::ValuesIn(all_targets()),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(FuzzTargets, AllAreInTheTable) {
  std::set<std::string> listed;
  for (const Target& target : all_targets()) listed.insert(std::string(target.name));
  constexpr std::string_view kEnding = "_harness.h";
  for (const auto& file : fs::directory_iterator(fuzz_folder() / "targets")) {
    const std::string name = file.path().filename().string();
    if (!name.ends_with(kEnding)) continue;
    EXPECT_EQ(listed.erase(name.substr(0, name.size() - kEnding.size())), 1U) << name;
  }
  EXPECT_TRUE(listed.empty());
}

bool take_quadratic_time(std::string_view bytes) {
  std::size_t equal = 0;
  for (const char a : bytes)
    for (const char b : bytes) equal += a == b ? 1 : 0;
  return equal > 0;
}

bool take_much_memory(std::string_view bytes) {
  const std::string copies(bytes.size() * 100, 'x');
  return copies.find('y') == std::string::npos;
}

TEST(Budgets, AreKeptBySmallInputsAndBrokenByLargeOnes) {
  const Target slow{.name = "slow", .exercise = take_quadratic_time, .budget = {.milliseconds = 1}};
  EXPECT_EQ(fault_of(slow, std::string(100, 'a')), "no fault");
  EXPECT_THAT(fault_of(slow, std::string(20'000, 'a')), ContainsRegex("20000 bytes took [0-9]+ ms, more than"));
  const Target large{.name = "large", .exercise = take_much_memory, .budget = {.bytes = 4096}};
  EXPECT_EQ(fault_of(large, std::string(10, 'a')), "no fault");
  EXPECT_THAT(fault_of(large, std::string(100'000, 'a')), ContainsRegex("took 100.* bytes of memory, more than"));
}

TEST(Growth, OfWhatIsQuadraticIsTooMuch) {
  constexpr std::size_t kSize = std::size_t{16} << 10;
  const auto letters = [](std::size_t size) { return std::string(size, 'a'); };
  const auto some_pairs = [](std::string_view bytes) { return take_quadratic_time(bytes.substr(0, bytes.size() / 4)); };
  const Target slow{.name = "slow", .exercise = some_pairs, .budget = {.milliseconds = 1e6}};
  EXPECT_GT(GrowingCost(slow, letters, kSize).milliseconds(), GrowingCost::kMaxGrowth);
  const auto square = [](std::string_view bytes) {
    const std::string squared(bytes.size() * bytes.size() / 64, 'x');
    return squared.find('y') == std::string::npos;
  };
  const Target large{.name = "large", .exercise = square, .budget = {.bytes = std::size_t{1} << 30}};
  EXPECT_GT(GrowingCost(large, letters, kSize).bytes(), GrowingCost::kMaxGrowth);
  const Target linear{.name = "linear", .exercise = take_much_memory};
  const GrowingCost cost(linear, letters, kSize);
  EXPECT_LE(cost.bytes(), GrowingCost::kMaxGrowth);
  EXPECT_LE(cost.milliseconds(), GrowingCost::kMaxGrowth);
}

TEST(Growth, IsOfTheKindThatItIsNamedAfter) {
  EXPECT_THAT(grow(R"({"a": [1]})", Growth::kNest, 0, 100),
              ::testing::AnyOf(HasSubstr("[[[[1]]]]"), HasSubstr(R"({"a": {"a": {"a": [)")));
  EXPECT_THAT(grow("key: value", Growth::kLongWord, 0, 100), HasSubstr("xxxxxxxxxx"));
  EXPECT_THAT(grow("a: b", Growth::kAlias, 0, 100), ContainsRegex("value: &v \\[e, e.*\\*v, \\*v"));
  for (const GrowthRule& rule : kGrowthRules)
    for (const std::size_t size : {100, 1000})
      EXPECT_NEAR(static_cast<double>(grow(R"({"a": [1, 2], "b": "c"})", rule.growth, 1, size).size()),
                  static_cast<double>(size), 60)
          << rule.name;
}

TEST(Faults, AreBrokenPromisesAndForeignExceptions) {
  const Target broken{.name = "broken", .exercise = [](std::string_view) -> bool { throw Fault("a promise"); }};
  EXPECT_THAT(fault_of(broken, "x"), HasSubstr("a promise"));
  const Target foreign{.name = "foreign",
                       .exercise = [](std::string_view) { return accepts([] { throw std::out_of_range("at"); }); }};
  EXPECT_THAT(fault_of(foreign, "x"), HasSubstr("at"));
  EXPECT_FALSE(accepts([] { core::fail(core::ErrorCode::kBadInput, "refused"); }));
  EXPECT_THROW(check_message(""), Fault);
  EXPECT_THROW(check_message("\x1b[31m"), Fault);
  EXPECT_THROW(check_message(std::string(5000, 'x')), Fault);
}

TEST(Mutation, RepeatsElementsOfListsWithNumbers) {
  std::mt19937 random(3);
  bool list = false;
  bool object = false;
  for (int round = 0; round < 1000; ++round) {
    list = list || repeat_part("[1,2,3]", 100, random).find("2,2,2,2,2,") != std::string::npos;
    object = object || repeat_part(R"({"a":1,"b":2})", 100, random).find(R"("a7":1,"a8":1,)") != std::string::npos;
  }
  EXPECT_TRUE(list);
  EXPECT_TRUE(object);
}

}  // namespace
}  // namespace dragoman::fuzz
