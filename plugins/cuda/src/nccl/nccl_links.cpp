#include "nccl_links.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace dragoman::backend::cuda {
namespace {

using core::ErrorCode;
using LinkClock = std::chrono::steady_clock;

/// Waits ever longer, up to a millisecond: most of what is waited for takes less than the first rounds.
class LinkPause {
 public:
  void operator()() {
    if (++rounds_ < kShortRounds) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(1000, 10 * (rounds_ - kShortRounds + 1))));
  }
  /// Whether it is time to look at other things, too.
  bool is_long() const noexcept { return rounds_ >= kShortRounds; }

 private:
  static constexpr int kShortRounds = 256;
  int rounds_ = 0;
};

}  // namespace

NcclLinks::NcclLinks(const NcclApi& api, std::unique_ptr<LinkQueue> queue, const collective::LinkRequest& request)
    : api_(&api), queue_(std::move(queue)), ranks_(&request.ranks) {
  guarded([&] { join(request); });
}

NcclLinks::~NcclLinks() {
  give_up();
}

void NcclLinks::join(const collective::LinkRequest& request) {
  queue_->use();
  nccl::UniqueId id{};
  if (ranks_->leads())
    if (const int result = api_->get_unique_id(&id); result != nccl::kSuccess) fail(result, "beginning");
  ranks_->broadcast(collective::room_of(std::span<char>(id.bytes)));
  nccl::Config config;
  const auto end = LinkClock::now() + request.timeout;
  settle(api_->init(&communicator_, ranks_->size(), id, ranks_->rank(), &config), "linking the devices", [&] {
    core::require(!request.stop.stop_requested(), ErrorCode::kInterrupted, "stopped while the devices were linked");
    core::require(LinkClock::now() < end, ErrorCode::kIo,
                  "{} has not linked the devices of {} processes within {} s; NCCL_DEBUG=INFO makes it say more",
                  api_->version, ranks_->size(),
                  std::chrono::duration_cast<std::chrono::seconds>(request.timeout).count());
    ranks_->check();
  });
}

void NcclLinks::guarded(const std::function<void()>& step) {
  if (failure_) throw core::Error(*failure_);
  try {
    step();
  } catch (const core::Error& error) {
    failure_.emplace(error);
    give_up();
    throw;
  }
}

void NcclLinks::exchange(std::span<const Bytes> outgoing, std::span<const Room> incoming) {
  guarded([&] {
    const auto size = static_cast<std::size_t>(ranks_->size());
    core::require(outgoing.size() == size && incoming.size() == size, ErrorCode::kInvalidArgument,
                  "an exchange of {} and {} parts between {} processes", outgoing.size(), incoming.size(), size);
    queue_->begin();
    post(outgoing, incoming);
    queue_->end([this] { look_around(); });
  });
}

void NcclLinks::post(std::span<const Bytes> outgoing, std::span<const Room> incoming) {
  int worst = api_->group_start();
  const auto note = [&](int result) {
    if (result != nccl::kSuccess && result != nccl::kInProgress && worst == nccl::kSuccess) worst = result;
  };
  for (int r = 0; r < ranks_->size(); ++r) {
    if (r == ranks_->rank()) continue;
    const Bytes sent = outgoing[static_cast<std::size_t>(r)];
    const Room came = incoming[static_cast<std::size_t>(r)];
    if (!sent.empty()) note(api_->send(sent.data(), sent.size(), nccl::kUint8, r, communicator_, queue_->stream()));
    if (!came.empty()) note(api_->receive(came.data(), came.size(), nccl::kUint8, r, communicator_, queue_->stream()));
  }
  const int ended = api_->group_end();
  if (worst != nccl::kSuccess) fail(worst, "an exchange");
  // Only then is the group in the queue.
  settle(ended, "an exchange", [this] { ranks_->check(); });
}

void NcclLinks::settle(int result, std::string_view what, const std::function<void()>& meanwhile) {
  LinkPause pause;
  while (result == nccl::kInProgress) {
    if (pause.is_long()) meanwhile();
    pause();
    if (const int asked = api_->async_error(communicator_, &result); asked != nccl::kSuccess) result = asked;
  }
  if (result != nccl::kSuccess) fail(result, what);
}

void NcclLinks::wait() {
  guarded([&] {
    LinkPause pause;
    while (!queue_->done()) {
      if (pause.is_long()) look_around();
      pause();
    }
    // An exchange that NCCL has given up is done, too.
    look_around();
  });
}

void NcclLinks::look_around() {
  int result = nccl::kSuccess;
  if (const int asked = api_->async_error(communicator_, &result); asked != nccl::kSuccess) result = asked;
  if (result != nccl::kSuccess && result != nccl::kInProgress) fail(result, "an exchange");
  ranks_->check();
}

void NcclLinks::fail(int result, std::string_view what) {
  // Where a process has ended NCCL may see it first, and says less of it.
  const auto end = LinkClock::now() + std::chrono::seconds(2);
  while (LinkClock::now() < end) {
    ranks_->check();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const char* const more = api_->last_error(communicator_);
  core::fail(ErrorCode::kIo, "{}: {} failed: {}{}{}", api_->version, what, api_->error_string(result),
             more == nullptr || *more == '\0' ? "" : ": ", more == nullptr ? "" : more);
}

void NcclLinks::give_up() noexcept {
  // Also the orderly end: what a farewell would do is to wait for others, who have met before.
  if (communicator_ != nullptr) api_->abort(communicator_);
  communicator_ = nullptr;
}

}  // namespace dragoman::backend::cuda
