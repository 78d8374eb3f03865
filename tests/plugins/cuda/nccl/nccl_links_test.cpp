#include "emulated_nccl.h"
#include "ranks.h"
#include "test_data.h"

#include <array>
#include <cstdlib>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>

// Links by NCCL between ranks that are threads, each with an emulated device; the library is the tests' own, which
// fails where the real one would hang or do what nobody knows.
namespace dragoman::backend::cuda {
namespace {

using collective::Collective;
using collective::DeviceLinks;
using collective::testing::run_ranks;
using ::testing::AllOf;
using ::testing::Each;
using testing::EmulatedCuda;
using ::testing::HasSubstr;
using testing::HiddenBackend;

const std::string& library() {
  static const std::string file = testing::built("fake_nccl");
  return file;
}
const NcclLoad& fake() {
  static const NcclLoad load = open_nccl(std::array{library().c_str()});
  return load;
}

/// A variable of the environment, as long as it lives; made while no other thread runs.
struct Variable {
  Variable(const char* name_in, const char* value) : name(name_in) { ::setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::unsetenv(name); }
  const char* name;
};

/// Bytes on a device.
class DeviceBytes {
 public:
  DeviceBytes(tensor::DeviceMemory& memory, const std::vector<std::uint8_t>& bytes)
      : memory_(memory), buffer_(memory, bytes.size()), size_(bytes.size()) {
    memory_.copy_in(buffer_.data(), bytes.data(), size_);
  }
  Collective::Room room() const { return {static_cast<std::byte*>(buffer_.data()), size_}; }
  std::vector<std::uint8_t> bytes() const {
    std::vector<std::uint8_t> bytes(size_);
    memory_.copy_out(bytes.data(), buffer_.data(), size_);
    return bytes;
  }

 private:
  tensor::DeviceMemory& memory_;
  tensor::Buffer buffer_;
  std::size_t size_;
};

class NcclRanks : public ::testing::Test {
 protected:
  using Body = std::function<void(Collective&, DeviceLinks&, tensor::DeviceMemory&)>;

  /// What each rank threw; `device_of` says which device it takes.
  std::vector<std::string> run(int size, const Body& body, const std::function<int(int)>& device_of = {}) const {
    EmulatedCuda backend("cuda", HiddenBackend::Steps::kRun, size);
    return run_ranks(size, [&](Collective& ranks) {
      const int device = device_of ? device_of(ranks.rank()) : ranks.rank();
      const auto links = testing::make_emulated_links(
          fake(), library().c_str(), backend, {.ranks = ranks, .device = device, .timeout = std::chrono::seconds(20)});
      body(ranks, *links, backend.memory(device));
    });
  }

