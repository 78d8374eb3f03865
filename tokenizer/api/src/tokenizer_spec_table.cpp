#include "dragoman/tokenizer/tokenizer_spec_table.h"

#include <dragoman/core/json.h>
#include <dragoman/core/option_table.h>
#include <dragoman/core/yaml.h>

namespace dragoman::tokenizer {

const core::OptionTable<TokenizerSpec>& tokenizer_spec_table() {
  static const auto table =
      core::OptionTable<TokenizerSpec>()
          .group("Kind of tokenizer")
          .text("tokenizer_type", &TokenizerSpec::type, "NAME",
                "what reads the file (default: what its content says); `plugins list` has all")
          .custom({{.name = "tokenizer_options",
                    .placeholder = "KEY=VALUE",
                    .help = "options that this kind of tokenizer has of its own (YAML: an object)",
                    .parse = core::parse_assignment,
                    .repeated = true}},
                  [](core::OptionReader& reader, TokenizerSpec& spec) {
                    if (!reader.has("tokenizer_options")) return;
                    const core::Json& own = reader.subtree("tokenizer_options");
                    reader.check(own.is_object(), "tokenizer_options", "must hold keys and values");
                    spec.options = own;
                  });
  return table;
}

}  // namespace dragoman::tokenizer
