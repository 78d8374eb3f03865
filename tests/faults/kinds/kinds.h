#pragma once

#include "fault.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// The kinds of faults, a file for each part of a program's surroundings that can fail, and what several of them need.

namespace dragoman::faults {

std::vector<FaultKind> stream_kinds();
std::vector<FaultKind> call_kinds(const Equipment& equipment);
std::vector<FaultKind> limit_kinds(const Equipment& equipment);
std::vector<FaultKind> input_kinds();
/// Folders, other processes, signals.
std::vector<FaultKind> world_kinds(const Equipment& equipment);

constexpr std::uint64_t kMany = 1000;  ///< ways to draw from a continuum
constexpr int kClosedPipeStatus = 141;
constexpr int kInterruptedStatus = 130;

// How many ways there are.
std::uint64_t always(const Equipment&, const Scenario&, const Profile&);
std::uint64_t if_it_writes(const Equipment&, const Scenario& scenario, const Profile&);
std::uint64_t if_it_writes_much(const Equipment&, const Scenario& scenario, const Profile&);

std::uint64_t count_calls(const Profile& profile, const std::vector<CallClass>& classes);
std::string ordinal(std::uint64_t number);

/// Where memory ends in other people's code, all that can be promised is that nothing is lost: so it must be known.
void note_crashes(const Draw& draw);

}  // namespace dragoman::faults
