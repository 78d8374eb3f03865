#include "error_message.h"
#include "small_task.h"
#include "test_data.h"

#include <cmath>
#include <cstring>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::training {
namespace {

using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::SmallTask;
using testing::StopAt;
using testing::train;

constexpr std::int64_t kWidth = 16;  // of the model of the small task

/// Runs with tables that the caller brings.
class Embeddings : public ::testing::Test {
 protected:
  std::string output(const std::string& name) const { return "output=" + task_.file(name).string(); }

  /// The number that the tests give component j of a piece's vector.
  static double number(std::int64_t row, std::int64_t j) {
    return static_cast<double>(row + 1) / 8 - 0.25 * static_cast<double>(j);
  }

  /// Vectors of every piece but the last three, and of one that is none.
  std::string write_vectors(const std::string& name = "vectors.txt") const {
    std::ofstream file(task_.file(name));
    for (std::int32_t id = tokenizer_.size() - 4; id >= 0; --id) {
      file << tokenizer_.piece(id);
      for (std::int64_t j = 0; j < kWidth; ++j) file << ' ' << number(id, j);
      file << '\n';
    }
    file << "no-such-piece";
    for (std::int64_t j = 0; j < kWidth; ++j) file << " 7";
    file << '\n';
    return task_.file(name).string();
  }

