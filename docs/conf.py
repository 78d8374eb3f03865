"""The site: scripts/docs runs Sphinx with this file.

The source folder is the whole tree, so that the relative links of the pages hold in the tree and on the site alike. docs/index.md is the first
page. Its tables of contents are added here: they list folders by pattern, so a new page appears without a line anywhere.
"""
import os
import pathlib

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

# The parts of the site: title, pages that come first, and a pattern for the others.
PARTS = [
    ("Start", ["start/install", "start/translate", "start/learn", "start/train"], ["start/*"]),
    ("Guides", ["guides/tokenizer", "guides/pipelines", "guides/training", "guides/data", "guides/models"], ["guides/*"]),
    ("Move from", ["move/index"], ["move/*"]),
    ("Concepts", ["concepts/transformer", "concepts/decoding", "concepts/determinism"], ["concepts/*"]),
    ("Reference", ["reference/commands", "reference/api/index"], ["reference/*"]),
    ("Examples", [], ["/examples/*/README", "/examples/*/*/README"]),
    ("Project", ["project/architecture", "/CONTRIBUTING", "project/writing", "project/testing"], ["project/*", "project/*/index", "/CHANGELOG"]),
]


def file_of(page):
    return (page[1:] if page.startswith("/") else f"docs/{page}") + ".md"


def table_of_contents(caption, first, patterns):
    first = [page for page in first if (tree / file_of(page)).is_file()]
    # Sphinx warns about a pattern that matches nothing new.
    listed = {tree / file_of(page) for page in first}
    patterns = [pattern for pattern in patterns if set(tree.glob(file_of(pattern))) - listed]
    entries = first + patterns
    return "\n".join(["", "```{toctree}", ":hidden:", ":glob:", f":caption: {caption}", "", *entries, "```", ""])


def add_tables_of_contents(app, page, source):
    if page == root_doc:
        source[0] += "".join(table_of_contents(*part) for part in PARTS)


class LinksIntoTheTree(SphinxPostTransform):
    """A link to a folder goes to the folder's README, if the site has it. It and other Markdown that is no page are plain text otherwise."""

    default_priority = 8  # before MyST resolves its links

    def run(self, **kwargs):
        for node in list(self.document.findall(addnodes.pending_xref)):
            if node["reftype"] != "myst":
                continue
            if node["refdomain"] == "doc":
                if node["reftarget"] not in self.env.all_docs and (tree / f"{node['reftarget']}.md").is_file():
                    node.replace_self(node.children)
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
