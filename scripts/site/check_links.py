#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a static site for dead links: files and anchors that do not exist, and anything that a
browser would load from the network.

    scripts/site/check_links.py build/docs

Prints a line for each dead link and exits with 1 if there is one. Links to other sites are not
followed.
"""

import html.parser
import pathlib
import sys
import urllib.parse

LOADED = {"script", "img", "link", "iframe", "source", "audio", "video"}  # with the page itself
EXTERNAL = ("http", "https", "mailto", "javascript", "data")


class Page(html.parser.HTMLParser):
    """The anchors of a page, and its links: (line, tag, target)."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(path.read_text(encoding="utf-8", errors="replace"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.update(values[key] for key in ("id", "name") if values.get(key))
        for key in ("href", "src"):
            if values.get(key):
                self.links.append((self.getpos()[0], tag, values[key]))


def problem(link, tag, path, pages, root):
    """Why a link is dead, or None."""
    url = urllib.parse.urlsplit(link)
    if url.scheme in EXTERNAL or url.netloc:
        is_loaded = tag in LOADED and url.scheme not in ("data", "javascript")
        return "is loaded from the network" if is_loaded else None
    if url.scheme:
        return "has an unknown scheme"
    if url.path.startswith("/"):
        return "is absolute, and works on one server only"
    target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
    if not target.is_relative_to(root):
        return "leads out of the site"
    if target.is_dir():
        return "leads to a folder"  # without a server there is no index.html for it
    if not target.exists():
        return "no such file"
    anchor = urllib.parse.unquote(url.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "no such anchor"
    return None


def dead_links(root):
    """Lines such as "docs/cache.html:12: time.html#clock: no such anchor"."""
    root = pathlib.Path(root).resolve()
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    for path, page in pages.items():
        for line, tag, link in page.links:
            why = problem(link, tag, path, pages, root)
            if why:
                yield f"{path.relative_to(root)}:{line}: {link}: {why}"


def main(words):
    if len(words) != 2 or not any(pathlib.Path(words[1]).glob("*.html")):
        print("usage: check_links.py FOLDER (with .html files)", file=sys.stderr)
        return 2
    found = list(dict.fromkeys(dead_links(words[1])))
    for line in found:
        print(line)
    print(f"links: {len(found)} dead" if found else "links: none dead")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
