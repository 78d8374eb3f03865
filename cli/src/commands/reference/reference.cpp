#include "command_reference.h"
#include "program/command.h"
#include "program/common_options.h"
#include "program/usage.h"

#include <array>

#include <fmt/format.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

/// Parses `arg (=4)`, the form of the library. The value in `[=arg(=4)]` is not a default: it belongs to the option
/// without an argument.
std::string fallback_of(const po::option_description& option) {
  constexpr std::string_view kBefore = " (=";
  const std::string parameter = option.format_parameter();
  const std::size_t begin = parameter.find(kBefore);
  if (begin == std::string::npos) return "";
  return parameter.substr(begin + kBefore.size(), parameter.size() - begin - kBefore.size() - 1);
}

std::string value_of(const po::option_description& option) {
  const std::string parameter = option.format_parameter();
  if (parameter.starts_with("[=")) return parameter.substr(0, parameter.find("(=")) + "]";
  return parameter.substr(0, parameter.find(" (="));
}

OptionReference refer_to(const po::option_description& option) {
  const std::string shown = option.canonical_display_name(po::command_line_style::allow_dash_for_short);
  const bool has_letter = shown.size() == 2 && shown[0] == '-';
  return {.name = option.long_name(),
          .letter = has_letter ? shown.substr(1) : "",
          .value = value_of(option),
          .fallback = fallback_of(option),
          .help = option.description()};
}

struct Format {
  std::string_view name;
  std::string (*print)(const std::vector<CommandReference>&);
};
constexpr std::array kFormats{Format{"markdown", &as_markdown}, Format{"man", &as_man_page}, Format{"bash", &as_bash},
                              Format{"zsh", &as_zsh}, Format{"fish", &as_fish}};

class Reference final : public Command {
 public:
  std::string_view name() const override { return "reference"; }
  std::string_view summary() const override {
    return "print all commands and options as a page, a manual page, or completions for a shell";
  }
  std::string_view examples() const override {
    return "dragoman reference --format bash > ~/.local/share/bash-completion/completions/dragoman\n"
           "dragoman reference --format fish > ~/.config/fish/completions/dragoman.fish\n"
           "dragoman reference --format man | man -l -\n";
  }
  void add_options(po::options_description& options) override {
    options.add_options()("format", po::value(&format_)->default_value("markdown")->value_name("FORMAT"),
                          "markdown, man, bash, zsh or fish");
  }
  std::vector<std::string> positional() const override { return {"format"}; }

  void run(const Session&) override {
    for (const Format& format : kFormats)
      if (format.name == format_) return fmt::print("{}", format.print(all_commands()));
    throw UsageError(fmt::format("--format '{}': must be markdown, man, bash, zsh or fish", format_));
  }

 private:
  std::string format_;
};

}  // namespace

std::vector<CommandReference> all_commands() {
  std::vector<CommandReference> all;
  for (const auto& command : make_commands()) {
    CommandReference reference{.name = std::string(command->name()),
                               .summary = std::string(command->summary()),
                               .examples = std::string(command->examples()),
                               .usage = {},
                               .options = {}};
    po::options_description options;
    command->add_options(options);
    reference.usage = usage_of(*command, options);
    CommonOptions common;
    common.add_to(options);
    for (const auto& option : options.options()) reference.options.push_back(refer_to(*option));
    all.push_back(std::move(reference));
  }
  return all;
}

std::unique_ptr<Command> make_reference() {
  return std::make_unique<Reference>();
}

}  // namespace dragoman::cli
