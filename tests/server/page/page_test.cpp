#include "dragoman/server/page.h"

#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class KeptExchange final : public http::Exchange {
 public:
  void send(http::Response response) override { answer = std::move(response); }
  void begin(http::Response /*head*/) override {}
  bool write(std::string_view /*part*/) override { return true; }
  void finish() override {}

  std::optional<http::Response> answer;
};

http::Response get(const std::string& path, const std::string& etag = {}) {
  http::Router router;
  add_page_routes(router);
  http::Request request;
  request.method = "GET";
  request.path = path;
  if (!etag.empty()) request.headers.set("If-None-Match", etag);
  const auto exchange = std::make_shared<KeptExchange>();
  router.serve(std::move(request), http::Reply(exchange));
  return exchange->answer.value();
}

TEST(Page, IsServedWithAPolicyThatAllowsNothingFromElsewhere) {
  const http::Response page = get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(page.body, HasSubstr("<title>Dragoman</title>"));
  EXPECT_THAT(std::string(page.headers.get("Content-Security-Policy")), HasSubstr("default-src 'none'"));
  EXPECT_THAT(std::string(page.headers.get("Content-Security-Policy")), Not(HasSubstr("unsafe")));
  EXPECT_EQ(page.headers.get("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(get("/page/nothing.js").status, 404);
}

TEST(Page, IsSentOnlyToBrowsersThatHaveAnother) {
  const http::Response script = get("/page/js/app.js");
  EXPECT_EQ(script.content_type, "text/javascript; charset=utf-8");
  const std::string etag(script.headers.get("ETag"));
  const http::Response again = get("/page/js/app.js", etag);
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(get("/page/js/app.js", "\"other\"").status, 200);
}

TEST(Page, NamesOnlyFilesThatAreThere) {
  std::set<std::string> served{"/"};
  for (const PageFile& file : page_files()) served.insert("/page/" + std::string(file.name));
  const std::regex reference(R"((?:src|href)="(/[^"]*)\"|from \"\./([^"]+)\")");
  std::size_t found = 0;
  for (const PageFile& file : page_files()) {
    const std::string content(file.content);
    EXPECT_THAT(content, Not(::testing::ContainsRegex("(src|href)=\"(http|//)"))) << file.name;
    for (auto match = std::sregex_iterator(content.begin(), content.end(), reference); match != std::sregex_iterator();
         ++match, ++found) {
      const std::string path = (*match)[1].matched ? (*match)[1].str() : "/page/js/" + (*match)[2].str();
      EXPECT_TRUE(served.contains(path)) << file.name << " names " << path;
    }
  }
  EXPECT_GT(found, 10U);
}

}  // namespace
}  // namespace dragoman::server
