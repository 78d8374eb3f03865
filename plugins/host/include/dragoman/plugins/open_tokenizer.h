#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <dragoman/plugins/registry.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_kind.h>

namespace dragoman::plugins {

/// The tokenizer of a file: of the registered kind that `kind` names, or, if it names none, of the built-in one that
/// the file's content shows. Throws Error{kIo}; Error{kInvalidArgument} for a type that nobody has registered, with the
/// nearest name; Error{kBadInput} for options that the kind does not know, and what its factory throws.
std::unique_ptr<tokenizer::Tokenizer> open_tokenizer(const Registry& registry, const std::filesystem::path& file,
                                                     const tokenizer::TokenizerKind& kind = {});

/// The same of what the caller has read, by a kind that has a name.
std::unique_ptr<tokenizer::Tokenizer> make_tokenizer(const Registry& registry, const tokenizer::TokenizerKind& kind,
                                                     const tokenizer::TokenizerFile& file);

}  // namespace dragoman::plugins
