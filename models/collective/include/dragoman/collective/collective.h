#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/error.h>

namespace dragoman::collective {

/// The processes of one job and the exchange of data between them. Every process has a rank, from 0 to size() - 1. All
/// processes must make the same calls in the same order and with matching sizes. A call returns when this process's
/// part of it is done.
///
/// A Collective exchanges data and does not add. For sums with the same bits for any number of processes, exchange the
/// parts and add them by a fixed tree (tree_sum.h). Then every transport gives the same bytes.
///
/// **Memory** is host memory. DeviceLinks (device_links.h) exchange device memory directly, with the same exchange() on
/// device addresses.
///
/// **Ownership**: belongs to its creator. Memory that is passed in must stay valid until the call returns. The
/// destructor closes connections and does not wait.
///
/// **Threads**: any thread may call it, one at a time. Only abort() may be called at any time from any thread.
///
/// **Errors**: Error{kIo}, which names rank and host, if another process has ended, is unreachable, or makes a
/// different call. If another process has called abort(), the error has its code and reason. After an error, every
/// further call fails with the same error. Over MPI, the launcher detects a killed process and ends the others. A
/// process that is slow or stopped is waited for.
class Collective {
 public:
  using Bytes = std::span<const std::byte>;
  using Room = std::span<std::byte>;

  Collective() = default;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  virtual ~Collective();

  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  /// The host name of a process, for messages.
  virtual const std::string& host_of(int rank) const = 0;
  /// A description of the transport: "Open MPI v4.1.4".
  virtual std::string describe() const = 0;
  /// Sends outgoing[r] to each rank r, and fills incoming[r] with the data from rank r, which must have the same
  /// length. Both have size() elements. An empty element sends nothing. The elements for the process itself are
  /// ignored.
  virtual void exchange(std::span<const Bytes> outgoing, std::span<const Room> incoming) = 0;
  /// Throws the error of exchange() if another process is known to have ended or aborted. Never waits. For code that
  /// waits for another process without calling the Collective. Transports that detect this only in exchanges do
  /// nothing.
  virtual void check() {}
  /// Reports to the other processes why this process gives up, so that they fail with this error. Never waits. Calls in
  /// progress on other threads fail. Has no effect after close().
  virtual void abort(core::ErrorCode code, std::string_view reason) noexcept = 0;
  /// Ends the job: waits for all processes. Afterwards processes may exit, and only the destructor may be called.
  void close();

  /// Returns when all processes have called it.
  void barrier();
  /// Copies the bytes of rank `root` to every process. The length is equal everywhere.
  void broadcast(Room bytes, int root = 0);
  /// Returns the texts of all processes, by rank. Lengths may differ. Error{kInvalidArgument} for a text of more than
  /// kLongestText bytes.
  std::vector<std::string> gather_texts(std::string_view mine);
  /// Returns the text of rank `root`. The texts of other processes are ignored.
  std::string broadcast_text(std::string_view mine, int root = 0);

  static constexpr std::size_t kLongestText = std::size_t{16} << 20;

  /// Returns "rank 1 (host)".
  std::string name_of(int rank) const;
  /// The number of processes of lower rank on the same machine.
  int local_rank() const;
  /// True for rank 0, the process that writes files and reports progress.
  bool leads() const noexcept { return rank() == 0; }
  bool alone() const noexcept { return size() == 1; }

 protected:
  /// Implements the last part of close(), after all processes have called it.
  virtual void finish() noexcept = 0;
};

/// Views values as bytes.
template <class T>
Collective::Bytes bytes_of(std::span<const T> values) noexcept {
  return std::as_bytes(values);
}
template <class T>
Collective::Room room_of(std::span<T> values) noexcept {
  return std::as_writable_bytes(values);
}

/// Creates a job whose processes are threads of this process, for tests and experiments on one machine. Returns the
/// object of each rank, for one thread each. Destroying an object without close() simulates the death of a process. An
/// exchange copies from the memory of one rank to another, and returns when both have called it.
///
///     const auto ranks = make_threads(2);
///     const std::jthread other([&] { ranks[1]->broadcast_text("ignored"); });
///     std::cout << ranks[0]->broadcast_text("hello");
std::vector<std::unique_ptr<Collective>> make_threads(int size);
/// Creates a job of one process.
std::unique_ptr<Collective> make_single();

}  // namespace dragoman::collective
