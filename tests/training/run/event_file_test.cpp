#include "run/event_file.h"

#include "records/tensorboard_log.h"
#include "small_task.h"
#include "test_data.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using dragoman::testing::TemporaryFolder;
using testing::SmallTask;
using testing::StopAt;
using testing::train;

/// CRC-32C bit by bit, from its polynomial (RFC 3720, section 12.1), masked as TFRecord files have it.
std::uint32_t masked_crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
  }
  crc = ~crc;
  return std::rotr(crc, 15) + 0xa282ead8U;
}

/// A message of protocol buffers as a list of fields: numbers as they are, all else as bytes.
struct Field {
  int number = 0;
  std::uint64_t value = 0;
  std::string bytes{};
};

std::vector<Field> fields_of(std::string_view message) {
  std::vector<Field> fields;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80U) return value;
    }
  };
  while (at < message.size()) {
    const std::uint64_t key = varint();
    Field field{.number = static_cast<int>(key >> 3)};
    if ((key & 7U) == 0) {
      field.value = varint();
    } else {
      const std::size_t size = (key & 7U) == 1 ? 8 : (key & 7U) == 5 ? 4 : varint();
      field.bytes = std::string(message.substr(at, size));
      at += size;
    }
    fields.push_back(field);
  }
  return fields;
}

std::string bytes_of(const std::vector<Field>& fields, int number) {
  const auto found = std::ranges::find(fields, number, &Field::number);
  return found == fields.end() ? std::string() : found->bytes;
}

struct ReadEvents {
  std::map<std::string, std::vector<std::pair<std::uint64_t, float>>> scalars;
  std::map<std::string, std::string> texts;
  std::vector<std::uint64_t> restarts;
  std::string version;
};

void add_file(const std::string& file, ReadEvents& events) {
  for (std::size_t at = 0; at < file.size();) {
    std::uint64_t length = 0;
    std::uint32_t crc = 0;
    std::memcpy(&length, file.data() + at, 8);
    std::memcpy(&crc, file.data() + at + 8, 4);
    ASSERT_EQ(crc, masked_crc32c(std::string_view(file).substr(at, 8)));
    const std::string_view message = std::string_view(file).substr(at + 12, length);
    std::memcpy(&crc, file.data() + at + 12 + length, 4);
    ASSERT_EQ(crc, masked_crc32c(message));
    at += 16 + length;
    const auto event = fields_of(message);
    std::uint64_t step = 0;
    for (const Field& field : event) {
      if (field.number == 2) step = field.value;
      if (field.number == 3) events.version = field.bytes;
      if (field.number == 7) events.restarts.push_back(step);
    }
    for (const Field& value : fields_of(bytes_of(event, 5))) {
      const auto parts = fields_of(value.bytes);
      const std::string tag = bytes_of(parts, 1);
      if (const std::string number = bytes_of(parts, 2); !number.empty()) {
        float scalar = 0;
        std::memcpy(&scalar, number.data(), 4);
        events.scalars[tag].emplace_back(step, scalar);
      } else {
        events.texts[tag] = bytes_of(fields_of(bytes_of(parts, 8)), 8);
      }
    }
  }
}

ReadEvents events_of(const fs::path& folder) {
  ReadEvents events;
  for (const fs::path& file : core::list_folder(folder)) add_file(core::read_file(file), events);
  return events;
}

/// What Python's zlib-free reference gives of "123456789": the check value of CRC-32C.
TEST(EventFile, TheTestsOwnSumIsThatOfThePolynomial) {
  EXPECT_EQ(std::rotl(masked_crc32c("123456789") - 0xa282ead8U, 15), 0xE3069283U);
}

TEST(EventFile, HoldsRecordsWithSumsAndMessages) {
  const TemporaryFolder folder;
  {
    EventFile file(folder.path() / "events");
    file.append({.wall_time = 1.5, .step = 300, .scalars = {{"train/loss", 0.1}, {"x", -2}}});
    file.append({.step = 301, .texts = {{"samples/1", "Gr\xC3\xBC\xC3\x9F\x65 \xFF"}}});
    file.append({.step = 302, .restarts = true});
  }
  const ReadEvents events = events_of(folder.path());
  EXPECT_EQ(events.version, "brain.Event:2");
  EXPECT_EQ(events.scalars.at("train/loss"), (std::vector<std::pair<std::uint64_t, float>>{{300, 0.1F}}));
  EXPECT_EQ(events.scalars.at("x").front().second, -2);
  EXPECT_EQ(events.texts.at("samples/1"), "Gr\xC3\xBC\xC3\x9F\x65 \xEF\xBF\xBD");
  EXPECT_EQ(events.restarts, (std::vector<std::uint64_t>{302}));
  EXPECT_THROW(EventFile(folder.path() / "events"), core::Error) << "what is there is not written over";
}

