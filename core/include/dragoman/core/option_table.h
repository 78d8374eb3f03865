#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/numbers.h>
#include <dragoman/core/options.h>

namespace dragoman::core {

/// An option as people meet it: `beam_size: 4` in YAML, `--beam-size 4` on a command line.
struct Option {
  std::string name;                    ///< as in YAML; `outer.inner` for a key of an object
  std::string placeholder;             ///< of its value: N, FILE; empty for a switch
  std::string help;                    ///< half a sentence
  Json fallback = {};                  ///< its value where nothing is said; null: none, and `help` says what follows
  std::vector<std::string> choices{};  ///< all the values that it takes; empty: there are more
  /// The value that a word of a command line stands for. Error{kInvalidArgument}: "must be ...".
  std::function<Json(const std::string& word)> parse{};
  std::string group{};  ///< the title under which it is listed
  /// A command line may have it several times: its values are objects, which are merged.
  bool repeated = false;
};

/// The options that fill a struct, each said once: its key, its member, its range, its help. From the table come the
/// reader of YAML, the writer, the check of values that were set in C++, the command line and the reference.
///
///     const auto table = OptionTable<Search>()
///         .number("beam_size", &Search::beam_size, {.least = 1}, "N", "hypotheses kept")
///         .flag("alignment", &Search::alignment, "report attention weights");
///     table.read(option_reader, search);
///
/// The defaults are those of the struct. Thread-safe once it is made.
template <class T>
class OptionTable {
 public:
  using Read = std::function<void(OptionReader&, T&)>;
  using Write = std::function<void(const T&, Json&)>;
  /// Says what is wrong with a value that was set in C++; empty if nothing is.
  using Check = std::function<std::string(const T&)>;

  /// Options from here on are listed under this title.
  OptionTable& group(std::string title) {
    group_ = std::move(title);
    return *this;
  }

  template <class Number>
  OptionTable& number(std::string name, Number T::*member, NumberRange<std::type_identity_t<Number>> range,
                      std::string placeholder, std::string help) {
    Option option{.name = name, .placeholder = std::move(placeholder), .help = std::move(help)};
    option.fallback = T{}.*member;
    option.parse = number_parser(range);
    return add(
        std::move(option),
        [name, member, range](OptionReader& reader, T& value) {
          value.*member = reader.get(name, value.*member);
          reader.check(range.contains(value.*member), name, complaint(value.*member, range));
        },
        [name, member](const T& value, Json& json) { json[name] = value.*member; },
        [name, member, range](const T& value) {
          return range.contains(value.*member) ? "" : name + " " + complaint(value.*member, range);
        });
  }

  OptionTable& flag(const std::string& name, bool T::*member, std::string help) {
    Option option{.name = name, .placeholder = {}, .help = std::move(help)};
    option.fallback = T{}.*member;
    return add_plain(std::move(option), member);
  }

  OptionTable& text(const std::string& name, std::string T::*member, std::string placeholder, std::string help) {
    Option option{.name = name, .placeholder = std::move(placeholder), .help = std::move(help)};
    if (const std::string fallback = T{}.*member; !fallback.empty()) option.fallback = fallback;
    option.parse = [](const std::string& word) { return Json(word); };
    return add_plain(std::move(option), member);
  }

  /// One of a few names.
  template <class Value>
  OptionTable& choice(std::string name, Value T::*member,
                      std::vector<std::pair<std::string_view, std::type_identity_t<Value>>> choices,
                      std::string placeholder, std::string help) {
    Option option{.name = name, .placeholder = std::move(placeholder), .help = std::move(help)};
    const auto name_of = [choices](const Value& value) {
      for (const auto& [text, choice] : choices)
        if (choice == value) return std::string(text);
      return std::string();
    };
    for (const auto& [text, value] : choices) option.choices.emplace_back(text);
    option.fallback = name_of(T{}.*member);
    option.parse = [names = option.choices](const std::string& word) { return parse_choice(word, names); };
    return add(
        std::move(option),
        [name, member, choices](OptionReader& reader, T& value) {
          value.*member = reader.choice(name, value.*member, choices);
        },
        [name, member, name_of](const T& value, Json& json) { json[name] = name_of(value.*member); }, {});
  }

