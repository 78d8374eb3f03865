#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {

/// The name of the pattern of o200k, which is an expression and no WordPattern.
inline constexpr std::string_view kO200kName = "o200k";

/// Returns the expression that cuts texts for a rank file, or an empty string if the words have a named pattern.
std::string expression_of_ranks(std::string_view content, const ReadOptions& options);

/// Opens a rank file (tiktoken) whose words are cut by an expression.
std::unique_ptr<Tokenizer> open_ranks(const std::filesystem::path& path, const std::string& content,
                                      const ReadOptions& options, const std::string& expression);

}  // namespace dragoman::tokenizer
