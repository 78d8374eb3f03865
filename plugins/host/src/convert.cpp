#include "dragoman/plugins/convert.h"

#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/input_guard.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/imports/exports.h>
#include <dragoman/plugins/export_model.h>
#include <dragoman/plugins/import_model.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::plugins {
namespace {

using core::ErrorCode;
using tokenizer::FileKind;

/// A conversion with its arguments.
class Conversion {
 public:
  Conversion(const std::filesystem::path& input, const std::filesystem::path& output, Host& host,
             const ConvertOptions& options)
      : input_(input), output_(output), host_(host), options_(options) {}

  void run() {
    core::require(input_ == "-" || std::filesystem::exists(input_), ErrorCode::kIo,
                  "{}: there is no such file or folder", input_.string());
    core::require_not_an_input(output_, {input_, options_.reading.vocabulary, options_.reading.dictionary});
    if (imports::find_export_format(options_.to) != nullptr) return export_to_format();
    require("to", options_.to.empty() || !formats::is_model_folder(input_),
            fmt::format("`to` is \"{}\", but {} is a model folder, which is exported to {}", options_.to,
                        input_.string(), list_export_formats()));
    if (is_model()) return import_to_folder();
    convert_tokenizer();
  }

 private:
  static void require(std::string_view option, bool condition, const std::string& message) {
    core::require_option(condition, option, ErrorCode::kInvalidArgument, "{}", message);
  }

  bool has_import_options() const { return !options_.import_options.empty(); }

  bool is_model() const {
    const bool named = host_.registry().model_importers().find(options_.from) != nullptr;
    // The importers decide about folders.
    return named || std::filesystem::is_directory(input_) ||
           (options_.from.empty() && find_importer(host_.registry(), input_) != nullptr);
  }

  void export_to_format() const {
    const std::string why = fmt::format(" has no effect with `to` {}, which exports a model", options_.to);
    require("from", options_.from.empty(), "`from`" + why);
    require("import_options", !has_import_options(), "`import_options`" + why);
    require_no_reading("to", fmt::format("`to` {} exports a model", options_.to));
    export_model(input_, output_, options_.to, host_, options_.stop, options_.log);
    report(fmt::format("{}, as {}", input_.string(), options_.to));
  }

  void import_to_folder() const {
    const std::string why = fmt::format("{} is a model", input_.string());
    require(
        "to", options_.to.empty(),
        fmt::format("`to` is \"{}\", but {}, which can be exported to {}", options_.to, why, list_export_formats()));
    require_no_reading("from", why);
    import_model(
        input_, output_, host_,
        {.importer = options_.from, .options = options_.import_options, .stop = options_.stop, .log = options_.log});
    report("the model of " + input_.string());
  }

  void require_no_reading(std::string_view option, const std::string& why) const {
    require(option, !options_.reading.any(),
            why +
                ", and `separator`, `vocabulary`, `vocabulary_threshold`, `dictionary` and `pattern` are for "
                "tokenizer files; leave them out");
  }

  void convert_tokenizer() const {
    require("import_options", !has_import_options(),
            fmt::format("`import_options` are for a model of another toolkit, and {} is a tokenizer file",
                        input_.string()));
    const core::StopScope scope(options_.stop);
    // Report errors of the input before errors of the output.
    if (options_.from.empty()) explain_unrecognised(host_.registry(), input_);
    tokenizer::ReadOptions read = options_.reading;
    read.kind.reset();
    if (!options_.from.empty()) read.kind = find_kind(options_.from, "from");
    read.log = options_.log;
    const auto definition = tokenizer::read_any_tokenizer_file(input_, read);
    const std::optional<FileKind> kind =
        options_.to.empty() ? tokenizer::file_kind_of_name(output_) : find_kind(options_.to, "to");
    core::require_option(kind.has_value(), "to", ErrorCode::kInvalidArgument,
                         "{}: the name does not say which kind of file to write; give it with `to`", output_.string());
    if (*kind == FileKind::kGpt2) core::require_not_an_input(tokenizer::gpt2_companion(output_), inputs(read.kind));
    std::visit([&](const auto& each) { write(each, *kind); }, definition);
  }

  /// Returns the files that were read, with the one beside the input.
  std::vector<std::filesystem::path> inputs(std::optional<FileKind> kind) const {
    std::vector<std::filesystem::path> files{input_, options_.reading.vocabulary, options_.reading.dictionary};
    if (!kind && std::filesystem::is_regular_file(input_)) kind = tokenizer::recognise(input_, core::read_file(input_));
    if (kind == FileKind::kGpt2) files.push_back(tokenizer::gpt2_companion(input_));
    return files;
  }

  static FileKind find_kind(const std::string& name, std::string_view option) {
    const auto kind = tokenizer::file_kind(name);
    require(option, kind.has_value(),
            fmt::format("`{}` is \"{}\"; it must be one of: {}", option, name,
                        fmt::join(tokenizer::file_kind_names(), ", ")));
    return *kind;
  }

  template <class Definition>
  void write(const Definition& definition, FileKind kind) const {
    constexpr bool kMerges = std::is_same_v<Definition, tokenizer::BpeDefinition>;
    using Tokenizer = std::conditional_t<kMerges, tokenizer::BpeTokenizer, tokenizer::UnigramTokenizer>;
    const Tokenizer checked(definition, input_.string());
    tokenizer::write_tokenizer_file(definition, kind, output_);
    if (const std::string difference = tokenizer::difference_when_written(definition, kind); !difference.empty())
      core::log(options_.log, core::LogLevel::kWarning, fmt::format("{}: {}", output_.string(), difference));
    std::string written = fmt::format("{}, {} pieces", tokenizer::name_of(kind), checked.size());
    if constexpr (kMerges) written += fmt::format(", {} merges", definition.merges.size());
    report(written);
  }

  void report(const std::string& written) const {
    core::log(options_.log, core::LogLevel::kInfo, fmt::format("{}: {}", output_.string(), written));
  }

  const std::filesystem::path& input_;
  const std::filesystem::path& output_;
  Host& host_;
  const ConvertOptions& options_;
};

}  // namespace

void convert(const std::filesystem::path& input, const std::filesystem::path& output, Host& host,
             const ConvertOptions& options) {
  Conversion(input, output, host, options).run();
}

std::string list_export_formats() {
  const auto& formats = imports::export_formats();
  std::string names;
  for (std::size_t i = 0; i < formats.size(); ++i)
    names.append(i == 0 ? "" : i + 1 == formats.size() ? " or " : ", ").append(formats[i].name);
  return names;
}

}  // namespace dragoman::plugins
