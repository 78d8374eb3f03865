#include "dragoman/core/option_table.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dragoman::core {
namespace {

template <class Value>
const Value& at(const UntypedOptionTable::Place& place, const void* object) {
  return *static_cast<const Value*>(place(object));
}

/// Of an object that may be changed: a place is a place in either.
template <class Value>
Value& at(const UntypedOptionTable::Place& place, void* object) {
  return *static_cast<Value*>(const_cast<void*>(place(object)));
}

template <class Number>
std::string complaint(Number value, const NumberRange<Number>& range) {
  return fmt::format("is {}; it {}", value, range.demand());
}

std::function<Json(const std::string& word)> choice_parser(const std::vector<std::string>& names) {
  return [names](const std::string& word) {
    require(std::ranges::find(names, word) != names.end(), ErrorCode::kInvalidArgument, "must be one of: {}",
            fmt::join(names, ", "));
    return Json(word);
  };
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
void UntypedOptionTable::add_number(Option option, const Place& place, const void* defaults,
                                    NumberRange<Number> range) {
  option.fallback = at<Number>(place, defaults);
  option.parse = number_parser(range);
  const std::string name = option.name;
  add(std::move(option), {[name, place, range](OptionReader& reader, void* object) {
                            auto& number = at<Number>(place, object);
                            number = reader.get(name, number);
                            reader.check(range.contains(number), name, complaint(number, range));
                          },
                          [name, place](const void* object, Json& json) { json[name] = at<Number>(place, object); },
                          [name, place, range](const void* object) {
                            const auto number = at<Number>(place, object);
                            return range.contains(number) ? std::string() : name + " " + complaint(number, range);
                          }});
}

template void UntypedOptionTable::add_number(Option, const Place&, const void*, NumberRange<int>);
template void UntypedOptionTable::add_number(Option, const Place&, const void*, NumberRange<std::int64_t>);
template void UntypedOptionTable::add_number(Option, const Place&, const void*, NumberRange<std::uint64_t>);
template void UntypedOptionTable::add_number(Option, const Place&, const void*, NumberRange<double>);

template <class Value>
// NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved
void UntypedOptionTable::add_plain(Option option, const Place& place) {
  const std::string name = option.name;
  add(std::move(option), {[name, place](OptionReader& reader, void* object) {
                            auto& value = at<Value>(place, object);
                            value = reader.get(name, value);
                          },
                          [name, place](const void* object, Json& json) { json[name] = at<Value>(place, object); },
                          {}});
}

void UntypedOptionTable::add_flag(Option option, const Place& place, const void* defaults) {
  option.fallback = at<bool>(place, defaults);
  add_plain<bool>(std::move(option), place);
}

void UntypedOptionTable::add_text(Option option, const Place& place, const void* defaults) {
  if (const auto& fallback = at<std::string>(place, defaults); !fallback.empty()) option.fallback = fallback;
  option.parse = [](const std::string& word) { return Json(word); };
  add_plain<std::string>(std::move(option), place);
}

void UntypedOptionTable::add_choice(Option option, const Choice& choice, const void* defaults,
                                    const std::vector<std::string>& names) {
  const auto name_of = [choice, names](const void* object) {
    const std::size_t index = choice.index(object);
    return index < names.size() ? names[index] : std::string();
  };
  option.choices = names;
  option.fallback = name_of(defaults);
  option.parse = choice_parser(names);
  const std::string name = option.name;
  add(std::move(option), {[name, choice, names](OptionReader& reader, void* object) {
                            std::vector<std::pair<std::string_view, std::size_t>> choices;
                            for (std::size_t i = 0; i < names.size(); ++i) choices.emplace_back(names[i], i);
                            if (reader.has(name)) choice.assign(object, reader.choice(name, std::size_t{0}, choices));
                          },
                          [name, name_of](const void* object, Json& json) { json[name] = name_of(object); },
                          [name, choice, names](const void* object) {
                            if (choice.index(object) < names.size()) return std::string();
                            return fmt::format("{} is none of: {}", name, fmt::join(names, ", "));
                          }});
}

void UntypedOptionTable::add_custom(std::vector<Option> options, Read read, Write write) {
  for (Option& option : options) {
    option.group = group_;
    if (!option.parse && !option.choices.empty()) option.parse = choice_parser(option.choices);
    options_.push_back(std::move(option));
  }
  entries_.push_back({std::move(read), std::move(write), {}});
}

void UntypedOptionTable::include(const Place& place, const UntypedOptionTable& part) {
  for (const Option& option : part.options()) options_.push_back(option);
  entries_.push_back(
      {[place, part](OptionReader& reader, void* object) { part.read(reader, const_cast<void*>(place(object))); },
       [place, part](const void* object, Json& json) { part.write(place(object), json); },
       [place, part](const void* object) { return part.problem(place(object)); }});
}

void UntypedOptionTable::nest(const std::string& name, const Place& place, const UntypedOptionTable& part) {
  for (Option option : part.options()) {
    option.name.insert(0, name + ".");
    options_.push_back(std::move(option));
  }
  entries_.push_back({[name, place, part](OptionReader& reader, void* object) {
                        OptionReader child = reader.child(name);
                        part.read(child, const_cast<void*>(place(object)));
                        child.finish();
                      },
                      [name, place, part](const void* object, Json& json) {
                        json[name] = Json::object();
                        part.write(place(object), json[name]);
                      },
                      [name, place, part](const void* object) {
                        const std::string problem = part.problem(place(object));
                        return problem.empty() ? problem : name + "." + problem;
                      }});
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

void UntypedOptionTable::add(Option option, Entry entry) {
  option.group = group_;
  options_.push_back(std::move(option));
  entries_.push_back(std::move(entry));
}

}  // namespace dragoman::core
