#include "dragoman/core/option_table.h"

#include "dragoman/core/json.h"
#include "dragoman/core/option_error.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dragoman::core {
namespace {

/// Returns nullptr if the member is not set.
template <class Value>
const Value* find(const UntypedOptionTable::Place& place, const void* object) {
  return static_cast<const Value*>(place.find(object));
}

template <class Value>
Value& make(const UntypedOptionTable::Place& place, void* object) {
  return *static_cast<Value*>(place.make(object));
}

template <class Value>
UntypedOptionTable::Complete completion(const UntypedOptionTable::Place& place) {
  return [place](void* object, const void* behind) {
    if (const Value* value = find<Value>(place, behind); value != nullptr && place.find(object) == nullptr)
      make<Value>(place, object) = *value;
  };
}

template <class Number>
std::string complaint(Number value, const NumberRange<Number>& range) {
  return fmt::format("is {}; it {}", value, range.demand());
}

/// Returns the end of the error message about `word`: "; " and the advice, or an empty string.
std::string advice_about(std::string_view word, const std::vector<OtherValue>& others) {
  const auto other = std::ranges::find(others, word, &OtherValue::name);
  return other == others.end() ? std::string() : "; " + other->advice;
}

std::function<Json(const std::string& word)> choice_parser(const std::vector<std::string>& names,
                                                           const std::vector<OtherValue>& others = {}) {
  return [names, others](const std::string& word) {
    require(std::ranges::find(names, word) != names.end(), ErrorCode::kInvalidArgument, "must be one of: {}{}",
            fmt::join(names, ", "), advice_about(word, others));
    return Json(word);
  };
}

/// Returns the index of the name at `key`, or nullopt if the key is absent.
std::optional<std::size_t> chosen(OptionReader& reader, const std::string& key, const std::vector<std::string>& names,
                                  const std::vector<OtherValue>& others = {}) {
  if (!reader.has(key)) return {};
  if (const Json& value = reader.subtree(key); value.is_string()) {
    const std::string advice = advice_about(value.get_ref<const std::string&>(), others);
    reader.check(advice.empty(), key, fmt::format("must be one of: {}{}", fmt::join(names, ", "), advice));
  }
  std::vector<std::pair<std::string_view, std::size_t>> choices;
  for (std::size_t i = 0; i < names.size(); ++i) choices.emplace_back(names[i], i);
  return reader.choice(key, std::size_t{0}, choices);
}

/// Reads a text or a list of texts.
std::vector<std::string> texts_of(OptionReader& reader, const std::string& key) {
  const Json& value = reader.subtree(key);
  std::vector<std::string> texts;
  const auto add = [&](const Json& text) {
    reader.check(text.is_string(), key, "must be a text or a list of texts");
    texts.push_back(text.get<std::string>());
  };
  if (value.is_array())
    for (const Json& text : value) add(text);
  else
    add(value);
  return texts;
}

constexpr const char* kTypeKey = "type";

/// Returns the section of that name. A string in its place is its `type`: `optimizer: adam` is read as {type: adam}.
Json with_type(OptionReader& reader, const std::string& name) {
  const Json& tree = reader.subtree(name);
  reader.check(tree.is_null() || tree.is_string() || tree.is_object(), name,
               fmt::format("must be a name, or keys and values: {{{}: NAME, ...}}", kTypeKey));
  return tree.is_string() ? Json{{kTypeKey, tree}} : tree;
}

}  // namespace

template <class Number>
std::function<Json(const std::string& word)> number_parser(NumberRange<Number> range) {
  return [range](const std::string& word) {
    const auto number = spelled_number<Number>(word);
    require(number && range.contains(*number), ErrorCode::kInvalidArgument, "{}", range.demand());
    return Json(*number);
  };
}

template std::function<Json(const std::string& word)> number_parser(NumberRange<int> range);
template std::function<Json(const std::string& word)> number_parser(NumberRange<std::int64_t> range);
template std::function<Json(const std::string& word)> number_parser(NumberRange<std::uint64_t> range);
template std::function<Json(const std::string& word)> number_parser(NumberRange<double> range);

