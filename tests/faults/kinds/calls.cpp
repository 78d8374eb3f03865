#include "kinds.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

namespace dragoman::faults {
namespace {

using Action = CallFault::Action;

struct CallKind {
  std::string name;
  std::vector<CallClass> classes;
  Action action = Action::kError;
  std::vector<int> values = {};
  bool harmless = false;    ///< what every program must take without complaint
  bool may_litter = false;  ///< clearing up needs these calls
  bool may_last = true;     ///< all later calls can fail, too
};

std::string joined_names(const std::vector<CallClass>& classes) {
  std::string names;
  for (const CallClass call_class : classes) names += (names.empty() ? "" : " or ") + std::string(name_of(call_class));
  return names;
}

std::string describe(const CallFault& fault, std::uint64_t count) {
  const std::string what = fault.action == Action::kError    ? ::strerrorname_np(fault.value)
                           : fault.action == Action::kShort  ? "half of the bytes"
                           : fault.action == Action::kSignal ? std::string("SIG") + ::sigabbrev_np(fault.value)
                                                             : "done";
  return fmt::format("{} at {} {} of {}{}", what, joined_names(fault.classes), ordinal(fault.first), count,
                     fault.all_later ? " and all later ones" : "");
}

void draw_call_fault(const Draw& draw, const CallKind& kind) {
  const std::uint64_t count = count_calls(draw.profile, kind.classes);
  CallFault fault{.classes = kind.classes, .first = draw.number(count), .action = kind.action};
  if (!kind.values.empty()) fault.value = kind.values[draw.random() % kind.values.size()];
  fault.all_later = kind.may_last && draw.coin();
  draw.fault.description = describe(fault, count);
  if (kind.classes.front() == CallClass::kMapMemory) note_crashes(draw);
  draw.fault.plan.supervised = true;
  draw.fault.expectation.must_succeed = kind.harmless;
  draw.fault.expectation.may_litter = kind.may_litter;
  draw.fault.expectation.reads_error = kind.classes.front() != CallClass::kWriteError;
  if (kind.action == Action::kSignal) {
    draw.fault.expectation.signals = {fault.value};
    draw.fault.expectation.statuses = {kInterruptedStatus};
  }
  draw.fault.plan.call_fault = std::move(fault);
}

FaultKind make_call_kind(const Equipment& equipment, const CallKind& kind) {
  const bool sanitizer_minds = kind.classes.front() == CallClass::kMapMemory && equipment.hooks.empty();
  return {kind.name,
          [kind](const Equipment&, const Scenario& scenario, const Profile& profile) {
            const bool loader_minds = kind.classes.front() == CallClass::kRead && kind.values == std::vector{EINTR};
            if (scenario.loads_library && loader_minds) return std::uint64_t{0};
            const std::uint64_t ways = std::max<std::uint64_t>(1, kind.values.size()) * (kind.may_last ? 2 : 1);
            return std::min(count_calls(profile, kind.classes) * ways, kMany);
          },
          [kind](const Draw& draw) { draw_call_fault(draw, kind); },
          !equipment.supervision ? "this machine does not let system calls be supervised (seccomp user notification)"
          : sanitizer_minds      ? "a sanitizer ends the program when it is refused memory"
                                 : ""};
}

}  // namespace

std::vector<FaultKind> call_kinds(const Equipment& equipment) {
  using enum CallClass;
  const std::vector<CallClass> changes = {kWrite, kSync, kRename, kTruncate, kOpenToWrite, kMakeFolder, kRemove};
  const std::vector<CallKind> kinds = {
      {.name = "write-fails", .classes = {kWrite}, .values = {ENOSPC, EIO, EDQUOT}},
      {.name = "write-interrupted", .classes = {kWrite}, .values = {EINTR}, .harmless = true, .may_last = false},
      {.name = "write-short", .classes = {kWrite}, .action = Action::kShort, .harmless = true},
      {.name = "stderr-fails", .classes = {kWriteError}, .values = {ENOSPC, EIO, EPIPE, EAGAIN}, .harmless = true},
      {.name = "read-fails", .classes = {kRead}, .values = {EIO}},
      {.name = "read-interrupted", .classes = {kRead}, .values = {EINTR}, .harmless = true, .may_last = false},
      {.name = "read-short", .classes = {kRead}, .action = Action::kShort, .harmless = true},
      {.name = "sync-fails", .classes = {kSync}, .values = {EIO, ENOSPC}},
      {.name = "rename-fails", .classes = {kRename}, .values = {EIO, ENOSPC, EACCES, EXDEV}},
      {.name = "truncate-fails", .classes = {kTruncate}, .values = {EIO, ENOSPC}},
      {.name = "open-write-fails", .classes = {kOpenToWrite}, .values = {ENOSPC, EACCES, EMFILE, EROFS}},
      {.name = "open-read-fails",
       .classes = {kOpenToRead},
       .values = {EIO, EACCES, EMFILE, ENOMEM},
       .may_litter = true},
      {.name = "mkdir-fails", .classes = {kMakeFolder}, .values = {ENOSPC, EACCES}},
      {.name = "unlink-fails", .classes = {kRemove}, .values = {EIO, EACCES}, .may_litter = true},
      {.name = "attributes-fail", .classes = {kAttributes}, .values = {EPERM, EIO}},
      {.name = "lock-fails", .classes = {kLock}, .values = {ENOLCK, EIO}},
      {.name = "list-fails", .classes = {kListFolder}, .values = {EIO}, .may_litter = true},
      {.name = "thread-fails", .classes = {kStartThread}, .values = {EAGAIN}},
      {.name = "mmap-fails", .classes = {kMapMemory}, .values = {ENOMEM}},
      {.name = "kill-at-write", .classes = {kWrite}, .action = Action::kSignal, .values = {SIGKILL}, .may_last = false},
      {.name = "kill-at-sync", .classes = {kSync}, .action = Action::kSignal, .values = {SIGKILL}, .may_last = false},
      {.name = "kill-at-rename",
       .classes = {kRename},
       .action = Action::kSignal,
       .values = {SIGKILL},
       .may_last = false},
      {.name = "kill-at-change", .classes = changes, .action = Action::kSignal, .values = {SIGKILL}, .may_last = false},
      {.name = "term-at-change",
       .classes = changes,
       .action = Action::kSignal,
       .values = {SIGTERM, SIGINT},
       .may_last = false},
      {.name = "term-at-read",
       .classes = {kRead},
       .action = Action::kSignal,
       .values = {SIGTERM, SIGINT},
       .may_last = false},
  };
  std::vector<FaultKind> made;
  for (const CallKind& kind : kinds) made.push_back(make_call_kind(equipment, kind));
  return made;
}

}  // namespace dragoman::faults
