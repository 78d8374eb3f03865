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
                "kind of tokenizer that reads the file (default: by content); `plugins list` shows all")
          .custom({{.name = "tokenizer_options",
                    .placeholder = "KEY=VALUE",
                    .help = "an option of this kind of tokenizer (YAML: an object)",
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
