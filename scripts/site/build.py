#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the site of `make docs`: guides by MkDocs, the API by Doxygen, one search over both.

    scripts/site/build.py        writes build/docs/index.html and checks all links

It loads nothing from the network, and the site works from file://. The pages are those that
docs/README.md lists, in that order.
"""

import html
import json
import logging
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

import check_links
import header_filter
import python_api
from mkdocs.commands.build import build
from mkdocs.config import load_config
from pygments.formatters import HtmlFormatter

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "scripts/site"
SITE = ROOT / "build/docs"
STAGE = ROOT / "build/docs-stage"
PAGES = STAGE / "pages"  # Markdown, laid out as in the repository
FOR_DEVELOPERS = ("CONTRIBUTING.md", "ARCHITECTURE.md", "docs/store_format.md", "docs/decisions.md",
                  "CHANGELOG.md")


def version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(mayfly VERSION ([0-9.]+)", text)[1]


def guides():
    """The pages in the order of docs/README.md. Exits if one of docs/ is not listed there."""
    text = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s]+\.md)[^)]*\)", text)
    paths = [(ROOT / "docs" / link).resolve().relative_to(ROOT).as_posix() for link in links]
    pages = list(dict.fromkeys(["README.md", "docs/README.md", *paths, "CHANGELOG.md"]))
    missing = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} - set(pages)
    if missing:
        sys.exit(f"docs: docs/README.md does not list {' '.join(sorted(missing))}")
    return pages


def title(path):
    """What the menu calls a page: its first heading, up to a colon."""
    heading = re.search(r"(?m)^# (.*)$", (PAGES / path).read_text(encoding="utf-8"))
    return re.sub(r"[`*]", "", heading[1].partition(":")[0]) if heading else path


def stage(pages):
    shutil.rmtree(STAGE, ignore_errors=True)
    for path in pages:
        (PAGES / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, PAGES / path)
    for picture in [*(ROOT / "docs").rglob("*.svg"), *(ROOT / "docs").rglob("*.png")]:
        target = PAGES / picture.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, target)
    (PAGES / "api").mkdir()
    (PAGES / "api/python.md").write_text(python_api.page(ROOT / "python/mayfly"), encoding="utf-8")


def slug(text, separator):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


def make_guides(pages):
    users = [page for page in pages if page not in FOR_DEVELOPERS]
    developers = [page for page in FOR_DEVELOPERS if page in pages]
    nav = [
        {"Guides": [{title(page): page} for page in users]},
        {"API": [{"C++ and C": "api/index.html"}, {"Python": "api/python.md"}]},
        {"Development": [{title(page): page} for page in developers]},
    ]
    logging.getLogger("mkdocs").setLevel(logging.ERROR)  # check_links is stricter than its warnings
    (STAGE / "mkdocs.yml").write_text("site_name: Mayfly\nuse_directory_urls: false\n")
    build(load_config(
        config_file=str(STAGE / "mkdocs.yml"), docs_dir=str(PAGES), site_dir=str(SITE), nav=nav,
        theme={"name": None, "custom_dir": str(HERE / "theme")},
        plugins=[], extra={"version": version()},
        markdown_extensions=[
            "tables", "fenced_code", "sane_lists",
            {"toc": {"slugify": slug, "permalink": "#", "toc_depth": "1-4"}},
            {"codehilite": {"guess_lang": False, "css_class": "highlight"}}]))
    css = HtmlFormatter(style="friendly").get_style_defs(".highlight")
    (SITE / "code.css").write_text("\n".join(
        line for line in css.splitlines() if "background" not in line.partition("{")[2][:12]))


def make_api():
    """The pages of the headers. Returns the tag file of Doxygen: what is on which page."""
    lines = ["# Headers", ""]
    for path in sorted((ROOT / "include").rglob("*.h")):
        if "internal" in path.parts:
            continue
        top = path.read_text(encoding="utf-8").partition("\n\n")[0]
        brief = " ".join(re.findall(r"(?m)^// (.*)$", top)[1:]).partition(". ")[0].rstrip(".")
        name = path.relative_to(ROOT / "include").as_posix()
        lines.append(f'* \\ref {name} "{name}": {header_filter.escape(brief)}.')
    (STAGE / "headers.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    tags = STAGE / "tags.xml"
    settings = (HERE / "Doxyfile").read_text(encoding="utf-8") + f"""
        INPUT += {STAGE}/headers.md
        USE_MDFILE_AS_MAINPAGE = {STAGE}/headers.md
        OUTPUT_DIRECTORY = {SITE}
        GENERATE_TAGFILE = {tags}
        PROJECT_NUMBER = {version()}
        """
    subprocess.run(["doxygen", "-"], input=settings.encode(), cwd=ROOT, check=True)
    return xml.parse(tags).getroot()


def header_pages(tags):
    return {compound.findtext("path", "") + compound.findtext("name"):
            "api/" + compound.findtext("filename").removesuffix(".html") + ".html"
            for compound in tags.iter("compound") if compound.get("kind") == "file"}


def link_sources(tags):
    """Guides link to files of the repository: to the page of a header, or a copy of the text."""
    headers = {f"include/{name}": page for name, page in header_pages(tags).items()}

    def rewrite(page, match):
        link, text = match[1], match[2]
        target = (page.parent / link.partition("#")[0]).resolve()
        if re.match(r"[a-z]+:|#", link) or target.is_file():
            return match[0]
        name = target.relative_to(SITE).as_posix() if target.is_relative_to(SITE) else None
        up = "../" * len(page.relative_to(SITE).parent.parts)
        if name in headers:
            return f'<a href="{up}{headers[name]}">{text}</a>'
        if name in ("include", "include/mayfly"):
            return f'<a href="{up}api/index.html">{text}</a>'
        if name and (ROOT / name).is_dir():
            return text  # a folder has no page
        if name and (ROOT / name).is_file():
            copy = SITE / f"{name}.txt"  # a browser shows it instead of saving it
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy)
            return f'<a href="{up}{name}.txt">{text}</a>'
        return match[0]  # dead: check_links will tell

    for page in [*SITE.glob("*.html"), *(SITE / "docs").glob("*.html")]:
        text = page.read_text(encoding="utf-8")
        text = re.sub(r'<a href="([^"]+)">(.*?)</a>', lambda match: rewrite(page, match), text)
        page.write_text(text, encoding="utf-8")


def trim_api_links():
    """Doxygen links to private members, which have no entry: such a link leads to the page."""
    pages = {path: check_links.Page(path) for path in (SITE / "api").glob("*.html")}

    def trim(path, match):
        target = pages.get(path.parent / match[1] if match[1] else path)
        return match[0] if not target or match[2] in target.anchors else f'href="{match[1] or "#"}"'

    for path in pages:
        text = path.read_text(encoding="utf-8")
        text = re.sub(r'href="([^":#]*)#([^"]+)"', lambda match: trim(path, match), text)
        path.write_text(text, encoding="utf-8")


def sections(page):
    """The parts of a guide from one heading to the next: (anchor, title, text)."""
    html_text = page.read_text(encoding="utf-8").partition("<main>")[2].partition("</main>")[0]
    parts = re.split(r'<h[1-4] id="([^"]+)">(.*?)<a class="headerlink".*?</h[1-4]>', html_text)
    plain = [" ".join(html.unescape(re.sub(r"<[^>]+>", "", part)).split()) for part in parts]
    return list(zip(plain[1::3], plain[2::3], plain[3::3]))


def api_entries(tags):
    for compound in tags.iter("compound"):
        kind, owner = compound.get("kind"), compound.findtext("name").removeprefix("mayfly::")
        if kind in ("dir", "page"):
            continue
        if kind != "namespace":
            page = compound.findtext("filename").removesuffix(".html") + ".html"
            yield {"location": f"api/{page}", "title": owner, "text": kind}
        for member in compound.findall("member"):
            name = member.findtext("name")
            yield {"location": f"api/{member.findtext('anchorfile')}#{member.findtext('anchor')}",
                   "title": f"{owner}::{name}" if kind in ("class", "struct") else name,
                   "text": member.get("kind") + " " + member.findtext("arglist", "")}


def write_search_index(tags):
    """What theme/search.js searches: sections of the guides, and names of the API."""
    entries = []
    for page in [*SITE.glob("*.html"), *(SITE / "docs").glob("*.html"), SITE / "api/python.html"]:
        location = page.relative_to(SITE).as_posix()
        for anchor, name, text in (parts := sections(page)):
            entries.append({"location": f"{location}#{anchor}", "title": name, "text": text,
                            "page": parts[0][1]})
    unique = {(entry["title"], entry["text"]): entry | {"page": "API"}
              for entry in api_entries(tags)}  # namespaces and files both list their members
    text = json.dumps(entries + list(unique.values()), ensure_ascii=False, separators=(",", ":"))
    (SITE / "search").mkdir()
    (SITE / "search/index.js").write_text(f"const searchIndex = {text};\n", encoding="utf-8")


def main():
    pages = guides()
    stage(pages)
    make_guides(pages)
    tags = make_api()
    link_sources(tags)
    trim_api_links()
    write_search_index(tags)
    if check_links.main(["", str(SITE)]) != 0:
        sys.exit("docs: the site has dead links (see above)")
    print(f"docs: build/docs/index.html, {sum(1 for _ in SITE.rglob('*.html'))} pages")


if __name__ == "__main__":
    main()
