#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <dragoman/core/json_fwd.h>
#include <dragoman/core/numbers.h>
#include <dragoman/core/options.h>
#include <dragoman/core/shared_json.h>

namespace dragoman::core {

/// The description of an option for users: `beam_size: 4` in YAML, `--beam-size 4` on a command line.
struct Option {
  std::string name;         ///< as in YAML; `outer.inner` for a key of a nested object
  std::string placeholder;  ///< stands for the value in the help: N, FILE; empty for a switch
  std::string help;         ///< a phrase, not a sentence
  /// The default. If null there is none, and `help` describes the behaviour.
  SharedJson fallback = SharedJson::null();
  std::vector<std::string> choices{};  ///< all permitted values; empty if they are not a fixed list
  /// Converts a command-line argument to the value. Throws Error{kInvalidArgument} ("must be ...").
  std::function<Json(const std::string& word)> parse{};
  std::string group{};  ///< the title under which the option is listed
  /// The option may be repeated on a command line. Its values are objects, which are merged, or lists, which are
  /// concatenated.
  bool repeated = false;
  /// For a switch that is on by default: the help of the switch `no_NAME`, which turns it off.
  std::string negation{};
  /// Further properties of the values for interface descriptions, as keywords of JSON Schema (in OpenAPI 3.0's form):
  /// `minimum`, `exclusiveMinimum`, `items`. The table sets it for numbers.
  SharedJson schema{};
};

/// A value that users may expect an option to accept, and advice on the alternative. The advice is a phrase that ends
/// the error message.
struct OtherValue {
  std::string name;
  std::string advice;
};

/// Returns an Option::schema for numbers of these types.
template <class Number>
SharedJson number_schema(const NumberRange<Number>& range);

/// Returns an Option::parse for numbers: int, std::int64_t, std::uint64_t or double.
template <class Number>
std::function<Json(const std::string& word)> number_parser(NumberRange<Number> range);

/// The implementation of OptionTable without the type of the struct, so that its code is compiled once.
class UntypedOptionTable {
 public:
  /// The location of a member in a struct, and for a std::optional the access to its value. This is an offset rather
  /// than functions for each member, because tables of hundreds of members would spend most of their compile time on
  /// them.
  struct Place {
    std::ptrdiff_t offset = 0;
    const void* (*value_of)(const void* member) = nullptr;  ///< for std::optional: returns nullptr if it has no value
    void* (*emplace)(void* member) = nullptr;               ///< for std::optional: gives it a value

    /// Returns the member's value, or nullptr for a std::optional without a value.
    const void* find(const void* object) const {
      const void* member = static_cast<const char*>(object) + offset;
      return value_of == nullptr ? member : value_of(member);
    }
    /// Returns the member's value. A std::optional without a value receives one.
    void* make(void* object) const {
      void* member = static_cast<char*>(object) + offset;
      return emplace == nullptr ? member : emplace(member);
    }
  };
  using Read = std::function<void(OptionReader&, void* object)>;
  using Write = std::function<void(const void* object, Json&)>;
  using Check = std::function<std::string(const void* object)>;
  /// Sets the members that are unset in `object` and set in `behind`.
  using Complete = std::function<void(void* object, const void* behind)>;
  /// A member with a fixed list of values.
  struct Choice {
    Place place;
    std::vector<std::string> names;
    std::shared_ptr<const void> values;  ///< an array; `equal` and `assign` know its type
    bool (*equal)(const void* member, const void* values, std::size_t index);
    void (*assign)(void* member, const void* values, std::size_t index);
    std::vector<OtherValue> others = {};

    /// Returns the index of the object's value, or the number of values if it is none of them.
    std::size_t index(const void* object) const;
  };

  /// Each function adds a row. `option` has name, placeholder and help.
  template <class Number>
  void add_number(Option option, const Place& place, Number fallback, NumberRange<Number> range);
  void add_flag(Option option, const Place& place, bool fallback);
  /// An empty `fallback` means that there is no default.
  void add_text(Option option, const Place& place, const std::string& fallback);
  /// Any number of strings.
  void add_texts(Option option, const Place& place, const std::vector<std::string>& fallback);
  void add_choice(Option option, const Choice& choice, const void* defaults);
  /// A fixed list of strings, in a std::optional.
  void add_named_choice(Option option, const Place& place, const std::string& fallback, std::vector<std::string> names);
  void add_custom(std::vector<Option> options, Read read, Write write, Complete complete);
  void include(const Place& place, const UntypedOptionTable& part);
  void nest(const std::string& name, const Place& place, const UntypedOptionTable& part);
  void set_group(std::string title) { group_ = std::move(title); }

