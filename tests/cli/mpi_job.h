#pragma once

#include "program.h"

#include <cstdlib>
#include <string>
#include <vector>

namespace dragoman::testing {

/// Whether several processes can be started: mpirun is here, and the plugin `mpi` was built.
inline bool has_mpi() {
  static const bool found = std::system(("command -v mpirun >/dev/null && '" + built("program") +
                                         "' plugins list | grep -Eq '^(installed )?plugin +mpi '")
                                            .c_str()) == 0;
  return found;
}

/// The program in several processes that mpirun has started in `folder`. Jobs that run at once have other names.
class MpiJob : public ChildProcess {
 public:
  struct Process {
    std::string arguments;
    std::string variables{};  ///< "A=1 B=2"
  };

  MpiJob(const std::filesystem::path& folder, const std::vector<Process>& processes, const std::string& name = "job")
      : ChildProcess(folder / (name + "-mpirun.txt")), folder_(folder), name_(name) {
    std::string command =
        "cd '" + folder.string() + "' && exec mpirun --oversubscribe --allow-run-as-root --bind-to none";
    for (std::size_t rank = 0; rank < processes.size(); ++rank) {
      const std::string script = file_of(static_cast<int>(rank), "sh").string();
      std::ofstream(script) << "echo $$ >'" << file_of(static_cast<int>(rank), "pid").string() << "'\nexec env "
                            << processes[rank].variables << " '" << built("program") << "' "
                            << processes[rank].arguments << " >/dev/null 2>'"
                            << file_of(static_cast<int>(rank), "txt").string() << "'\n";
      command += std::string(rank == 0 ? "" : " :") + " -np 1 sh '" + script + "'";
    }
    command += " </dev/null >'" + error_file_.string() + "' 2>&1";
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
  }
  MpiJob(const std::filesystem::path& folder, int size, const std::string& arguments, const std::string& name = "job")
      : MpiJob(folder, std::vector<Process>(static_cast<std::size_t>(size), {arguments}), name) {}
  /// mpirun ends its processes when it is told to end, but not when it is killed.
  ~MpiJob() {
    if (pid_ <= 0) return;
    ChildProcess::signal(SIGTERM);
    wait();
  }

  /// What a process has written to its standard error.
  std::string error_of(int rank) const { return file_content(file_of(rank, "txt")); }
  /// What all of them and mpirun have written.
  std::string all_errors(int size) const {
    std::string text = error();
    for (int rank = 0; rank < size; ++rank) text += error_of(rank);
    return text;
  }
  void signal(int rank, int number) const { ::kill(std::stoi(file_content(file_of(rank, "pid"))), number); }

 private:
  std::filesystem::path file_of(int rank, const std::string& extension) const {
    return folder_ / (name_ + "-" + std::to_string(rank) + "." + extension);
  }

  std::filesystem::path folder_;
  std::string name_;
};

}  // namespace dragoman::testing
