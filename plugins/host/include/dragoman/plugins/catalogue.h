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

/// An entry of the SDK and the plugin that registered it.
template <class Entry>
struct Registered {
  Entry entry;
  std::string provider;
};

/// All registered entries of one kind, in the order of registration. Entries do not move: a reference stays valid as
/// long as the catalogue or a copy of it.
///
///     const Host host;                                                  // host.h
///     for (const auto& registered : host.registry().models().all())
///       std::cout << registered->entry.name << ' ' << registered->provider << '\n';
///
/// Changes are not thread-safe. The catalogues of a Registry never change.
template <class Entry>
class Catalogue {
 public:
  /// `kind` is the name of an entry's kind in messages: "model".
  explicit Catalogue(std::string kind) : kind_(std::move(kind)) {}

  /// Adds an entry. Error{kInvalidArgument}, which names the owner, if the name is taken.
  void add(Entry entry, const std::string& provider) {
    const std::string owner = owner_of(entry.name);
    core::require(owner.empty(), core::ErrorCode::kInvalidArgument,
                  "the {} '{}' is registered already, by '{}': rename one of them", kind_, entry.name, owner);
    entries_.push_back(std::make_shared<const Registered<Entry>>(Registered<Entry>{std::move(entry), provider}));
  }

  /// Reserves a name for an entry that is kept elsewhere. add() then rejects the name as taken by `owner`.
  void reserve(std::string_view name, std::string_view owner) {
    reserved_.push_back({std::string(name), std::string(owner)});
  }

  /// Returns nullptr if there is no entry of that name.
  const Registered<Entry>* find(std::string_view name) const {
    const auto found = std::ranges::find_if(entries_, [&](const auto& known) { return known->entry.name == name; });
    return found == entries_.end() ? nullptr : found->get();
  }

  /// Returns the entry of that name. Otherwise throws Error{kInvalidArgument}, which suggests the nearest name and
  /// lists all names.
  const Entry& get(std::string_view name) const {
    const Registered<Entry>* found = find(name);
    if (found == nullptr) fail_unknown(name);
    return found->entry;
  }

  const std::vector<std::shared_ptr<const Registered<Entry>>>& all() const noexcept { return entries_; }
  const std::string& kind() const noexcept { return kind_; }

 private:
  /// Returns the owner of a name; empty if the name is free.
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

/// Returns pointers to the entries of a catalogue. They are valid as long as the catalogue.
template <class Entry>
std::vector<const Entry*> entries_of(const Catalogue<Entry>& catalogue) {
  std::vector<const Entry*> entries;
  for (const auto& registered : catalogue.all()) entries.push_back(&registered->entry);
  return entries;
}

}  // namespace dragoman::plugins
