#pragma once

#include "options/host_options.h"
#include "options/option_group.h"
#include "options/stage_options.h"
#include "options/tokenizer/tokenizer_options.h"

#include <memory>
#include <string>

#include <dragoman/core/options.h>
#include <dragoman/plugins/open_tokenizer.h>
#include <dragoman/tokenizer/tokenizer_spec_table.h>

namespace dragoman::cli {

/// --tokenizer-type, --tokenizer-options and --plugin, for commands that accept all kinds of tokenizers.
class TokenizerKindOptions {
 public:
  void add_to(boost::program_options::options_description& options) {
    auto group = option_group("Kind of tokenizer");
    stage_.add_as("tokenizer-type", "tokenizer_type", group);
    stage_.add_as("tokenizer-options", "tokenizer_options", group);
    add_host_options(group, host_);
    options.add(group);
  }

  /// `content` opens a file without a named kind.
  std::unique_ptr<tokenizer::Tokenizer> load(const std::string& path, const TokenizerOptions& content,
                                             const core::LogSink& log = {}) const {
    const tokenizer::TokenizerSpec named = spec();
    if (named.type.empty()) {
      if (!named.options.empty() || !host_.plugins.empty())
        throw UsageError("--tokenizer-options and --plugin are for a kind of tokenizer; name it with --tokenizer-type");
      return content.load(path, log);
    }
    if (content.any())
      throw UsageError(
          "--tokenizer-type: what this kind is told goes with --tokenizer-options; --separator, --pattern and the like "
          "are for files that show by themselves what they are");
    return plugins::open_tokenizer(plugins::Host(host_).registry(), path, named);
  }

 private:
  tokenizer::TokenizerSpec spec() const {
    core::OptionReader reader(stage_.settings(), "command line");
    tokenizer::TokenizerSpec named;
    tokenizer::tokenizer_spec_table().read(reader, named);
    return named;
  }

  StageOptions stage_{"encode"};
  plugins::HostOptions host_;
};

}  // namespace dragoman::cli
