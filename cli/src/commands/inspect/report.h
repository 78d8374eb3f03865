#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/core/json.h>

namespace dragoman::cli {

/// What was found out about a file or folder: rows for people, and the same as one JSON object. Nothing is printed
/// before all is known, so that what cannot be read gives an error and not half a report.
class Report {
 public:
  /// A fact. Its row is called as its key is, with spaces for underscores, and says `text`.
  void add(std::string_view key, core::Json value, std::string text);
  /// The same where the value speaks for itself.
  void add(std::string_view key, core::Json value);
  void add_row(std::string_view label, std::string text) { rows_.emplace_back(label, std::move(text)); }
  void add_value(std::string_view key, core::Json value) { object_[std::string(key)] = std::move(value); }
  /// All facts of another report, behind those of this one.
  void append(Report other);
  /// The same, but as an object of its own.
  void add_part(std::string_view key, Report part);
  /// Settings: the object as it is, and a row for each value in it, called `outer.inner`.
  void add_settings(std::string_view key, const core::Json& settings, const std::string& prefix = {});
  /// Lines for people, behind the rows: a table. Texts of files in it must be printable.
  void add_table(std::string lines) { tables_ += lines; }

  const core::Json& object() const noexcept { return object_; }
  /// The rows below a title.
  void print(std::string_view title) const;

 private:
  void append_lines(Report& other);
  void add_setting_rows(const core::Json& settings, const std::string& prefix);

  core::Json object_ = core::Json::object();
  std::vector<std::pair<std::string, std::string>> rows_;
  std::string tables_;
};

}  // namespace dragoman::cli
