"""The site: scripts/docs runs Sphinx with this file.

The source folder is the whole tree, so that the relative links of the pages hold in the tree and on the site alike. docs/index.md is the first
page. Its tables of contents are added here from the folders, so a new page appears without a line anywhere.
"""
import os
import pathlib
import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform

tree = pathlib.Path(__file__).resolve().parent.parent

project = "Dragoman"
copyright = "the Dragoman authors, Apache-2.0"
author = "the Dragoman authors"

extensions = ["myst_parser", "breathe", "sphinx_copybutton"]
root_doc = "docs/index"
include_patterns = ["docs/**", "CONTRIBUTING.md", "CHANGELOG.md", "examples/**/README.md"]
# Sphinx walks all that is not excluded, and follows links.
exclude_patterns = [entry.name for entry in tree.iterdir() if entry.name not in ("docs", "examples", "CONTRIBUTING.md", "CHANGELOG.md")]
exclude_patterns += ["examples/*/build", "docs/_static"]

myst_heading_anchors = 5
myst_links_external_new_tab = False
suppress_warnings = [
    "myst.header",  # docs/reference/commands.md has two titles
    "duplicate_declaration.cpp",  # each header declares the namespaces that it adds to
]

highlight_language = "none"
primary_domain = "cpp"
smartquotes = False  # two dashes are an option, not a dash

breathe_projects = {"dragoman": os.environ.get("DRAGOMAN_DOXYGEN_XML", str(tree / "build/docs/doxygen/xml"))}
breathe_default_project = "dragoman"
breathe_show_include = False
breathe_default_members = ("members",)
cpp_maximum_signature_line_length = 100
maximum_signature_line_length = 100

html_theme = "furo"
html_title = "Dragoman"
html_static_path = ["_static"]
html_css_files = ["dragoman.css"]
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5394", "color-brand-content": "#0b5394"},
    "dark_css_variables": {"color-brand-primary": "#7ab8f5", "color-brand-content": "#7ab8f5"},
    "navigation_with_keys": True,
}

# The parts of the site: the folder of docs/, its title, and the pages that come first. Its other pages follow by name, so a new page needs no line
# here. A folder within is listed by its index page, which shows a list of the other pages there.
PARTS = {
    "start": ("Start", ["install", "translate", "learn", "train"]),
    "guides": ("Guides", ["pipelines", "search", "models", "tokenizer", "data", "training", "many-processes", "cuda", "evaluation", "alignment"]),
    "move": ("Move from", ["index", "sentencepiece", "subword-nmt", "marian", "fairseq", "ctranslate2", "opennmt", "huggingface"]),
    "concepts": ("Concepts", ["transformer", "decoding", "determinism"]),
    "reference": ("Reference", ["commands", "api/index", "file-formats", "tokenizer-formats", "limits"]),
    "project": ("Project", ["architecture", "components", "execution", "cuda-backend", "decisions/index", "/CONTRIBUTING", "testing", "writing"]),
}
LAST = {"project": ["/CHANGELOG"]}
EXAMPLES = ["/" + str(page.relative_to(tree).with_suffix("")) for page in sorted(tree.glob("examples/**/README.md"))]


def pages_in(folder):
    """The pages of a folder of docs/, from docs/: those in it, and of each folder in it the index, or all if there is none."""
    pages = []
    for entry in sorted((tree / "docs" / folder).iterdir()):
        name = f"{folder}/{entry.name}"
        if entry.suffix == ".md":
            pages.append(name[:-3])
        elif entry.is_dir():
            within = pages_in(name)
            pages += [f"{name}/index"] if f"{name}/index" in within else within
    return pages


def entry_of(page):
    """The entry of a page in a table: "Moving from Marian" is "Marian", since the caption has the rest."""
    file = tree / (page[1:] if page.startswith("/") else f"docs/{page}")
    title = file.with_suffix(".md").read_text().partition("\n")[0].removeprefix("# ")
    short = title.removeprefix("Moving from ")
    return page if short == title else f"{short} <{page}>"


def table_of_contents(options, pages):
    pages = [entry_of(page) for page in pages]
    return "\n".join(["", "```{toctree}", *options, "", *pages, "```", ""]) if pages else ""


def tables_of_contents():
    """What docs/index.md gets: a table for each part, and one for each folder that is no part yet."""
    folders = [entry.name for entry in sorted((tree / "docs").iterdir()) if entry.is_dir() and pages_in(entry.name)]
    for folder in [*PARTS, *(folder for folder in folders if folder not in PARTS)]:
        caption, first = PARTS.get(folder, (folder.capitalize(), []))
        pages = pages_in(folder) if folder in folders else []
        first = [page if page.startswith("/") else f"{folder}/{page}" for page in first]
        first = [page for page in first if page.startswith("/") or page in pages]
        if folder == "project":
            yield table_of_contents([":hidden:", ":caption: Examples"], EXAMPLES)
        yield table_of_contents([":hidden:", f":caption: {caption}"], first + [page for page in pages if page not in first] + LAST.get(folder, []))


def add_tables_of_contents(app, page, source):
    if page == root_doc:
        source[0] += "".join(tables_of_contents())
    elif page.startswith("docs/") and page.endswith("/index") and page.count("/") > 2 and "{toctree}" not in source[0]:
        folder = page.removeprefix("docs/").removesuffix("/index")
        source[0] += table_of_contents([":maxdepth: 1"], [f"/docs/{other}" for other in pages_in(folder) if f"docs/{other}" != page])


class LinksIntoTheTree(SphinxPostTransform):
    """A link whose text is the name of a page's file shows the page's title. A link to a folder goes to the folder's README, if the site has it. It and other Markdown that is no page are plain text otherwise."""

    default_priority = 8  # before MyST resolves its links

    def run(self, **kwargs):
        for node in list(self.document.findall(addnodes.pending_xref)):
            if node["reftype"] != "myst":
                continue
            if node["refdomain"] == "doc":
                if node["reftarget"] not in self.env.all_docs and (tree / f"{node['reftarget']}.md").is_file():
                    node.replace_self(node.children)
                elif re.fullmatch(r"[\w./-]+\.md", node.astext()) and node["reftarget"] in self.env.titles:
                    title = self.env.titles[node["reftarget"]].astext()
                    node.replace(node[0], nodes.inline("", title, classes=node[0].get("classes", [])))
                continue
            folder = (tree / node["refdoc"]).parent / node["reftarget"]
            if not node["reftarget"] or not folder.is_dir():
                continue
            pages = [os.path.relpath(folder.resolve() / name, tree) for name in ("README", "index")]
            pages = [page for page in pages if page in self.env.all_docs]
            if pages:
                uri = self.app.builder.get_relative_uri(node["refdoc"], pages[0])
                node.replace_self(nodes.reference("", "", *node.children, internal=True, refuri=uri))
            else:
                node.replace_self(node.children)


def setup(app):
    app.connect("source-read", add_tables_of_contents)
    app.add_post_transform(LinksIntoTheTree)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