template <class Number>
SharedJson number_schema(const NumberRange<Number>& range) {
  Json schema = Json::object();
  // The limits of double are no bounds: they stand for "any number".
  if (std::is_integral_v<Number> || range.least != std::numeric_limits<Number>::lowest()) {
    schema["minimum"] = range.least;
    if (!range.least_included) schema["exclusiveMinimum"] = true;
  }
  if (std::is_integral_v<Number> || range.most != std::numeric_limits<Number>::max()) {
    schema["maximum"] = range.most;
    if (!range.most_included) schema["exclusiveMaximum"] = true;
  }
  return schema;
}

template SharedJson number_schema(const NumberRange<int>& range);
template SharedJson number_schema(const NumberRange<std::int64_t>& range);
template SharedJson number_schema(const NumberRange<std::uint64_t>& range);
template SharedJson number_schema(const NumberRange<double>& range);

template <class Number>
void UntypedOptionTable::add_number(Option option, const Place& place, Number fallback, NumberRange<Number> range) {
  option.fallback = Json(fallback);
  option.parse = number_parser(range);
  option.schema = number_schema(range);
  const std::string name = option.name;
  add(std::move(option), {[name, place, range](OptionReader& reader, void* object) {
                            if (reader.has(name)) make<Number>(place, object) = reader.get(name, Number{});
                            const Number* number = find<Number>(place, object);
                            if (number == nullptr) return;
                            reader.check(range.contains(*number), name, complaint(*number, range));
                          },
                          [name, place](const void* object, Json& json) {
                            if (const Number* number = find<Number>(place, object)) json[name] = *number;
                          },
                          [name, place, range](const void* object) {
                            const Number* number = find<Number>(place, object);
                            if (number == nullptr || range.contains(*number)) return std::string();
                            return name + " " + complaint(*number, range);
                          },
                          completion<Number>(place)});
}

template void UntypedOptionTable::add_number(Option, const Place&, int, NumberRange<int>);
template void UntypedOptionTable::add_number(Option, const Place&, std::int64_t, NumberRange<std::int64_t>);
template void UntypedOptionTable::add_number(Option, const Place&, std::uint64_t, NumberRange<std::uint64_t>);
template void UntypedOptionTable::add_number(Option, const Place&, double, NumberRange<double>);

template <class Value>
// NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved
void UntypedOptionTable::add_plain(Option option, const Place& place) {
  const std::string name = option.name;
  add(std::move(option), {[name, place](OptionReader& reader, void* object) {
                            if (reader.has(name)) make<Value>(place, object) = reader.get(name, Value{});
                          },
                          [name, place](const void* object, Json& json) {
                            if (const Value* value = find<Value>(place, object)) json[name] = *value;
                          },
                          {},
                          completion<Value>(place)});
}

void UntypedOptionTable::add_flag(Option option, const Place& place, bool fallback) {
  option.fallback = Json(fallback);
  add_plain<bool>(std::move(option), place);
}

void UntypedOptionTable::add_text(Option option, const Place& place, const std::string& fallback) {
  if (!fallback.empty()) option.fallback = Json(fallback);
  option.parse = [](const std::string& word) { return Json(word); };
  add_plain<std::string>(std::move(option), place);
}

void UntypedOptionTable::add_texts(Option option, const Place& place, const std::vector<std::string>& fallback) {
  using Texts = std::vector<std::string>;
  if (!fallback.empty()) option.fallback = Json(fallback);
  option.repeated = true;
  option.parse = [](const std::string& word) { return Json::array({word}); };
  const std::string name = option.name;
  add(std::move(option), {[name, place](OptionReader& reader, void* object) {
                            if (reader.has(name)) make<Texts>(place, object) = texts_of(reader, name);
                          },
                          [name, place](const void* object, Json& json) {
                            if (const auto* texts = find<Texts>(place, object)) json[name] = *texts;
                          },
                          {},
                          completion<Texts>(place)});
}

std::size_t UntypedOptionTable::Choice::index(const void* object) const {
  std::size_t index = 0;
  while (index < names.size() && !equal(place.find(object), values.get(), index)) ++index;
  return index;
}

