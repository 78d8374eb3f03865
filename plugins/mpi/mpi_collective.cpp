#include "mpi_collective.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>

namespace dragoman::collective::mpi {
namespace {

using core::ErrorCode;

/// MPI counts are of type int.
constexpr std::size_t kLargestMessage = std::size_t{1} << 30;
constexpr int kTag = 0;

std::string text_of(int error) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(error, text.data(), &length) != MPI_SUCCESS) return fmt::format("MPI's error {}", error);
  return {text.data(), static_cast<std::size_t>(length)};
}

void require_success(int error, std::string_view what) {
  core::require(error == MPI_SUCCESS, ErrorCode::kIo, "MPI: {}: {}", what, text_of(error));
}

/// Returns true if this call initialised MPI, so that the caller must finalise it.
bool initialise() {
  int begun = 0;
  MPI_Initialized(&begun);
  if (begun != 0) return false;
  int provided = 0;
  require_success(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "cannot begin");
  core::require(provided >= MPI_THREAD_SERIALIZED, ErrorCode::kUnsupported,
                "this MPI can be used from one thread only; a build of it with MPI_THREAD_SERIALIZED is needed");
  return true;
}

/// Waits with increasing pauses, so that a waiting process leaves its core to processes that are still working.
class Pause {
 public:
  void operator()() {
    if (++rounds_ < 64) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(1000, 10 * (rounds_ - 60))));
  }

 private:
  int rounds_ = 0;
};

template <class Block, class Start>
void for_each_message(Block block, Start start) {
  while (!block.empty()) {
    const std::size_t length = std::min(block.size(), kLargestMessage);
    start(block.data(), static_cast<int>(length));
    block = block.subspan(length);
  }
}

}  // namespace

MpiCollective::MpiCollective(int launched) : owns_mpi_(initialise()) {
  require_success(MPI_Comm_dup(MPI_COMM_WORLD, &data_), "cannot copy the communicator");
  require_success(MPI_Comm_dup(MPI_COMM_WORLD, &notices_), "cannot copy the communicator");
  MPI_Comm_set_errhandler(data_, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(notices_, MPI_ERRORS_RETURN);
  int size = 1;
  MPI_Comm_size(data_, &size);
  MPI_Comm_rank(data_, &rank_);
  core::require(launched == 1 || launched == size, ErrorCode::kUnsupported,
                "the launcher has started {} processes, but {} knows of {}: the launcher belongs to another MPI than "
                "the plugin 'mpi'; use the mpirun of that MPI, or srun --mpi=pmix",
                launched, describe(), size);
  hosts_.resize(static_cast<std::size_t>(size));
  gather_hosts();
  require_success(MPI_Irecv(notice_.data(), static_cast<int>(notice_.size()), MPI_CHAR, MPI_ANY_SOURCE, kTag, notices_,
                            &notice_request_),
                  "cannot listen for notices");
}

MpiCollective::~MpiCollective() {
  // Without an agreed close, finalising would wait for processes that may never come.
  if (!closed_) return;
  MPI_Cancel(&notice_request_);
  MPI_Wait(&notice_request_, MPI_STATUS_IGNORE);
  MPI_Comm_free(&notices_);
  MPI_Comm_free(&data_);
  if (owns_mpi_) MPI_Finalize();
}

std::string MpiCollective::describe() const {
  return describe_mpi();
}

std::string describe_mpi() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data(), static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

void MpiCollective::gather_hosts() {
  constexpr std::size_t kWidth = MPI_MAX_PROCESSOR_NAME;
  std::vector<char> names(kWidth * hosts_.size());
  int length = 0;
  MPI_Get_processor_name(names.data() + static_cast<std::size_t>(rank_) * kWidth, &length);
  require_success(
      MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, names.data(), static_cast<int>(kWidth), MPI_CHAR, data_),
      "cannot gather the names of hosts");
  for (std::size_t r = 0; r < hosts_.size(); ++r) {
    const char* name = names.data() + r * kWidth;
    hosts_[r] = std::string(name, ::strnlen(name, kWidth));
  }
}

void MpiCollective::exchange(std::span<const Bytes> outgoing, std::span<const Room> incoming) {
  const std::lock_guard lock(mutex_);
  if (failure_) throw core::Error(*failure_);
  core::require(outgoing.size() == hosts_.size() && incoming.size() == hosts_.size(), ErrorCode::kInvalidArgument,
                "an exchange of {} and {} parts between {} processes", outgoing.size(), incoming.size(), hosts_.size());
  try {
    start(outgoing, incoming);
    wait_for_requests();
  } catch (const core::Error& error) {
    failure_.emplace(error);
    drop_requests();
    throw;
  }
}

