#include "dragoman/tokenizer/tokenizer_kind_table.h"

#include <dragoman/core/yaml.h>

namespace dragoman::tokenizer {

const core::OptionTable<TokenizerKind>& tokenizer_kind_table() {
  static const auto table =
      core::OptionTable<TokenizerKind>()
          .group("Kind of tokenizer")
          .text("tokenizer_type", &TokenizerKind::type, "NAME",
                "what reads the file (default: what its content says); `plugins list` has all")
          .custom({{.name = "tokenizer_options",
                    .placeholder = "KEY=VALUE",
                    .help = "options that this kind of tokenizer has of its own (YAML: an object)",
                    .parse = core::parse_assignment,
                    .repeated = true}},
                  [](core::OptionReader& reader, TokenizerKind& kind) {
                    if (!reader.has("tokenizer_options")) return;
                    kind.options = reader.subtree("tokenizer_options");
                    reader.check(kind.options.is_object(), "tokenizer_options", "must hold keys and values");
                  });
  return table;
}

}  // namespace dragoman::tokenizer
