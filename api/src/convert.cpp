#include "dragoman/dragoman.h"

#include <type_traits>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>
#include <dragoman/core/option_error.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/imports/exports.h>
#include <dragoman/plugins/export_model.h>
#include <dragoman/plugins/host.h>
#include <dragoman/plugins/import_model.h>
#include <dragoman/plugins/quantize_model.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman {
namespace {

using tokenizer::FileKind;

FileKind find_kind(const std::string& name, const char* option) {
  const auto kind = tokenizer::file_kind(name);
  core::require_option(kind.has_value(), option, ErrorCode::kInvalidArgument, "`{}` is \"{}\"; it must be one of {}",
                       option, name, fmt::join(tokenizer::file_kind_names(), ", "));
  return *kind;
}

template <class Definition>
void write(const Definition& definition, FileKind kind, const std::filesystem::path& input,
           const std::filesystem::path& output, const LogSink& log) {
  using Made = std::conditional_t<std::is_same_v<Definition, tokenizer::BpeDefinition>, tokenizer::BpeTokenizer,
                                  tokenizer::UnigramTokenizer>;
  const Made checked(definition, input.string());
  tokenizer::write_tokenizer_file(definition, kind, output);
  if (const std::string difference = tokenizer::difference_when_written(definition, kind); !difference.empty())
    core::log(log, LogLevel::kWarning, fmt::format("{}: {}", output.string(), difference));
}

void convert_tokenizer(const plugins::Registry& registry, const std::filesystem::path& input,
                       const std::filesystem::path& output, const ConvertOptions& options) {
  core::require_not_in_the_way(input, output);
  if (options.from.empty()) plugins::explain_unrecognised(registry, input);
  tokenizer::ReadOptions read{.log = options.log};
  if (!options.from.empty()) read.kind = find_kind(options.from, "from");
  const auto definition = tokenizer::read_any_tokenizer_file(input, read);
  const std::optional<FileKind> kind =
      options.to.empty() ? tokenizer::file_kind_of_name(output) : find_kind(options.to, "to");
  core::require_option(kind.has_value(), "to", ErrorCode::kInvalidArgument,
                       "{}: the name does not say which kind of file to write; give it with `to`", output.string());
  std::visit([&](const auto& each) { write(each, *kind, input, output, options.log); }, definition);
}

std::string export_names() {
  std::string names;
  for (const auto& format : imports::export_formats()) names.append(names.empty() ? "" : ", ").append(format.name);
  return names;
}

bool is_model(const plugins::Registry& registry, const std::filesystem::path& input, const std::string& from) {
  return registry.model_importers().find(from) != nullptr || std::filesystem::is_directory(input) ||
         (from.empty() && plugins::find_importer(registry, input) != nullptr);
}

}  // namespace

void convert(const std::filesystem::path& input, const std::filesystem::path& output, const ConvertOptions& options) {
  core::require(std::filesystem::exists(input), ErrorCode::kIo, "{}: there is no such file or folder", input.string());
  plugins::Host& host = plugins::default_host();
  if (imports::find_export_format(options.to) != nullptr) return plugins::export_model(input, output, options.to, host);
  if (!is_model(host.registry(), input, options.from))
    return convert_tokenizer(host.registry(), input, output, options);
  core::require_option(options.to.empty(), "to", ErrorCode::kInvalidArgument,
                       "`to` is \"{}\", but {} is a model, which can be exported to {}", options.to, input.string(),
                       export_names());
  plugins::ImportOptions import{.importer = options.from, .stop = options.stop, .log = options.log};
  if (!options.import_options.empty()) import.options = core::parse_json(options.import_options, "import_options");
  plugins::import_model(input, output, host, import);
}

void quantize(const std::filesystem::path& model, const std::filesystem::path& output, ComputeChoice type) {
  plugins::quantize_model(model, output, type, plugins::default_host());
}

}  // namespace dragoman
