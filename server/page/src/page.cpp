#include "dragoman/server/page.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

namespace dragoman::server {
namespace {

struct EmbeddedFile {
  const char* name;
  const unsigned char* content;
  std::size_t bytes;
  const char* hash;
};

#include "page_files.inc"

std::string_view content_type_of(std::string_view name) {
  struct Type {
    std::string_view ending;
    std::string_view type;
  };
  static constexpr std::array kTypes{Type{".html", "text/html; charset=utf-8"}, Type{".css", "text/css; charset=utf-8"},
                                     Type{".js", "text/javascript; charset=utf-8"}, Type{".svg", "image/svg+xml"}};
  const auto* const found = std::ranges::find_if(kTypes, [&](const Type& type) { return name.ends_with(type.ending); });
  return found == kTypes.end() ? std::string_view("application/octet-stream") : found->type;
}

std::vector<PageFile> list_files() {
  static const std::vector<std::string> etags = [] {
    std::vector<std::string> quoted;
    for (const EmbeddedFile& file : kEmbedded) quoted.push_back('"' + std::string(file.hash) + '"');
    return quoted;
  }();
  std::vector<PageFile> files;
  for (std::size_t i = 0; i < std::size(kEmbedded); ++i)
    files.push_back({.name = kEmbedded[i].name,
                     .content_type = content_type_of(kEmbedded[i].name),
                     .content = {reinterpret_cast<const char*>(kEmbedded[i].content), kEmbedded[i].bytes},
                     .etag = etags[i]});
  return files;
}

void answer(const PageFile& file, const http::Request& request, http::Reply& reply) {
  http::Response response{.status = 200, .headers = {}, .content_type = std::string(file.content_type), .body = {}};
  response.headers.set("Content-Security-Policy",
                       "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
                       "form-action 'none'; base-uri 'none'; frame-ancestors 'none'");
  response.headers.set("X-Content-Type-Options", "nosniff");
  response.headers.set("Referrer-Policy", "no-referrer");
  // A browser asks each time, so that page and server always fit together.
  response.headers.set("Cache-Control", "no-cache");
  response.headers.set("ETag", std::string(file.etag));
  if (request.headers.get("If-None-Match").find(file.etag) != std::string_view::npos) {
    response.status = 304;
    response.content_type.clear();
  } else {
    response.body = file.content;
  }
  reply.send(std::move(response));
}

}  // namespace

std::span<const PageFile> page_files() {
  static const std::vector<PageFile> files = list_files();
  return files;
}

void add_page_routes(http::Router& router) {
  const auto add = [&](std::string path, const PageFile& file) {
    http::Route route;
    route.method = "GET";
    route.pattern = std::move(path);
    route.access = http::Access::kOpen;
    route.handler = [&file](const http::Request& request, http::Reply reply) { answer(file, request, reply); };
    router.add(std::move(route));
  };
  for (const PageFile& file : page_files()) {
    if (file.name == "index.html") add("/", file);
    add("/page/" + std::string(file.name), file);
  }
}

}  // namespace dragoman::server
