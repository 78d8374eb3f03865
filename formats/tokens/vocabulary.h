#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/hash_tables.h>

namespace dragoman::imports {

/// The pieces of one side of a model by id, as a toolkit lists them.
class Vocabulary {
 public:
  /// `name` is for messages. Throws Error{kBadInput} for a piece that is empty or occurs twice.
  Vocabulary(std::vector<std::string> pieces, std::string name);

  /// Reads one piece per line. If every line ends in CR, the CR is removed.
  static Vocabulary read_lines(const std::filesystem::path& path);
  /// Reads a JSON list of pieces.
  static Vocabulary read_json_list(const std::filesystem::path& path);
  /// Reads Marian's format: `piece: id` in YAML or JSON.
  static Vocabulary read_marian(const std::filesystem::path& path);

  /// Reads fairseq's dict.txt. It has a piece and its count on each line, which follow <s>, <pad>, </s> and <unk>. A
  /// piece that a later line overwrites gets a name that never occurs in text.
  static Vocabulary read_fairseq(const std::filesystem::path& path);

  const std::string& name() const noexcept { return name_; }
  const std::vector<std::string>& pieces() const noexcept { return pieces_; }
  std::int32_t size() const noexcept { return static_cast<std::int32_t>(pieces_.size()); }
  std::optional<std::int32_t> find(std::string_view piece) const;
  /// Returns the id of a piece that must exist. `what` is its role in the model.
  std::int32_t id(std::string_view piece, std::string_view what) const;
  /// Adds a piece at the end, under another name if its name is taken. Returns its id.
  std::int32_t add(const std::string& piece);
  /// Exchanges the ids of two pieces.
  void swap(std::int32_t one, std::int32_t other);
  /// Adds pieces that never occur in text until their number equals the rows of a table. Throws Error{kBadInput} if
  /// there are more pieces than rows.
  void fill_up_to(std::int64_t rows, const std::string& where);

 private:
  void place(std::string piece);

  std::string name_;
  std::size_t listed_ = 0;  ///< in the file; the others were added
  std::vector<std::string> pieces_;
  core::TextMap<std::int32_t> ids_;
};

}  // namespace dragoman::imports
