#pragma once

#include "tiny_model.h"

#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/yaml.h>
#include <dragoman/pipeline/pipeline.h>

namespace dragoman::pipeline {

/// Runs pipelines with a tiny model, from the file `in` to the file `out` of its folder.
class PipelineTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& content) {
    const auto path = model_.file(name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  LineCounts run(const std::string& yaml, const PipelineOptions& options = {}, const std::stop_token& stop = {}) {
    return make_pipeline(core::parse_yaml(yaml, "test.yml"), "test.yml", host_, 2).run(options, stop);
  }
  std::string error_of(const std::string& yaml) {
    try {
      run(yaml);
    } catch (const core::Error& error) {
      return error.what();
    }
    return "";
  }
  std::string stages(const std::string& middle, const std::string& write_options = "") const {
    return "stages:\n  - read: {path: " + model_.file("in").string() + "}\n" + middle +
           "  - write: {path: " + model_.file("out").string() + write_options + "}\n";
  }
  std::string translate_stage(const std::string& more = "") const {
    return "  - translate: {model: " + model_.path().string() + ", beam-size: 2" + more + "}\n";
  }
  std::string output() const { return dragoman::testing::read_text(model_.file("out")); }

  dragoman::testing::TinyModel model_;
  plugins::Host host_;
};

}  // namespace dragoman::pipeline
