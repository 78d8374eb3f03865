#pragma once

#include "system_calls.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dragoman::faults {

/// What a standard stream of the program is connected to.
struct Stream {
  enum class Kind : std::uint8_t {
    kPipe,         ///< input: a pipe that gives `text` and ends; outputs: a pipe that is read to its end
    kSilent,       ///< input: a pipe that stays open and gives nothing
    kEndless,      ///< input: a pipe that gives `text` again and again
    kClosed,       ///< no descriptor at all
    kFull,         ///< outputs: /dev/full
    kBroken,       ///< outputs: a pipe whose reader left after `bytes` bytes
    kNonBlocking,  ///< a pipe with O_NONBLOCK that is filled and read slowly
    kFolder,       ///< input: a folder, which cannot be read
  };
  Kind kind = Kind::kPipe;
  std::string text = {};
  std::uint64_t bytes = 0;
};

struct TimedSignal {
  double after_seconds = 0;  ///< from RunPlan::signals_begin on
  int number = 0;
};

/// A moment in the life of a program, by its system calls or by its processor time: a busy machine does not move it.
struct Moment {
  std::uint64_t calls = 0;  ///< so many of them, of disks, have begun; 0: by processor time. Needs `supervised`
  double processor_seconds = 0;
  bool of_command = false;  ///< counted from the beginning of its command, when it blocks SIGTERM; else from its start
  double at_the_latest = 60;  ///< seconds since its start
};

struct Limits {
  std::optional<std::uint64_t> address_space;
  std::optional<std::uint64_t> file_size;
  std::optional<std::uint64_t> open_files;
};

/// How to start a program and what to do to it.
struct RunPlan {
  std::vector<std::string> command;
  std::string folder;                    ///< working directory
  std::vector<std::string> environment;  ///< NAME=VALUE, beyond what this process has
  Stream input;
  Stream output;
  Stream error;
  Limits limits;
  bool powerless = false;  ///< root without its capabilities: permissions bind
  bool supervised = false;
  std::optional<CallFault> call_fault;  ///< needs `supervised`
  std::vector<TimedSignal> signals;
  Moment signals_begin = {};
  double slowness_after_signal = 0;                 ///< seconds that each system call then takes; needs `supervised`
  bool notes_beginning = false;                     ///< fills Outcome::began_after
  double seconds = 20;                              ///< after which it is killed
  std::optional<double> seconds_after_signal = {};  ///< the same, from the first signal on
};

struct Outcome {
  bool ended = false;  ///< by itself or by a signal of the plan, within the time
  int status = 0;      ///< exit status
  int signal = 0;      ///< that ended it, or 0
  std::string output;
  std::string error;
  double seconds = 0;
  double processor_seconds = 0;
  double began_after = 0;  ///< processor time before its command began; 0 if that was not seen
  bool signalled = false;  ///< a signal of the plan was sent while it ran
  bool supervisor_saw_start = false;
  bool call_fault_fired = false;
  std::vector<std::uint64_t> calls;  ///< by class, if supervised
  std::string crashed_in = {};       ///< the library of other people in whose code it crashed, if that was noted
  std::uint64_t peak_address_space = 0;
};

/// Runs a program to its end. Safe to call from several threads. Throws std::runtime_error if it cannot be started.
Outcome run(const RunPlan& plan);

}  // namespace dragoman::faults
