#pragma once

#include "fault.h"

#include <string>
#include <vector>

namespace dragoman::faults {

/// What is known about a run with a fault.
struct Evidence {
  const Scenario& scenario;
  const Profile& profile;
  const Expectation& expectation;
  const std::vector<Outcome>& outcomes;  ///< of one process, or of two that ran at once
  Tree before;                           ///< of the folder `out`
  Tree after;
  std::vector<std::string> scratch_after;  ///< what is left in the folder for temporary files
};

/// Whether a process did its task: its status is that of the undisturbed run.
bool succeeded(const Profile& profile, const Outcome& outcome);

/// Whether the folder `out` holds a checkpoint of a training run under its final name.
bool has_complete_checkpoint(const Tree& tree);

/// What is wrong; empty if all promises were kept:
///
/// - it ends in time, by itself or by a signal that was sent, with a status that says what happened;
///   only where memory ends in other people's code it may crash;
/// - status 0 means that results and standard output are complete and right;
/// - a failure has one line on standard error that says so, bounded and without control characters;
/// - two seconds after a signal it has ended;
/// - at the name of a result is the earlier one or the new one, whole; in its partial file a beginning of the new one;
/// - of results that belong together no old one is beside a new one without a mark;
/// - no checkpoint and no model is lost; nothing else is left behind.
std::vector<std::string> judge(const Evidence& evidence);

/// What is wrong after the task was run again without a fault, on what the fault had left: its results must be those of
/// the undisturbed run, and nothing else may be there. A task that was ended after its last change may refuse to be
/// done twice.
std::vector<std::string> judge_repetition(const Scenario& scenario, const Profile& profile, const Outcome& outcome,
                                          const Tree& before, const Tree& after);

}  // namespace dragoman::faults
