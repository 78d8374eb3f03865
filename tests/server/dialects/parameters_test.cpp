#include "common/parameters.h"

#include "common/multipart.h"
#include "exchange.h"
#include "libretranslate/file_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::server {
namespace {

using core::Json;
using ::testing::HasSubstr;

Json read(const std::string& body, const std::string& type,
          std::vector<std::pair<std::string, std::string>> query = {}) {
  http::Request request = request_of("POST", "/", body, type);
  request.query = std::move(query);
  return Parameters(request).all();
}

std::string problem(const std::string& body, const std::string& type) {
  try {
    read(body, type);
  } catch (const BadBody& bad) {
    return bad.what();
  }
  return "no problem";
}

TEST(Parameters, FormsAreDecoded) {
  EXPECT_EQ(read("a=1+2&b=%C3%A4%zz%4&c&a=x&&=d", kForm),
            (Json{{"a", {"1 2", "x"}}, {"b", "ä%zz%4"}, {"c", ""}, {"", "d"}}));
  EXPECT_EQ(read("a=%ff", kForm), (Json{{"a", "\uFFFD"}}));
  EXPECT_EQ(read("", kForm), Json::object());
}

TEST(Parameters, TheBodyCountsBeforeTheQuery) {
  EXPECT_EQ(read("a=1", kForm, {{"a", "2"}, {"b", "3"}}), (Json{{"b", "3"}, {"a", "1"}}));
  EXPECT_EQ(read(R"({"a": 1})", kJson, {{"a", "2"}}), (Json{{"a", 1}}));
  EXPECT_EQ(read("", kJson, {{"a", "2"}}), (Json{{"a", "2"}}));
}

TEST(Parameters, TheBodyDecidesWhereTheTypeDoesNot) {
  EXPECT_EQ(read(R"( {"a": [1]})", ""), (Json{{"a", {1}}}));
  EXPECT_EQ(read(R"({"a": [1]})", kForm), (Json{{"a", {1}}}));
  EXPECT_EQ(read("{a}=1", kForm), (Json{{"{a}", "1"}}));
  EXPECT_EQ(read("a=1", "text/plain"), (Json{{"a", "1"}}));
  EXPECT_EQ(read(R"({"a": 1})", "Application/JSON; charset=utf-8"), (Json{{"a", 1}}));
}

TEST(Parameters, JsonIsBounded) {
  EXPECT_THAT(problem("{\"a\": \"\xff\"}", kJson), HasSubstr("not valid JSON"));
  EXPECT_THAT(problem(R"({"a": "\ud800"})", kJson), HasSubstr("not valid JSON"));
  EXPECT_THAT(problem("[1]", kJson), HasSubstr("object"));
  EXPECT_THAT(problem("{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}", kJson),
              HasSubstr("nested deeper"));
  std::string many = "{\"a\":[0";
  for (int i = 0; i < 200'000; ++i) many += ",0";
  EXPECT_THAT(problem(many + "]}", kJson), HasSubstr("more than 200000 values"));
  EXPECT_EQ(read("{\"a\":\"" + std::string(300'000, ',') + "\"}", kJson)["a"].get<std::string>().size(), 300'000u);
  EXPECT_EQ(read(R"({"a": 1, "a": 2})", kJson), (Json{{"a", 2}})) << "as clients' libraries read it";
  std::string names = "{\"a\":0";
  for (int i = 0; i < 300; ++i) names += ",\"a" + std::to_string(i) + "\":0";
  EXPECT_THAT(problem(names + "}", kJson), HasSubstr("more than 200 names"));
}

TEST(Parameters, FieldsAreBounded) {
  std::string many;
  for (int i = 0; i < 10'001; ++i) many += "a=1&";
  EXPECT_THAT(problem(many, kForm), HasSubstr("more than 10000 fields"));
  std::string names;
  for (int i = 0; i < 300; ++i) names += "a" + std::to_string(i) + "=1&";
  EXPECT_THAT(problem(names, kForm), HasSubstr("names"));
}

TEST(Multipart, PartsAreFieldsAndFiles) {
  const std::string body =
      "preamble\r\n--x-y\r\ncontent-disposition: form-data; name=a\r\n\r\n1\r\n\r\n2\r\n--x-y  \r\n"
      "Content-Type: text/plain\r\nContent-Disposition: form-data; filename=\"C:\\a \\\"b\\\".txt\"; "
      "name=\"f;g\"\r\n\r\n"
      "\r\n--x-yz\r\n\r\n--x-y\r\n\r\nno name\r\n--x-y--\r\nepilogue";
  const MultipartForm form = parse_multipart("multipart/form-data; charset=utf-8; boundary=x-y", body);
  ASSERT_EQ(form.fields.size(), 1u);
  EXPECT_EQ(form.fields[0], (std::pair<std::string, std::string>{"a", "1\r\n\r\n2"}));
  ASSERT_EQ(form.files.size(), 1u);
  EXPECT_EQ(form.files[0].field, "f;g");
  EXPECT_EQ(form.files[0].name, "C:\\a \"b\".txt");
  EXPECT_EQ(form.files[0].content, "\r\n--x-yz\r\n") << "a longer line is no boundary";
}

TEST(Multipart, AFileKeepsItsBytes) {
  const std::string content("a\r\n--\0B\xff", 9);
  const std::string body =
      "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"C:\\a \\\"b\\\".txt\"\r\n\r\n" + content +
      "\r\n--B--";
  const MultipartForm form = parse_multipart("multipart/form-data; boundary=B", body);
  ASSERT_EQ(form.files.size(), 1u);
  EXPECT_EQ(form.files[0].content, content);
  EXPECT_EQ(form.files[0].field, "f");
  EXPECT_EQ(form.files[0].name, "C:\\a \"b\".txt");
}

TEST(Multipart, DamagedBodiesAreRefused) {
  const std::string type = "multipart/form-data; boundary=B";
  for (const std::string body : {"", "--B", "--B\r\n", "--C\r\n\r\n--C--", "--B\r\nname: x\r\n--B--", "--B\r\n\r\nx"})
    EXPECT_NE(problem(body, type), "no problem") << body;
  EXPECT_THAT(problem("--B--", "multipart/form-data"), HasSubstr("boundary"));
  EXPECT_EQ(problem("--B--", type), "no problem");
  std::string many = "--B";
  for (int i = 0; i < 1100; ++i) many += "\r\n\r\n\r\n--B";  // parts without fields
  EXPECT_THAT(problem(many + "--", type), HasSubstr("1000 parts"));
}

TEST(FileStore, BytesAndAgeAreBounded) {
  using std::chrono::minutes;
  const FileStore::Clock::time_point start{};
  constexpr std::size_t kBytesOfEntry = 512;
  FileStore store(10 + 2 * kBytesOfEntry, minutes(30));
  const std::string first = store.put("/tmp/x/ä b.txt", "123456", start);
  EXPECT_TRUE(FileStore::is_name(first));
  EXPECT_EQ(FileStore::download_name(first), "___b.txt");
  EXPECT_EQ(store.get(first, start), "123456");
  const std::string second = store.put("c.txt", "1234", start);
  EXPECT_NE(first.substr(0, 32), second.substr(0, 32));
  EXPECT_TRUE(store.get(first, start).has_value());
  store.put("d.txt", "1", start + minutes(1));
  EXPECT_FALSE(store.get(first, start).has_value()) << "the oldest goes first";
  EXPECT_TRUE(store.get(second, start + minutes(30)).has_value());
  EXPECT_FALSE(store.get(second, start + minutes(31)).has_value());
  EXPECT_THROW(store.put("e", std::string(11 + kBytesOfEntry, 'x'), start), BadRequest);
}

}  // namespace
}  // namespace dragoman::server
