"""Makes XML of the contracts in public headers, for Breathe: contracts.py OUTPUT HEADER...

The headers are copied into OUTPUT/headers as an installation has them, since Doxygen needs changed comments: contracts are Markdown, in which
`<`, `\\` and `@` are ordinary characters, and Doxygen takes them for commands. So they are escaped, and code in backquotes becomes <code>.
Any other warning of Doxygen is a failure.
"""
import pathlib
import re
import shutil
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent

ESCAPES = str.maketrans({"<": "&lt;", ">": "&gt;", "\\": "\\\\", "@": "\\@", "&": "&amp;", "#": "\\#", "%": "\\%"})
CODE_ESCAPES = str.maketrans({"<": "&lt;", ">": "&gt;", "\\": "\\\\", "@": "\\@", "&": "&amp;", "*": "\\*", "_": "\\_", "#": "\\#", "%": "\\%",
                              "[": "\\[", "]": "\\]", "|": "\\|", ".": "\\.", "~": "\\~", "-": "\\-", "\"": "&quot;"})
COMMENT = re.compile(r"^(?P<before>.*?)(?P<mark>///<?)(?P<text>.*)$")


def contract_of_file(lines):
    """The comment that a header begins with, after `#pragma once`, is the contract of the file."""
    begun = False
    for number, line in enumerate(lines):
        if line.startswith("// ") or (begun and line == "//"):
            if not begun:
                yield "/// \\file"
            begun = True
            yield "///" + line[2:]
        elif line not in ("", "#pragma once") or begun:
            yield from lines[number:]
            return
        else:
            yield line


def convert(lines):
    in_code = False
    for line in contract_of_file(lines):
        if line == "/// \\file":
            yield line
            continue
        match = COMMENT.match(line)
        # Lines that are indented by four spaces are code as they are.
        if not match or match["text"].startswith("     "):
            in_code = False
            yield line
            continue
        parts = match["text"].split("`")
        text = []
        for number, part in enumerate(parts):
            if number:
                text.append("</code>" if in_code else "<code>")
                in_code = not in_code
            text.append(part.translate(CODE_ESCAPES if in_code else ESCAPES))
        yield match["before"] + match["mark"] + "".join(text)


def stage(headers, folder):
    shutil.rmtree(folder, ignore_errors=True)
    for name in headers:
        target = folder / name.split("/include/")[-1].removeprefix("include/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join(convert(pathlib.Path(name).read_text().split("\n"))))


def run_doxygen(output, folder):
    shutil.rmtree(output / "doxygen", ignore_errors=True)
    (output / "doxygen").mkdir()
    warnings = output / "doxygen/warnings"
    settings = [(here / "Doxyfile").read_text(), f"OUTPUT_DIRECTORY = {output}/doxygen", f"WARN_LOGFILE = {warnings}", f"INPUT = {folder}",
                f"STRIP_FROM_PATH = {folder}"]
    subprocess.run(["doxygen", "-"], input="\n".join(settings), text=True, check=True)
    # A specialisation of a template that Doxygen has not seen is no fault.
    faults = [line for line in warnings.read_text().splitlines() if "scope for class fmt::formatter" not in line]
    if faults:
        sys.exit("\n".join(faults + ["docs: Doxygen warns about comments in public headers"]))


def name_files_by_path(xml):
    """Breathe finds a file by its name in the index, where Doxygen leaves out the folder."""
    index = (xml / "index.xml").read_text()

    def full(match):
        location = re.search(r'<location file="([^"]*)"/>\s*</compounddef>', (xml / f"{match['refid']}.xml").read_text())
        return f'<compound refid="{match["refid"]}" kind="file"><name>{location[1]}</name>'

    index = re.sub(r'<compound refid="(?P<refid>[^"]*)" kind="file"><name>[^<]*</name>', full, index)
    (xml / "index.xml").write_text(index)


def simple_default(match):
    text = re.sub(r"([{,]\s*)\.\w+\s*=\s*", r"\1", match[0])
    return re.sub(r"&quot;\s+&quot;", "", text) if match[1] == "initializer" else text


def simplify(xml):
    """Leaves out private members and explicit instantiations, and writes defaults so that Sphinx parses them: {.a = 1} as {1}, "a" "b" as "ab"."""
    for file in xml.glob("*.xml"):
        text = file.read_text()
        text = re.sub(r'<sectiondef kind="private-[^"]*">.*?</sectiondef>', "", text, flags=re.S)
        text = re.sub(r"<memberdef (?:(?!</memberdef>).)*?<type>template .*?</memberdef>", "", text, flags=re.S)
        text = re.sub(r"<(defval|initializer|argsstring)>.*?</\1>", simple_default, text, flags=re.S)
        file.write_text(text)


def main():
    output = pathlib.Path(sys.argv[1]).resolve()
    output.mkdir(parents=True, exist_ok=True)
    stage(sys.argv[2:], output / "headers")
    run_doxygen(output, output / "headers")
    name_files_by_path(output / "doxygen/xml")
    simplify(output / "doxygen/xml")


main()