  void read(OptionReader& reader, void* object) const;
  void write(const void* object, Json& json) const;
  std::string problem(const void* object) const;
  void require_in_range(const void* object) const;
  void complete(void* object, const void* behind) const;
  const std::vector<Option>& options() const noexcept { return options_; }

 private:
  struct Entry {
    Read read;
    Write write;        ///< may be empty
    Check check;        ///< may be empty
    Complete complete;  ///< may be empty if the member is always set
  };

  template <class Value>
  void add_plain(Option option, const Place& place);
  void add(Option option, Entry entry);

  std::string group_;
  std::vector<Option> options_;
  std::vector<Entry> entries_;
};

/// The options of a struct, each defined in one place: its key, member, range and help text. The table provides the
/// YAML reader, the writer, the check of values set in C++, the command-line options and the reference documentation.
///
///     struct Settings {
///       int beam_size = 5;
///       bool alignment = false;
///     };
///     const auto table = OptionTable<Settings>()
///         .number("beam_size", &Settings::beam_size, {.least = 1}, "N", "hypotheses kept")
///         .flag("alignment", &Settings::alignment, "report attention weights");
///     const Json json{{"beam_size", 4}};
///     OptionReader reader(json, "request");
///     Settings settings;
///     table.read(reader, settings);
///
/// A member has one of two types:
///
/// - the option's type: the default is the member's value in a default-constructed struct;
/// - a std::optional of that type, which tells whether the option was set: the default is given in the table.
///
/// complete() merges the settings of several sources. Building a table is for one thread; a finished table is
/// thread-safe.
template <class T>
class OptionTable {
 public:
  using Read = std::function<void(OptionReader&, T&)>;
  using Write = std::function<void(const T&, Json&)>;
  using Complete = std::function<void(T&, const T& behind)>;

  /// Lists the options that follow under this title.
  OptionTable& group(std::string title) {
    table_.set_group(std::move(title));
    return *this;
  }

  template <class Number>
  OptionTable& number(std::string name, Number T::*member, NumberRange<std::type_identity_t<Number>> range,
                      std::string placeholder, std::string help) {
    table_.add_number({std::move(name), std::move(placeholder), std::move(help)}, place(member), defaults_.*member,
                      range);
    return *this;
  }
  template <class Number>
  OptionTable& number(std::string name, std::optional<Number> T::*member, std::type_identity_t<Number> fallback,
                      NumberRange<std::type_identity_t<Number>> range, std::string placeholder, std::string help) {
    table_.add_number({std::move(name), std::move(placeholder), std::move(help)}, place(member), fallback, range);
    return *this;
  }

  OptionTable& flag(std::string name, bool T::*member, std::string help) {
    table_.add_flag({std::move(name), {}, std::move(help)}, place(member), defaults_.*member);
    return *this;
  }
  /// `negation` is the help of the switch that turns off an option that is on by default.
  OptionTable& flag(std::string name, bool T::*member, std::string help, std::string negation) {
    Option option{.name = std::move(name), .placeholder = {}, .help = std::move(help)};
    option.negation = std::move(negation);
    table_.add_flag(std::move(option), place(member), defaults_.*member);
    return *this;
  }
  OptionTable& flag(std::string name, std::optional<bool> T::*member, bool fallback, std::string help) {
    table_.add_flag({std::move(name), {}, std::move(help)}, place(member), fallback);
    return *this;
  }

  /// An empty string means that there is no default.
  OptionTable& text(std::string name, std::string T::*member, std::string placeholder, std::string help) {
    table_.add_text({std::move(name), std::move(placeholder), std::move(help)}, place(member), defaults_.*member);
    return *this;
  }
  OptionTable& text(std::string name, std::optional<std::string> T::*member, const std::string& fallback,
                    std::string placeholder, std::string help) {
    table_.add_text({std::move(name), std::move(placeholder), std::move(help)}, place(member), fallback);
    return *this;
  }

  /// Any number of texts: in YAML a text or a list of texts. A placeholder that ends with "..." lets a command line
  /// accept several words after the option.
  OptionTable& texts(std::string name, std::vector<std::string> T::*member, std::string placeholder, std::string help) {
    table_.add_texts({std::move(name), std::move(placeholder), std::move(help)}, place(member), defaults_.*member);
    return *this;
  }

