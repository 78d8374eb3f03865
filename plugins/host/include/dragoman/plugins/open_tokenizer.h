#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <dragoman/plugins/registry.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_spec.h>

namespace dragoman::plugins {

/// Opens the tokenizer of a file: of the registered kind that `spec` names or, if it names none, of the built-in kind
/// that the file's content shows. Throws Error{kIo}; Error{kInvalidArgument} for a type that is not registered, with
/// the nearest name; Error{kBadInput} for unknown options of the kind; and the errors of its factory.
std::unique_ptr<tokenizer::Tokenizer> open_tokenizer(const Registry& registry, const std::filesystem::path& file,
                                                     const tokenizer::TokenizerSpec& spec = {});

/// Makes a tokenizer from a file that the caller has read. A spec without a type means a tokenizer.json.
std::unique_ptr<tokenizer::Tokenizer> make_tokenizer(const Registry& registry, const tokenizer::TokenizerSpec& spec,
                                                     const tokenizer::TokenizerFile& file);

}  // namespace dragoman::plugins
