#pragma once

#include "growth.h"
#include "scratch.h"
#include "target.h"
#include "tiny_model.h"

#include <string>
#include <string_view>

#include <dragoman/core/yaml.h>
#include <dragoman/pipeline/pipeline.h>
#include <dragoman/plugins/host.h>

namespace dragoman::fuzz {

/// A configuration may name any file, so names are replaced: MODEL and TOKENIZER by those of a model that is there, all
/// others by one that is not.
inline void replace_names_of_files(core::Json& tree, const testing::TinyModel& model) {
  for (auto& [key, value] : tree.items()) {
    if (value.is_structured())
      replace_names_of_files(value, model);
    else if (value == "MODEL")
      value = model.path().string();
    else if (value == "TOKENIZER")
      value = (model.path() / "tokenizer.json").string();
    else if (value.is_string() && (key == "path" || key == "model" || key == "tokenizer" || key == "glossary" ||
                                   key.ends_with("_file") || key.ends_with("-file")))
      value = (scratch() / "absent" / "file").string();
  }
}

/// Makes a pipeline, but does not run it. True if it could be made.
inline bool exercise_pipeline_config(std::string_view bytes) {
  static const testing::TinyModel model;
  static plugins::Host host;
  return accepts([&] {
    core::Json tree = core::parse_yaml(bytes, "fuzz");
    replace_names_of_files(tree, model);
    pipeline::make_pipeline(tree, "fuzz", host, 1);
  });
}

inline std::string many_stages(std::string_view /*seed*/, std::size_t size) {
  return "stages:\n- read: {path: a}\n" + parts(size, [](std::size_t) { return "- normalize: {form: nfkc}\n"; }) +
         "- write: {path: b}\n";
}

/// Each stage may load a model of its own, of about half a megabyte with its tokenizer.
inline Target pipeline_config_target() {
  return {
      .name = "pipeline_config",
      .exercise = exercise_pipeline_config,
      .budget = {.milliseconds = 100, .microseconds_per_byte = 500, .bytes_per_byte = std::size_t{64} << 10},
      .rounds = 100,
      .growths = {{"many stages", "encode", many_stages, "a pipeline has at most 1000"}},
      .refuses_growth = "it has at most 1,000 stages",
  };
}

}  // namespace dragoman::fuzz