  /// What fits none of the above. `write` may be empty for what is never written.
  OptionTable& custom(std::vector<Option> options, Read read, Write write = {}) {
    for (Option& option : options) {
      option.group = group_;
      if (!option.parse && !option.choices.empty())
        option.parse = [names = option.choices](const std::string& word) { return parse_choice(word, names); };
      options_.push_back(std::move(option));
    }
    entries_.push_back({std::move(read), std::move(write), {}});
    return *this;
  }

  /// All options of a part, beside the own ones and under their own titles.
  template <class Part>
  OptionTable& include(Part T::*member, const OptionTable<Part>& table) {
    for (const Option& option : table.options()) options_.push_back(option);
    entries_.push_back({[member, table](OptionReader& reader, T& value) { table.read(reader, value.*member); },
                        [member, table](const T& value, Json& json) { table.write(value.*member, json); },
                        [member, table](const T& value) { return table.problem(value.*member); }});
    return *this;
  }

  /// The options of a part as an object of its own.
  template <class Part>
  OptionTable& nested(const std::string& name, Part T::*member, const OptionTable<Part>& table) {
    for (Option option : table.options()) {
      option.name = name + "." + option.name;
      options_.push_back(std::move(option));
    }
    entries_.push_back({[name, member, table](OptionReader& reader, T& value) {
                          OptionReader part = reader.child(name);
                          table.read(part, value.*member);
                          part.finish();
                        },
                        [name, member, table](const T& value, Json& json) {
                          json[name] = Json::object();
                          table.write(value.*member, json[name]);
                        },
                        [member, table](const T& value) { return table.problem(value.*member); }});
    return *this;
  }

  /// Sets what `reader` has a key for. Error{kBadInput} names the key whose value is of another type or out of range.
  void read(OptionReader& reader, T& value) const {
    for (const Entry& entry : entries_) entry.read(reader, value);
  }
  /// Adds every option to the object.
  void write(const T& value, Json& json) const {
    for (const Entry& entry : entries_)
      if (entry.write) entry.write(value, json);
  }
  /// "beam_size is 0; it must be ..." for the first number that is out of its range; empty if there is none.
  std::string problem(const T& value) const {
    for (const Entry& entry : entries_)
      if (std::string problem = entry.check ? entry.check(value) : ""; !problem.empty()) return problem;
    return {};
  }
  const std::vector<Option>& options() const noexcept { return options_; }

  /// Option::parse of a number.
  template <class Number>
  static std::function<Json(const std::string& word)> number_parser(NumberRange<Number> range) {
    return [range](const std::string& word) {
      const auto number = spelled_number<Number>(word);
      require(number && range.contains(*number), ErrorCode::kInvalidArgument, "{}", range.demand());
      return Json(*number);
    };
  }

 private:
  struct Entry {
    Read read;
    Write write;
    Check check;
  };

  template <class Number>
  static std::string complaint(Number value, const NumberRange<Number>& range) {
    return fmt::format("is {}; it {}", value, range.demand());
  }

  static Json parse_choice(const std::string& word, const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (name == word) return word;
    fail(ErrorCode::kInvalidArgument, "must be one of: {}", fmt::join(names, ", "));
  }

  template <class Value>
  OptionTable& add_plain(Option option, Value T::*member) {
    const std::string name = option.name;
    return add(
        std::move(option),
        [name, member](OptionReader& reader, T& value) { value.*member = reader.get(name, value.*member); },
        [name, member](const T& value, Json& json) { json[name] = value.*member; }, {});
  }

  OptionTable& add(Option option, Read read, Write write, Check check) {
    option.group = group_;
    options_.push_back(std::move(option));
    entries_.push_back({std::move(read), std::move(write), std::move(check)});
    return *this;
  }

  std::string group_;
  std::vector<Option> options_;
  std::vector<Entry> entries_;
};

}  // namespace dragoman::core
