#include "dragoman/server/dialects.h"

namespace dragoman::server {

void add_dialects(http::Router& router, TranslationService& service, const DialectOptions& options) {
  add_libretranslate_routes(router, service, options);
  add_deepl_routes(router, service, options);
  add_imme_routes(router, service, options);
  add_kiss_routes(router, service, options);
  add_deeplx_routes(router, service, options);
  add_v1_routes(router, service, options);
}

}  // namespace dragoman::server
