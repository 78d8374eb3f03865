import asyncio
import pathlib
import tempfile

import httpx
from libretranslate_aio import AsyncLibreTranslate, LibreTranslate

import common

with LibreTranslate(common.URL) as client:
    common.check(client.health(), "health")
    common.check_dog(client.translate(common.DOG, "de", "en").translated_text)
    both = client.translate([common.DOG, common.DOG], "de", "en").translated_text
    common.check(isinstance(both, list) and len(both) == 2, both)
    common.check(len(client.languages()) >= 2, "languages")
    common.check(len(client.detect(common.DOG)) >= 1, "detect")
    common.check(client.frontend_settings() is not None, "settings")
    try:
        client.suggest("Hund", "dog", "de", "en")
    except Exception as error:
        common.check("Suggestions are disabled" in str(error), error)
    file = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
    file.write_text(common.DOG + "\n", encoding="utf-8")
    url = client.translate_file(str(file), "de", "en").translated_file_url
    common.check_dog(httpx.get(url).text)


async def main():
    async with AsyncLibreTranslate(common.URL) as client:
        many = await asyncio.gather(*(client.translate(common.DOG, "de", "en") for _ in range(20)))
        for one in many:
            common.check_dog(one.translated_text)


asyncio.run(main())
print("all nine methods, and twenty translations at a time")
