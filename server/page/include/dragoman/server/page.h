#pragma once

#include <span>
#include <string_view>

#include <dragoman/server/router.h>

namespace dragoman::server {

/// A file of the page. Its content lives as long as the program.
struct PageFile {
  std::string_view name;          ///< "js/app.js"
  std::string_view content_type;  ///< "text/javascript; charset=utf-8"
  std::string_view content;
  std::string_view etag;  ///< with quotes; other content has another
};

/// The files of the page, which are a part of the library: a server needs no folder for them.
std::span<const PageFile> page_files();

/// Adds `/` and `/page/...`. Needs no key, and answers 304 to a browser that has the file. The files load nothing from
/// elsewhere, and the Content-Security-Policy that goes with them allows nothing else.
void add_page_routes(http::Router& router);

}  // namespace dragoman::server