void MpiCollective::check() {
  const std::lock_guard lock(mutex_);
  if (failure_) throw core::Error(*failure_);
  try {
    core::require(!given_up_, ErrorCode::kInterrupted, "this process has given up meanwhile");
    check_notice();
  } catch (const core::Error& error) {
    failure_.emplace(error);
    throw;
  }
}

void MpiCollective::start(std::span<const Bytes> outgoing, std::span<const Room> incoming) {
  requests_.clear();
  receives_.clear();
  expected_.clear();
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    for_each_message(incoming[static_cast<std::size_t>(r)], [&](std::byte* data, int length) {
      MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
      require_success(MPI_Irecv(data, length, MPI_BYTE, r, kTag, data_, &request), "cannot receive");
      receives_.push_back(request);
      expected_.push_back({r, length});
    });
  }
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    for_each_message(outgoing[static_cast<std::size_t>(r)], [&](const std::byte* data, int length) {
      MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
      require_success(MPI_Isend(data, length, MPI_BYTE, r, kTag, data_, &request), "cannot send");
    });
  }
}

void MpiCollective::wait_for_requests() {
  Pause pause;
  while (!all_done()) {
    check_notice();
    core::require(!given_up_, ErrorCode::kInterrupted, "this process has given up meanwhile");
    pause();
  }
}

bool MpiCollective::all_done() {
  int done = 0;
  std::vector<MPI_Status> states(requests_.size());
  const int error = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, states.data());
  if (error != MPI_SUCCESS) {
    for (const MPI_Status& state : states)
      if (error != MPI_ERR_IN_STATUS || (state.MPI_ERROR != MPI_SUCCESS && state.MPI_ERROR != MPI_ERR_PENDING))
        core::fail(ErrorCode::kIo, "MPI: an exchange failed: {}; the processes do not do the same, or one has gone",
                   text_of(error == MPI_ERR_IN_STATUS ? state.MPI_ERROR : error));
  }
  if (done == 0) return false;
  // MPI reports a message that is too long, but not one that is too short.
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    int length = 0;
    MPI_Get_count(&states[i], MPI_BYTE, &length);
    core::require(length == expected_[i].length, ErrorCode::kIo,
                  "{} sends {} bytes, where {} are expected: the processes do not do the same",
                  name_of(expected_[i].rank), length, expected_[i].length);
  }
  return true;
}

void MpiCollective::check_notice() {
  int came = 0;
  MPI_Status status{};
  require_success(MPI_Test(&notice_request_, &came, &status), "listening for notices failed");
  if (came == 0) return;
  int length = 0;
  MPI_Get_count(&status, MPI_CHAR, &length);
  const int code = notice_[0];
  const bool known = code >= 0 && code <= static_cast<int>(ErrorCode::kInternal);
  core::fail(known ? static_cast<ErrorCode>(code) : ErrorCode::kIo, "{} gave up: {}", name_of(status.MPI_SOURCE),
             std::string_view(notice_.data() + 1, static_cast<std::size_t>(std::max(1, length)) - 1));
}

void MpiCollective::drop_requests() noexcept {
  // After this, the memory may be released. MPI reads outgoing data only within its calls, and the only further calls
  // send notices.
  for (MPI_Request& request : requests_) {
    if (request == MPI_REQUEST_NULL || std::ranges::find(receives_, request) == receives_.end()) continue;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  requests_.clear();
}

void MpiCollective::abort(ErrorCode code, std::string_view reason) noexcept {
  try {
    given_up_ = true;
    const std::lock_guard lock(mutex_);
    if (closed_ || aborted_) return;
    aborted_ = true;
    if (!failure_) failure_.emplace(code, "this process has given up: " + std::string(reason));
    // Never freed: MPI may read it until the process ends.
    auto* const words = new std::string(1, static_cast<char>(code));
    words->append(reason.substr(0, kLongestReason));
    for (int r = 0; r < size(); ++r) {
      if (r == rank_) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      if (MPI_Isend(words->data(), static_cast<int>(words->size()), MPI_CHAR, r, kTag, notices_, &request) ==
          MPI_SUCCESS)
        MPI_Request_free(&request);
    }
    // Gives the notices time to be sent, because the launcher ends the other processes when this one has ended.
    for (int i = 0; i < 20; ++i) {
      int ignored = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, kTag + 1, notices_, &ignored, MPI_STATUS_IGNORE);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  } catch (const std::exception&) {
    // No memory for the notice. The launcher ends the other processes.
  }
}

}  // namespace dragoman::collective::mpi
