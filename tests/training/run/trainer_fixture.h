#pragma once

#include "small_task.h"
#include "test_data.h"

#include <functional>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>

namespace dragoman::training::testing {

class TrainerOn : public ::testing::Test {
 protected:
  std::string output(const std::string& name) const { return "output=" + task_.file(name).string(); }

  std::vector<core::Json> metrics(const std::string& run) const {
    std::vector<core::Json> lines;
    core::LineReader reader(task_.file(run) / "metrics.jsonl");
    for (std::string line; reader.next(line);) {
      lines.push_back(core::parse_json(line, "metrics.jsonl"));
      lines.back().erase("seconds");
      lines.back().erase("data_seconds");
    }
    return lines;
  }

  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const core::Error& error) {
      return error.what();
    }
    return "no error";
  }

  dragoman::testing::TemporaryFolder folder_;
  SmallTask task_{folder_.path()};
};

}  // namespace dragoman::training::testing