  /// A number of bytes to each other, and as many from each.
  static void exchange(Collective& ranks, DeviceLinks& links, tensor::DeviceMemory& memory, std::size_t sent,
                       std::size_t expected) {
    const DeviceBytes from(memory, std::vector<std::uint8_t>(sent, 1)), to(memory, std::vector<std::uint8_t>(expected));
    std::vector<Collective::Bytes> outgoing(static_cast<std::size_t>(ranks.size()), from.room());
    std::vector<Collective::Room> incoming(outgoing.size(), to.room());
    try {
      links.exchange(outgoing, incoming);
      links.wait();
    } catch (...) {
      EXPECT_THROW(links.wait(), core::Error) << "after an error it is of no use";
      throw;
    }
  }
};

TEST_F(NcclRanks, ExchangeWhatIsOnTheirDevices) {
  for (const int size : {1, 2, 3}) {
    EXPECT_THAT(run(size,
                    [](Collective& ranks, DeviceLinks& links, tensor::DeviceMemory& memory) {
                      EXPECT_EQ(links.describe(), "NCCL 2.23.4");
                      std::vector<DeviceBytes> to, from;
                      const auto length = [](int a, int b) { return static_cast<std::size_t>(100'000 * a + 7 * b); };
                      const auto value = [](int a, int b) { return static_cast<std::uint8_t>(16 * a + b + 1); };
                      std::vector<Collective::Bytes> outgoing;
                      std::vector<Collective::Room> incoming;
                      for (int r = 0; r < ranks.size(); ++r) {
                        to.emplace_back(memory, std::vector(length(ranks.rank(), r) + 1, value(ranks.rank(), r)));
                        from.emplace_back(memory, std::vector<std::uint8_t>(length(r, ranks.rank()) + 1));
                        outgoing.emplace_back(to.back().room().first(length(ranks.rank(), r)));
                        incoming.push_back(from.back().room().first(length(r, ranks.rank())));
                      }
                      for (int times = 0; times < 3; ++times) links.exchange(outgoing, incoming);
                      links.wait();
                      for (int r = 0; r < ranks.size(); ++r) {
                        std::vector<std::uint8_t> wanted(length(r, ranks.rank()) + 1);
                        if (r != ranks.rank()) std::fill(wanted.begin(), wanted.end() - 1, value(r, ranks.rank()));
                        EXPECT_EQ(from[static_cast<std::size_t>(r)].bytes(), wanted);
                      }
                      ranks.barrier();
                    }),
                Each(""));
  }
}

TEST_F(NcclRanks, AreToldOfLengthsThatDiffer) {
  const auto errors = run(2, [](Collective& ranks, DeviceLinks& links, tensor::DeviceMemory& memory) {
    exchange(ranks, links, memory, ranks.leads() ? 16 : 24, 16);
    ranks.barrier();
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 1 sends 24 bytes, and 16 are expected"));
}

TEST_F(NcclRanks, EndWithTheWordsOfOneThatGivesUp) {
  const auto errors = run(2, [](Collective& ranks, DeviceLinks& links, tensor::DeviceMemory& memory) {
    if (ranks.rank() == 1) {
      ranks.abort(core::ErrorCode::kIo, "its disk is full");
      return;
    }
    exchange(ranks, links, memory, 16, 16);
  });
  EXPECT_THAT(errors[0], AllOf(HasSubstr("rank 1 ("), HasSubstr("gave up: its disk is full")));
}

class NcclRanksOf : public NcclRanks, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Libraries, NcclRanksOf, ::testing::Bool(),
                         [](const auto& silent) { return silent.param ? "thatSaysNothing" : "thatNotices"; });

/// Whether NCCL hears of it or not, as between GPUs of a machine.
TEST_P(NcclRanksOf, EndWhenOneHasGone) {
  std::optional<Variable> silent;
  if (GetParam()) silent.emplace("FAKE_NCCL_SILENT", "1");
  const auto errors = run(3, [](Collective& ranks, DeviceLinks& links, tensor::DeviceMemory& memory) {
    exchange(ranks, links, memory, 16, 16);
    if (ranks.rank() != 2) exchange(ranks, links, memory, 16, 16);
  });
  for (const int rank : {0, 1})
    EXPECT_THAT(errors[static_cast<std::size_t>(rank)], HasSubstr("has ended without closing the job"));
  EXPECT_THAT(errors[0] + errors[1], HasSubstr("rank 2 ("));
}

TEST_F(NcclRanks, CannotShareADevice) {
  const auto errors = run(
      2, [](Collective&, DeviceLinks&, tensor::DeviceMemory&) {}, [](int) { return 0; });
  EXPECT_THAT(errors[0] + errors[1], HasSubstr("linking the devices failed: invalid usage: Duplicate GPU detected"));
}

TEST_F(NcclRanks, WaitForAllNoLongerThanTheyWereTold) {
  EmulatedCuda backend;
  const auto errors = run_ranks(2, [&](Collective& ranks) {
    if (ranks.leads())
      testing::make_emulated_links(fake(), library().c_str(), backend,
                                   {.ranks = ranks, .timeout = std::chrono::milliseconds(300)});
    else {
      std::array<char, sizeof(nccl::UniqueId)> id{};
      ranks.broadcast(collective::room_of(std::span<char>(id)));
      std::this_thread::sleep_for(std::chrono::milliseconds(900));
    }
  });
  EXPECT_THAT(errors[0], HasSubstr("has not linked the devices of 2 processes"));
}

TEST(NcclLibrary, IsNotHere) {
  const NcclLoad load = open_nccl(std::array{"/nowhere/libnccl.so.2"});
  EXPECT_EQ(load.api, nullptr);
  EXPECT_THAT(load.describe(), AllOf(HasSubstr("libnccl.so.2 is not here"), HasSubstr("LD_LIBRARY_PATH")));
  EXPECT_THAT(nccl_offer(load, "a device").trouble, HasSubstr("is not here"));
}

TEST(NcclLibrary, IsTooOld) {
  const Variable old("FAKE_NCCL_VERSION", "2708");
  const NcclLoad load = open_nccl(std::array{library().c_str()});
  EXPECT_EQ(load.api, nullptr);
  EXPECT_THAT(load.found, HasSubstr("is NCCL 2.7.8; NCCL 2.18.1 or later is needed"));
}

TEST(NcclLibrary, IsAnotherOne) {
  const NcclLoad load = open_nccl(std::array{"libm.so.6"});
  EXPECT_EQ(load.api, nullptr);
  EXPECT_THAT(load.found, HasSubstr("libm.so.6 is no NCCL"));
}

/// What the tests rely on to find misuse.
TEST(FakeNccl, RefusesWhatNcclLeavesUndefined) {
  ASSERT_NE(fake().api, nullptr) << fake().found;
  const NcclApi& api = *fake().api;
  EmulatedCuda backend("cuda", HiddenBackend::Steps::kRun, 2);
  const auto queue = testing::make_emulated_queue(library().c_str(), backend, 0);
  constexpr int kInvalidArgument = 4, kInvalidUsage = 5;
  nccl::UniqueId id{};
  ASSERT_EQ(api.get_unique_id(&id), nccl::kSuccess);
  nccl::Config config;
  nccl::Communicator* made = nullptr;
  EXPECT_EQ(api.init(&made, 1, id, 1, &config), kInvalidArgument) << "rank 1 of 1";
  queue->use();
  char byte = 0;
  const auto with_communicator = [&](const std::function<int(nccl::Communicator*)>& call) {
    nccl::Communicator* communicator = nullptr;
    EXPECT_EQ(api.init(&communicator, 1, id, 0, &config), nccl::kInProgress);
    for (int state = nccl::kInProgress; state == nccl::kInProgress;)
      EXPECT_EQ(api.async_error(communicator, &state), nccl::kSuccess);
    const int result = call(communicator);
    api.abort(communicator);
    return result;
  };
  EXPECT_EQ(with_communicator([&](auto* c) { return api.send(&byte, 1, nccl::kUint8, 0, c, queue->stream()); }),
            kInvalidUsage)
      << "outside of a group";
  const auto in_group = [&](int peer, void* stream) {
    return with_communicator([&](auto* c) {
      api.group_start();
      const int result = api.receive(&byte, 1, nccl::kUint8, peer, c, stream);
      api.group_end();
      return result;
    });
  };
  EXPECT_EQ(in_group(1, queue->stream()), kInvalidArgument) << "no such peer";
  EXPECT_EQ(api.group_end(), kInvalidUsage);
  EXPECT_EQ(with_communicator([&](auto* c) {
              int result = 0;
              std::jthread([&] {
                api.group_start();
                result = api.send(&byte, 1, nccl::kUint8, 0, c, queue->stream());
                api.group_end();
              }).join();
              return result;
            }),
            kInvalidUsage)
      << "from another thread";
}

}  // namespace
}  // namespace dragoman::backend::cuda
