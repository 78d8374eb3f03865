#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <mpi.h>

#include <dragoman/collective/collective.h>

namespace dragoman::collective::mpi {

/// Returns "Open MPI v4.1.4". MPI need not be initialised.
std::string describe_mpi();

/// The processes that mpirun or srun started. Data is exchanged in point-to-point messages. Notices of aborts use a
/// separate communicator. The launcher detects a process that has died and ends the others, as is normal for MPI.
class MpiCollective final : public Collective {
 public:
  /// `launched` is the number of processes that the launcher has started, and MPI must know all of them; 1 if it is
  /// unknown.
  explicit MpiCollective(int launched);
  /// Finalises MPI if close() was called. Otherwise the process is expected to end.
  ~MpiCollective() override;

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return static_cast<int>(hosts_.size()); }
  const std::string& host_of(int rank) const override { return hosts_.at(static_cast<std::size_t>(rank)); }
  std::string describe() const override;
  void exchange(std::span<const Bytes> outgoing, std::span<const Room> incoming) override;
  void check() override;
  void abort(core::ErrorCode code, std::string_view reason) noexcept override;

 protected:
  void finish() noexcept override { closed_ = true; }

 private:
  static constexpr std::size_t kLongestReason = 4096;
  using Notice = std::array<char, kLongestReason + 1>;  ///< the error code and the reason

  struct Message {
    int rank = 0;
    int length = 0;
  };

  void start(std::span<const Bytes> outgoing, std::span<const Room> incoming);
  void wait_for_requests();
  bool all_done();
  void check_notice();
  void drop_requests() noexcept;
  void gather_hosts();

  bool owns_mpi_ = false;
  int rank_ = 0;
  MPI_Comm data_ = MPI_COMM_NULL;
  MPI_Comm notices_ = MPI_COMM_NULL;
  std::vector<std::string> hosts_;
  std::vector<MPI_Request> requests_;  ///< receives, then sends
  std::vector<MPI_Request> receives_;
  std::vector<Message> expected_;  ///< parallel to the receives
  MPI_Request notice_request_ = MPI_REQUEST_NULL;
  Notice notice_{};
  std::atomic<bool> given_up_ = false;
  std::mutex mutex_;  ///< held during an exchange
  std::optional<core::Error> failure_;
  bool closed_ = false;
  bool aborted_ = false;
};

}  // namespace dragoman::collective::mpi
