#include "translation_engine_fixture.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <set>
#include <thread>

#include <dragoman/core/error.h>

namespace dragoman::engine {
namespace {

/// Helpers spin while there is something to share, and not longer.
TEST_F(TranslationEngineTest, AnIdleEngineTakesNoProcessorTime) {
  const auto processor_seconds = [] {
    std::timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  TranslationEngine engine(runtime_, *model_, {.threads = 4});
  Client client(engine);
  for (const auto& source : random_sources(20)) {
    client.submit(request(source, 0, endless()), [](const TranslationResult&) {});
    client.wait();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(processor_seconds() - before, 0.05);
}

TEST_F(TranslationEngineTest, EachFirstAndEachFurtherTokenHasItsLatency) {
  TranslationEngine engine(runtime_, *model_, {.threads = 2});
  EXPECT_EQ(engine.latencies().first_token.count, 0U);
  const auto greedy = std::make_shared<const SearchPlan>(DecodingOptions{.strategy = "greedy", .maximum_length = 9});
  std::atomic<std::uint64_t> steps = 0;
  const auto sources = random_sources(30);
  Client client(engine);
  for (const auto& source : sources)
    client.submit(request(source, 0, greedy), [&](const TranslationResult& result) {
      // The end, or what would have followed the longest length, is a step, too.
      steps += result.hypotheses.front().tokens.size() + 1;
    });
  client.wait();
  const Latencies found = engine.latencies();
  EXPECT_EQ(found.first_token.count, sources.size());
  EXPECT_EQ(found.next_token.count, steps - sources.size());
  for (const LatencySummary& summary : {found.first_token, found.next_token}) {
    EXPECT_LE(summary.p50, summary.p95);
    EXPECT_LE(summary.p95, summary.max);
    EXPECT_GT(summary.max, 0);
  }
}

TEST_F(TranslationEngineTest, ADeviceSaysHowManyWorkersItIsBestGiven) {
  class OneWorker final : public tensor::Backend {
   public:
    OneWorker() : Backend("one_worker") {}
    int device_count() const override { return 1; }
    tensor::DeviceMemory& memory(int) const override { return tensor::host_memory(); }
    tensor::DType float_type() const override { return tensor::DType::kF32; }
    std::string describe() const override { return "for a test"; }
    tensor::PreferredLoad preferred_load(int, tensor::ComputeType) const override { return {.workers = 1}; }
  };
  runtime_.add(std::make_shared<OneWorker>());
  const tensor::Device device = tensor::Device::of("one_worker");
  EXPECT_EQ(TranslationEngine(runtime_, *model_, {.device = device}).threads(), 1);
  EXPECT_EQ(TranslationEngine(runtime_, *model_, {.threads = 3, .device = device}).threads(), 3);
  EXPECT_EQ(TranslationEngine(runtime_, *model_, EngineOptions{}).threads(), core::thread_count(0));
}

TEST_F(TranslationEngineTest, AShortRequestDoesNotWaitForALongQueue) {
  TranslationEngine engine(runtime_, *model_, {.threads = 1, .limits = {.maximum_rows = 8}});
  const SharedSearch slow = endless();
  Client bulk(engine);
  std::atomic<int> bulk_done = 0;
  for (const auto& source : random_sources(60))
    bulk.submit(request(source, 0, slow), [&](const TranslationResult&) { ++bulk_done; });
  Client other(engine);
  int done_before = -1;
  other.submit(request({7, 8, 2}, 0, slow), [&](const TranslationResult&) { done_before = bulk_done; });
  other.wait();
  // Two fit in the pool at a time, so at most those in it and one turn each come first.
  EXPECT_LE(done_before, 8);
  bulk.cancel();
}

TEST_F(TranslationEngineTest, ACancelledClientEndsSoonAndOthersAreNotTouched) {
  TranslationEngine engine(runtime_, *model_, {.threads = 2});
  std::atomic<int> interrupted = 0;
  std::atomic<int> done = 0;
  Client other(engine);
  {
    Client client(engine);
    for (const auto& source : random_sources(500))
      client.submit(request(source, 0, endless()), [&](const TranslationResult& result) {
        ++(message_of(result.error).find("stopped") != std::string::npos ? interrupted : done);
      });
    other.submit(request({7, 8, 2}, 0, nullptr),
                 [](const TranslationResult& result) { EXPECT_EQ(message_of(result.error), ""); });
    client.cancel();
    EXPECT_THROW(client.submit(request({7, 2}, 0, nullptr), [](const TranslationResult&) {}), core::Error);
  }
  EXPECT_EQ(interrupted + done, 500) << "each callback is called before the client is gone";
  EXPECT_GT(interrupted, 300);
  other.wait();
}

TEST_F(TranslationEngineTest, WhoSubmitsTooMuchWaits) {
  constexpr std::size_t kBytes = 2000;
  TranslationEngine engine(runtime_, *model_, {.threads = 1, .limits = {.maximum_rows = 4}, .client_bytes = kBytes});
  Client client(engine);
  std::atomic<int> under_way = 0;
  int most = 0;
  const auto search = std::make_shared<const SearchPlan>(DecodingOptions{.maximum_length = 4});
  for (const auto& source : random_sources(200)) {
    ++under_way;
    client.submit(request(source, 0, search), [&](const TranslationResult&) { --under_way; });
    most = std::max(most, under_way.load());
  }
  client.wait();
  EXPECT_LE(most, 12) << "a request takes more than 256 bytes";
}

TEST_F(TranslationEngineTest, OneWorkerIsEnoughForOneRequestAtATime) {
  TranslationEngine engine(runtime_, *model_, {.threads = 8});
  Client client(engine);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  for (int i = 0; i < 20; ++i) {
    client.submit(request({7, 8, 2}, 0, nullptr), [&](const TranslationResult&) {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    });
    client.wait();
  }
  EXPECT_EQ(threads.size(), 1U);
}

/// What a callback holds may belong to who waits, so it is gone when the waiting is over.
TEST_F(TranslationEngineTest, ACallbackIsGoneBeforeTheWaitIsOver) {
  struct Held {
    std::atomic<int>* gone;
    ~Held() {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++*gone;
    }
  };
  TranslationEngine engine(runtime_, *model_, {.threads = 1});
  Client client(engine);
  std::atomic<int> gone = 0;
  const auto sources = random_sources(4);
  for (int i = 1; i <= 4; ++i) {
    client.submit(request(sources[static_cast<std::size_t>(i) - 1], 0, nullptr),
                  [held = std::make_shared<Held>(&gone)](const TranslationResult&) {});
    client.wait();
    EXPECT_EQ(gone, i);
  }
}

}  // namespace
}  // namespace dragoman::engine
