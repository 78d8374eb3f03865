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

/// The processes of one job, and how they hand each other data. Every process has a number, its rank, from 0 to size()
/// - 1. Whatever one of them calls, all have to call, in the same order and with sizes that fit; each call returns when
/// this process's part of it is done.
///
/// Sums are no business of it: who wants one that has the same bits however many processes there are exchanges the
/// parts and adds them by a fixed tree (tree_sum.h), so that every transport gives the same bytes.
///
/// **Memory** is the host's. What devices hand each other without it goes by DeviceLinks (device_links.h), which have
/// the same exchange() over addresses of theirs.
///
/// **Ownership**: belongs to whoever made it. Memory that is passed in must stay until the call returns. The destructor
/// closes connections and waits for nobody.
///
/// **Threads**: one at a time, whichever it is; abort() alone may be called at any time from any thread.
///
/// **Errors**: Error{kIo} that names rank and host if another process has ended, cannot be reached any more, or speaks
/// of something else; if it has called abort(), the error has the code and the words that it gave. After an error the
/// object is of no use: every further call fails with the same. Over MPI it is the launcher that notices a process that
/// was killed, and ends the others. One that is merely slow, or stopped, is waited for.
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
  /// Of the machine that a process runs on, for messages.
  virtual const std::string& host_of(int rank) const = 0;
  /// "Open MPI v4.1.4".
  virtual std::string describe() const = 0;
  /// Sends outgoing[r] to each rank r and fills incoming[r] with what that sends, which must be as long. There are
  /// size() of both; an empty one is nothing to be sent, and what a process has for itself is left alone.
  virtual void exchange(std::span<const Bytes> outgoing, std::span<const Room> incoming) = 0;
  /// Error, as exchange() has it, if it is known by now that another process has ended or given up; waits for nobody.
  /// For who waits for another in a way that does not tell. A transport that hears of it in exchanges alone does
  /// nothing.
  virtual void check() {}
  /// Tells the others why this process gives up, so that they end with that error; it waits for nobody, and calls that
  /// other threads have under way fail. Does nothing after close().
  virtual void abort(core::ErrorCode code, std::string_view reason) noexcept = 0;
  /// The end: waits for all, after which processes may come and go, and only the destructor may be called.
  void close();

  /// Returns when all have called it.
  void barrier();
  /// Gives every process what rank `root` has; it is `bytes` long everywhere.
  void broadcast(Room bytes, int root = 0);
  /// What every process has, by rank; lengths may differ. A text of more than kLongestText bytes is an
  /// Error{kInvalidArgument}.
  std::vector<std::string> gather_texts(std::string_view mine);
  /// The text of rank `root`; what others have is not looked at.
  std::string broadcast_text(std::string_view mine, int root = 0);

  static constexpr std::size_t kLongestText = std::size_t{16} << 20;

  /// "rank 1 (host)".
  std::string name_of(int rank) const;
  /// The number of processes of lower rank on the same machine.
  int local_rank() const;
  /// Whether this is the process that writes files and says what happens: rank 0.
  bool leads() const noexcept { return rank() == 0; }
  bool alone() const noexcept { return size() == 1; }

 protected:
  /// What close() does when all have come to it.
  virtual void finish() noexcept = 0;
};

/// The bytes of numbers.
template <class T>
Collective::Bytes bytes_of(std::span<const T> values) noexcept {
  return std::as_bytes(values);
}
template <class T>
Collective::Room room_of(std::span<T> values) noexcept {
  return std::as_writable_bytes(values);
}

/// Makes a job whose processes are threads of this process, for tests and experiments on one machine. Returns the
/// object of each rank, for one thread each. Destroying an object without close() counts as the death of a process. An
/// exchange copies from the memory of one rank to another, and returns when both have called it.
std::vector<std::unique_ptr<Collective>> make_threads(int size);
/// A job of one process.
std::unique_ptr<Collective> make_single();

}  // namespace dragoman::collective
