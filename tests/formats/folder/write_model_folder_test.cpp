#include "dragoman/formats/model_folder.h"
#include "folder_test_support.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file_lock.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/checksums.h>

namespace dragoman::formats {
namespace {

using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::make_model;
using testing::names_in;
using testing::tokenizer_json;
using testing::write_model;

TEST(WriteModelFolder, DoesNotWriteATokenizerThatDoesNotBelongToTheModel) {
  const TemporaryFolder folder;
  const auto model = make_model();
  EXPECT_THAT(error_of([&] {
                write_model_folder(folder / "m", {.model_type = "paper",
                                                  .model = model.get(),
                                                  .tokenizer = kLetters.with_content("abc"),
                                                  .opener = open_letters});
              }),
              HasSubstr("tokenizer.model has 6 pieces"));
  EXPECT_FALSE(std::filesystem::exists(folder / "m"));
}

TEST(WriteModelFolder, ReplacesAnOlderModelWhole) {
  const TemporaryFolder folder;
  write_model(folder / "m", *make_model(), "old");
  std::filesystem::rename(folder / "m" / "tokenizer.json", folder / "m" / "source.tokenizer.json");
  write_model(folder / "m", *make_model(), "new");
  EXPECT_EQ(core::read_file(folder / "m" / "README.md"), "new");
  EXPECT_FALSE(std::filesystem::exists(folder / "m" / "source.tokenizer.json"));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m"));
}

TEST(WriteModelFolder, WritesBehindALinkAndIntoANewOrEmptyFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "real");
  std::filesystem::create_directory_symlink("real", folder / "link");
  write_model(folder / "link", *make_model());
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_TRUE(is_model_folder(folder / "real"));
  write_model(folder / "a" / "b" / "", *make_model());
  EXPECT_TRUE(is_model_folder(folder / "a" / "b"));
}

TEST(WriteModelFolder, LeftoversOfAKilledProcessDoNotMatter) {
  const TemporaryFolder folder;
  write_model(folder / "m", *make_model(), "old");
  std::filesystem::create_directory(folder / "m.partial");
  core::write_file(folder / "m.partial" / "source.tokenizer.json", "half");
  core::write_file(folder / "m.partial" / "model.safetensors.partial", "half");
  EXPECT_EQ(ModelFolder::open(folder / "m").config().model_type, "paper");
  write_model(folder / "m", *make_model(), "new");
  EXPECT_EQ(core::read_file(folder / "m" / "README.md"), "new");
  EXPECT_FALSE(std::filesystem::exists(folder / "m" / "source.tokenizer.json"));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m"));
}

TEST(WriteModelFolder, AFailureLeavesTheOldModelAndNothingElse) {
  const TemporaryFolder folder;
  write_model(folder / "m", *make_model(), "old");
  EXPECT_THAT(error_of([&] { write_model(folder / "m", *make_model(), "new", "abcdef"); }), HasSubstr("has 9 pieces"));
  EXPECT_EQ(core::read_file(folder / "m" / "README.md"), "old");
  EXPECT_NO_THROW(verify_checksums(folder / "m"));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m"));
}

TEST(WriteModelFolder, NeverDeletesWhatIsNotAModel) {
  const TemporaryFolder folder;
  write_model(folder / "m", *make_model());
  core::write_file(folder / "m" / "thesis.tex", "years of work");
  EXPECT_THAT(error_of([&] { write_model(folder / "m", *make_model()); }),
              HasSubstr("holds 'thesis.tex', which is not part of a model"));
  EXPECT_EQ(core::read_file(folder / "m" / "thesis.tex"), "years of work");
  EXPECT_THAT(error_of([&] { write_model(folder / "m" / "thesis.tex", *make_model()); }),
              HasSubstr("is a file; name a folder"));
  std::filesystem::create_directory(folder / "n");
  std::filesystem::create_directory(folder / "n" / "config.json");
  EXPECT_THAT(error_of([&] { write_model(folder / "n", *make_model()); }), HasSubstr("holds 'config.json'"));
}

// Row 4 of the faults that were found: a SentencePiece model was exported as tokenizer.json.
TEST(WriteModelFolder, WritesNothingButATokenizerJsonAsOne) {
  const TemporaryFolder folder;
  const auto model = make_model();
  const std::string piece = "\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02";
  EXPECT_THAT(error_of([&] {
                write_model_folder(folder / "m",
                                   {.model_type = "paper", .model = model.get(), .tokenizer = {.content = piece}});
              }),
              HasSubstr("is not the text of a tokenizer.json"));
  EXPECT_FALSE(std::filesystem::exists(folder / "m"));
}

// Row 7: two processes that wrote the same folder deleted each other's files.
TEST(WriteModelFolder, IsRefusedWhileAnotherWritesTheSame) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "m.partial");
  core::write_file(folder / "m.partial" / "config.json", "of the other process");
  {
    const core::FileLock other = core::FileLock::acquire(folder / "m.partial");
    EXPECT_THAT(error_of([&] { write_model(folder / "m", *make_model()); }),
                AllOf(HasSubstr("m.partial"), HasSubstr("another process")));
    EXPECT_EQ(core::read_file(folder / "m.partial" / "config.json"), "of the other process");
  }
  write_model(folder / "m", *make_model());
  EXPECT_THAT(names_in(folder.path()), ElementsAre("m"));
}

TEST(RequireReplaceable, KnowsBeforehandWhatWritingWouldRefuse) {
  const TemporaryFolder folder;
  EXPECT_NO_THROW(require_replaceable(folder / "m"));
  write_model(folder / "m", *make_model());
  EXPECT_NO_THROW(require_replaceable(folder / "m"));
  core::write_file(folder / "m" / "notes", "mine");
  EXPECT_THAT(error_of([&] { require_replaceable(folder / "m"); }), HasSubstr("holds 'notes'"));
  std::filesystem::create_directory(folder / "n.partial");
  core::write_file(folder / "n.partial" / "notes", "mine");
  EXPECT_THAT(error_of([&] { require_replaceable(folder / "n"); }), HasSubstr("n.partial: holds 'notes'"));
  std::filesystem::create_directory(folder / "o.replaced");
  core::write_file(folder / "o.replaced" / "notes", "mine");
  EXPECT_THAT(error_of([&] { require_replaceable(folder / "o"); }), HasSubstr("o.replaced: holds 'notes'"));
}

TEST(WriteModelFolder, NeedsEitherOneTokenizerOrTwo) {
  const TemporaryFolder folder;
  const auto model = make_model();
  const auto fault = [&](ModelFolderContent content) {
    content.model_type = "paper";
    content.model = model.get();
    return error_of([&] { write_model_folder(folder / "m", content); });
  };
  const std::string json = tokenizer_json("ab");
  for (const ModelFolderContent& content :
       {ModelFolderContent{}, ModelFolderContent{.source_tokenizer = {.content = json}},
        ModelFolderContent{.tokenizer = {.content = json}, .source_tokenizer = {.content = json}},
        ModelFolderContent{.tokenizer = {.content = json},
        .source_tokenizer = {.content = json},
        .target_tokenizer = {.content = json}}})
    EXPECT_THAT(fault(content), HasSubstr("either one joint tokenizer or one for each side"));
}

}  // namespace
}  // namespace dragoman::formats
