#include "kinds.h"

#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

namespace dragoman::faults {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

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

}  // namespace dragoman::faults
