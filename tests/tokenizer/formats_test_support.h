#pragma once

#include "error_message.h"
#include "tokenizer_test_support.h"

#include <functional>
#include <string>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/tokenizer/line_coding.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::testing {

/// A model of golden/.
inline std::filesystem::path sentencepiece_model(const std::string& name) {
  return golden_file("sentencepiece_" + name + ".model");
}

inline std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  core::LineReader reader(path);
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

inline void write_lines(const std::filesystem::path& path, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  core::write_file(path, text);
}

/// What the commands `encode` and `decode` make of lines of text, or of pieces.
inline std::vector<std::string> encoded_lines(const tokenizer::Tokenizer& tokenizer,
                                              const std::vector<std::string>& lines) {
  const TemporaryFolder folder;
  write_lines(folder / "in", lines);
  core::OutputFile output(folder / "out");
  tokenizer::encode_lines(tokenizer, folder / "in", output, {});
  output.commit();
  return lines_of(folder / "out");
}

inline std::vector<std::string> decoded_lines(const tokenizer::Tokenizer& tokenizer,
                                              const std::vector<std::string>& lines) {
  const TemporaryFolder folder;
  write_lines(folder / "in", lines);
  core::OutputFile output(folder / "out");
  tokenizer::decode_lines(tokenizer, folder / "in", output, {});
  output.commit();
  return lines_of(folder / "out");
}

}  // namespace dragoman::testing
