#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/shared_json.h>

namespace dragoman::core {
namespace {

TEST(SharedJson, IsAnEmptyObjectAtFirstAndAfterAMove) {
  SharedJson value;
  EXPECT_TRUE(value.empty());
  EXPECT_EQ(value.get(), Json::object());
  value = Json{{"a", 1}};
  const SharedJson taken = std::move(value);
  EXPECT_EQ(value.get(), Json::object());  // NOLINT(bugprone-use-after-move): the contract says so
  EXPECT_EQ(taken.get(), (Json{{"a", 1}}));
  EXPECT_FALSE(taken.empty());
}

TEST(SharedJson, CopiesShareTheTreeAndAreComparedByIt) {
  const SharedJson one = Json{{"a", {1, 2}}};
  const SharedJson copy = one;
  EXPECT_EQ(&copy.get(), &one.get());
  EXPECT_EQ(one, SharedJson(Json{{"a", {1, 2}}}));
  EXPECT_FALSE(one == SharedJson(Json{{"a", {2, 1}}}));
  EXPECT_FALSE(one == SharedJson());
  EXPECT_EQ(SharedJson(), SharedJson(Json::object()));
}

TEST(SharedJson, HoldsAnyTree) {
  EXPECT_EQ(SharedJson(Json("text")).get(), Json("text"));
  EXPECT_EQ(SharedJson(Json::array({1})).get().size(), 1U);
  EXPECT_TRUE(SharedJson(Json(nullptr)).empty());
}

}  // namespace
}  // namespace dragoman::core
