#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <dragoman/core/hash.h>

namespace dragoman::imports {

/// The pieces of one side of a model by id, as a toolkit lists them.
class Vocabulary {
 public:
  /// `name` stands in messages. Error{kBadInput} for a piece that is empty or stands twice.
  Vocabulary(std::vector<std::string> pieces, std::string name);

  /// A piece on each line. If each line ends in CR, that is no part of them.
  static Vocabulary read_lines(const std::filesystem::path& path);
  /// A JSON list of pieces.
  static Vocabulary read_json_list(const std::filesystem::path& path);
  /// Marian's: `piece: id` in YAML or JSON.
  static Vocabulary read_marian(const std::filesystem::path& path);

  /// fairseq's dict.txt, a piece and its count on each line, behind <s>, <pad>, </s> and <unk>. A piece that a later
  /// line overwrites gets a name that no text has.
  static Vocabulary read_fairseq(const std::filesystem::path& path);

  const std::string& name() const noexcept { return name_; }
  const std::vector<std::string>& pieces() const noexcept { return pieces_; }
  std::int32_t size() const noexcept { return static_cast<std::int32_t>(pieces_.size()); }
  std::optional<std::int32_t> find(std::string_view piece) const;
  /// The id of a piece that must be there; `what` it is to the model.
  std::int32_t id(std::string_view piece, std::string_view what) const;
  /// Adds a piece at the end; if its name is taken, under another. Returns its id.
  std::int32_t add(const std::string& piece);
  /// Two pieces change their ids.
  void swap(std::int32_t one, std::int32_t other);
  /// Adds pieces that no text has until there are as many as rows of a table; Error{kBadInput} if there are more.
  void fill_up_to(std::int64_t rows, const std::string& where);

 private:
  void place(std::string piece);

  std::string name_;
  std::size_t listed_ = 0;  ///< in the file; the others were added
  std::vector<std::string> pieces_;
  std::unordered_map<std::string, std::int32_t, core::TextHash, std::equal_to<>> ids_;
};

}  // namespace dragoman::imports
