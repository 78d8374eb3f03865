#pragma once

#include <sys/types.h>

#include <filesystem>

// The time of processes as the system tells it, in seconds.

namespace dragoman::faults {

/// Returns for how long a thread was ready to run but did not.
double thread_wait(const std::filesystem::path& task);
/// Returns the longest such wait of a thread of the process.
double processor_wait(pid_t process);
/// Returns for how long other machines have had a processor of this one so far, on average, if it is a virtual machine.
double stolen_seconds();
/// Returns the processor time of all threads of a process so far, and 0 if it has ended.
double processor_seconds(pid_t process);
/// Whether the process blocks SIGTERM. Dragoman does so as soon as its command begins, and a thread waits for it.
bool blocks_terminate(pid_t process);

}  // namespace dragoman::faults
