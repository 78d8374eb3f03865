import pathlib
import subprocess

import common

po = pathlib.Path("messages.po")
po.write_text(
    'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    f'msgid "{common.DOG}"\nmsgstr ""\n\nmsgid "Ein Mann fährt Fahrrad."\nmsgstr ""\n',
    encoding="utf-8",
)
command = ["transpolibre", "-u", common.URL, "-s", "de", "-t", "en", "-f", str(po)]
run = subprocess.run(command, capture_output=True, text=True)
text = po.read_text(encoding="utf-8")
common.check(run.returncode == 0, run.stderr or run.stdout)
common.check("dog" in text and 'msgstr ""\n\n' not in text.split("\n\n", 1)[1], text + run.stdout)
print("a PO file was filled in")
