from deep_translator import LibreTranslator

import common

# The base address needs the slash at its end, and the client a key that is not empty.
client = LibreTranslator(source="de", target="en", custom_url=common.URL + "/", api_key="k")
common.check_dog(client.translate(common.DOG))
for text in client.translate_batch([common.DOG] * 3):
    common.check_dog(text)
long = client.translate(" ".join([common.DOG] * 50))  # 1,499 characters, all in the address
common.check(long.lower().count("dog") >= 20, long)
print("translate, translate_batch, a long address")