  /// A fixed list of names. The error about a value in `others` ends with its advice.
  template <class Value>
  OptionTable& choice(std::string name, Value T::*member,
                      std::vector<std::pair<std::string_view, std::type_identity_t<Value>>> choices,
                      std::string placeholder, std::string help, std::vector<OtherValue> others = {}) {
    UntypedOptionTable::Choice choice{
        {offset(member)},  // also for a std::optional, since a choice may stand for "no value"
        {},
        {},
        [](const void* place, const void* values, std::size_t index) {
          return *static_cast<const Value*>(place) == (*static_cast<const std::vector<Value>*>(values))[index];
        },
        [](void* place, const void* values, std::size_t index) {
          *static_cast<Value*>(place) = (*static_cast<const std::vector<Value>*>(values))[index];
        },
        std::move(others)};
    std::vector<Value> values;
    for (const auto& [text, value] : choices) {
      choice.names.emplace_back(text);
      values.push_back(value);
    }
    choice.values = std::make_shared<const std::vector<Value>>(std::move(values));
    table_.add_choice({std::move(name), std::move(placeholder), std::move(help)}, choice, &defaults_);
    return *this;
  }

  /// A fixed list of strings, in a member that may be unset.
  OptionTable& choice(std::string name, std::optional<std::string> T::*member, const std::string& fallback,
                      const std::vector<std::string>& names, std::string placeholder, std::string help) {
    table_.add_named_choice({std::move(name), std::move(placeholder), std::move(help)}, place(member), fallback, names);
    return *this;
  }

  /// Adds options that no other function fits. `write` may be empty for options that are never written, and `complete`
  /// for options that are always set.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): they are moved
  OptionTable& custom(std::vector<Option> options, Read read, Write write = {}, Complete complete = {}) {
    UntypedOptionTable::Write untyped_write;
    if (write)
      untyped_write = [write = std::move(write)](const void* object, Json& json) {
        write(*static_cast<const T*>(object), json);
      };
    UntypedOptionTable::Complete untyped_complete;
    if (complete)
      untyped_complete = [complete = std::move(complete)](void* object, const void* behind) {
        complete(*static_cast<T*>(object), *static_cast<const T*>(behind));
      };
    table_.add_custom(
        std::move(options),
        [read = std::move(read)](OptionReader& reader, void* object) { read(reader, *static_cast<T*>(object)); },
        std::move(untyped_write), std::move(untyped_complete));
    return *this;
  }

  /// Adds all options of a part to the options of the struct, under the part's own titles.
  template <class Part>
  OptionTable& include(Part T::*member, const OptionTable<Part>& table) {
    table_.include(place(member), table.untyped());
    return *this;
  }

  /// Adds the options of a part as a nested object.
  template <class Part>
  OptionTable& nested(const std::string& name, Part T::*member, const OptionTable<Part>& table) {
    table_.nest(name, place(member), table.untyped());
    return *this;
  }

  /// Sets the members whose keys `reader` has. Throws Error{kBadInput} that names the key if a value has the wrong type
  /// or is out of range.
  void read(OptionReader& reader, T& value) const { table_.read(reader, &value); }
  /// Adds every option that is set to the JSON object.
  void write(const T& value, Json& json) const { table_.write(&value, json); }
  /// Describes the first option whose value is out of range: "beam_size is 0; it must be ...". Returns an empty string
  /// if there is none.
  std::string problem(const T& value) const { return table_.problem(&value); }
  /// Throws Error{kInvalidArgument} with problem() and the key unless all values that were set in C++ are in range.
  void require_in_range(const T& value) const { table_.require_in_range(&value); }
  /// Sets the members that are unset in `value` to their values in `behind`. Members that cannot be unset keep their
  /// values.
  void complete(T& value, const T& behind) const { table_.complete(&value, &behind); }
  const std::vector<Option>& options() const noexcept { return table_.options(); }
  const UntypedOptionTable& untyped() const noexcept { return table_; }

 private:
  template <class Member>
  std::ptrdiff_t offset(Member T::*member) const {
    return reinterpret_cast<const char*>(&(defaults_.*member)) - reinterpret_cast<const char*>(&defaults_);
  }
  template <class Value>
  UntypedOptionTable::Place place(Value T::*member) const {
    return {offset(member)};
  }
  template <class Value>
  UntypedOptionTable::Place place(std::optional<Value> T::*member) const {
    return {offset(member),
            [](const void* place) -> const void* {
              const auto& value = *static_cast<const std::optional<Value>*>(place);
              return value ? &*value : nullptr;
            },
            [](void* place) -> void* {
              auto& value = *static_cast<std::optional<Value>*>(place);
              return value ? &*value : &value.emplace();
            }};
  }

  T defaults_{};
  UntypedOptionTable table_;
};

}  // namespace dragoman::core