void UntypedOptionTable::add_choice(Option option, const Choice& choice, const void* defaults) {
  const std::vector<std::string>& names = choice.names;
  const auto name_of = [choice, names](const void* object) {
    const std::size_t index = choice.index(object);
    return index < names.size() ? names[index] : std::string();
  };
  option.choices = names;
  option.fallback = Json(name_of(defaults));
  option.parse = choice_parser(names, choice.others);
  const std::string name = option.name;
  add(std::move(option), {[name, choice, names](OptionReader& reader, void* object) {
                            if (const auto index = chosen(reader, name, names, choice.others))
                              choice.assign(choice.place.make(object), choice.values.get(), *index);
                          },
                          [name, name_of](const void* object, Json& json) { json[name] = name_of(object); },
                          [name, choice, names](const void* object) {
                            if (choice.index(object) < names.size()) return std::string();
                            return fmt::format("{} is none of: {}", name, fmt::join(names, ", "));
                          },
                          {}});
}

void UntypedOptionTable::add_named_choice(Option option, const Place& place, const std::string& fallback,
                                          std::vector<std::string> names) {
  option.choices = names;
  option.fallback = Json(fallback);
  option.parse = choice_parser(names);
  const std::string name = option.name;
  add(std::move(option), {[name, place, names](OptionReader& reader, void* object) {
                            if (const auto index = chosen(reader, name, names))
                              make<std::string>(place, object) = names[*index];
                          },
                          [name, place](const void* object, Json& json) {
                            if (const auto* value = find<std::string>(place, object)) json[name] = *value;
                          },
                          {},
                          completion<std::string>(place)});
}

void UntypedOptionTable::add_custom(std::vector<Option> options, Read read, Write write, Complete complete) {
  for (Option& option : options) {
    option.group = group_;
    if (!option.parse && !option.choices.empty()) option.parse = choice_parser(option.choices);
    options_.push_back(std::move(option));
  }
  entries_.push_back({std::move(read), std::move(write), {}, std::move(complete)});
}

void UntypedOptionTable::include(const Place& place, const UntypedOptionTable& part) {
  for (const Option& option : part.options()) options_.push_back(option);
  entries_.push_back(
      {[place, part](OptionReader& reader, void* object) { part.read(reader, place.make(object)); },
       [place, part](const void* object, Json& json) { part.write(place.find(object), json); },
       [place, part](const void* object) { return part.problem(place.find(object)); },
       [place, part](void* object, const void* behind) { part.complete(place.make(object), place.find(behind)); }});
}

void UntypedOptionTable::nest(const std::string& name, const Place& place, const UntypedOptionTable& part) {
  for (Option option : part.options()) {
    option.name.insert(0, name + ".");
    options_.push_back(std::move(option));
  }
  const bool has_type = std::ranges::find(part.options(), kTypeKey, &Option::name) != part.options().end();
  entries_.push_back(
      {[name, place, part, has_type](OptionReader& reader, void* object) {
         const Json tree = has_type ? with_type(reader, name) : reader.subtree(name);
         OptionReader child(tree, fmt::format("{}: {}", reader.where(), name));
         part.read(child, place.make(object));
         child.finish();
       },
       [name, place, part](const void* object, Json& json) {
         json[name] = Json::object();
         part.write(place.find(object), json[name]);
       },
       [name, place, part](const void* object) {
         const std::string problem = part.problem(place.find(object));
         return problem.empty() ? problem : name + "." + problem;
       },
       [place, part](void* object, const void* behind) { part.complete(place.make(object), place.find(behind)); }});
}

void UntypedOptionTable::read(OptionReader& reader, void* object) const {
  for (const Entry& entry : entries_) entry.read(reader, object);
}

void UntypedOptionTable::write(const void* object, Json& json) const {
  for (const Entry& entry : entries_)
    if (entry.write) entry.write(object, json);
}

std::string UntypedOptionTable::problem(const void* object) const {
  for (const Entry& entry : entries_)
    if (std::string problem = entry.check ? entry.check(object) : std::string(); !problem.empty()) return problem;
  return {};
}

void UntypedOptionTable::require_in_range(const void* object) const {
  const std::string found = problem(object);
  require_option(found.empty(), found.substr(0, found.find(' ')), ErrorCode::kInvalidArgument, "{}", found);
}

void UntypedOptionTable::complete(void* object, const void* behind) const {
  for (const Entry& entry : entries_)
    if (entry.complete) entry.complete(object, behind);
}

void UntypedOptionTable::add(Option option, Entry entry) {
  option.group = group_;
  options_.push_back(std::move(option));
  entries_.push_back(std::move(entry));
}

}  // namespace dragoman::core
