#pragma once

#include "trainer_fixture.h"

#include <map>

namespace dragoman::training::testing {

/// What a run is made of belongs to it: the user's files may change, and nobody else is at work in its folder.
class SelfContainedRun : public TrainerOn {
 protected:
  /// Every file of the run with its content.
  std::map<std::string, std::string> content(const std::string& run) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(task_.file(run)))
      if (entry.is_regular_file()) files[entry.path().string()] = core::read_file(entry.path());
    return files;
  }

  std::string copy() const { return core::read_file(task_.file("run") / "tokenizer.json"); }

  /// The same tokenizer, but for the layout of its file.
  void reformat_tokenizer() const {
    core::write_file(task_.file("tokenizer.json"),
                     core::load_json(task_.file("tokenizer.json").string()).dump(1) + "\n\n");
  }

  void stop_at(std::uint64_t update, const std::vector<std::string>& assignments = {}) const {
    StopAt stop(update);
    EXPECT_THROW(train(task_.config(assignments), StartMode::kFresh, stop.source.get_token(), stop.environment),
                 core::Error);
  }

  /// An environment whose warnings are kept.
  TrainerEnvironment listening() {
    TrainerEnvironment environment = make_environment(host());
    environment.log = [this](core::LogLevel level, std::string_view message) {
      if (level == core::LogLevel::kWarning) warnings_.emplace_back(message);
    };
    return environment;
  }

  std::vector<std::string> warnings_;
};

}  // namespace dragoman::training::testing
