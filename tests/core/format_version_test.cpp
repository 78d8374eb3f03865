#include "error_message.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/format_version.h>
#include <dragoman/core/json.h>

namespace dragoman::core {
namespace {

using testing::message_of;

TEST(FormatVersion, OlderOnesAreReturnedAndNewerOnesRefused) {
  EXPECT_EQ(require_known_version(Json{{"format_version", 1}}, 3, "a.json"), 1);
  EXPECT_EQ(require_known_version(Json{{"format_version", 3}}, 3, "a.json"), 3);
  EXPECT_EQ(require_known_version(Json::object(), 3, "a.json"), 0);
  const auto message_for = [](const Json& version, ErrorCode code) {
    return message_of([&] { require_known_version(Json{{"format_version", version}}, 3, "a.json"); }, code);
  };
  EXPECT_EQ(message_for(4, ErrorCode::kUnsupported),
            "a.json: format_version is '4'; this program reads 1 to 3; use the program that wrote it");
  message_for(std::numeric_limits<std::int64_t>::max(), ErrorCode::kUnsupported);
  for (const Json& version : {Json(0), Json(-1), Json(1.0), Json("1"), Json(), Json::array()})
    EXPECT_EQ(message_for(version, ErrorCode::kBadInput),
              "a.json: format_version is '" + version.dump() + "'; it must be a whole number from 1");
}

}  // namespace
}  // namespace dragoman::core
