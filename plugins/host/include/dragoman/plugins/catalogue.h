#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/nearest_name.h>
#include <dragoman/core/option_error.h>
#include <dragoman/core/quote.h>

namespace dragoman::plugins {

/// An entry of the SDK and the plugin that it came from.
template <class Entry>
struct Registered {
  Entry entry;
  std::string provider;
};

/// Everything of one kind that is registered, in the order of registration. Entries do not move: a reference stays
/// valid as long as the catalogue or a copy of it.
template <class Entry>
class Catalogue {
 public:
  /// `kind` is what messages call an entry: "model".
  explicit Catalogue(std::string kind) : kind_(std::move(kind)) {}

  /// A name that is taken is an Error{kInvalidArgument} that says by whom.
  void add(Entry entry, const std::string& provider) {
    const std::string owner = owner_of(entry.name);
    core::require(owner.empty(), core::ErrorCode::kInvalidArgument,
                  "the {} '{}' is registered already, by '{}': rename one of them", kind_, entry.name, owner);
    entries_.push_back(std::make_shared<const Registered<Entry>>(Registered<Entry>{std::move(entry), provider}));
  }

  /// Keeps a name for what is found elsewhere: add() refuses it as one that `owner` has taken.
  void reserve(std::string_view name, std::string_view owner) {
    reserved_.push_back({std::string(name), std::string(owner)});
  }

  /// nullptr if there is none of that name.
  const Registered<Entry>* find(std::string_view name) const {
    const auto found = std::ranges::find_if(entries_, [&](const auto& known) { return known->entry.name == name; });
    return found == entries_.end() ? nullptr : found->get();
  }

  /// The entry of that name; else an Error{kInvalidArgument} that suggests the nearest name and lists them all.
  const Entry& get(std::string_view name) const {
    const Registered<Entry>* found = find(name);
    if (found == nullptr) fail_unknown(name);
    return found->entry;
  }

  const std::vector<std::shared_ptr<const Registered<Entry>>>& all() const noexcept { return entries_; }
  const std::string& kind() const noexcept { return kind_; }

 private:
  /// Empty: the name is free.
  std::string owner_of(std::string_view name) const {
    for (const Reserved& reserved : reserved_)
      if (reserved.name == name) return reserved.owner;
    const Registered<Entry>* taken = find(name);
    return taken == nullptr ? "" : taken->provider;
  }

  [[noreturn]] void fail_unknown(std::string_view name) const {
    std::vector<std::string> names;
    std::string listed;
    const auto add = [&](const std::string& known) {
      names.push_back(known);
      listed += (listed.empty() ? "" : ", ") + known;
    };
    for (const auto& known : entries_) add(known->entry.name);
    for (const Reserved& known : reserved_) add(known.name);
    const std::string nearest = core::nearest_name(name, names);
    core::fail_option("plugin", core::ErrorCode::kInvalidArgument,
                      "no {} is called {}{}; registered are: {}; others come with a plugin (`plugin`)", kind_,
                      core::Quoted{name}, nearest.empty() ? "" : ", did you mean '" + nearest + "'?",
                      listed.empty() ? "none" : listed);
  }

  struct Reserved {
    std::string name;
    std::string owner;
  };

  std::string kind_;
  std::vector<std::shared_ptr<const Registered<Entry>>> entries_;
  std::vector<Reserved> reserved_;
};

/// The entries of a catalogue, which live as long as it.
template <class Entry>
std::vector<const Entry*> entries_of(const Catalogue<Entry>& catalogue) {
  std::vector<const Entry*> entries;
  for (const auto& registered : catalogue.all()) entries.push_back(&registered->entry);
  return entries;
}

}  // namespace dragoman::plugins
