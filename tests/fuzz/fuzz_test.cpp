#include "budgeted_run.h"
#include "mutation.h"
#include "targets.h"
#include "test_data.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/quote.h>

namespace dragoman::fuzz {

/// What messages of the tests' framework call a target.
void PrintTo(const Target& target, std::ostream* out) {
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
  for (const auto& [name, bytes] : inputs_in(fuzz_folder() / "found" / GetParam().name))
    EXPECT_EQ(fault_of(GetParam(), bytes), "no fault") << name;
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

TEST_P(EveryTarget, TakesNoLongerThanItsInputGrows) {
  constexpr std::size_t kSize = std::size_t{64} << 10;
  for (const auto& [name, bytes] : seeds_of(GetParam())) {
    std::mt19937 random(2);
    for (int round = 0; round < GetParam().rounds / 10; ++round)
      ASSERT_EQ(fault_of(GetParam(), repeat_part(bytes, kSize, random)), "no fault") << name << ", round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, EveryTarget, ::testing::ValuesIn(all_targets()),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(FuzzTargets, AllAreInTheTable) {
  std::set<std::string> listed;
  for (const Target& target : all_targets()) listed.insert(std::string(target.name));
  constexpr std::string_view kEnding = "_harness.h";
  for (const auto& file : fs::directory_iterator(fuzz_folder())) {
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
