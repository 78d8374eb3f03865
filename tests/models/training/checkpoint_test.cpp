#include "test_data.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/training/checkpoint.h>

namespace dragoman::training {
namespace {

using dragoman::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void save_text(const CheckpointStore& store, std::int64_t update, std::string_view text = "x") {
  store.save(update, [&](const std::filesystem::path& folder) { core::write_file(folder / "content", text); });
}

TEST(CheckpointStore, ListsCheckpointsByUpdate) {
  const TemporaryFolder folder;
  const CheckpointStore store(folder / "run");
  EXPECT_THAT(store.updates(), IsEmpty());
  for (const std::int64_t update : {100, 9, 20}) save_text(store, update);
  std::filesystem::create_directories(folder / "run/checkpoint-x");
  std::filesystem::create_directories(folder / "run/best");
  EXPECT_THAT(store.updates(), ElementsAre(9, 20, 100));
}

TEST(CheckpointStore, ReplacesACheckpointOfTheSameUpdate) {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  save_text(store, 5, "old");
  save_text(store, 5, "new");
  EXPECT_EQ(core::read_file(store.path(5) / "content"), "new");
  EXPECT_THAT(store.updates(), ElementsAre(5));
}

TEST(CheckpointStore, AFailedSaveLeavesWhatWasThere) {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  save_text(store, 5, "good");
  const auto fail = [](const std::filesystem::path& path) {
    core::write_file(path / "half", "written");
    core::fail(core::ErrorCode::kIo, "the disk is full");
  };
  EXPECT_THROW(store.save(5, fail), core::Error);
  EXPECT_THROW(store.save(6, fail), core::Error);
  EXPECT_EQ(core::read_file(store.path(5) / "content"), "good");
  EXPECT_THAT(store.updates(), ElementsAre(5));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(CheckpointStore, SweepsUpWhatAKilledSaveLeft) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "checkpoint-7.partial");
  core::write_file(folder / "checkpoint-7.partial/model", "half");
  const CheckpointStore store(folder.path());
  EXPECT_FALSE(std::filesystem::exists(folder / "checkpoint-7.partial"));
  EXPECT_THAT(store.updates(), IsEmpty());
}

TEST(CheckpointStore, KeepsTheNewestAndThoseAskedFor) {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  for (std::int64_t update = 1; update <= 6; ++update) save_text(store, update);
  store.prune(2, {1, 3, 6});
  EXPECT_THAT(store.updates(), ElementsAre(1, 3, 5, 6));
  store.prune(0, {});
  EXPECT_THAT(store.updates(), ElementsAre(6)) << "the last one always survives";
  for (std::int64_t update = 7; update <= 9; ++update) save_text(store, update);
  store.remove_after(7);
  EXPECT_THAT(store.updates(), ElementsAre(6, 7));
}

TEST(TrainingState, IsReadBackAsItWas) {
  TrainingState state{.update = 12, .epoch = 3, .batch = 4, .validated = 10, .metric_lines = 5};
  state.window_loss = 1.0 / 3;
  state.window_nll = 0.1;
  state.window_tokens = 77;
  state.early_stopping = {{"ranking", core::Json::array()}};
  const core::Json json = core::parse_json(to_json(state).dump(), "state.json");
  EXPECT_EQ(to_json(read_training_state(json, "state.json")), to_json(state));
  EXPECT_EQ(read_training_state(json, "state.json").window_loss, 1.0 / 3);
}

TEST(TrainingState, OfAnotherVersionIsRefused) {
  core::Json json = to_json(TrainingState{});
  json["format_version"] = 2;
  EXPECT_THROW(read_training_state(json, "state.json"), core::Error);
  json = to_json(TrainingState{});
  json.erase("epoch");
  EXPECT_THROW(read_training_state(json, "state.json"), core::Error);
}

class TensorFile : public ::testing::Test {
 protected:
  static std::unique_ptr<nn::ParameterStore> make(std::int64_t rows, std::uint64_t seed) {
    auto store = std::make_unique<nn::ParameterStore>();
    store->add("matrix", rows, 3, 2, nn::Initialiser::normal(1));
    store->add("vector", 1, 4, 1, nn::Initialiser::normal(1));
    store->allocate(tensor::host_allocator(), tensor::DType::kF32, tensor::Device::kCpu);
    store->initialise(seed);
    return store;
  }
  TemporaryFolder folder_;
};

TEST_F(TensorFile, GivesBackTheSameBits) {
  const auto saved = make(5, 1);
  save_tensors(folder_ / "x.safetensors", parameter_views(*saved));
  const auto loaded = make(5, 2);
  load_tensors(folder_ / "x.safetensors", parameter_views(*loaded));
  const tensor::Tensor a = saved->flat_values();
  const tensor::Tensor b = loaded->flat_values();
  EXPECT_EQ(std::memcmp(a.data, b.data, static_cast<std::size_t>(a.size()) * 4), 0);
}

TEST_F(TensorFile, OfAnotherModelIsRefused) {
  save_tensors(folder_ / "x.safetensors", parameter_views(*make(5, 1)));
  const auto other = make(6, 1);
  try {
    load_tensors(folder_ / "x.safetensors", parameter_views(*other));
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'matrix'"));
    EXPECT_THAT(error.what(), HasSubstr("[5, 3]"));
  }
  other->add("further", 1, 1, 1, {});
  EXPECT_THROW(load_tensors(folder_ / "x.safetensors", parameter_views(*other)), core::Error);
}

}  // namespace
}  // namespace dragoman::training
