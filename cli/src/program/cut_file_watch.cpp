#include "program/cut_file_watch.h"

#include "program/standard_streams.h"

#include <atomic>
#include <csignal>

#include <unistd.h>

#include <dragoman/formats/mapped_file.h>

namespace dragoman::cli {
namespace {

struct sigaction previous_action {};
std::atomic_flag reported;
static_assert(ATOMIC_BOOL_LOCK_FREE == 2);

/// Calls only functions that a signal handler may call.
void report_cut_file(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const char* const name = formats::name_of_mapped_file(info->si_addr);
  if (name == nullptr) {
    sigaction(SIGBUS, &previous_action, nullptr);  // the instruction runs again
    return;
  }
  // Several threads read a model at once. The first one to come here speaks and ends the process.
  while (reported.test_and_set()) ::pause();
  write_to_standard_error("dragoman: ");
  write_to_standard_error(name);
  write_to_standard_error(
      ": was cut short, or could not be read from its disk, while it was in use; run the command again, and replace a "
      "model in use by renaming a new folder, not by writing over its files\n");
  ::_exit(1);
}

}  // namespace

void watch_for_cut_files() {
  struct sigaction action {};
  action.sa_sigaction = &report_cut_file;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, &previous_action);
}

}  // namespace dragoman::cli
