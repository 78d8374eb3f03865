#include "deepl_glossaries.h"

#include <algorithm>
#include <random>
#include <set>

#include <fmt/format.h>

#include <dragoman/core/white_space.h>

namespace dragoman::server {
namespace {

std::string random_id() {
  std::random_device device;
  const auto part = [&] { return static_cast<std::uint32_t>(device()); };
  const std::uint32_t b = part();
  const std::uint32_t c = part();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:04x}{:08x}", part(), b >> 16U, b & 0xFFFU, 0x8000U | (c >> 18U),
                     c & 0xFFFFU, part());
}

std::size_t bytes_of(const StoredGlossary& glossary) {
  constexpr std::size_t kOverhead = 200;
  std::size_t bytes = kOverhead + glossary.name.size();
  // The terms are kept three times: as they came, and ready for the search.
  for (const auto& [source, target] : glossary.entries) bytes += kOverhead + 8 * (source.size() + target.size());
  return bytes;
}

/// Cuts a line of comma-separated values. A value in quotes may hold commas and doubled quotes.
std::vector<std::string> csv_columns(std::string_view line, std::size_t number) {
  std::vector<std::string> columns(1);
  bool inside = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (inside && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      columns.back() += c;
      ++i;
    } else if (c == '"') {
      inside = !inside;
    } else if (c == ',' && !inside) {
      columns.emplace_back();
    } else {
      columns.back() += c;
    }
  }
  if (inside) throw BadRequest(fmt::format("Invalid glossary entries: line {}: a quote is not closed", number));
  return columns;
}

std::vector<std::string> tsv_columns(std::string_view line) {
  std::vector<std::string> columns;
  for (;;) {
    const std::size_t tab = line.find('\t');
    columns.emplace_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return columns;
    line.remove_prefix(tab + 1);
  }
}

}  // namespace

GlossaryEntries parse_entries(std::string_view text, std::string_view format) {
  if (format != "tsv" && format != "csv") throw BadRequest("Value for 'entries_format' not supported.");
  GlossaryEntries entries;
  std::set<std::string> sources;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    text.remove_prefix(text.starts_with("\r\n") ? 2 : std::min<std::size_t>(1, text.size()));
    if (core::is_blank(line)) continue;
    const auto columns = format == "tsv" ? tsv_columns(line) : csv_columns(line, number);
    if (columns.size() != 2 && !(format == "csv" && columns.size() == 4))
      throw BadRequest(fmt::format("Invalid glossary entries: line {} has {} columns, not 2", number, columns.size()));
    const std::string source(core::trim_white_space(columns[0]));
    const std::string target(core::trim_white_space(columns[1]));
    if (source.empty() || target.empty())
      throw BadRequest(fmt::format("Invalid glossary entries: line {}: a term is empty", number));
    if (!sources.insert(source).second)
      throw BadRequest(fmt::format("Invalid glossary entries: line {}: the source term is there twice", number));
    entries.emplace_back(source, target);
  }
  if (entries.empty()) throw BadRequest("Invalid glossary entries: there are none");
  return entries;
}

std::string to_tsv(const GlossaryEntries& entries) {
  std::string text;
  for (const auto& [source, target] : entries) text += (text.empty() ? "" : "\n") + source + "\t" + target;
  return text;
}

StoredGlossary GlossaryStore::put(StoredGlossary glossary) {
  glossary.id = random_id();
  const std::size_t bytes = bytes_of(glossary);
  const std::lock_guard lock(mutex_);
  if (glossaries_.size() == kMaxGlossaries || bytes_ + bytes > kMaxBytes)
    throw BadRequest("Too many glossaries; delete some of them", 456);
  bytes_ += bytes;
  glossaries_.push_back(glossary);
  return glossary;
}

std::optional<StoredGlossary> GlossaryStore::get(const std::string& owner, const std::string& id) const {
  const std::lock_guard lock(mutex_);
  for (const StoredGlossary& glossary : glossaries_)
    if (glossary.id == id && glossary.owner == owner) return glossary;
  return std::nullopt;
}

std::vector<StoredGlossary> GlossaryStore::list(const std::string& owner) const {
  std::vector<StoredGlossary> own;
  const std::lock_guard lock(mutex_);
  for (const StoredGlossary& glossary : glossaries_)
    if (glossary.owner == owner) own.push_back(glossary);
  return own;
}

bool GlossaryStore::remove(const std::string& owner, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      glossaries_, [&](const StoredGlossary& glossary) { return glossary.id == id && glossary.owner == owner; });
  if (found == glossaries_.end()) return false;
  bytes_ -= bytes_of(*found);
  glossaries_.erase(found);
  return true;
}

}  // namespace dragoman::server
