// Runs the program under faults and asserts that nothing is lost: see CONTRIBUTING.md, "Faults".

#include "fault.h"
#include "report.h"
#include "scenario.h"
#include "session.h"

#include <sys/mount.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <future>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <fnmatch.h>
#include <sched.h>
#include <unistd.h>

namespace dragoman::faults {
namespace {

constexpr int kSkipped = 77;  // as automake and CTest have it

namespace fs = std::filesystem;
namespace po = boost::program_options;

struct Options {
  std::string harness;  ///< its own name, for the lines that repeat a failure
  std::string program = DRAGOMAN_PROGRAM;
  std::string hooks = DRAGOMAN_FAULT_HOOKS;
  std::string model = DRAGOMAN_FAULT_MODEL;
  std::string plugin = DRAGOMAN_FAULT_PLUGIN;
  std::string foreign = DRAGOMAN_FAULT_FOREIGN;
  std::uint64_t count = 5000;
  std::uint64_t seed = 0;
  std::vector<std::string> only;
  std::vector<std::string> first;
  std::int64_t round = -1;
  unsigned jobs = 0;
  bool list = false;
  bool kinds = false;
};

Options parse(int count, char** arguments) {
  Options options;
  options.harness = arguments[0];
  options.seed = std::random_device{}() % 1000000;
  po::options_description described("Options");
  described.add_options()("help,h", "print this help")("count", po::value(&options.count)->value_name("N"),
                                                       "faults to try (default 5000)")(
      "seed", po::value(&options.seed)->value_name("S"),
      "what is random is drawn from it (default: another each time)")(
      "only", po::value(&options.only)->composing()->value_name("SCENARIO/FAULT"),
      "only these; both parts are patterns as of files (may be repeated)")(
      "first", po::value(&options.first)->composing()->value_name("SCENARIO/FAULT"),
      "these of the first round before all others (may be repeated)")(
      "round", po::value(&options.round)->value_name("R"), "with --only: just this round, as a failure names it")(
      "jobs", po::value(&options.jobs)->value_name("N"), "faults at a time (default: as many as processors)")(
      "program", po::value(&options.program)->value_name("FILE"), "the dragoman to try")(
      "model", po::value(&options.model)->value_name("DIR"), "a model folder to translate with")(
      "plugin", po::value(&options.plugin)->value_name("FILE"), "a plugin to look at and to check")(
      "list", po::bool_switch(&options.list), "list scenarios and faults")(
      "kinds", po::bool_switch(&options.kinds), "say which faults cannot be tried on this machine; status 77 if any");
  po::variables_map values;
  po::store(po::parse_command_line(count, arguments, described), values);
  if (values.contains("help")) {
    std::cout << described;
    std::exit(0);
  }
  po::notify(values);
  if (options.jobs == 0) options.jobs = std::max(1U, std::thread::hardware_concurrency());
  return options;
}

/// A view of the file systems for this process alone: what it mounts goes when it ends, however it ends.
bool make_private_mounts() {
  return ::geteuid() == 0 && ::unshare(CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// Where everything happens: in memory if file systems can be mounted, since each of thousands of runs syncs its files.
class ScratchFolder {
 public:
  explicit ScratchFolder(bool in_memory) {
    std::string name = (fs::temp_directory_path() / "dragoman-faults-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    path_ = name;
    if (in_memory) ::mount("tmpfs", path_.c_str(), "tmpfs", 0, nullptr);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    ::umount2(path_.c_str(), MNT_DETACH);
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

bool is_one_of(const std::vector<std::string>& patterns, const std::string& scenario, const std::string& kind) {
  const std::string name = scenario + "/" + kind;
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
}

bool is_wanted(const Options& options, const std::string& scenario, const std::string& kind) {
  return options.only.empty() || is_one_of(options.only, scenario, kind);
}

bool is_any_wanted(const Options& options, const Scenario& scenario, const std::vector<FaultKind>& kinds) {
  return std::ranges::any_of(kinds,
                             [&](const FaultKind& kind) { return is_wanted(options, scenario.name, kind.name); });
}

struct Measured {
  const Scenario* scenario;
  Profile profile;
};

/// Does `work` for each number below `count`, several at a time; the first exception is thrown when all have ended.
void in_parallel(unsigned jobs, std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::future<void>> workers;
  for (unsigned i = 0; i < jobs; ++i)
    workers.push_back(std::async(std::launch::async, [&] {
      for (std::size_t at = next++; at < count; at = next++) work(at);
    }));
  for (std::future<void>& worker : workers) worker.wait();
  for (std::future<void>& worker : workers) worker.get();
}

std::vector<Measured> measure_all(const Options& options, const Equipment& equipment,
                                  const std::vector<Scenario>& scenarios, const std::vector<FaultKind>& kinds) {
  std::vector<Measured> measured;
  for (const Scenario& scenario : scenarios)
    if (is_any_wanted(options, scenario, kinds)) measured.push_back({&scenario, {}});
  in_parallel(options.jobs, measured.size(),
              [&](std::size_t i) { measured[i].profile = measure(equipment, *measured[i].scenario); });
  return measured;
}

/// What to try, in random order: everything once before anything twice, and nothing more often than there are ways.
std::vector<Trial> plan_trials(const Options& options, const Equipment& equipment,
                               const std::vector<Measured>& measured, const std::vector<FaultKind>& kinds) {
  std::vector<Trial> trials;
  Random random(options.seed);
  for (std::uint64_t round = 0; trials.size() < options.count; ++round) {
    if (options.round >= 0) round = static_cast<std::uint64_t>(options.round);
    std::vector<Trial> these;
    for (const Measured& one : measured)
      for (const FaultKind& kind : kinds)
        if (kind.unavailable.empty() && is_wanted(options, one.scenario->name, kind.name) &&
            kind.variety(equipment, *one.scenario, one.profile) > (options.round >= 0 ? 0 : round))
          these.push_back({one.scenario, &one.profile, &kind, round});
    std::ranges::shuffle(these, random);
    if (round == 0)
      std::ranges::stable_partition(
          these, [&](const Trial& trial) { return is_one_of(options.first, trial.scenario->name, trial.kind->name); });
    trials.insert(trials.end(), these.begin(), these.end());
    if (these.empty() || options.round >= 0) break;
  }
  trials.resize(std::min<std::size_t>(trials.size(), options.count));
  return trials;
}

void try_all(const Options& options, const Equipment& equipment, const std::vector<Trial>& trials, Report& report) {
  std::mutex reporting;
  in_parallel(options.jobs, trials.size(), [&](std::size_t i) {
    const Verdict verdict = attempt(equipment, trials[i], options.seed);
    const std::lock_guard lock(reporting);
    report.add(trials[i], verdict);
  });
}

void list(const std::vector<Scenario>& scenarios, const std::vector<FaultKind>& kinds) {
  for (const Scenario& scenario : scenarios)
    fmt::print("scenario {:<22} dragoman {}\n", scenario.name, fmt::join(scenario.arguments, " "));
  for (const FaultKind& kind : kinds) fmt::print("fault    {} {}\n", kind.name, kind.unavailable);
}

int run_harness(const Options& options) {
  const bool mounts = make_private_mounts();
  const ScratchFolder scratch(mounts);
  Equipment equipment{.program = options.program,
                      .hooks = options.hooks,
                      .model = options.model,
                      .plugin = options.plugin,
                      .foreign = options.foreign,
                      .scratch = scratch.path(),
                      .supervision = CallSupervisor::available(),
                      .mounts = mounts};
  const std::vector<Scenario> scenarios = make_scenarios();
  const std::vector<FaultKind> kinds = make_fault_kinds(equipment);
  if (options.list) {
    list(scenarios, kinds);
    return 0;
  }
  bool skips = false;
  for (const FaultKind& kind : kinds) {
    if (kind.unavailable.empty()) continue;
    fmt::print("SKIPPED {}: {}\n", kind.name, kind.unavailable);
    skips = true;
  }
  if (options.kinds) return skips ? kSkipped : 0;
  fmt::print("seed {}\n", options.seed);
  std::fflush(stdout);
  make_fixtures(equipment);
  const std::vector<Measured> measured = measure_all(options, equipment, scenarios, kinds);
  const std::vector<Trial> trials = plan_trials(options, equipment, measured, kinds);
  if (trials.empty()) throw std::runtime_error("nothing to try: --list shows the names for --only");
  Report report(options.harness, options.seed, trials.size());
  try_all(options, equipment, trials, report);
  report.print_table(kinds, scenarios);
  report.print_signals(scenarios);
  return report.failed() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace dragoman::faults

int main(int count, char** arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return dragoman::faults::run_harness(dragoman::faults::parse(count, arguments));
  } catch (const std::exception& error) {
    std::cerr << "faults: " << error.what() << '\n';
    return 2;
  }
}
