"""Texts that would be markup, scripts or commands if anything but their letters were shown."""

from __future__ import annotations

RUN = "window.attacked = true; alert(1)"
ATTACKS = {
    "script": f"<script>{RUN}</script>",
    "end of script": f"</script><script>{RUN}</script>",
    "end of script in capitals": f"</SCRIPT ><script>{RUN}</script>",
    "comment": "<!--<script>",
    "end of comment": "--><b>x</b><!--",
    "end of style": f"</style></title></textarea></noscript><script>{RUN}</script>",
    "image": f"<img src=x onerror='{RUN}'>",
    "vector": f"<svg/onload='{RUN}'>",
    "attribute": f"\" autofocus onfocus='{RUN}' x='",
    "single quotes": f"' onmouseover='{RUN}' '",
    "address": f"javascript:{RUN}",
    "template": "{{ 7 * 7 }}{% raw %}{{ config }}",
    "template of a script": "${" + RUN + "}`",
    "NUL": "a\x00b</script\x00>",
    "control characters": "a\x01\x1b[31m\x7f\x9f\ufffe\r\n",
    "surrogates": "\ud800<b>\udfff",
    "separators of lines": "a\u2028b\u2029c",
    "directions": "\u202eevil\u2066\u202d\u200f",
    "entities": "&lt;script&gt;&#x3c;b&#x3e;&amp;",
    "CDATA": "<![CDATA[<b>]]>",
    "prototype": "__proto__",
    "constructor": "constructor",
    "frame": "<iframe srcdoc='<script>parent.attacked = true</script>'></iframe>",
    "refresh": "<meta http-equiv=refresh content='0;url=https://example.com/'><base href='https://example.com/'>",
    "form": "<form action='https://example.com/'><input autofocus></form>",
    "backslash": "\\u003c/script\\u003e\\",
}
