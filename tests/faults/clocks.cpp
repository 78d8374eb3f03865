#include "clocks.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>
#include <system_error>

#include <unistd.h>

namespace dragoman::faults {

double thread_wait(const std::filesystem::path& task) {
  constexpr double kNanosecond = 1e-9;
  double running = 0;
  double waiting = 0;
  std::ifstream(task / "schedstat") >> running >> waiting;
  return waiting * kNanosecond;
}

double processor_wait(pid_t process) {
  double longest = 0;
  std::error_code ended;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", ended))
    longest = std::max(longest, thread_wait(task.path()));
  return longest;
}

double stolen_seconds() {
  std::ifstream file("/proc/stat");
  std::string name;
  std::array<double, 8> ticks{};  // user, nice, system, idle, iowait, irq, softirq, steal
  file >> name;
  for (double& value : ticks) file >> value;
  return ticks.back() / static_cast<double>(::sysconf(_SC_CLK_TCK) * ::sysconf(_SC_NPROCESSORS_ONLN));
}

double processor_seconds(pid_t process) {
  constexpr double kNanosecond = 1e-9;
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * kNanosecond;
}

bool blocks_terminate(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string name; status >> name;) {
    if (name != "SigBlk:") continue;
    std::uint64_t blocked = 0;
    status >> std::hex >> blocked;
    return (blocked >> (SIGTERM - 1) & 1U) != 0;
  }
  return false;
}

}  // namespace dragoman::faults
