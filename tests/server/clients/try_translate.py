from translate import Translator

import common

client = Translator(provider="libre", from_lang="de", to_lang="en", base_url=common.URL + "/", secret_access_key=None)
common.check_dog(client.translate(common.DOG))
print("translate")
