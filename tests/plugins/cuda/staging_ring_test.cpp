#include "steps/staging_ring.h"

#include <cstring>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace dragoman::backend::cuda {
namespace {

constexpr std::size_t kSegment = 256;
constexpr std::size_t kSegments = 3;

/// Copies as late as it may: when somebody waits. Whatever was overwritten meanwhile shows.
class LateCopier final : public StagingRing::Copier {
 public:
  void copy(void* to, const void* staged, std::size_t bytes) override { asked_.push_back({to, staged, bytes}); }
  void mark(std::size_t segment) override { marks_.at(segment) = asked_.size(); }
  void wait(std::size_t segment) override {
    ++waits;
    finish(marks_.at(segment));
  }
  void finish(std::size_t until) {
    for (; done_ < until; ++done_) std::memcpy(asked_[done_].to, asked_[done_].staged, asked_[done_].bytes);
  }
  void finish() { finish(asked_.size()); }
  std::size_t copies() const { return asked_.size(); }

  int waits = 0;

 private:
  struct Copy {
    void* to;
    const void* staged;
    std::size_t bytes;
  };
  std::vector<Copy> asked_;
  std::size_t done_ = 0;
  std::vector<std::size_t> marks_ = std::vector<std::size_t>(kSegments);
};

TEST(StagingRing, BytesArriveHoweverLateTheyAreCopied) {
  std::vector<char> pinned(kSegment * kSegments);
  LateCopier copier;
  StagingRing ring(pinned.data(), kSegment, kSegments, copier);
  std::mt19937 random(3);
  std::vector<char> device(200'000), expected(device.size());
  std::size_t place = 0;
  while (place < device.size()) {
    const std::size_t bytes =
        std::min<std::size_t>(1 + random() % (random() % 4 == 0 ? 900 : 60), device.size() - place);
    std::vector<char> from(bytes);
    for (char& c : from) c = static_cast<char>(random());
    std::memcpy(expected.data() + place, from.data(), bytes);
    ring.upload(device.data() + place, from.data(), bytes);
    std::fill(from.begin(), from.end(), 'x');  // it may change
    place += bytes;
  }
  EXPECT_GT(copier.waits, 100);
  copier.finish();
  EXPECT_TRUE(device == expected);
}

TEST(StagingRing, WaitsOnlyWhenAllSegmentsAreInUse) {
  std::vector<char> pinned(kSegment * kSegments);
  LateCopier copier;
  StagingRing ring(pinned.data(), kSegment, kSegments, copier);
  std::vector<char> device(kSegment), from(kSegment, 'a');
  for (std::size_t i = 0; i < kSegments; ++i) ring.upload(device.data(), from.data(), kSegment);
  EXPECT_EQ(copier.waits, 0);
  ring.upload(device.data(), from.data(), 1);
  EXPECT_EQ(copier.waits, 1);
}

TEST(StagingRing, SmallPiecesAreNotCut) {
  std::vector<char> pinned(kSegment * kSegments);
  LateCopier copier;
  StagingRing ring(pinned.data(), kSegment, kSegments, copier);
  std::vector<char> device(kSegment), from(kSegment, 'a');
  ring.upload(device.data(), from.data(), 200);
  ring.upload(device.data(), from.data(), 200);
  EXPECT_EQ(copier.copies(), 2U);
  ring.upload(device.data(), from.data(), 0);
  EXPECT_EQ(copier.copies(), 2U);
}

}  // namespace
}  // namespace dragoman::backend::cuda
