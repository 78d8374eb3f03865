#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/core/json.h>

namespace dragoman::cli {

/// Facts about a file or folder: rows for people, and the same facts as one JSON object. Nothing is printed before all
/// facts are known, so that an unreadable file gives an error instead of a partial report.
class Report {
 public:
  /// Adds a fact. The label of its row is the key, with spaces for underscores; its text is `text`.
  void add(std::string_view key, core::Json value, std::string text);
  /// Adds a fact whose value is also its text.
  void add(std::string_view key, core::Json value);
  void add_row(std::string_view label, std::string text) { rows_.emplace_back(label, std::move(text)); }
  void add_value(std::string_view key, core::Json value) { object_[std::string(key)] = std::move(value); }
  /// Appends all facts of another report.
  void append(Report other);
  /// Appends all facts of another report, as an object under `key`.
  void add_part(std::string_view key, Report part);
  /// Adds settings: the object itself, and a row labelled `outer.inner` for each value in it.
  void add_settings(std::string_view key, const core::Json& settings, const std::string& prefix = {});
  /// Adds a table for people after the rows. Texts of files in it must be printable.
  void add_table(std::string lines) { tables_ += lines; }

  const core::Json& object() const noexcept { return object_; }
  /// Prints the rows below a title.
  void print(std::string_view title) const;

 private:
  void append_lines(Report& other);
  void add_setting_rows(const core::Json& settings, const std::string& prefix);

  core::Json object_ = core::Json::object();
  std::vector<std::pair<std::string, std::string>> rows_;
  std::string tables_;
};

}  // namespace dragoman::cli
