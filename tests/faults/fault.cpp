#include "fault.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

namespace dragoman::faults {
namespace {

namespace fs = std::filesystem;
using StreamKind = Stream::Kind;
using Action = CallFault::Action;

constexpr std::uint64_t kMany = 1000;  // variety of what is drawn from a continuum
constexpr int kClosedPipeStatus = 141;
constexpr int kInterruptedStatus = 130;

std::uint64_t always(const Equipment&, const Scenario&, const Profile&) {
  return 1;
}

/// Where memory ends in other people's code, all that can be promised is that nothing is lost: so it must be known.
void note_crashes(const Draw& draw) {
  if (draw.equipment.hooks.empty()) return;
  draw.fault.plan.environment.push_back("LD_PRELOAD=" + draw.equipment.hooks);
  draw.fault.plan.environment.push_back(fmt::format("DRAGOMAN_FAULT_CRASH={}", (draw.folder / kCrashNote).string()));
}

// --- standard streams ---------------------------------------------------------------------------------------------

/// A stream that is not read cannot be missed; one that is must be.
void lose_output(const Draw& draw, StreamKind kind) {
  draw.fault.plan.output = {.kind = kind};
  draw.fault.expectation.reads_output = false;
  draw.fault.expectation.may_succeed = draw.profile.output.empty();
  if (kind == StreamKind::kBroken && !draw.profile.output.empty())
    draw.fault.expectation.statuses = {kClosedPipeStatus};
  draw.fault.expectation.must_succeed = draw.profile.output.empty();
}

void lose_error(const Draw& draw, StreamKind kind) {
  draw.fault.plan.error = {.kind = kind};
  draw.fault.expectation.reads_error = false;
  draw.fault.expectation.must_succeed = true;
}

std::vector<FaultKind> stream_kinds() {
  const auto if_it_prints = [](const Equipment&, const Scenario&, const Profile& profile) {
    return std::min<std::uint64_t>(profile.output.size(), kMany);
  };
  const auto if_it_reads = [](const Equipment&, const Scenario& scenario, const Profile&) {
    return scenario.reads_standard_input() ? kMany : 0;
  };
  return {
      {"stdin-closed", always,
       [](const Draw& draw) {
         draw.fault.plan.input = {.kind = StreamKind::kClosed};
         draw.fault.expectation.must_succeed = !draw.scenario.reads_standard_input();
       }},
      {"stdin-folder", always,
       [](const Draw& draw) {
         draw.fault.plan.input = {.kind = StreamKind::kFolder};
         draw.fault.expectation.must_succeed = !draw.scenario.reads_standard_input();
       }},
      {"stdin-slow", if_it_reads,
       [](const Draw& draw) {
         draw.fault.plan.input.kind = StreamKind::kNonBlocking;
         draw.fault.expectation.may_succeed = true;
       }},
      {"stdout-closed", always, [](const Draw& draw) { lose_output(draw, StreamKind::kClosed); }},
      {"stdout-full", always, [](const Draw& draw) { lose_output(draw, StreamKind::kFull); }},
      {"stdout-broken", always, [](const Draw& draw) { lose_output(draw, StreamKind::kBroken); }},
      {"stdout-leaves", if_it_prints,
       [](const Draw& draw) {
         const std::uint64_t bytes = draw.number(draw.profile.output.size());
         draw.fault.plan.output = {.kind = StreamKind::kBroken, .bytes = bytes};
         draw.fault.description = fmt::format("the reader leaves after {} bytes", bytes);
         draw.fault.expectation.reads_output = false;
         draw.fault.expectation.statuses = {kClosedPipeStatus};
       }},
      {"stdout-slow", if_it_prints,
       [](const Draw& draw) {
         draw.fault.plan.output = {.kind = StreamKind::kNonBlocking};
         draw.fault.expectation.may_succeed = true;
       }},
      {"stderr-closed", always, [](const Draw& draw) { lose_error(draw, StreamKind::kClosed); }},
      {"stderr-full", always, [](const Draw& draw) { lose_error(draw, StreamKind::kFull); }},
      {"stderr-broken", always, [](const Draw& draw) { lose_error(draw, StreamKind::kBroken); }},
      {"all-closed", always,
       [](const Draw& draw) {
         lose_output(draw, StreamKind::kClosed);
         draw.fault.plan.input = {.kind = StreamKind::kClosed};
         draw.fault.plan.error = {.kind = StreamKind::kClosed};
         draw.fault.expectation.reads_error = false;
         draw.fault.expectation.must_succeed = draw.profile.output.empty() && !draw.scenario.reads_standard_input();
       }},
      {"outputs-full", always,
       [](const Draw& draw) {
         lose_output(draw, StreamKind::kFull);
         draw.fault.plan.error = {.kind = StreamKind::kFull};
         draw.fault.expectation.reads_error = false;
       }},
  };
}

// --- system calls -------------------------------------------------------------------------------------------------

struct CallKind {
  std::string name;
  std::vector<CallClass> classes;
  Action action = Action::kError;
  std::vector<int> values = {};
  bool harmless = false;    ///< what every program must take without complaint
  bool may_litter = false;  ///< clearing up needs these calls
  bool may_last = true;     ///< all later calls can fail, too
};

std::uint64_t count_calls(const Profile& profile, const std::vector<CallClass>& classes) {
  std::uint64_t count = 0;
  if (profile.calls.empty()) return 0;
  for (const CallClass call_class : classes) count += profile.calls[static_cast<std::size_t>(call_class)];
  return count;
}

std::string ordinal(std::uint64_t number) {
  return fmt::format("no. {}", number);
}

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

// --- memory, limits, clock ----------------------------------------------------------------------------------------

FaultKind allocation_kind(const Equipment& equipment) {
  return {
      "allocation-fails",
      [](const Equipment&, const Scenario&, const Profile& profile) {
        return std::min(profile.allocations * 2, kMany);
      },
      [](const Draw& draw) {
        const std::uint64_t at = draw.number(draw.profile.allocations);
        const bool all_later = draw.coin();
        note_crashes(draw);
        draw.fault.plan.environment.push_back(fmt::format("DRAGOMAN_FAULT_ALLOCATION={}{}", at, all_later ? "+" : ""));
        draw.fault.description = fmt::format("allocation {} of {}{}", ordinal(at), draw.profile.allocations,
                                             all_later ? " and all later ones" : "");
      },
      equipment.hooks.empty() ? "a sanitizer's own allocator leaves no room for another" : ""};
}

FaultKind clock_kind(const Equipment& equipment) {
  return {"clock-jumps", [](const Equipment&, const Scenario&, const Profile&) -> std::uint64_t { return 3; },
          [](const Draw& draw) {
            const std::uint64_t seed = draw.random() % 1000000;
            draw.fault.plan.environment.push_back("LD_PRELOAD=" + draw.equipment.hooks);
            draw.fault.plan.environment.push_back(fmt::format("DRAGOMAN_FAULT_CLOCK={}", seed));
            draw.fault.description = fmt::format("jumps drawn with seed {}", seed);
            draw.fault.expectation.must_succeed = true;
          },
          equipment.hooks.empty() ? "a sanitizer must be loaded before any other library" : ""};
}

std::uint64_t size_of_results(const Profile& profile) {
  std::uint64_t bytes = 0;
  for (const auto& [path, content] : profile.results) bytes += content.size();
  return bytes;
}

std::uint64_t if_it_writes(const Equipment&, const Scenario& scenario, const Profile&) {
  return scenario.outputs.empty() ? 0 : 1;
}

std::uint64_t if_it_writes_much(const Equipment&, const Scenario& scenario, const Profile&) {
  return scenario.outputs.empty() ? 0 : kMany;
}

void must_mount(const fs::path& folder, std::uint64_t bytes, unsigned long flags) {
  const std::string options = fmt::format("size={}", bytes);
  if (::mount("tmpfs", folder.c_str(), "tmpfs", flags, options.c_str()) != 0)
    throw std::runtime_error(
        fmt::format("{}: cannot mount a small file system: {}", folder.string(), std::strerror(errno)));
}

/// Puts `out` on a file system of its own, with what was in it and a few pages to spare.
void fill_disk(const Draw& draw) {
  constexpr std::uint64_t kPage = 4096;
  constexpr std::uint64_t kRoomy = 1 << 26;
  const fs::path out = draw.folder / "out";
  const fs::path aside = draw.folder / "aside";
  fs::rename(out, aside);
  fs::create_directory(out);
  must_mount(out, kRoomy, 0);
  fs::copy(aside, out, fs::copy_options::recursive);
  fs::remove_all(aside);
  std::uint64_t used = 0;
  for (const auto& entry : fs::recursive_directory_iterator(out))
    used += entry.is_regular_file() ? (entry.file_size() + kPage - 1) / kPage : 0;
  const std::uint64_t spare = draw.number(size_of_results(draw.profile) / kPage + 3) - 1;
  must_mount(out, std::max<std::uint64_t>(used + spare, 1) * kPage, MS_REMOUNT);
  draw.fault.description = fmt::format("a disk with {} free pages", spare);
  draw.fault.repair = [out] { must_mount(out, kRoomy, MS_REMOUNT); };
}

std::vector<FaultKind> limit_kinds(const Equipment& equipment) {
  return {
      allocation_kind(equipment),
      {"memory-limit",
       [](const Equipment&, const Scenario&, const Profile& profile) {
         return profile.peak_address_space > 0 ? kMany : 0;
       },
       [](const Draw& draw) {
         constexpr std::uint64_t kMegabyte = 1 << 20;
         // What the loader and the libraries take before main() is not ours to fail in.
         const std::uint64_t least = 110 * kMegabyte;
         const std::uint64_t most = std::max(draw.profile.peak_address_space, least + kMegabyte);
         const std::uint64_t limit =
             least + static_cast<std::uint64_t>(draw.share() * static_cast<double>(most - least));
         note_crashes(draw);
         draw.fault.plan.limits.address_space = limit;
         draw.fault.description = fmt::format("{} MB of address space, of {}", limit / kMegabyte, most / kMegabyte);
       },
       equipment.hooks.empty() ? "a sanitizer needs its address space" : ""},
      {"file-size-limit", if_it_writes_much,
       [](const Draw& draw) {
         const std::uint64_t limit = draw.number(size_of_results(draw.profile) + 1) - 1;
         draw.fault.plan.limits.file_size = limit;
         draw.fault.description = fmt::format("files of at most {} bytes", limit);
       }},
      {"open-files-limit", [](const Equipment&, const Scenario&, const Profile&) -> std::uint64_t { return 12; },
       [](const Draw& draw) {
         const std::uint64_t limit = 3 + draw.random() % 12;
         draw.fault.plan.limits.open_files = limit;
         draw.fault.description = fmt::format("at most {} open files", limit);
         // With very few the loader itself fails, with its own words and status.
         draw.fault.expectation.statuses = {1, 127};
       }},
      {"disk-full", if_it_writes_much, fill_disk, equipment.mounts ? "" : "file systems can be mounted by root only"},
      clock_kind(equipment),
  };
}

// --- inputs -------------------------------------------------------------------------------------------------------

/// The arguments that name an input file.
std::vector<std::size_t> input_arguments(const Scenario& scenario) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < scenario.arguments.size(); ++i)
    if (scenario.arguments[i].starts_with("{f}/")) places.push_back(i);
  return places;
}

