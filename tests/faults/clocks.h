#pragma once

#include <sys/types.h>

#include <filesystem>

// What the system tells of the time of processes, in seconds.

namespace dragoman::faults {

/// For how long a thread was ready to run but did not.
double thread_wait(const std::filesystem::path& task);
/// The wait of that thread of the process that waited longest.
double processor_wait(pid_t process);
/// For how long so far other machines had the processors of this one, if it is a virtual machine; of a processor, on
/// average.
double stolen_seconds();
/// The processor time of all threads of a process so far; 0 if it has ended.
double processor_seconds(pid_t process);
/// Whether the process blocks SIGTERM. Dragoman does so as soon as its command begins, and a thread waits for it.
bool blocks_terminate(pid_t process);

}  // namespace dragoman::faults
