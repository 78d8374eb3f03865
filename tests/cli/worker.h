#pragma once

#include "program.h"

namespace dragoman::testing {

/// A process of a job, as torchrun would start it: with variables of its own.
class Worker {
 public:
  Worker(const std::filesystem::path& folder, int rank, const std::string& variables, const std::string& arguments)
      : error_(folder / ("stderr-" + std::to_string(rank))) {
    const std::string command = "cd '" + folder.string() + "' && exec env " + variables + " '" + built("program") +
                                "' " + arguments + " >/dev/null 2>'" + error_.string() + "'";
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  void signal(int number) const { ::kill(pid_, number); }
  std::string error() const { return file_content(error_); }
  int wait() {
    int result = 0;
    if (!eventually([&] { return ::waitpid(pid_, &result, WNOHANG) == pid_; })) return -1;
    pid_ = 0;
    return WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result);
  }

 private:
  std::filesystem::path error_;
  pid_t pid_ = 0;
};

/// As torchrun sets them.
inline std::string job_variables(int rank, int size, std::uint16_t port) {
  return "RANK=" + std::to_string(rank) + " LOCAL_RANK=" + std::to_string(rank) +
         " WORLD_SIZE=" + std::to_string(size) + " LOCAL_WORLD_SIZE=" + std::to_string(size) +
         " MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port);
}

}  // namespace dragoman::testing