std::uint64_t if_it_names_inputs(const Equipment&, const Scenario& scenario, const Profile&) {
  return input_arguments(scenario).size();
}

/// Something else stands where an input file should be.
void replace_input(const Draw& draw, const std::string& replacement) {
  const std::vector<std::size_t> places = input_arguments(draw.scenario);
  const std::size_t place = places[draw.random() % places.size()];
  draw.fault.description = fmt::format("{} instead of {}", replacement, draw.scenario.arguments[place]);
  draw.fault.plan.command[place + 1] = replacement;  // the first is the program
  draw.fault.expectation.same_task = false;
  draw.fault.expectation.reads_output = false;
  draw.fault.expectation.statuses = {1, 2};  // what kind of thing an input is can decide whether the usage is right
}

void interrupt(const Draw& draw, double after_seconds) {
  const int signal = draw.coin() ? SIGTERM : SIGINT;
  draw.fault.plan.signals = {{after_seconds, signal}};
  draw.fault.expectation.statuses.insert(kInterruptedStatus);
  draw.fault.expectation.signals = {signal};
}

constexpr double kLongEnough = 0.5;  // seconds, for any of the small tasks to be in the midst of its work

std::vector<FaultKind> input_kinds() {
  const auto if_it_reads = [](const Equipment&, const Scenario& scenario, const Profile&) -> std::uint64_t {
    return scenario.reads_standard_input() ? 4 : 0;
  };
  return {
      {"input-silent", if_it_reads,
       [](const Draw& draw) {
         draw.fault.plan.input = {.kind = StreamKind::kSilent};
         draw.fault.expectation.statuses = {};
         interrupt(draw, kLongEnough);
         draw.fault.expectation.may_succeed = false;
         draw.fault.expectation.same_task = false;
       }},
      {"input-endless", if_it_reads,
       [](const Draw& draw) {
         draw.fault.plan.input.kind = StreamKind::kEndless;
         draw.fault.expectation.same_task = false;
         if (!draw.profile.output.empty() && draw.coin()) {
           draw.fault.plan.output = {.kind = StreamKind::kBroken, .bytes = 50};
           draw.fault.expectation.statuses.insert(kClosedPipeStatus);
           draw.fault.expectation.reads_output = false;
           draw.fault.description = "its reader leaves";
         }
         interrupt(draw, draw.fault.description.empty() ? kLongEnough : 5);
         draw.fault.expectation.may_succeed = false;
       }},
      {"input-fifo", if_it_names_inputs,
       [](const Draw& draw) {
         const fs::path fifo = draw.folder / "fifo";
         if (::mkfifo(fifo.c_str(), 0600) != 0) throw std::runtime_error("mkfifo");
         replace_input(draw, fifo.string());
         interrupt(draw, kLongEnough);
         draw.fault.expectation.may_succeed = false;
       }},
      {"input-zeros", if_it_names_inputs,
       [](const Draw& draw) {
         replace_input(draw, "/dev/zero");
         if (!draw.equipment.hooks.empty()) draw.fault.plan.limits.address_space = std::uint64_t{1} << 32;
         interrupt(draw, 3);
       }},
      {"input-folder", if_it_names_inputs, [](const Draw& draw) { replace_input(draw, "out"); }},
      {"input-missing", if_it_names_inputs,
       [](const Draw& draw) {
         replace_input(draw, "no-such-file");
         draw.fault.expectation.may_succeed = draw.profile.status != 0;
       }},
      {"input-empty", if_it_names_inputs, [](const Draw& draw) { replace_input(draw, "/dev/null"); }},
  };
}

// --- folders, other processes, signals ----------------------------------------------------------------------------

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

}  // namespace

std::uint64_t Draw::number(std::uint64_t most) const {
  if (most <= 1) return 1;
  if (coin()) return 1 + random() % most;
  const double logarithm = share() * std::log(static_cast<double>(most) + 1);
  return std::min(most, static_cast<std::uint64_t>(std::exp(logarithm)));
}

double Draw::share() const {
  return std::uniform_real_distribution<double>(0, 1)(random);
}

std::vector<FaultKind> make_fault_kinds(const Equipment& equipment) {
  std::vector<FaultKind> kinds = stream_kinds();
  for (auto part : {call_kinds(equipment), limit_kinds(equipment), input_kinds(), world_kinds(equipment)})
    kinds.insert(kinds.end(), part.begin(), part.end());
  return kinds;
}

}  // namespace dragoman::faults
