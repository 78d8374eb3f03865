#include "dragoman/collective/collective.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace dragoman::collective {
namespace {

using core::ErrorCode;

/// A block from one rank to another. The sender owns the memory and waits until the receiver has copied it.
struct Transfer {
  std::uint64_t exchange = 0;  ///< the sender's count of exchanges
  Collective::Bytes data{};    ///< empty: nothing to copy
};

/// The reason why a rank ended before the job was closed.
struct EndOfRank {
  int rank = 0;
  ErrorCode code = ErrorCode::kIo;
  std::optional<std::string> reason{};  ///< the reason passed to abort(); std::nullopt if the object was destroyed
};

/// The shared state of the ranks of a job. The mutex guards it, and the state of each rank.
struct Job {
  explicit Job(int ranks) : size(static_cast<std::size_t>(ranks)), transfers(size * size) {}
  Transfer& transfer(int from, int to) {
    return transfers[static_cast<std::size_t>(from) * size + static_cast<std::size_t>(to)];
  }
  /// Records the first end only, because later ones may follow from it.
  void end(EndOfRank rank) {
    if (!first_end) first_end.emplace(std::move(rank));
    changed.notify_all();
  }

  const std::size_t size;
  const std::string host = "this machine";
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Transfer> transfers;
  std::optional<EndOfRank> first_end;
};

class ThreadCollective final : public Collective {
 public:
  ThreadCollective(std::shared_ptr<Job> job, int rank) : job_(std::move(job)), rank_(rank) {}
  ~ThreadCollective() override {
    const std::lock_guard lock(job_->mutex);
    if (!closed_) job_->end({.rank = rank_});
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return static_cast<int>(job_->size); }
  const std::string& host_of(int /*rank*/) const override { return job_->host; }
  std::string describe() const override { return "threads"; }

  void exchange(std::span<const Bytes> outgoing, std::span<const Room> incoming) override {
    std::unique_lock lock(job_->mutex);
    if (failure_) throw core::Error(*failure_);
    core::require(outgoing.size() == job_->size && incoming.size() == job_->size, ErrorCode::kInvalidArgument,
                  "an exchange of {} and {} parts between {} processes", outgoing.size(), incoming.size(), job_->size);
    try {
      post(outgoing);
      std::vector<Room> missing(incoming.begin(), incoming.end());
      missing[static_cast<std::size_t>(rank_)] = {};
      while (!advance(missing)) {
        require_all_alive();
        job_->changed.wait(lock);
      }
    } catch (const core::Error& error) {
      withdraw();
      if (!failure_) failure_.emplace(error);
      throw;
    }
  }

  void check() override {
    const std::lock_guard lock(job_->mutex);
    try {
      require_all_alive();
    } catch (const core::Error& error) {
      if (!failure_) failure_.emplace(error);
      throw;
    }
  }

  void abort(ErrorCode code, std::string_view reason) noexcept override {
    try {
      const std::lock_guard lock(job_->mutex);
      if (closed_) return;
      if (!failure_) failure_.emplace(code, fmt::format("this process has given up: {}", reason));
      job_->end({rank_, code, std::string(reason)});
    } catch (const std::exception&) {
      // No memory for a message. The other ranks get an error when this object is destroyed.
    }
  }

 protected:
  void finish() noexcept override {
    const std::lock_guard lock(job_->mutex);
    closed_ = true;
  }

 private:
  void require_all_alive() const {
    if (failure_) throw core::Error(*failure_);
    if (!job_->first_end) return;
    const EndOfRank& end = *job_->first_end;
    if (end.reason) core::fail(end.code, "{} gave up: {}", name_of(end.rank), *end.reason);
    core::fail(end.code, "{} has ended without closing the job", name_of(end.rank));
  }

  void post(std::span<const Bytes> outgoing) {
    ++exchanges_;
    for (int r = 0; r < size(); ++r)
      if (r != rank_) job_->transfer(rank_, r) = {exchanges_, outgoing[static_cast<std::size_t>(r)]};
    job_->changed.notify_all();
  }

  void withdraw() {
    for (int r = 0; r < size(); ++r) job_->transfer(rank_, r).data = {};
  }

  /// Copies the blocks that have been posted for this rank. Returns true when all of them have arrived and all blocks
  /// of this rank have been copied.
  bool advance(std::vector<Room>& missing) {
    bool done = true;
    for (int r = 0; r < size(); ++r) {
      Room& room = missing[static_cast<std::size_t>(r)];
      if (!room.empty() && !job_->transfer(r, rank_).data.empty()) receive(r, room);
      done = done && room.empty() && job_->transfer(rank_, r).data.empty();
    }
    return done;
  }

  void receive(int from, Room& room) {
    Transfer& transfer = job_->transfer(from, rank_);
    core::require(transfer.exchange == exchanges_ && transfer.data.size() == room.size(), ErrorCode::kIo,
                  "{} sends {} bytes in exchange {}, where {} bytes in exchange {} are expected: the processes do not "
                  "do the same",
                  name_of(from), transfer.data.size(), transfer.exchange, room.size(), exchanges_);
    std::ranges::copy(transfer.data, room.begin());
    transfer.data = {};
    room = {};
    job_->changed.notify_all();
  }

  const std::shared_ptr<Job> job_;
  const int rank_;
  std::uint64_t exchanges_ = 0;
  std::optional<core::Error> failure_;
  bool closed_ = false;
};

}  // namespace

std::vector<std::unique_ptr<Collective>> make_threads(int size) {
  core::require(size >= 1, ErrorCode::kInvalidArgument, "a job of {} threads; at least 1 is needed", size);
  const auto job = std::make_shared<Job>(size);
  std::vector<std::unique_ptr<Collective>> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(std::make_unique<ThreadCollective>(job, rank));
  return ranks;
}

std::unique_ptr<Collective> make_single() {
  return std::move(make_threads(1).front());
}

}  // namespace dragoman::collective
