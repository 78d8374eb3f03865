import deepl

import common

client = deepl.Translator("key", server_url=common.URL)
result = client.translate_text(common.DOG, source_lang="DE", target_lang="EN-US")
common.check_dog(result.text)
common.check(result.detected_source_lang == "DE", result.detected_source_lang)
common.check(result.billed_characters == len(common.DOG), result.billed_characters)
for one in client.translate_text([common.DOG, common.DOG], target_lang="EN-GB"):
    common.check_dog(one.text)
common.check("DE" in [str(one) for one in client.get_source_languages()], "source languages")
common.check("EN-US" in [str(one) for one in client.get_target_languages()], "target languages")
common.check(client.get_usage().character.count >= len(common.DOG), "usage")
common.check(len(client.get_glossary_languages()) >= 1, "glossary languages")

glossary = client.create_glossary("dogs", "DE", "EN", {"Hund": "poodle"})
common.check(glossary.ready and glossary.entry_count == 1, glossary)
text = client.translate_text(common.DOG, source_lang="DE", target_lang="EN-US", glossary=glossary).text
common.check("poodle" in text, text)
common.check(client.get_glossary_entries(glossary) == {"Hund": "poodle"}, "entries")
common.check(glossary.glossary_id in [one.glossary_id for one in client.list_glossaries()], "list")
common.check(client.get_glossary(glossary.glossary_id).name == "dogs", "get")
client.delete_glossary(glossary)
try:
    client.get_glossary(glossary.glossary_id)
    raise SystemExit("the glossary is still there")
except deepl.GlossaryNotFoundException:
    pass
try:
    client.translate_text(common.DOG, target_lang="XX")
    raise SystemExit("XX is no language")
except deepl.DeepLException as error:
    common.check("target_lang" in str(error), error)
print("texts, languages, usage, glossaries, errors")
