#include "error_message.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/plugins/host.h>

namespace dragoman::plugins {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

TEST(Join, AProcessThatWasNotLaunchedIsAlone) {
  Host host;
  EXPECT_TRUE(host.join({})->alone());
  EXPECT_TRUE(host.registry().collectives().all().empty()) << "transports come with plugins";
}

TEST(Join, WithoutThePluginForMpiSeveralProcessesAreRefused) {
  Host host;
  const std::string error = error_of([&] { host.join({.transport = collective::kMpi, .rank = 1, .size = 2}); });
  EXPECT_THAT(error, HasSubstr("several processes work together by MPI, but this installation has no plugin 'mpi'"));
  EXPECT_THAT(error, HasSubstr("libopenmpi-dev"));
}

TEST(Join, TakesTheTransportOfAPlugin) {
  Host host;
  collective::Launch seen;
  Registrar registrar;
  registrar.add(CollectiveEntry{"smoke", "signals", [&](const collective::Launch& launch) {
                                  seen = launch;
                                  return std::move(collective::make_threads(launch.size)[0]);
                                }});
  host.registry().add("a test", registrar.take());
  const auto ranks = host.join({.transport = "smoke", .rank = 0, .size = 3});
  EXPECT_EQ(ranks->size(), 3);
  EXPECT_EQ(seen.transport, "smoke");
  EXPECT_THAT(error_of([&] { host.join({.transport = "mirrors"}); }), HasSubstr("smoke")) << "lists what is here";
}

}  // namespace
}  // namespace dragoman::plugins
