"""libretranslatepy 2.1.4, and 2.1.1, which requests the languages by POST."""

from libretranslatepy import LibreTranslateAPI

import common

api = LibreTranslateAPI(common.URL + "/")
languages = api.languages()
common.check({"de", "en"} <= {language["code"] for language in languages}, languages)
common.check_dog(api.translate(common.DOG, "de", "en"))
guesses = api.detect(common.DOG)
common.check("confidence" in guesses[0] and "language" in guesses[0], guesses)
print("languages, translate, detect")