TEST(EventFile, IsReadUpToWhatIsDamaged) {
  const TemporaryFolder folder;
  {
    EventFile file(folder.path() / "events");
    for (int i = 1; i <= 3; ++i) file.append({.step = i, .scalars = {{"a", i}}});
  }
  const std::string whole = core::read_file(folder.path() / "events");
  const auto all = read_events(whole);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_TRUE(all[0].is_version);
  EXPECT_EQ(all[3].step, 3);
  std::string joined;
  for (const StoredEvent& event : all) joined += event.record;
  EXPECT_EQ(joined, whole);
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_LT(read_events(whole.substr(0, size)).size(), 4U);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_LT(read_events(damaged).size(), 4U) << i;
  }
}

class TensorBoard : public ::testing::Test {
 protected:
  TrainingConfig config(const std::string& run) const {
    return task_.config({"output=" + task_.file(run).string(), "logging.tensorboard=true", "validation.every=6",
                         "validation.samples={first: 1}"});
  }
  ReadEvents events(const std::string& run) const { return events_of(task_.file(run) / "tensorboard"); }
  static void forget_times(ReadEvents& events) {
    for (const char* time : {"train/tokens_per_second", "train/data_seconds"}) events.scalars.erase(time);
  }

  TemporaryFolder folder_;
  SmallTask task_{folder_.path()};
};

TEST_F(TensorBoard, HasEveryNumberOfTheMetrics) {
  train(config("run"));
  ReadEvents read = events("run");
  EXPECT_EQ(read.scalars.count("train/tokens_per_second"), 1U);
  forget_times(read);
  std::size_t found = 0;
  core::LineReader reader(task_.file("run") / "metrics.jsonl");
  for (std::string line; reader.next(line);) {
    const core::Json json = core::parse_json(line, "metrics.jsonl");
    const std::string group = json["type"] == "training" ? "train/" : "validation/";
    for (const auto& [key, value] : json.items()) {
      if (!value.is_number() || key == "update" || key == "seconds" || key == "data_seconds" || key == "target_tokens")
        continue;
      if (json["type"] == "sample") continue;
      const std::pair<std::uint64_t, float> expected{json["update"].get<std::uint64_t>(), value.get<float>()};
      EXPECT_THAT(read.scalars[group + key], ::testing::Contains(expected)) << group << key;
      ++found;
    }
  }
  std::size_t all = 0;
  for (const auto& [tag, values] : read.scalars) all += values.size();
  EXPECT_EQ(found, all);
  EXPECT_GT(found, 30U);
  EXPECT_THAT(read.texts.at("samples/1/text_summary"), ::testing::HasSubstr("prediction"));
}

/// A resumed run has each point once, though the killed one had gone on.
TEST_F(TensorBoard, AResumedRunHasThePointsOfAnUninterruptedOne) {
  train(config("whole"));
  StopAt stop(17);
  EXPECT_THROW(train(config("cut"), StartMode::kFresh, stop.source.get_token(), stop.environment), core::Error);
  // As if the process had been killed after update 17, and the checkpoint were an older one.
  fs::remove_all(task_.file("cut") / "checkpoint-17");
  train(config("cut"), StartMode::kResume);
  ReadEvents whole = events("whole");
  ReadEvents cut = events("cut");
  forget_times(whole);
  forget_times(cut);
  EXPECT_EQ(cut.scalars, whole.scalars);
  EXPECT_EQ(cut.texts, whole.texts);
  EXPECT_EQ(cut.restarts, (std::vector<std::uint64_t>{15}));
}

/// The validation at a run's end is not part of the longer run that goes on from it.
TEST_F(TensorBoard, AContinuedRunHasThePointsOfALongerOne) {
  const auto until = [&](const std::string& run, int updates) {
    TrainingConfig longer = config(run);
    longer.training.updates = updates;
    return longer;
  };
  train(until("whole", 20));
  train(until("parts", 8));
  EXPECT_EQ(events("parts").scalars.at("validation/loss").size(), 2U) << "at 6 and at the end";
  train(until("parts", 20), StartMode::kResume);
  ReadEvents whole = events("whole");
  ReadEvents parts = events("parts");
  forget_times(whole);
  forget_times(parts);
  EXPECT_EQ(parts.scalars, whole.scalars);
}

