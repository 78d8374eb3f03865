#include "kinds.h"

#include <algorithm>
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

/// Most commands take milliseconds here, and would have ended before they heard of the signal. So what they still have
/// to read and write takes ten seconds from the signal on, and one that goes on all the same is overdue.
void slow_down(const Draw& draw) {
  constexpr double kSeconds = 10;
  constexpr double kMaxDelay = 3;
  draw.fault.plan.supervised = true;
  draw.fault.plan.slowness_after_signal =
      std::min(kMaxDelay, kSeconds / static_cast<double>(count_disk_calls(draw.profile.calls)));
}

/// Training saves its work, for which it may take its time.
bool can_be_slowed_down(const Draw& draw) {
  return count_disk_calls(draw.profile.calls) > 0 &&
         std::ranges::none_of(draw.scenario.outputs,
                              [](const Output& output) { return output.kind == Output::Kind::kRunFolder; });
}

/// A moment by processor time: of the command, or in one of ten trials before it begins.
void draw_processor_moment(const Draw& draw) {
  constexpr double kBefore = 0.1;
  const Profile& profile = draw.profile;
  Moment& moment = draw.fault.plan.signals_begin;
  moment.of_command = profile.began_after > 0 && draw.share() >= kBefore;
  const double whole = moment.of_command         ? profile.processor_seconds - profile.began_after
                       : profile.began_after > 0 ? profile.began_after
                                                 : profile.processor_seconds;
  moment.processor_seconds = draw.share() * whole;
  draw.fault.description = fmt::format("after {:.4f} s of {:.4f} of processor time{}", moment.processor_seconds, whole,
                                       moment.of_command         ? ", of the command"
                                       : profile.began_after > 0 ? ", before the command"
                                                                 : "");
}

void draw_call_moment(const Draw& draw) {
  const std::uint64_t calls = count_disk_calls(draw.profile.calls);
  draw.fault.plan.signals_begin.calls = 1 + draw.random() % calls;
  draw.fault.description = fmt::format("at call {} of {}", ordinal(draw.fault.plan.signals_begin.calls), calls);
}

void send_signal(const Draw& draw, const std::vector<int>& numbers, bool slowly) {
  slowly = slowly && can_be_slowed_down(draw);
  if (slowly) slow_down(draw);
  constexpr int kOneIn = 4;  // much of the processor time goes into clearing up, when nothing can be interrupted
  if (slowly && draw.random() % kOneIn != 0)
    draw_call_moment(draw);
  else
    draw_processor_moment(draw);
  draw.fault.plan.signals_begin.at_the_latest = kSlowness * (1 + draw.share()) * draw.profile.seconds;
  for (const int number : numbers) draw.fault.plan.signals.push_back({0, number});
  draw.fault.expectation.statuses = {kInterruptedStatus};
  draw.fault.expectation.signals = std::set<int>(numbers.begin(), numbers.end());
}

FaultKind signal_kind(const std::string& name, const std::vector<int>& numbers) {
  return {name, [](const Equipment&, const Scenario&, const Profile&) { return kMany; },
          [numbers](const Draw& draw) { send_signal(draw, numbers, numbers.front() != SIGKILL); }};
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
         send_signal(draw, {SIGTERM}, true);
         draw.fault.plan.signals.push_back({0.02, SIGTERM});
         draw.fault.expectation.statuses.insert(128 + SIGTERM);
         draw.fault.expectation.reads_error = false;  // the second one ends it at once
         draw.fault.expectation.may_litter = true;
       }},
      {"signal-stop", [](const Equipment&, const Scenario&, const Profile&) -> std::uint64_t { return 3; },
       [](const Draw& draw) {
         send_signal(draw, {SIGSTOP}, false);
         draw.fault.plan.signals.push_back({0.1, SIGCONT});
         draw.fault.expectation.must_succeed = true;
         draw.fault.expectation.signals = {};
       }},
  };
}

}  // namespace dragoman::faults
