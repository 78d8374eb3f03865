#include "admission.h"

#include <gtest/gtest.h>

#include <dragoman/core/error.h>

namespace dragoman::server {
namespace {

constexpr Admission::Clock::time_point kNow{};

TEST(AdmissionShare, OneCallerLeavesRoomForOthers) {
  Admission admission(1000);
  for (int i = 0; i < 3; ++i) admission.enter(250, kNow, "flood");
  EXPECT_THROW(admission.enter(1, kNow, "flood"), Busy);
  EXPECT_NO_THROW(admission.enter(250, kNow, "other"));
  EXPECT_THROW(admission.enter(1, kNow, "third"), Busy) << "the room is full";
  admission.leave(250, 250, "flood");
  EXPECT_NO_THROW(admission.enter(250, kNow, "flood"));
  for (int i = 0; i < 3; ++i) admission.leave(250, 250, "flood");
  admission.leave(250, 250, "other");
  EXPECT_NO_THROW(admission.enter(750, kNow, "flood")) << "nothing is left of the earlier requests";
}

TEST(AdmissionShare, ARequestBeyondTheShareNeverGetsIn) {
  Admission admission(1000);
  EXPECT_THROW(admission.enter(751, kNow, "one"), core::Error);
  EXPECT_NO_THROW(admission.enter(1000, kNow)) << "a program that embeds the service";
}

TEST(AdmissionShare, AnswersCountByTheirSize) {
  TranslateRequest request;
  request.texts = {"abc"};
  EXPECT_EQ(Admission::weight(request, 1), 67u);
  EXPECT_EQ(Admission::weight(request, 32), 32 * 67u);
  request.alignment = true;
  EXPECT_EQ(Admission::weight(request, 1), 67u) << "alignments are part of the details";
  request.details = true;
  EXPECT_EQ(Admission::weight(request, 32), 16 * 32 * 67u);
}

}  // namespace
}  // namespace dragoman::server
