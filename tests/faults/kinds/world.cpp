#include "kinds.h"

#include <csignal>
#include <set>

#include <fmt/format.h>

namespace dragoman::faults {
namespace {

namespace fs = std::filesystem;
using Action = CallFault::Action;

void make_read_only(const Draw& draw) {
  const fs::path out = draw.folder / "out";
  const auto all = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
  std::vector<fs::path> folders = {out};
  for (const auto& entry : fs::recursive_directory_iterator(out))
    if (entry.is_directory()) folders.push_back(entry.path());
  for (const fs::path& folder : folders) fs::permissions(folder, all, fs::perm_options::remove);
  draw.fault.plan.powerless = true;
  draw.fault.expectation.may_succeed = false;
  draw.fault.repair = [folders] {
    for (const fs::path& folder : folders) fs::permissions(folder, fs::perms::owner_write, fs::perm_options::add);
  };
}

/// The task can be run again from where it began.
void restore_folder_afterwards(const Draw& draw) {
  draw.fault.repair = [equipment = draw.equipment, scenario = draw.scenario, folder = draw.folder] {
    fs::remove_all(folder / "out");
    make_workplace(equipment, scenario, folder);
  };
}

void vanish(const Draw& draw) {
  using enum CallClass;
  const std::vector<CallClass> calls = {kWrite, kRead, kSync, kRename, kTruncate, kOpenToWrite, kOpenToRead, kRemove};
  const std::uint64_t count = count_calls(draw.profile, calls);
  const fs::path out = draw.folder / "out";
  CallFault fault{.classes = calls, .first = draw.number(count), .action = Action::kCall};
  fault.before = [out] {
    std::error_code ignored;
    fs::remove_all(out, ignored);
  };
  draw.fault.description = fmt::format("before call {} of {}", ordinal(fault.first), count);
  draw.fault.plan.supervised = true;
  draw.fault.plan.call_fault = std::move(fault);
  draw.fault.expectation.folder_vanishes = true;
  restore_folder_afterwards(draw);
}

void send_signal(const Draw& draw, const std::vector<int>& numbers) {
  const double after = draw.share() * draw.profile.seconds;
  for (const int number : numbers) draw.fault.plan.signals.push_back({after, number});
  draw.fault.description = fmt::format("after {:.4f} s of {:.4f}", after, draw.profile.seconds);
  draw.fault.expectation.statuses = {kInterruptedStatus};
  draw.fault.expectation.signals = std::set<int>(numbers.begin(), numbers.end());
}

FaultKind signal_kind(const std::string& name, const std::vector<int>& numbers) {
  return {name, [](const Equipment&, const Scenario&, const Profile&) { return kMany; },
          [numbers](const Draw& draw) { send_signal(draw, numbers); }};
}

}  // namespace

std::vector<FaultKind> world_kinds(const Equipment& equipment) {
  const std::string unsupervised = equipment.supervision ? "" : "needs the supervision of system calls";
  return {
      {"folder-missing", if_it_writes,
       [](const Draw& draw) {
         fs::remove_all(draw.folder / "out");
         restore_folder_afterwards(draw);
         draw.fault.expectation.folder_vanishes = true;
       }},
      {"folder-read-only", if_it_writes, make_read_only},
      {"folder-vanishes", if_it_writes_much, vanish, unsupervised},
      {"two-at-once", if_it_writes_much,
       [](const Draw& draw) {
         draw.fault.second_starts = draw.share() * draw.profile.seconds;
         draw.fault.description =
             fmt::format("the second starts after {:.4f} s of {:.4f}", *draw.fault.second_starts, draw.profile.seconds);
       }},
      signal_kind("signal-term", {SIGTERM}),
      signal_kind("signal-int", {SIGINT}),
      signal_kind("signal-hup", {SIGHUP}),
      signal_kind("signal-kill", {SIGKILL}),
      {"signal-twice", [](const Equipment&, const Scenario&, const Profile&) { return kMany; },
       [](const Draw& draw) {
         send_signal(draw, {SIGTERM});
         draw.fault.plan.signals.push_back({draw.fault.plan.signals[0].after_seconds + 0.02, SIGTERM});
         draw.fault.expectation.statuses.insert(128 + SIGTERM);
         draw.fault.expectation.reads_error = false;  // the second one ends it at once
         draw.fault.expectation.may_litter = true;
       }},
      {"signal-stop", [](const Equipment&, const Scenario&, const Profile&) -> std::uint64_t { return 3; },
       [](const Draw& draw) {
         send_signal(draw, {SIGSTOP});
         draw.fault.plan.signals.push_back({draw.fault.plan.signals[0].after_seconds + 0.1, SIGCONT});
         draw.fault.expectation.must_succeed = true;
         draw.fault.expectation.signals = {};
       }},
  };
}

}  // namespace dragoman::faults
