#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

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
  /// A command line may have it several times: its values are objects, which are merged, or lists, which are joined.
  bool repeated = false;
};

/// Option::parse of a number: int, std::int64_t, std::uint64_t or double.
template <class Number>
std::function<Json(const std::string& word)> number_parser(NumberRange<Number> range);

/// The options of a struct whose type it does not know, so that its code exists once: see OptionTable, which does.
class UntypedOptionTable {
 public:
  /// Where a member is in a struct.
  using Place = std::function<const void*(const void* object)>;
  using Read = std::function<void(OptionReader&, void* object)>;
  using Write = std::function<void(const void* object, Json&)>;
  using Check = std::function<std::string(const void* object)>;
  /// A member that has one of a few values, as the index of the value; an index behind the last: none of them.
  struct Choice {
    std::function<std::size_t(const void* object)> index;
    std::function<void(void* object, std::size_t)> assign;
  };

  /// Of the functions below, `defaults` is a struct that nobody has changed; `option` has name, placeholder and help.
  template <class Number>
  void add_number(Option option, const Place& place, const void* defaults, NumberRange<Number> range);
  void add_flag(Option option, const Place& place, const void* defaults);
  void add_text(Option option, const Place& place, const void* defaults);
  void add_choice(Option option, const Choice& choice, const void* defaults, const std::vector<std::string>& names);
  void add_custom(std::vector<Option> options, Read read, Write write);
  void include(const Place& place, const UntypedOptionTable& part);
  void nest(const std::string& name, const Place& place, const UntypedOptionTable& part);
  void set_group(std::string title) { group_ = std::move(title); }

  void read(OptionReader& reader, void* object) const;
  void write(const void* object, Json& json) const;
  std::string problem(const void* object) const;
  const std::vector<Option>& options() const noexcept { return options_; }

 private:
  struct Entry {
    Read read;
    Write write;  ///< may be empty
    Check check;  ///< may be empty
  };

  template <class Value>
  void add_plain(Option option, const Place& place);
  void add(Option option, Entry entry);

  std::string group_;
  std::vector<Option> options_;
  std::vector<Entry> entries_;
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

  /// Options from here on are listed under this title.
  OptionTable& group(std::string title) {
    table_.set_group(std::move(title));
    return *this;
  }

  template <class Number>
  OptionTable& number(std::string name, Number T::*member, NumberRange<std::type_identity_t<Number>> range,
                      std::string placeholder, std::string help) {
    table_.add_number(described(std::move(name), std::move(placeholder), std::move(help)), place(member), &defaults_,
                      range);
    return *this;
  }

  OptionTable& flag(std::string name, bool T::*member, std::string help) {
    table_.add_flag(described(std::move(name), {}, std::move(help)), place(member), &defaults_);
    return *this;
  }

  OptionTable& text(std::string name, std::string T::*member, std::string placeholder, std::string help) {
    table_.add_text(described(std::move(name), std::move(placeholder), std::move(help)), place(member), &defaults_);
    return *this;
  }

  /// One of a few names.
  template <class Value>
  OptionTable& choice(std::string name, Value T::*member,
                      std::vector<std::pair<std::string_view, std::type_identity_t<Value>>> choices,
                      std::string placeholder, std::string help) {
    std::vector<std::string> names;
    std::vector<Value> values;
    for (const auto& [text, value] : choices) {
      names.emplace_back(text);
      values.push_back(value);
    }
    const UntypedOptionTable::Choice access{
        [member, values](const void* object) {
          std::size_t index = 0;
          while (index < values.size() && values[index] != static_cast<const T*>(object)->*member) ++index;
          return index;
        },
        [member, values](void* object, std::size_t index) { static_cast<T*>(object)->*member = values[index]; }};
    table_.add_choice(described(std::move(name), std::move(placeholder), std::move(help)), access, &defaults_, names);
    return *this;
  }

  /// What fits none of the above. `write` may be empty for what is never written.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved
  OptionTable& custom(std::vector<Option> options, Read read, Write write = {}) {
    UntypedOptionTable::Write untyped_write;
    if (write)
      untyped_write = [write = std::move(write)](const void* object, Json& json) {
        write(*static_cast<const T*>(object), json);
      };
    table_.add_custom(
        std::move(options),
        [read = std::move(read)](OptionReader& reader, void* object) { read(reader, *static_cast<T*>(object)); },
        std::move(untyped_write));
    return *this;
  }

  /// All options of a part, beside the own ones and under their own titles.
  template <class Part>
  OptionTable& include(Part T::*member, const OptionTable<Part>& table) {
    table_.include(place(member), table.untyped());
    return *this;
  }

  /// The options of a part as an object of its own.
  template <class Part>
  OptionTable& nested(const std::string& name, Part T::*member, const OptionTable<Part>& table) {
    table_.nest(name, place(member), table.untyped());
    return *this;
  }

  /// Sets what `reader` has a key for. Error{kBadInput} names the key whose value is of another type or out of range.
  void read(OptionReader& reader, T& value) const { table_.read(reader, &value); }
  /// Adds every option to the object.
  void write(const T& value, Json& json) const { table_.write(&value, json); }
  /// "beam_size is 0; it must be ..." for the first option whose value is out of range; empty if there is none.
  std::string problem(const T& value) const { return table_.problem(&value); }
  const std::vector<Option>& options() const noexcept { return table_.options(); }
  const UntypedOptionTable& untyped() const noexcept { return table_; }

 private:
  static Option described(std::string name, std::string placeholder, std::string help) {
    return {.name = std::move(name), .placeholder = std::move(placeholder), .help = std::move(help)};
  }

  template <class Value>
  static UntypedOptionTable::Place place(Value T::*member) {
    return [member](const void* object) -> const void* { return &(static_cast<const T*>(object)->*member); };
  }

  T defaults_{};
  UntypedOptionTable table_;
};

}  // namespace dragoman::core
