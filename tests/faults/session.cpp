#include "session.h"

#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <future>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

namespace dragoman::faults {
namespace {

namespace fs = std::filesystem;

/// Independent of how std::hash is made, so that a seed means the same everywhere.
std::uint64_t mix(std::uint64_t state, std::string_view text) {
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return state;
}

/// The folder of one trial; removed at the end, with what was mounted in it.
class Workplace {
 public:
  Workplace(const fs::path& scratch, const Trial& trial)
      : path_(scratch / fmt::format("{}-{}-{}-{}", trial.scenario->name, trial.kind->name, trial.round, next_++)) {}
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() {
    ::umount2((path_ / "out").c_str(), MNT_DETACH);
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  static inline std::atomic<unsigned> next_{0};
  fs::path path_;
};

/// What every command has after the first signal, whatever it is doing.
constexpr double kSecondsToEnd = 2;

bool asks_to_end(const RunPlan& plan) {
  constexpr std::array<int, 3> kPolite = {SIGTERM, SIGINT, SIGHUP};
  return !plan.signals.empty() && std::ranges::count(kPolite, plan.signals.front().number) > 0;
}

std::vector<Outcome> run_all(const Fault& fault) {
  if (!fault.second_starts) return {run(fault.plan)};
  std::future<Outcome> second = std::async(std::launch::async, [&fault] {
    std::this_thread::sleep_for(std::chrono::duration<double>(*fault.second_starts));
    return run(fault.plan);
  });
  std::vector<Outcome> outcomes = {run(fault.plan)};
  outcomes.push_back(second.get());
  return outcomes;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  return names;
}

/// Whether there is something to go on with: a user would see a partial file, or a checkpoint.
bool can_resume(const Scenario& scenario, const Tree& after) {
  if (scenario.resume.empty()) return false;
  return has_complete_checkpoint(after) || std::ranges::any_of(scenario.outputs, [&](const Output& output) {
           return output.kind == Output::Kind::kFile && after.contains(output.name + ".partial");
         });
}

Outcome run_again(const Equipment& equipment, const Scenario& scenario, const fs::path& folder, const Tree& after) {
  RunPlan plan = plan_of(equipment, scenario, folder);
  if (can_resume(scenario, after))
    plan.command.insert(plan.command.end(), scenario.resume.begin(), scenario.resume.end());
  return run(plan);
}

bool all_succeeded(const Profile& profile, const std::vector<Outcome>& outcomes) {
  for (const Outcome& outcome : outcomes)
    if (!succeeded(profile, outcome)) return false;
  return true;
}

/// A command that has begun ends with a status for a signal; before, the signal ends the program.
Verdict::Signal effect_of_signal(const Profile& profile, const Outcome& outcome) {
  if (!outcome.signalled || succeeded(profile, outcome)) return Verdict::Signal::kTooLate;
  const bool has_beginning = profile.began_after > 0;
  const bool died = outcome.signal != 0 && outcome.signal != SIGKILL;
  return has_beginning && died ? Verdict::Signal::kBefore : Verdict::Signal::kInterrupted;
}

Verdict attempt_in(const Equipment& equipment, const Trial& trial, std::uint64_t seed, const fs::path& folder) {
  const Scenario& scenario = *trial.scenario;
  const Profile& profile = *trial.profile;
  Random random(mix(mix(seed * 1000003 + trial.round, scenario.name), trial.kind->name));
  const bool earlier_results = scenario.replaces && !scenario.outputs.empty() && random() % 2 == 0;
  make_workplace(equipment, scenario, folder);
  if (earlier_results) add_earlier_results(equipment, scenario, folder);
  Fault fault{.description = {}, .plan = plan_of(equipment, scenario, folder)};
  fault.plan.seconds += kSlowness * profile.seconds;
  trial.kind->draw({equipment, scenario, profile, folder, random, fault});
  if (asks_to_end(fault.plan)) fault.plan.seconds_after_signal = kSecondsToEnd;
  const Tree before = read_tree(folder / "out");
  std::vector<Outcome> outcomes = run_all(fault);
  outcomes.front().crashed_in = read_bytes(folder / kCrashNote);
  const Tree after = read_tree(folder / "out");
  Verdict verdict{fault.description + (earlier_results ? ", over earlier results" : ""),
                  judge({scenario, profile, fault.expectation, outcomes, before, after, names_in(folder / "tmp")}),
                  outcomes.front().crashed_in};
  if (!fault.plan.signals.empty()) verdict.signal = effect_of_signal(profile, outcomes.front());
  if (all_succeeded(profile, outcomes) || scenario.outputs.empty() || profile.status != 0) return verdict;
  if (fault.repair) fault.repair();
  const Tree left = read_tree(folder / "out");
  const Outcome again = run_again(equipment, scenario, folder, left);
  for (std::string& problem : judge_repetition(scenario, profile, again, left, read_tree(folder / "out")))
    verdict.problems.push_back(std::move(problem));
  return verdict;
}

}  // namespace

Verdict attempt(const Equipment& equipment, const Trial& trial, std::uint64_t seed) {
  const Workplace workplace(equipment.scratch, trial);
  try {
    return attempt_in(equipment, trial, seed, workplace.path());
  } catch (const std::exception& error) {
    return {"", {fmt::format("the harness itself failed: {}", error.what())}};
  }
}

}  // namespace dragoman::faults