  /// The tensor of a checkpoint.
  std::vector<float> stored(const std::string& run, std::int64_t update, const std::string& name,
                            const std::string& file = "model") const {
    const auto tensors = formats::SafetensorsFile::open(task_.file(run) / ("checkpoint-" + std::to_string(update)) /
                                                        (file + ".safetensors"));
    const auto bytes = tensors.read(name);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  /// The table of a run that has not begun to train.
  std::vector<float> initial_table(const std::vector<std::string>& assignments) {
    TrainerEnvironment environment = make_environment(testing::host());
    environment.log = [this](core::LogLevel, std::string_view message) { log_ += std::string(message) + "\n"; };
    const Trainer trainer(task_.config(assignments), std::move(environment), StartMode::kFresh);
    const tensor::Tensor& table = trainer.model().embedding_tables().source->value;
    std::vector<float> values(static_cast<std::size_t>(table.size()));
    std::memcpy(values.data(), table.data, values.size() * sizeof(float));
    return values;
  }

  std::string error_of(const std::vector<std::string>& assignments) {
    return dragoman::testing::error_of(
        [&] { Trainer(task_.config(assignments), make_environment(testing::host()), StartMode::kFresh); });
  }
  std::string error_in(const std::string& text) {
    std::ofstream(task_.file("wrong.txt")) << text;
    return error_of({"data.embeddings.source=" + task_.file("wrong.txt").string()});
  }

  TemporaryFolder folder_;
  SmallTask task_{folder_.path()};
  tokenizer::BpeTokenizer tokenizer_ = tokenizer::BpeTokenizer::load(task_.file("tokenizer.json"));
  std::string log_;
};

TEST_F(Embeddings, ArriveAsTheyAreInTheFileAndOthersStay) {
  const std::string file = write_vectors();
  const std::vector<float> without = initial_table({output("without")});
  const std::vector<float> with = initial_table({output("with"), "data.embeddings.source=" + file});
  EXPECT_THAT(log_, HasSubstr(fmt::format("{} of {} pieces", tokenizer_.size() - 3, tokenizer_.size())));
  EXPECT_THAT(log_, HasSubstr("3 keep their initial values"));
  const std::vector<float> scaled =
      initial_table({output("scaled"), "data.embeddings.target={file: " + file + ", scale: 0.5}"});
  ASSERT_EQ(with.size(), static_cast<std::size_t>(tokenizer_.size() * kWidth));
  for (std::int64_t row = 0; row < tokenizer_.size(); ++row) {
    for (std::int64_t j = 0; j < kWidth; ++j) {
      const auto i = static_cast<std::size_t>(row * kWidth + j);
      const bool given = row < tokenizer_.size() - 3;
      EXPECT_EQ(with[i], given ? static_cast<float>(number(row, j)) : without[i]);
      EXPECT_EQ(scaled[i], given ? static_cast<float>(0.5 * number(row, j)) : without[i]);
    }
  }
}

TEST_F(Embeddings, OfEachSideGoToItsTable) {
  const std::string file = write_vectors();
  TrainerEnvironment environment = make_environment(testing::host());
  const Trainer trainer(task_.config({"model.tying=none", "data.embeddings={source: " + file + ", target: {file: " +
                                                              file + ", scale: 2, frozen: true}}"}),
                        environment, StartMode::kFresh);
  const nn::EmbeddingTables tables = trainer.model().embedding_tables();
  EXPECT_EQ(tables.source->name, "source_embedding.weight");
  EXPECT_EQ(tables.target->name, "target_embedding.weight");
  EXPECT_EQ(tensor::element(tables.source->value, 2, 3), number(2, 3));
  EXPECT_EQ(tensor::element(tables.target->value, 2, 3), 2 * number(2, 3));
  EXPECT_FALSE(tables.source->frozen);
  EXPECT_TRUE(tables.target->frozen);
}

TEST_F(Embeddings, MayBeAMatrix) {
  std::vector<float> values;
  for (std::int64_t row = 0; row < tokenizer_.size(); ++row)
    for (std::int64_t j = 0; j < kWidth; ++j) values.push_back(static_cast<float>(number(row, j)));
  const std::string file = task_.file("vectors.safetensors").string();
  const auto write = [&](std::int64_t rows) {
    const tensor::Tensor table{values.data(), rows, kWidth, kWidth, tensor::DType::kF32, tensor::Device::kCpu};
    formats::SafetensorsWriter writer(
        file, {{"a", tensor::DType::kF32, {rows, kWidth}}, {"b", tensor::DType::kF32, {1, kWidth}}});
    writer.write(table);
    writer.write(table.row_range(0, 1));
    writer.finish();
  };
  const std::string embeddings = "data.embeddings.source={file: " + file;
  write(tokenizer_.size());
  EXPECT_EQ(initial_table({output("matrix"), embeddings + ", tensor: a}"}), values);
  EXPECT_THAT(error_of({embeddings + "}"}), AllOf(HasSubstr(file), HasSubstr("2 tensors")));
  EXPECT_THAT(error_of({embeddings + ", tensor: c}"}), HasSubstr("no tensor 'c'"));
  EXPECT_THAT(error_of({embeddings + ", tensor: b}"}), AllOf(HasSubstr("[1, 16]"), HasSubstr("floats of [")));
  values[kWidth + 2] = INFINITY;
  write(tokenizer_.size());
  EXPECT_THAT(error_of({embeddings + ", tensor: a}"}), AllOf(HasSubstr("'a' holds inf"), HasSubstr("[1, 2]")));
}

TEST_F(Embeddings, ErrorsNameFileAndLine) {
  const std::string numbers = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
  const std::string a(tokenizer_.piece(5));
  EXPECT_THAT(error_in(a + numbers + "x" + numbers + a + numbers),
              AllOf(HasSubstr("wrong.txt: line 3"), HasSubstr("has a vector in line 1")));
  EXPECT_EQ(error_in(a + numbers + "x" + numbers + "x" + numbers), "no error") << "a piece that the vocabulary lacks";
  std::filesystem::remove_all(task_.file("run"));
  EXPECT_THAT(error_in(a + numbers + "b 1 2\n"),
              AllOf(HasSubstr("wrong.txt: line 2"), HasSubstr("2 numbers"), HasSubstr("model 16")));
  EXPECT_THAT(error_of({"data.embeddings.source=" + task_.file("absent.txt").string()}), HasSubstr("absent.txt"));
  std::filesystem::remove_all(task_.file("run"));
  EXPECT_THAT(error_in(a + " 3e38" + numbers.substr(2)),
              AllOf(HasSubstr("wrong.txt: line 1: number 1 is 3e+38"), HasSubstr("at most 1e+30")));
  // What cannot be read twice, or never ends, is not read at all.
  for (const char* device : {"/dev/zero", "/dev/null"})
    EXPECT_THAT(error_of({std::string("data.embeddings.source=") + device}), HasSubstr("is no regular file"));
  const std::string file = write_vectors();
  EXPECT_THAT(error_of({"data.embeddings={source: {file: " + file + ", tensor: x}}"}), HasSubstr("this is text"));
  std::filesystem::remove_all(task_.file("run"));
  EXPECT_THAT(error_of({"data.embeddings={source: " + file + ", target: " + file + "}"}), HasSubstr("have one table"));
}

/// Neither updates, weight decay, averages nor an interruption change a bit of a frozen table, and all else learns.
TEST_F(Embeddings, FrozenOnesStayBitIdentical) {
  const std::string file = write_vectors();
  std::vector<std::string> assignments = {"data.embeddings.source={file: " + file + ", frozen: true}",
                                          "training.optimizer.weight_decay=0.1",
                                          "training.ema_decay=0.9",
                                          "training.accumulate=2",
                                          "validation.every=8",
                                          "checkpoint.every=8",
                                          "checkpoint.average=2",
                                          output("whole")};
  const std::vector<float> begun = initial_table(assignments);
  std::filesystem::remove_all(task_.file("whole"));
  train(task_.config(assignments));
  EXPECT_EQ(stored("whole", 24, "embedding.weight"), begun);
  EXPECT_EQ(stored("whole", 24, "embedding.weight", "average"), begun);
  for (const char* moment : {"first_moment", "second_moment"})
    EXPECT_EQ(stored("whole", 24, "embedding.weight", moment), std::vector<float>(begun.size()));
  const auto average = formats::SafetensorsFile::open(task_.file("whole") / "average/model.safetensors");
  EXPECT_EQ(std::memcmp(average.read("embedding.weight").data(), begun.data(), begun.size() * sizeof(float)), 0);
  const std::string learned = "encoder.layers.0.feed_forward.in.weight";
  EXPECT_NE(stored("whole", 24, learned), stored("whole", 16, learned));

  assignments.back() = output("stopped");
  StopAt stop(11);
  EXPECT_THROW(train(task_.config(assignments), StartMode::kFresh, stop.source.get_token(), stop.environment),
               core::Error);
  std::filesystem::remove(file);
  train(task_.config(assignments), StartMode::kResume);
  EXPECT_EQ(task_.checkpoint_bytes("stopped", 24), task_.checkpoint_bytes("whole", 24));
}

TEST_F(Embeddings, OthersLearn) {
  const std::string file = write_vectors();
  train(task_.config(
      {"data.embeddings.source=" + file, "training.updates=8", "checkpoint.every=1", "checkpoint.keep=9"}));
  const std::vector<float> first = stored("run", 1, "embedding.weight");
  const std::vector<float> last = stored("run", 8, "embedding.weight");
  for (std::size_t i = 0; i < 5 * kWidth; ++i) EXPECT_NE(first[i], last[i]) << i;
}

/// Of the first update: gradients of the other parameters are what they are anyway, but the norm is theirs alone.
TEST_F(Embeddings, FreezingChangesNothingElse) {
  const std::string file = write_vectors();
  const auto first_update = [&](const std::string& run, bool frozen) {
    train(task_.config({output(run), fmt::format("data.embeddings.source={{file: {}, frozen: {}}}", file, frozen),
                        "training.updates=1", "training.report_every=1", "training.clip_norm=0"}));
    core::LineReader reader(task_.file(run) / "metrics.jsonl");
    std::string line;
    EXPECT_TRUE(reader.next(line));
    return core::parse_json(line, "metrics")["gradient_norm"].get<double>();
  };
  const double whole = first_update("learned", false);
  const double rest = first_update("frozen", true);
  const auto moments = formats::SafetensorsFile::open(task_.file("learned") / "checkpoint-1/first_moment.safetensors");
  double squares = 0;
  double all_squares = 0;
  for (const formats::StoredTensor& tensor : moments.tensors()) {
    const bool table = tensor.name == "embedding.weight";
    if (!table) {
      EXPECT_EQ(stored("frozen", 1, tensor.name), stored("learned", 1, tensor.name)) << tensor.name;
    }
    for (const float moment : stored("learned", 1, tensor.name, "first_moment")) {
      const double gradient = moment / 0.1;  // 1 - beta1
      all_squares += gradient * gradient;
      if (!table) squares += gradient * gradient;
    }
  }
  EXPECT_NEAR(whole, std::sqrt(all_squares), 1e-4 * whole);
  EXPECT_NEAR(rest, std::sqrt(squares), 1e-4 * rest);
  EXPECT_LT(rest, 0.999 * whole);
}

TEST_F(Embeddings, OfARunThatGoesOnMustBeTheSameOrGone) {
  const std::string file = write_vectors();
  const std::string embeddings = "data.embeddings.source=" + file;
  train(task_.config({embeddings, "training.updates=8"}));
  const auto resume = [&](const std::vector<std::string>& assignments) {
    return dragoman::testing::error_of([&] { train(task_.config(assignments), StartMode::kResume); });
  };
  EXPECT_THAT(resume({"data.embeddings.source={file: " + file + ", frozen: true}", "training.updates=9"}),
              AllOf(HasSubstr("source_embeddings"), HasSubstr("frozen")));
  EXPECT_THAT(resume({"training.updates=9"}), HasSubstr("source_embeddings"));
  EXPECT_EQ(resume({embeddings, "training.updates=9"}), "no error");
  std::ofstream(file, std::ios::app) << "x\n";
  EXPECT_THAT(resume({embeddings, "training.updates=10"}), HasSubstr("source_embeddings"));
  std::filesystem::remove(file);
  EXPECT_EQ(resume({embeddings, "training.updates=10"}), "no error");
}

}  // namespace
}  // namespace dragoman::training
