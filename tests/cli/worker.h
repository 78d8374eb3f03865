#pragma once

#include "program.h"

namespace dragoman::testing {

/// A process of a job, as torchrun would start it: with variables of its own.
class Worker : public ChildProcess {
 public:
  Worker(const std::filesystem::path& folder, int rank, const std::string& variables, const std::string& arguments)
      : ChildProcess(folder / ("stderr-" + std::to_string(rank))) {
    const std::string command = "cd '" + folder.string() + "' && exec env " + variables + " '" + built("program") +
                                "' " + arguments + " >/dev/null 2>'" + error_file_.string() + "'";
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
  }
};

/// As torchrun sets them.
inline std::string job_variables(int rank, int size, std::uint16_t port) {
  return "RANK=" + std::to_string(rank) + " LOCAL_RANK=" + std::to_string(rank) +
         " WORLD_SIZE=" + std::to_string(size) + " LOCAL_WORLD_SIZE=" + std::to_string(size) +
         " MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port);
}

}  // namespace dragoman::testing