/// Files that are not the run's own stay as they are, whatever their names are; a clock that was ahead, too.
TEST_F(TensorBoard, FilesOfOthersAreKeptAndDoNotHoldTheRunUp) {
  StopAt stop(17);
  EXPECT_THROW(train(config("run"), StartMode::kFresh, stop.source.get_token(), stop.environment), core::Error);
  const fs::path folder = task_.file("run") / "tensorboard";
  const std::vector<std::string> others = {
      "events.out.tfevents.old", "events.out.tfevents.notes.txt", "events.out.tfevents.99999999999999999999.dragoman",
      "events.out.tfevents.2000000000.other.host", "events.out.tfevents.1000000000.dragoman"};
  for (const std::string& name : others) core::write_file(folder / name, "notes of " + name);
  fs::create_directory(folder / "events.out.tfevents.1000000001.dragoman");
  train(config("run"), StartMode::kResume);
  for (const std::string& name : others) EXPECT_EQ(core::read_file(folder / name), "notes of " + name) << name;
}

TEST_F(TensorBoard, FilesAndFoldersOfOthersWithTheLastTimeAreKept) {
  StopAt stop(17);
  EXPECT_THROW(train(config("run"), StartMode::kFresh, stop.source.get_token(), stop.environment), core::Error);
  const fs::path folder = task_.file("run") / "tensorboard";
  const std::size_t before = core::list_folder(folder).size();
  const fs::path empty = folder / "events.out.tfevents.9999999997.dragoman";
  const fs::path notes = folder / "events.out.tfevents.9999999998.dragoman";
  const fs::path inner = folder / "events.out.tfevents.9999999999.dragoman";
  core::write_file(empty, "");
  core::write_file(notes, "notes");
  fs::create_directory(inner);
  train(config("run"), StartMode::kResume);
  EXPECT_TRUE(fs::is_regular_file(empty) && fs::is_empty(empty));
  EXPECT_EQ(core::read_file(notes), "notes");
  EXPECT_TRUE(fs::is_directory(inner));
  EXPECT_EQ(core::list_folder(folder).size(), before + 4) << "a new event file, too";
}

/// A name that is taken is not used, whatever has it.
TEST(TensorBoardLog, TakesAFreeName) {
  const TemporaryFolder folder;
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  constexpr int kTaken = 60;
  for (int i = 0; i < kTaken; ++i)
    fs::create_directory(folder / ("events.out.tfevents." + std::to_string(now + i) + ".dragoman"));
  EXPECT_NO_THROW(TensorBoardLog(folder.path(), 0, 0));
  EXPECT_EQ(core::list_folder(folder.path()).size(), kTaken + 1U);
}

TEST_F(TensorBoard, GoesOnBehindAFileOfAClockThatWasAhead) {
  StopAt stop(17);
  EXPECT_THROW(train(config("run"), StartMode::kFresh, stop.source.get_token(), stop.environment), core::Error);
  const fs::path folder = task_.file("run") / "tensorboard";
  const fs::path ahead = folder / "events.out.tfevents.4000000000.dragoman";
  fs::rename(core::list_folder(folder).front(), ahead);
  train(config("run"), StartMode::kResume);
  EXPECT_TRUE(fs::exists(ahead));
  EXPECT_TRUE(fs::exists(folder / "events.out.tfevents.4000000001.dragoman"));
}

/// TensorBoard shows samples as Markdown, where a line that is not indented may hold markup.
TEST(TensorBoardLog, SamplesStayOnTheirIndentedLine) {
  const TemporaryFolder folder;
  const std::string hostile = "a\r<img src=x>\n# b\x0B<b>\x0C\x1B[1m\x7F\t<i>";
  TensorBoardLog(folder.path() / "tensorboard", 0, 0)
      .append(
          {{"type", "sample"}, {"update", 1}, {"source", hostile}, {"prediction", hostile}, {"reference", hostile}});
  const std::string text = events_of(folder.path() / "tensorboard").texts.at("samples/1/text_summary");
  std::istringstream lines(text);
  std::size_t quoted = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(line.find_first_of("\r\x0B\x0C\x1B\x7F"), std::string::npos) << line;
    if (line.find("<img") == std::string::npos) continue;
    EXPECT_TRUE(line.starts_with("    a <img src=x> # b <b>")) << line;
    ++quoted;
  }
  EXPECT_EQ(quoted, 3U);
}

TEST_F(TensorBoard, IsNotThereUnlessAskedFor) {
  train(task_.config());
  EXPECT_FALSE(fs::exists(task_.file("run") / "tensorboard"));
}

}  // namespace
}  // namespace dragoman::training
