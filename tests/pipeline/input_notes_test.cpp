#include <gmock/gmock.h>

#include <dragoman/pipeline/input_notes.h>

namespace dragoman::pipeline {
namespace {

std::vector<std::uint64_t> lines_of(const std::vector<std::string>& notes) {
  std::vector<std::uint64_t> lines;
  for (const InputPoint& point : known_points(notes)) lines.push_back(point.lines);
  return lines;
}

TEST(InputNotes, NotesOfOtherKindsAreReadOver) {
  const std::vector<std::string> notes = {R"({"long_lines":"cut"})", to_note({.lines = 3, .hash = 7}), "{}",
                                          to_note({.lines = 5, .hash = 8})};
  EXPECT_THAT(lines_of(notes), ::testing::ElementsAre(3, 5));
  EXPECT_EQ(known_points(notes)[1].hash, 8U);
  EXPECT_EQ(vouched_lines(notes), 5U);
}

/// A record of 20 MB that is no JSON costs one note.
TEST(InputNotes, NothingAfterADamagedNoteIsTrusted) {
  std::vector<std::string> notes = {to_note({.lines = 3, .hash = 7}), "damaged", to_note({.lines = 5, .hash = 8})};
  EXPECT_THAT(lines_of(notes), ::testing::ElementsAre(3));
  EXPECT_EQ(vouched_lines(notes), 3U);
  EXPECT_EQ(vouched_lines({"damaged"}), 0U);
}

}  // namespace
}  // namespace dragoman::pipeline
