"""Typical pages by name: numbers and sizes of objects, from public counts.

`median-2024` has the median sizes per kind of file of desktop home pages, and the median numbers of
scripts and images: HTTP Archive, Web Almanac 2024, chapter Page Weight. The numbers were taken from
a summary of that chapter and not compared with the chapter itself. The sum of medians is less
than the median of the sum (2652 KB). Style and font are one file each, since their numbers of files
are no part of this model.

`news` has the numbers of objects of a news site of 2013 in the classes of study 2
(`studies/web/table-1.csv`: 6 of 100 to 200 KB, 38 of 10 to 99 KB, 133 below 10 KB), all from one
server. The sizes inside each class are ours: about 2 MB together.
"""

from __future__ import annotations

from typing import Any

_Object = dict[str, Any]

TYPICAL: dict[str, tuple[_Object, ...]] = {
    "median-2024": (
        {"name": "html", "size": "18 KB"},
        {"name": "style", "size": "78 KB", "after": "html"},
        {"name": "script{i}", "count": 24, "size": "26155 bytes", "after": "html"},
        {"name": "image{i}", "count": 18, "size": "59961 bytes", "after": "html"},
        {"name": "font", "size": "131 KB", "after": "style"},
    ),
    "news": (
        {"name": "html", "size": "28000 bytes"},
        {"name": "large{i}", "count": 6, "size": "120000 bytes", "after": "html"},
        {"name": "medium{i}", "count": 37, "size": "28000 bytes", "after": "html"},
        {"name": "small{i}", "count": 133, "size": "1600 bytes", "after": "html"},
    ),
}
